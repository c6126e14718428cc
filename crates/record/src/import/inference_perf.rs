//! inference-perf's `per_request_lifecycle_metrics.json` (a list) and its summaries of a run or a stage.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::json::File;
use super::request::{arrival, blank, chunk, count, earliest, failed, header, instant, printed, sent_at};
use super::{Chunks, Detail, ImportError, Imported, ImportedRun, Printed};
use crate::definitions::Tool;
use crate::event::{ChunkKind, Finished};

#[derive(Deserialize)]
struct Row {
    start_time: f64,
    end_time: f64,
    info: Option<Info>,
    error: Option<Failure>,
}

#[derive(Deserialize)]
struct Info {
    input_tokens: Option<f64>,
    response_metrics: Option<Answer>,
}

#[derive(Deserialize)]
struct Answer {
    output_tokens: Option<f64>,
    server_usage: Option<Usage>,
    chunk_times: Option<Vec<f64>>,
    output_token_times: Option<Vec<f64>>,
}

#[derive(Deserialize)]
struct Usage {
    prompt_tokens: Option<f64>,
    completion_tokens: Option<f64>,
    prompt_tokens_details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    cached_tokens: Option<f64>,
}

#[derive(Deserialize)]
struct Failure {
    error_type: Option<String>,
    error_msg: Option<String>,
}

pub(super) fn read_requests(file: &File<'_>) -> Result<Imported, ImportError> {
    let mut rows: Vec<Row> = Vec::new();
    for document in file.documents::<Vec<Row>>() {
        rows.extend(document?);
    }
    let zero = earliest(rows.iter().map(|r| r.start_time));
    let mut requests = Vec::with_capacity(rows.len());
    for (place, row) in rows.iter().enumerate() {
        requests.push(request(file, place, row, zero)?);
    }
    let told =
        |row: &Row| row.info.as_ref()?.response_metrics.as_ref()?.server_usage.as_ref()?.completion_tokens;
    let mut notes = vec![
        "inference-perf keeps chunks of the answer alone: a first token of reasoning is not in it".to_owned(),
    ];
    if rows.iter().any(|r| r.error.is_none() && told(r).is_none()) {
        notes
            .push("the server told no counts: tokens are those of inference-perf's own tokenizer".to_owned());
    }
    let every = requests.iter().any(|r: &Finished| !r.chunks.is_empty());
    let detail = Detail { chunks: if every { Chunks::Every } else { Chunks::None }, starts: true };
    let header = header(Tool::InferencePerf, None);
    let run = ImportedRun { header, detail, requests, said: Vec::new(), notes };
    Ok(Imported { tool: Tool::InferencePerf, version: None, runs: vec![run] })
}

fn request(file: &File<'_>, place: usize, row: &Row, zero: f64) -> Result<Finished, ImportError> {
    let at = |what: &str, time: f64| instant(file, format!("request {}, {what}", place + 1), time, zero);
    let mut finished = blank(place as u64);
    sent_at(&mut finished, at("start_time", row.start_time)?);
    finished.request.ended = at("end_time", row.end_time)?;
    let answer = row.info.as_ref().and_then(|info| info.response_metrics.as_ref());
    // Tokens of a chunk share its instant: without times of chunks each instant is one.
    let times = answer.and_then(|a| a.chunk_times.as_ref().or(a.output_token_times.as_ref()));
    for time in times.into_iter().flatten() {
        let now = at("chunk_times", *time)?;
        if finished.chunks.last().is_none_or(|before| before.at != now) {
            finished.chunks.push(chunk(now, ChunkKind::Content));
        }
    }
    let usage = answer.and_then(|a| a.server_usage.as_ref());
    let input = row.info.as_ref().and_then(|info| info.input_tokens);
    finished.request.prompt_tokens = count(usage.and_then(|u| u.prompt_tokens).or(input));
    finished.request.cached_tokens =
        count(usage.and_then(|u| u.prompt_tokens_details.as_ref()?.cached_tokens));
    if let Some(error) = &row.error {
        let text = [error.error_type.as_deref(), error.error_msg.as_deref()];
        failed(&mut finished, &text.into_iter().flatten().collect::<Vec<_>>().join(": "));
    } else {
        finished.request.status = 200;
        let own = answer.and_then(|a| a.output_tokens);
        finished.request.completion_tokens = count(usage.and_then(|u| u.completion_tokens).or(own));
    }
    Ok(finished)
}

/// Its sums as places and names in the definitions.
const SUMS: [(&str, &str, &str); 12] = [
    ("/successes/latency/request_latency", "request_latency", "s"),
    ("/successes/latency/time_to_first_token", "time_to_first_token", "s"),
    ("/successes/latency/time_per_output_token", "time_per_output_token", "s"),
    ("/successes/latency/inter_token_latency", "inter_token_latency", "s"),
    ("/successes/latency/normalized_time_per_output_token", "normalized_time_per_output_token", "s"),
    ("/successes/count", "successes.count", "requests"),
    ("/failures/count", "failures.count", "requests"),
    ("/benchmark_time_seconds", "benchmark_time_seconds", "s"),
    ("/successes/throughput/requests_per_sec", "requests_per_sec", "req/s"),
    ("/successes/throughput/output_tokens_per_sec", "output_tokens_per_sec", "tok/s"),
    ("/successes/goodput_metrics/request_goodput", "request_goodput", "req/s"),
    ("/successes/goodput_metrics/goodput_percentage", "goodput_percentage", "%"),
];

pub(super) fn read_sums(file: &File<'_>) -> Result<Imported, ImportError> {
    let mut runs = Vec::new();
    for document in file.documents::<BTreeMap<String, Value>>() {
        let document = Value::Object(document?.into_iter().collect());
        let mut header = header(Tool::InferencePerf, None);
        let number = |at: &str| document.pointer(at).and_then(Value::as_f64);
        header.declared.arrival = arrival(
            number("/load_summary/requested_rate"),
            "unknown",
            count(number("/load_summary/concurrency")),
            None,
        );
        let said = SUMS.iter().flat_map(|(at, name, unit)| {
            document.pointer(at).map(|value| statistics(name, unit, value)).unwrap_or_default()
        });
        runs.push(ImportedRun {
            header,
            detail: Detail { chunks: Chunks::None, starts: false },
            requests: Vec::new(),
            said: said.collect(),
            notes: Vec::new(),
        });
    }
    Ok(Imported { tool: Tool::InferencePerf, version: None, runs })
}

fn statistics(name: &str, unit: &str, value: &Value) -> Vec<Printed> {
    if let Some(number) = value.as_f64() {
        return vec![printed(name, "", number, unit)];
    }
    let word = |key: &str| if key == "median" { "p50".to_owned() } else { key.to_owned() };
    let all = value.as_object().into_iter().flatten();
    all.filter_map(|(key, value)| Some(printed(name, &word(key), value.as_f64()?, unit))).collect()
}
