//! How fast a real vLLM scrape is parsed, next to the fastest other parser that reads all of it.
//!
//! Others on crates.io were tried and left out: `prometheus-parse` 0.2.5 and `prometheus-scrape` 0.1.1 drop names with
//! a colon, which most of these 435 samples have; `prometheus-exposition-format-rs` 0.1.2 reads them all, a little slower
//! than the one here. That one leaves the values as text.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use intriage_engines::exposition::parse;
use prom_text_format_parser::Scrape;

const SCRAPE: &str = include_str!("data/vllm-0.32.txt");

fn exposition(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("exposition");
    group.throughput(Throughput::Bytes(SCRAPE.len() as u64));
    group.bench_function("intriage", |bench| bench.iter(|| parse(black_box(SCRAPE.as_bytes()))));
    group.bench_function("intriage, and every label", |bench| {
        bench.iter(|| {
            let scrape = parse(black_box(SCRAPE.as_bytes()));
            scrape
                .samples
                .iter()
                .flat_map(|sample| sample.labels)
                .map(|(_, value)| value.len())
                .sum::<usize>()
        });
    });
    group.bench_function("prom_text_format_parser", |bench| bench.iter(|| Scrape::parse(black_box(SCRAPE))));
    group.finish();
}

criterion_group!(benches, exposition);
criterion_main!(benches);
