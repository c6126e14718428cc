//! What is in a case, without judging it: what `intriage case show` tells.

use std::collections::BTreeMap;

use intriage_case::{Bytes, Case, Collected, Millis, Route, Seconds};
use intriage_engines::{Model, Observed, read};
use schemars::JsonSchema;
use serde::Serialize;

use crate::diagnosis::EngineSummary;
use crate::judge::engine_summary;

/// The version of the contents' format.
pub const CONTENTS_SCHEMA: &str = "intriage.contents/1";

/// What a case holds.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Contents {
    /// Always `intriage.contents/1`.
    pub schema: String,
    /// The version that read it.
    pub intriage: String,
    /// What was looked at.
    pub target: String,
    /// Which engine answered.
    pub engine: EngineSummary,
    /// What the model's files tell.
    pub model: Option<Model>,
    /// The earliest reading, in milliseconds since the Unix epoch.
    pub start: Option<Millis>,
    /// The latest reading.
    pub end: Option<Millis>,
    /// From the first to the last of them.
    pub seconds: Seconds,
    /// Scrapes of the metrics that brought something.
    pub scrapes: u32,
    /// Scrapes that failed.
    pub failed_scrapes: u32,
    /// Other endpoints that answered.
    pub endpoints: Vec<String>,
    /// Logs.
    pub logs: Vec<LogEntry>,
    /// Whether the server's command line is known.
    pub command_line: bool,
    /// The serving machine; null where it was not looked at.
    pub host: Option<HostEntry>,
    /// The GPUs; null where none were seen.
    pub gpu: Option<GpuEntry>,
    /// Ways to the server that were probed.
    pub paths: Vec<PathEntry>,
    /// Requests as their client saw them.
    pub client_requests: u32,
    /// Objectives the case is judged by.
    pub objectives: Vec<String>,
    /// What each collector brought, what was skipped and why.
    pub collected: Vec<Collected>,
    /// What its collector wants a reader to know.
    pub notes: Vec<String>,
    /// Whether its writer says that it was made safe.
    pub redacted: bool,
    /// What a fresh look would still hide, by rule; empty in a case that is safe. Filled by who reads the case.
    pub would_hide: BTreeMap<String, u64>,
    /// Other servers of the same deployment in it.
    pub replicas: Vec<ReplicaEntry>,
}

/// A log.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LogEntry {
    /// Its name in the case.
    pub name: String,
    /// Its size.
    pub size: Bytes,
    /// Its lines.
    pub lines: u32,
}

/// The serving machine.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HostEntry {
    /// Looks at it.
    pub snapshots: u32,
    /// Its processor.
    pub cpu: Option<String>,
    /// Logical CPUs that are online.
    pub cpus: Option<u32>,
    /// Its memory.
    pub memory: Option<Bytes>,
    /// Its kernel.
    pub kernel: Option<String>,
    /// Serving processes found.
    pub processes: u32,
    /// Files that could not be read.
    pub denied: u32,
}

/// The GPUs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct GpuEntry {
    /// Who was asked.
    pub source: String,
    /// Names of the cards, one each.
    pub cards: Vec<String>,
    /// The driver's version.
    pub driver: Option<String>,
    /// Samples over the window.
    pub samples: u32,
}

/// A way to the server.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PathEntry {
    /// Its address.
    pub url: String,
    /// Straight, or through a hop.
    pub route: Route,
    /// Answers streamed over it.
    pub streams: u32,
    /// Why it could not be asked.
    pub error: Option<String>,
}

/// Another server in the case.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ReplicaEntry {
    /// Its name in the case.
    pub name: String,
    /// What it holds.
    pub contents: Contents,
}

/// Looks into a case.
pub fn contents(case: &Case) -> Contents {
    let observed = read(case);
    let span = span(case);
    let failed = case.scrapes.iter().filter(|s| s.body().is_none()).count();
    Contents {
        schema: CONTENTS_SCHEMA.into(),
        intriage: env!("CARGO_PKG_VERSION").into(),
        target: case.target.name.clone(),
        engine: engine_summary(&observed),
        start: span.map(|(start, _)| Millis(start)),
        end: span.map(|(_, end)| Millis(end)),
        seconds: Seconds(span.map_or(0.0, |(start, end)| (end - start) as f64 / 1e3)),
        scrapes: (case.scrapes.len() - failed) as u32,
        failed_scrapes: failed as u32,
        endpoints: case.endpoints.keys().cloned().collect(),
        logs: case.logs.iter().map(log).collect(),
        command_line: case.command_line.is_some(),
        host: host(&observed),
        gpu: gpu(&observed),
        paths: case.paths.iter().map(path).collect(),
        client_requests: case.client.len() as u32,
        objectives: case.intent.objectives.iter().map(ToString::to_string).collect(),
        collected: case.collected.clone(),
        notes: case.notes.clone(),
        redacted: case.redacted,
        would_hide: BTreeMap::new(),
        replicas: case
            .replicas
            .iter()
            .map(|r| ReplicaEntry { name: r.name.clone(), contents: contents(&r.case) })
            .collect(),
        model: observed.model,
    }
}

/// First and last time anything was read, in Unix milliseconds.
fn span(case: &Case) -> Option<(u64, u64)> {
    let times = case.scrapes.iter().map(|s| s.at.0);
    let times = times.chain(case.host.iter().map(|s| s.at.0)).chain(case.client.iter().map(|c| c.sent.0));
    let samples = case.gpu.survey.iter().flat_map(|s| &s.samples).filter_map(|s| Some(s.at?.0));
    times.chain(samples).fold(None, |span, t| {
        Some(span.map_or((t, t), |(start, end): (u64, u64)| (start.min(t), end.max(t))))
    })
}

fn log(log: &intriage_case::LogText) -> LogEntry {
    LogEntry {
        name: log.name.clone(),
        size: Bytes(log.text.len() as f64),
        lines: log.text.lines().count() as u32,
    }
}

fn path(path: &intriage_case::PathProbe) -> PathEntry {
    PathEntry {
        url: path.url.clone(),
        route: path.route,
        streams: (path.streams.len() + path.held.len()) as u32,
        error: path.error.clone(),
    }
}

fn host(observed: &Observed) -> Option<HostEntry> {
    let host = observed.host.as_ref()?;
    Some(HostEntry {
        snapshots: host.snapshots as u32,
        cpu: host.cpu.model.clone(),
        cpus: host.cpu.online,
        memory: host.memory.total,
        kernel: host.kernel.release.clone(),
        processes: host.processes.len() as u32,
        denied: host.denied.len() as u32,
    })
}

fn gpu(observed: &Observed) -> Option<GpuEntry> {
    let gpu = &observed.gpu;
    if gpu.cards.is_empty() && gpu.samples.is_empty() {
        return None;
    }
    let name = |card: &intriage_case::gpu::GpuCard| card.name.clone().unwrap_or_else(|| "unknown".into());
    let source = if gpu.source.is_empty() { &gpu.samples_source } else { &gpu.source };
    Some(GpuEntry {
        source: source.clone(),
        cards: gpu.cards.iter().map(name).collect(),
        driver: gpu.driver.clone(),
        samples: gpu.samples.len() as u32,
    })
}

#[cfg(test)]
mod tests {
    use intriage_case::{LogText, Replica, Scrape, ScrapeOutcome};

    use super::*;

    #[test]
    fn a_case_tells_its_span_its_logs_and_its_replicas() {
        let scrape = |at| Scrape {
            at: Millis(at),
            outcome: ScrapeOutcome::Body(b"vllm:num_requests_running 1\n".to_vec()),
        };
        let failed = Scrape { at: Millis(9_000), outcome: ScrapeOutcome::Failed("refused".into()) };
        let inner = Case { scrapes: vec![scrape(1)], ..Case::default() };
        let case = Case {
            scrapes: vec![scrape(1_000), scrape(4_000), failed],
            logs: vec![LogText { name: "server.log".into(), text: "one\ntwo\n".into() }],
            replicas: vec![Replica { name: "b".into(), case: inner }],
            ..Case::default()
        };
        let told = contents(&case);
        assert_eq!((told.scrapes, told.failed_scrapes, told.seconds), (2, 1, Seconds(8.0)));
        assert_eq!((told.logs[0].lines, told.logs[0].size), (2, Bytes(8.0)));
        assert_eq!(told.engine.name.as_deref(), Some("vllm"));
        assert_eq!((told.replicas[0].contents.scrapes, told.host, told.gpu), (1, None, None));
    }
}
