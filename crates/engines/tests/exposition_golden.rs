//! Reads scrapes as Python's `prometheus_client` does; `golden/make_golden.py` wrote what that makes of them.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

use std::fmt::Write as _;

use intriage_engines::exposition::{Exposition, Format, Labels, Sample, Timestamp, parse};

/// The labels sorted by name, escaped as the formats escape them.
fn labels(labels: Labels<'_>) -> String {
    let mut pairs: Vec<_> = labels.iter().collect();
    pairs.sort();
    let escaped = |value: &str| value.replace('\\', "\\\\").replace('\n', "\\n").replace('"', "\\\"");
    let pairs: Vec<_> = pairs.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
    pairs.join(",")
}

/// A number as both sides can write it: the bits, since Python and Rust write the digits differently.
fn bits(number: f64) -> String {
    if number.is_nan() { "NaN".to_owned() } else { format!("{:016x}", number.to_bits()) }
}

fn time(timestamp: Option<Timestamp>) -> String {
    timestamp.map_or_else(String::new, |time| bits(time.unix_seconds()))
}

fn row(sample: &Sample<'_>) -> String {
    let mut row = format!("{}\t{}\t{}", sample.name, labels(sample.labels), bits(sample.value));
    write!(row, "\t{}\t", time(sample.timestamp)).unwrap();
    if let Some(exemplar) = sample.exemplar {
        write!(row, "{} {} {}", labels(exemplar.labels), bits(exemplar.value), time(exemplar.timestamp))
            .unwrap();
    }
    row
}

/// Replaces the decimal numbers of a golden line by their bits.
fn golden_row(line: &str) -> String {
    let number = |text: &str| if text.is_empty() { String::new() } else { bits(text.parse().expect(text)) };
    let columns: Vec<&str> = line.split('\t').collect();
    let [name, labels, value, timestamp, exemplar] = columns[..] else { panic!("five columns: {line}") };
    let mut row = format!("{name}\t{labels}\t{}\t{}\t", number(value), number(timestamp));
    let parts: Vec<&str> = exemplar.rsplitn(3, ' ').collect();
    if let [timestamp, value, labels] = parts[..] {
        write!(row, "{labels} {} {}", number(value), number(timestamp)).unwrap();
    }
    row
}

fn compare<'a>(scrape: &'a str, golden: &str) -> Exposition<'a> {
    let exposition = parse(scrape.as_bytes());
    assert_eq!(exposition.problem, None);
    let ours: Vec<String> = exposition.samples.iter().map(row).collect();
    let golden: Vec<String> = golden.lines().map(golden_row).collect();
    assert_eq!(ours.len(), golden.len());
    for (ours, golden) in ours.iter().zip(&golden) {
        assert_eq!(ours, golden);
    }
    exposition
}

#[test]
fn a_vllm_scrape_reads_as_in_python() {
    let exposition =
        compare(include_str!("../benches/data/vllm-0.32.txt"), include_str!("golden/vllm-0.32.tsv"));
    assert_eq!((exposition.format, exposition.samples.len()), (Format::Text004, 435));
    assert!(exposition.samples.iter().all(|sample| sample.family.is_some()));
}

#[test]
fn a_llama_cpp_scrape_reads_as_in_python() {
    let exposition = compare(include_str!("golden/llamacpp.txt"), include_str!("golden/llamacpp.tsv"));
    assert_eq!(exposition.format, Format::Text004);
}

#[test]
fn openmetrics_text_reads_as_in_python() {
    let exposition = compare(include_str!("golden/openmetrics.txt"), include_str!("golden/openmetrics.tsv"));
    assert_eq!(exposition.format, Format::OpenMetrics1);
    assert!(exposition.samples.iter().all(|sample| sample.family.is_some()));
    assert!(exposition.samples.iter().any(|sample| sample.exemplar.is_some()));
}
