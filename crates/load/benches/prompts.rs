//! How long it takes to say what is sent and when.
//!
//! Usage: `cargo bench -p intriage-load --bench prompts`. One line a case, columns in [`COLUMNS`].
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use intriage_case::{PerSecond, Ratio, Requests};
use intriage_load::arrivals::{Schedule, Shape};
use intriage_load::prompts::{Class, Prefix, Synthetic, Vocabulary};
use intriage_simulate::Lengths;

/// `each` is for one session, or one arrival.
const COLUMNS: &str = "name\tcount\teach_ns";

/// Without `--bench` this is a test run: enough to see that it works.
const FEW: u64 = 10;

fn main() {
    let full = std::env::args().any(|arg| arg == "--bench");
    let many = |n: u64| if full { n } else { FEW };
    println!("{COLUMNS}");
    for (tokens, n) in [(64, 1_000_000), (1024, 100_000), (100_000, 1_000)] {
        let source = synthetic(Class::plain("c", Lengths::Fixed(tokens), Lengths::Fixed(128)));
        measure(&format!("{tokens} tokens"), many(n), |i| source.session(i).turns.len());
    }
    let mut class = Class::plain("c", Lengths::around(1024, Ratio(0.5)), Lengths::around(128, Ratio(0.5)));
    class.prefix = Some(Prefix { tokens: 512, groups: 64, share: Ratio(1.0) });
    let source = synthetic(class);
    measure("1024 tokens, half shared", many(100_000), |i| source.session(i).turns.len());
    measure("hit ratio of 1e6 requests", 1, |_| source.expected_hit_ratio(16, many(1_000_000)).0 as usize);
    let mut schedule = Schedule::new(Shape::Poisson { rate: PerSecond(Requests(10.0)) }, 1).unwrap();
    measure("Poisson arrival", many(10_000_000), |_| schedule.next().map_or(0, |a| a.at.0 as usize));
}

fn synthetic(class: Class) -> Synthetic {
    Synthetic::new(vec![class], Arc::new(Vocabulary::assumed()), 1, 2).unwrap()
}

fn measure(name: &str, count: u64, mut make: impl FnMut(u64) -> usize) {
    let start = Instant::now();
    for index in 0..count {
        black_box(make(index));
    }
    println!("{name}\t{count}\t{:.0}", start.elapsed().as_nanos() as f64 / count as f64);
}
