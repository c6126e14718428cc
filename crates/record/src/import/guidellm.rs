//! GuideLLM's `benchmarks.json`, of 0.7 and 0.8.

use std::collections::BTreeMap;

use intriage_case::Millis;
use serde::Deserialize;

use super::json::{File, MaybeNumber};
use super::request::{
    api, arrival, blank, chunk, count, earliest, failed, header, instant, printed, sent_at, unknown_arrival,
};
use super::{Chunks, Detail, ImportError, Imported, ImportedRun, Printed};
use crate::definitions::Tool;
use crate::event::{ChunkKind, Finished, Outcome};
use crate::header::Arrival;

#[derive(Deserialize)]
struct Document {
    metadata: Metadata,
    benchmarks: Vec<Benchmark>,
}

#[derive(Deserialize)]
struct Metadata {
    guidellm_version: Option<String>,
}

#[derive(Deserialize)]
struct Benchmark {
    config: Option<Config>,
    start_time: Option<f64>,
    requests: Option<ByStatus<Vec<Row>>>,
    #[serde(default)]
    metrics: Metrics,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Metrics {
    request_totals: ByStatus<MaybeNumber>,
    requests_per_second: ByStatus<Summary>,
    output_tokens_per_second: ByStatus<Summary>,
    request_latency: ByStatus<Summary>,
    time_to_first_token_ms: ByStatus<Summary>,
    time_to_first_output_token_ms: Option<ByStatus<Summary>>,
    inter_token_latency_ms: ByStatus<Summary>,
    time_per_output_token_ms: ByStatus<Summary>,
}

#[derive(Deserialize)]
struct Config {
    strategy: Option<Strategy>,
    backend: Option<Backend>,
}

#[derive(Deserialize)]
struct Strategy {
    type_: Option<String>,
    streams: Option<f64>,
    max_concurrency: Option<f64>,
    rate: Option<f64>,
}

#[derive(Deserialize)]
struct Backend {
    target: Option<String>,
    model: Option<String>,
    request_format: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "T: Deserialize<'de> + Default"))]
struct ByStatus<T> {
    successful: T,
    errored: T,
    incomplete: T,
    total: Option<T>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Summary {
    mean: MaybeNumber,
    percentiles: BTreeMap<String, MaybeNumber>,
}

#[derive(Deserialize)]
struct Row {
    response_id: Option<String>,
    info: Info,
    prompt_tokens: Option<f64>,
    output_tokens: Option<f64>,
    cached_tokens: Option<f64>,
}

#[derive(Deserialize)]
struct Info {
    error: Option<String>,
    turn_index: Option<f64>,
    timings: Timings,
}

#[derive(Deserialize)]
struct Timings {
    targeted_start: Option<f64>,
    request_start: Option<f64>,
    resolve_start: Option<f64>,
    first_token_iteration: Option<f64>,
    first_output_token_iteration: Option<f64>,
    last_token_iteration: Option<f64>,
    request_end: Option<f64>,
    resolve_end: Option<f64>,
}

pub(super) fn read(file: &File<'_>) -> Result<Imported, ImportError> {
    let document: Document = match file.documents().next() {
        Some(document) => document?,
        None => return Err(file.value("file", "it is empty")),
    };
    let version = document.metadata.guidellm_version;
    let mut runs = Vec::new();
    for (place, benchmark) in document.benchmarks.into_iter().enumerate() {
        let mut header = header(Tool::Guidellm, version.as_deref());
        header.started = Millis((benchmark.start_time.unwrap_or(0.0).max(0.0) * 1e3) as u64);
        let config = benchmark.config;
        let (strategy, backend) = config.map_or((None, None), |c| (c.strategy, c.backend));
        header.declared.arrival = strategy.as_ref().map_or_else(unknown_arrival, Strategy::arrival);
        if let Some(backend) = backend {
            header.url = backend.target.unwrap_or_default();
            header.model = backend.model.unwrap_or_default();
            header.api = api(&backend.request_format.unwrap_or_default());
        }
        let planned = header.declared.arrival.is_open() && header.declared.arrival != unknown_arrival();
        let requests = match &benchmark.requests {
            Some(rows) => requests(file, place + 1, rows, planned)?,
            None => Vec::new(),
        };
        runs.push(ImportedRun {
            header,
            detail: Detail {
                chunks: if requests.is_empty() { Chunks::None } else { Chunks::Ends },
                starts: true,
            },
            requests,
            said: sums(&benchmark.metrics),
            notes: vec![
                "GuideLLM keeps the first and the last chunk of an answer alone: gaps between tokens are means of an answer".to_owned(),
            ],
        });
    }
    Ok(Imported { tool: Tool::Guidellm, version, runs })
}

impl Strategy {
    fn arrival(&self) -> Arrival {
        let most = count(self.max_concurrency);
        match self.type_.as_deref() {
            Some("synchronous") => Arrival::Closed { concurrency: 1 },
            Some("concurrent" | "throughput") => arrival(None, "", count(self.streams).or(most), None),
            Some(shape @ ("constant" | "poisson")) => arrival(self.rate, shape, None, None),
            _ => unknown_arrival(),
        }
    }
}

fn sums(metrics: &Metrics) -> Vec<Printed> {
    let totals = &metrics.request_totals;
    let tokens = metrics.output_tokens_per_second.total.as_ref().and_then(|s| s.mean.0);
    let singles = [
        ("Requests successful", totals.successful.0, "requests"),
        ("Requests errored", totals.errored.0, "requests"),
        ("Requests Per Sec (successful)", metrics.requests_per_second.successful.mean.0, "req/s"),
        ("Output Tokens Per Sec", tokens, "tok/s"),
    ];
    let times = [
        ("Request Latency", Some(&metrics.request_latency), "s"),
        ("TTFT", Some(&metrics.time_to_first_token_ms), "ms"),
        ("TTFOT", metrics.time_to_first_output_token_ms.as_ref(), "ms"),
        ("ITL", Some(&metrics.inter_token_latency_ms), "ms"),
        ("TPOT", Some(&metrics.time_per_output_token_ms), "ms"),
    ];
    let mut said: Vec<Printed> =
        singles.iter().filter_map(|(name, value, unit)| Some(printed(name, "", (*value)?, unit))).collect();
    for (name, summary, unit) in times {
        let Some(summary) = summary.map(|s| &s.successful) else { continue };
        said.extend(summary.mean.0.map(|value| printed(name, "mean", value, unit)));
        for (percentile, value) in &summary.percentiles {
            said.extend(value.0.map(|value| printed(name, percentile, value, unit)));
        }
    }
    said
}

fn requests(
    file: &File<'_>,
    benchmark: usize,
    rows: &ByStatus<Vec<Row>>,
    planned: bool,
) -> Result<Vec<Finished>, ImportError> {
    let all =
        [("successful", &rows.successful), ("errored", &rows.errored), ("incomplete", &rows.incomplete)];
    let begun = |t: &Timings| t.request_start.or(t.resolve_start).or(t.resolve_end);
    let due = |t: &Timings| t.targeted_start.filter(|_| planned).or_else(|| begun(t));
    let every = || all.iter().flat_map(|(_, rows)| rows.iter());
    let zero = earliest(every().flat_map(|r| [due(&r.info.timings), begun(&r.info.timings)]).flatten());
    let mut requests = Vec::with_capacity(every().count());
    for (status, rows) in all {
        for (place, row) in rows.iter().enumerate() {
            let called =
                |what: &str| format!("benchmark {benchmark}, {status} request {}, {what}", place + 1);
            let at = |what: &str, time: Option<f64>| {
                time.map(|time| instant(file, called(what), time, zero)).transpose()
            };
            let timings = &row.info.timings;
            let mut finished = blank(requests.len() as u64);
            sent_at(&mut finished, at("request_start", begun(timings))?.unwrap_or_default());
            finished.request.planned = at("targeted_start", due(timings))?.unwrap_or(finished.request.sent);
            finished.request.ended = at("request_end", timings.request_end.or(timings.resolve_end))?
                .unwrap_or(finished.request.sent);
            let first = at("first_token_iteration", timings.first_token_iteration)?;
            let output = at("first_output_token_iteration", timings.first_output_token_iteration)?;
            let last = at("last_token_iteration", timings.last_token_iteration)?;
            if let Some(first) = first {
                let kind = if output == Some(first) { ChunkKind::Content } else { ChunkKind::Reasoning };
                // Releases before TTFOT do not tell one from the other.
                let kind = if output.is_none() { ChunkKind::Content } else { kind };
                finished.chunks.push(chunk(first, kind));
                let later = output.filter(|at| *at > first && last.is_none_or(|last| *at < last));
                finished.chunks.extend(later.map(|at| chunk(at, ChunkKind::Content)));
                finished.chunks.extend(last.filter(|at| *at > first).map(|at| chunk(at, ChunkKind::Content)));
            }
            finished.request.turn = count(row.info.turn_index).unwrap_or(0);
            finished.request.prompt_tokens = count(row.prompt_tokens);
            finished.request.cached_tokens = count(row.cached_tokens);
            finished.request.answer_id = row.response_id.clone().unwrap_or_default();
            match status {
                "successful" => {
                    finished.request.status = 200;
                    finished.request.completion_tokens = count(row.output_tokens);
                }
                "errored" => failed(&mut finished, row.info.error.as_deref().unwrap_or_default()),
                _ => finished.request.outcome = Outcome::Unfinished,
            }
            requests.push(finished);
        }
    }
    Ok(requests)
}
