//! AIPerf's `profile_export.jsonl` (a request a line) and `profile_export_aiperf.json` (sums).

use std::collections::BTreeMap;

use intriage_case::{Millis, Nanos};
use serde::Deserialize;
use serde_json::Value;

use super::json::File;
use super::request::{arrival, blank, chunk, count, failed, header, printed, sent_at, time, unknown_arrival};
use super::{Chunks, Detail, ImportError, Imported, ImportedRun, Printed};
use crate::definitions::Tool;
use crate::event::{ChunkKind, Finished, Outcome};

#[derive(Deserialize)]
struct Row {
    metadata: Metadata,
    #[serde(default)]
    metrics: Metrics,
    error: Option<Failure>,
}

#[derive(Deserialize)]
struct Metadata {
    request_start_ns: u64,
    request_end_ns: Option<u64>,
    credit_issued_ns: Option<u64>,
    benchmark_phase: Option<String>,
    was_cancelled: Option<bool>,
    turn_index: Option<u32>,
    session_num: Option<u64>,
    x_request_id: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Metrics {
    time_to_first_token: Option<Measured<f64>>,
    time_to_first_output_token: Option<Measured<f64>>,
    inter_chunk_latency: Option<Measured<Vec<f64>>>,
    request_latency: Option<Measured<f64>>,
    output_sequence_length: Option<Measured<f64>>,
    usage_completion_tokens: Option<Measured<f64>>,
    usage_prompt_tokens: Option<Measured<f64>>,
    input_sequence_length: Option<Measured<f64>>,
}

#[derive(Deserialize)]
struct Measured<T> {
    value: T,
    #[serde(default)]
    unit: String,
}

#[derive(Deserialize)]
struct Failure {
    code: Option<u16>,
    #[serde(rename = "type")]
    kind: Option<String>,
    message: Option<String>,
}

/// Seconds of one of a unit of time.
fn seconds(file: &File<'_>, place: &str, unit: &str) -> Result<f64, ImportError> {
    match unit {
        "ns" => Ok(1e-9),
        "us" => Ok(1e-6),
        "ms" => Ok(1e-3),
        "s" | "sec" => Ok(1.0),
        other => Err(file.value(place, format!("'{other}' is no unit of time: ns, us, ms, sec"))),
    }
}

pub(super) fn read_records(file: &File<'_>) -> Result<Imported, ImportError> {
    let rows: Vec<Row> = file.documents().collect::<Result<_, _>>()?;
    let due =
        |row: &Row| row.metadata.credit_issued_ns.unwrap_or(u64::MAX).min(row.metadata.request_start_ns);
    let zero = rows.iter().map(due).min().unwrap_or(0);
    let mut requests = Vec::with_capacity(rows.len());
    for (place, row) in rows.iter().enumerate() {
        requests.push(request(file, place, row, zero)?);
    }
    let mut header = header(Tool::Aiperf, None);
    header.started = Millis(zero / 1_000_000);
    let every = rows.iter().any(|r| r.metrics.inter_chunk_latency.is_some());
    let mut notes = Vec::new();
    if rows.iter().any(|r| r.error.is_none() && r.metrics.usage_completion_tokens.is_none()) {
        notes.push("the server told no counts: tokens are those of AIPerf's own tokenizer".to_owned());
    }
    let detail = Detail { chunks: if every { Chunks::Every } else { Chunks::Ends }, starts: true };
    let run = ImportedRun { header, detail, requests, said: Vec::new(), notes };
    Ok(Imported { tool: Tool::Aiperf, version: None, runs: vec![run] })
}

fn request(file: &File<'_>, place: usize, row: &Row, zero: u64) -> Result<Finished, ImportError> {
    let called = |what: &str| format!("line {}, {what}", place + 1);
    let (metadata, metrics) = (&row.metadata, &row.metrics);
    let since = |ns: u64| Nanos(ns.saturating_sub(zero));
    let lasting = |what: &str, measured: &Option<Measured<f64>>| {
        let Some(measured) = measured else { return Ok(None) };
        time(file, called(what), measured.value * seconds(file, &called(what), &measured.unit)?).map(Some)
    };
    let mut finished = blank(place as u64);
    sent_at(&mut finished, since(metadata.request_start_ns));
    let sent = finished.request.sent;
    finished.request.planned = metadata.credit_issued_ns.map_or(sent, |ns| since(ns).min(sent));
    finished.request.warmup = metadata.benchmark_phase.as_deref() == Some("warmup");
    finished.request.turn = metadata.turn_index.unwrap_or(0);
    finished.request.session = metadata.session_num.unwrap_or(place as u64);
    finished.request.answer_id = metadata.x_request_id.clone().unwrap_or_default();
    let output = lasting("time_to_first_output_token", &metrics.time_to_first_output_token)?;
    let last = lasting("request_latency", &metrics.request_latency)?;
    if let Some(first) = lasting("time_to_first_token", &metrics.time_to_first_token)? {
        let reasons_until = output.map_or(sent, |output| sent + output);
        let kind = |at: Nanos| if at < reasons_until { ChunkKind::Reasoning } else { ChunkKind::Content };
        let mut now = sent + first;
        finished.chunks.push(chunk(now, kind(now)));
        if let Some(gaps) = &metrics.inter_chunk_latency {
            let unit = seconds(file, &called("inter_chunk_latency"), &gaps.unit)?;
            for gap in &gaps.value {
                now = now + time(file, called("inter_chunk_latency"), gap * unit)?;
                finished.chunks.push(chunk(now, kind(now)));
            }
        } else if let Some(last) = last.filter(|last| *last > first) {
            finished.chunks.push(chunk(sent + last, ChunkKind::Content));
        }
    }
    let last_chunk = finished.chunks.last().map_or(sent, |c| c.at);
    finished.request.ended = metadata.request_end_ns.map_or(last_chunk, |ns| since(ns).max(last_chunk));
    let number = |own: &Option<Measured<f64>>| count(own.as_ref().map(|m| m.value));
    finished.request.input = number(&metrics.input_sequence_length);
    finished.request.prompt_tokens = number(&metrics.usage_prompt_tokens);
    if let Some(error) = &row.error {
        let text = [error.kind.as_deref(), error.message.as_deref()];
        failed(&mut finished, &text.into_iter().flatten().collect::<Vec<_>>().join(": "));
        finished.request.status = error.code.unwrap_or(finished.request.status);
    } else if metadata.was_cancelled == Some(true) {
        finished.request.outcome = Outcome::Unfinished;
    } else {
        finished.request.status = 200;
        let own = number(&metrics.output_sequence_length);
        finished.request.completion_tokens = number(&metrics.usage_completion_tokens).or(own);
        if finished.chunks.is_empty() {
            finished.request.outcome = Outcome::NoTokens;
        }
    }
    Ok(finished)
}

/// Its sums as keys and names in the definitions.
const SUMS: [(&str, &str); 14] = [
    ("time_to_first_token", "Time to First Token"),
    ("time_to_second_token", "Time to Second Token"),
    ("time_to_first_output_token", "Time to First Output Token"),
    ("request_latency", "Request Latency"),
    ("inter_token_latency", "Inter Token Latency"),
    ("inter_chunk_latency", "Inter Chunk Latency"),
    ("request_count", "Request Count"),
    ("error_request_count", "Error Request Count"),
    ("benchmark_duration", "Benchmark Duration (sec)"),
    ("total_osl", "Total Output Sequence Length"),
    ("request_throughput", "Request Throughput (requests/sec)"),
    ("output_token_throughput", "Output Token Throughput (tokens/sec)"),
    ("goodput", "Goodput (requests/sec)"),
    ("good_request_fraction", "GoodRequestFraction"),
];

pub(super) fn read_sums(file: &File<'_>) -> Result<Imported, ImportError> {
    let document: BTreeMap<String, Value> = match file.documents().next() {
        Some(document) => document?,
        None => return Err(file.value("file", "it is empty")),
    };
    let version = document.get("aiperf_version").and_then(Value::as_str).map(str::to_owned);
    let mut header = header(Tool::Aiperf, version.as_deref());
    let config = document.get("input_config").unwrap_or(&Value::Null);
    let word = |at: &str| config.pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned();
    header.model = word("/models/items/0/name");
    header.url = word("/endpoint/urls/0");
    header.api = word("/endpoint/type");
    let phases = config.get("phases").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let profiling = phases.iter().rfind(|p| p.get("kind").and_then(Value::as_str) == Some("profiling"));
    header.declared.arrival = profiling.map_or_else(unknown_arrival, |phase| {
        let number = |key: &str| phase.get(key).and_then(Value::as_f64);
        let shape = phase.get("type").and_then(Value::as_str).unwrap_or("unknown");
        arrival(number("rate"), shape, count(number("concurrency")), None)
    });
    let mut said = Vec::new();
    for (key, name) in SUMS {
        said.extend(document.get(key).into_iter().flat_map(|figure| statistics(name, figure)));
    }
    let detail = Detail { chunks: Chunks::None, starts: false };
    let run = ImportedRun { header, detail, requests: Vec::new(), said, notes: Vec::new() };
    Ok(Imported { tool: Tool::Aiperf, version, runs: vec![run] })
}

/// The statistics of one figure: `avg`, `p50` and so on beside their unit.
fn statistics(name: &str, figure: &Value) -> Vec<Printed> {
    let unit = figure.get("unit").and_then(Value::as_str).unwrap_or_default();
    let values = figure.as_object().into_iter().flatten();
    let numbers: Vec<(&str, f64)> = values.filter_map(|(k, v)| Some((k.as_str(), v.as_f64()?))).collect();
    let single = matches!(numbers.as_slice(), [("avg", _)]);
    let word = |key| match key {
        "avg" if single => "",
        "avg" => "mean",
        other => other,
    };
    numbers.iter().map(|(key, value)| printed(name, word(*key), *value, unit)).collect()
}
