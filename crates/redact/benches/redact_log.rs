//! How fast a real vLLM log and a real metrics page are redacted. `cargo bench -p intriage-redact` prints MB/s.

use std::fs;
use std::hint::black_box;
use std::path::Path;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use intriage_redact::Redactor;

/// Lines of one kind, each with something to hide: the dear case.
const REQUESTS: &str = "(APIServer pid=7) INFO 11-15 02:47:32 [logger.py:41] Received request cmpl-1: prompt: 'Who is it, and why?', \
    params: SamplingParams(n=1, temperature=0.7, max_tokens=200), prompt_token_ids: [6526, 349, 272, 4951], lora_request: None.\n\
    INFO:     10.80.23.18:51408 - \"POST /v1/chat/completions?api_key=letmein HTTP/1.1\" 200 OK\n";

fn redact_log(criterion: &mut Criterion) {
    let recording =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/recordings/vllm-h200-longprompt2");
    let log = fs::read_to_string(recording.join("server.log")).unwrap_or_default();
    let mut pages: Vec<_> = fs::read_dir(recording.join("metrics"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    pages.sort();
    let page = pages.last().and_then(|page| fs::read(page).ok()).unwrap_or_default();
    let requests = REQUESTS.repeat(200);
    let redactor = Redactor::new();
    let mut group = criterion.benchmark_group("redact_log");
    for (name, text) in [("a vLLM log", &log), ("a log of requests", &requests)] {
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(name, |bench| bench.iter(|| redactor.text(black_box(text)).len()));
    }
    group.throughput(Throughput::Bytes(page.len() as u64));
    group
        .bench_function("a metrics page", |bench| bench.iter(|| redactor.exposition(black_box(&page)).len()));
    group.finish();
}

criterion_group!(benches, redact_log);
criterion_main!(benches);
