//! Parses one file again and again and prints the speed, in the form `benches/exposition_vs_python.sh` reads.
//!
//! Usage: `cargo run --release --example parse_speed -- FILE [SECONDS]`

#![expect(clippy::print_stdout, reason = "the figure is its output")]

use std::hint::black_box;
use std::time::{Duration, Instant};
use std::{env, fs, io};

use intriage_engines::exposition::parse;

/// Parses between two looks at the clock: about a millisecond, so that looking costs nothing.
const ROUNDS: u32 = 20;

fn main() -> io::Result<()> {
    let mut arguments = env::args().skip(1);
    let usage = || io::Error::new(io::ErrorKind::InvalidInput, "usage: parse_speed FILE [SECONDS]");
    let file = arguments.next().ok_or_else(usage)?;
    let seconds: f64 = arguments.next().map_or(Ok(2.0), |text| text.parse()).map_err(|_| usage())?;
    let limit = Duration::try_from_secs_f64(seconds).map_err(|_| usage())?;
    let scrape = fs::read(file)?;
    let samples = parse(&scrape).samples.len();

    // The fastest batch counts: whatever else runs on the machine can only make one slower.
    let start = Instant::now();
    let mut fastest = f64::INFINITY;
    while start.elapsed() < limit {
        let batch = Instant::now();
        for _ in 0..ROUNDS {
            black_box(parse(black_box(&scrape)));
        }
        fastest = fastest.min(batch.elapsed().as_secs_f64() / f64::from(ROUNDS));
    }
    println!("{:.1} MB/s, {samples} samples", scrape.len() as f64 / fastest / 1e6);
    Ok(())
}
