//! Parses one file again and again with our parser and the fastest other one that reads all of it, and prints both
//! speeds in the form `benches/exposition_vs_python.sh` reads.
//!
//! Usage: `cargo run --release --example parse_speed -- FILE [SECONDS]`

#![expect(clippy::print_stdout, reason = "the figures are its output")]

use std::hint::black_box;
use std::time::{Duration, Instant};
use std::{env, fs, io};

use intriage_engines::exposition::parse;
use prom_text_format_parser::Scrape;

/// Parses between two looks at the clock: about a millisecond, so that looking costs nothing.
const ROUNDS: u32 = 20;

fn main() -> io::Result<()> {
    let mut arguments = env::args().skip(1);
    let usage = || io::Error::new(io::ErrorKind::InvalidInput, "usage: parse_speed FILE [SECONDS]");
    let file = arguments.next().ok_or_else(usage)?;
    let seconds: f64 = arguments.next().map_or(Ok(2.0), |text| text.parse()).map_err(|_| usage())?;
    let limit = Duration::try_from_secs_f64(seconds / 2.0).map_err(|_| usage())?;
    let text = fs::read_to_string(file)?;
    let samples = parse(text.as_bytes()).samples.len();
    let speed = |fastest: f64| text.len() as f64 / fastest / 1e6;

    let ours = fastest(limit, || {
        black_box(parse(black_box(text.as_bytes())));
    });
    let other = fastest(limit, || {
        // It leaves the values as text and keeps what it could not read to itself.
        let _ = black_box(Scrape::parse(black_box(&text)));
    });
    println!("{:.1} MB/s, {samples} samples", speed(ours));
    println!("{:.1} MB/s", speed(other));
    Ok(())
}

/// Seconds of the fastest round: whatever else runs on the machine can only make one slower.
fn fastest(limit: Duration, round: impl Fn()) -> f64 {
    let start = Instant::now();
    let mut fastest = f64::INFINITY;
    while start.elapsed() < limit {
        let batch = Instant::now();
        for _ in 0..ROUNDS {
            round();
        }
        fastest = fastest.min(batch.elapsed().as_secs_f64() / f64::from(ROUNDS));
    }
    fastest
}
