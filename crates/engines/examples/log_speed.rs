//! Scans one file again and again as a log, for `benches/log_scan_vs_ripgrep.sh`, and prints the fastest.
//!
//! Usage: `log_speed texts` prints every text a log is searched for; `log_speed scan FILE [SECONDS]` scans, with zero
//! seconds it only reads; `log_speed quiet BYTES FILE…` prints the files' lines that hold none of the texts, again and
//! again, up to BYTES; `log_speed served BYTES` prints a log of vLLM that serves: access lines, and statistics after every
//! hundred.
#![allow(clippy::print_stdout, reason = "a command for a script")]

use std::error::Error;
use std::fmt::Write as _;
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::time::{Duration, Instant};

use intriage_case::LogText;
use intriage_engines::{LogReadings, log_texts};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["texts"] => log_texts().iter().for_each(|text| println!("{text}")),
        ["scan", file] => scan(file, 3.0)?,
        ["scan", file, seconds] => scan(file, seconds.parse()?)?,
        ["quiet", bytes, ref files @ ..] => quiet(bytes.parse()?, files)?,
        ["served", bytes] => served(bytes.parse()?)?,
        _ => return Err("texts | scan FILE [SECONDS] | quiet BYTES FILE… | served BYTES".into()),
    }
    Ok(())
}

fn scan(file: &str, seconds: f64) -> Result<(), Box<dyn Error>> {
    let bytes = std::fs::read(file)?;
    let log = LogText { name: "server.log".into(), text: String::from_utf8(bytes)? };
    let limit = Instant::now() + Duration::from_secs_f64(seconds);
    let mut fastest = f64::INFINITY;
    let mut events = 0;
    while Instant::now() < limit {
        let start = Instant::now();
        events = black_box(LogReadings::of(black_box(&log))).events.len();
        fastest = fastest.min(start.elapsed().as_secs_f64());
    }
    println!("{:.2} GB/s, {events} events", log.text.len() as f64 / fastest / 1e9);
    Ok(())
}

fn quiet(bytes: usize, files: &[&str]) -> Result<(), Box<dyn Error>> {
    let mut kept = String::new();
    for file in files {
        let text = String::from_utf8_lossy(&std::fs::read(file)?).into_owned();
        for line in text.lines().filter(|line| !log_texts().iter().any(|text| line.contains(text))) {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    if kept.is_empty() {
        return Err("every line holds one of the texts".into());
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    for _ in 0..bytes.div_ceil(kept.len()) {
        out.write_all(kept.as_bytes())?;
    }
    out.flush()?;
    Ok(())
}

/// Figures come from a small generator, so that every run prints the same bytes.
fn served(bytes: usize) -> Result<(), Box<dyn Error>> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let (mut state, mut written, mut seconds) = (7_u64, 0, 0_u64);
    let mut below = |most: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % most
    };
    while written < bytes {
        let mut text = String::new();
        for _ in 0..99 {
            let (address, port) = (below(1000), 1024 + below(64_000));
            let status = if below(1000) == 0 { "400 Bad Request" } else { "200 OK" };
            writeln!(
                text,
                "INFO:     10.0.{}.{}:{port} - \"POST /v1/chat/completions HTTP/1.1\" {status}",
                address / 250,
                address % 250
            )?;
        }
        seconds += 10;
        let (day, hour, minute, second) =
            (1 + seconds / 86_400 % 28, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
        writeln!(
            text,
            "INFO 11-{day:02} {hour:02}:{minute:02}:{second:02} [loggers.py:259] Engine 000: Avg prompt throughput: {}.0 tokens/s, Avg generation throughput: {}.5 tokens/s, Running: {} reqs, Waiting: {} reqs, GPU KV cache usage: {}.2%, Prefix cache hit rate: {}.0%",
            below(3000),
            below(1600),
            below(40),
            below(4),
            below(60),
            below(50)
        )?;
        written += text.len();
        out.write_all(text.as_bytes())?;
    }
    out.flush()?;
    Ok(())
}
