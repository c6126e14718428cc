//! Our rules against the tools' own code, on the same events: see `tests/data/README.md`.
#![allow(clippy::unwrap_used)]
use std::collections::BTreeMap;

use intriage_case::{Nanos, ObjectiveMetric, Seconds, Statistic};
use serde::Deserialize;

use super::tests::said;
use super::*;
use crate::event::{Chunk, ChunkKind, Outcome};
use crate::figures::tests::request;
use ChunkKind::*;

#[derive(Deserialize)]
struct Fixture {
    requests: Vec<Row>,
    expected: BTreeMap<String, Expected>,
}

#[derive(Deserialize)]
struct Row {
    sent: u64,
    chunks: Vec<(f64, String, u16)>,
    ended: u64,
    status: u16,
}

#[derive(Deserialize)]
struct Expected {
    figures: BTreeMap<String, BTreeMap<String, f64>>,
    totals: BTreeMap<String, f64>,
}

fn finished(place: usize, row: &Row) -> Finished {
    let kind = |word: &str| match word {
        "role" | "finish" => Empty,
        "content" => Content,
        "reasoning" => Reasoning,
        "usage" => Usage,
        "done" => Done,
        _ => ChunkKind::Error,
    };
    let chunks: Vec<Chunk> = (row.chunks.iter())
        .map(|(at, word, tokens)| Chunk {
            at: Nanos::from_seconds(Seconds(at / 1e3)),
            lag: 0,
            bytes: 0,
            kind: kind(word),
            tokens: if kind(word).is_generated() { *tokens } else { 0 },
        })
        .collect();
    let mut request = request(place as u64, row.sent);
    request.ended = Nanos(row.ended * 1_000_000);
    request.status = row.status;
    let usage = row.chunks.iter().find(|c| c.1 == "usage").map(|c| u32::from(c.2));
    request.completion_tokens = usage;
    // What the answer with the error was asked for, see the script.
    request.output = usage.unwrap_or(5);
    let broken = chunks.iter().any(|c| c.kind == ChunkKind::Error);
    request.outcome = match row.status {
        200 if broken => Outcome::ErrorEvent,
        200 => Outcome::Ok,
        _ => Outcome::Status,
    };
    Finished { request, chunks }
}

#[test]
fn the_tools_own_code_says_the_same() {
    let fixture: Fixture = serde_json::from_str(include_str!("../../tests/data/definitions.json")).unwrap();
    let all: Vec<Finished> = fixture.requests.iter().enumerate().map(|(i, row)| finished(i, row)).collect();
    let limit = |metric, limit| Objective { metric, statistic: Statistic::Mean, limit };
    let limits = [
        limit(ObjectiveMetric::Ttft, 0.060),
        limit(ObjectiveMetric::Tpot, 0.025),
        limit(ObjectiveMetric::E2e, 0.170),
    ];
    assert_eq!(fixture.expected.len(), Tool::ALL.len());
    let mut wrong = Vec::new();
    for (name, expected) in &fixture.expected {
        let said = said(name.parse().unwrap(), &all, &limits);
        let mut compare = |what: String, theirs: f64, ours: f64| {
            if (theirs - ours).abs() > 2e-4 * theirs.abs() + 1e-6 {
                wrong.push(format!("{name} {what}: {theirs} by its own code, {ours} by our rules"));
            }
        };
        for (figure, values) in &expected.figures {
            let stats = said.figure(figure).theirs;
            for (statistic, value) in values {
                let mine = match statistic.as_str() {
                    "n" => Some(stats.n as f64),
                    "mean" => stats.mean.map(Seconds::get),
                    "p50" => stats.p50.map(Seconds::get),
                    "p90" => stats.p90.map(Seconds::get),
                    "p95" => stats.p95.map(Seconds::get),
                    _ => stats.p99.map(Seconds::get),
                };
                compare(format!("{figure} {statistic}"), *value, mine.unwrap());
            }
        }
        for (total, value) in &expected.totals {
            compare(total.clone(), *value, said.total(total).theirs.unwrap().value);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
