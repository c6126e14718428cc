//! The story of a log: what it is of, whether it came up, what it served, when and how it ended, and what ended it.

mod words;

use std::collections::BTreeMap;

use intriage_case::{Seconds, Signal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::meaning::Meaning;
use super::readings::{LogEvent, LogReadings};
use crate::observed::Observed;

/// What a log tells of the last process in it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LogStory {
    /// When the process began, as the log dates it; without a year where the log has none.
    pub began: Option<String>,
    /// Engine and version.
    pub engine: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The card.
    pub card: Option<String>,
    /// Flags it was started with, at most eight, each with its value.
    pub flags: Vec<String>,
    /// How often the engine was started in it.
    pub starts: u32,
    /// Whether it came up; null where the log does not tell.
    pub came_up: Option<bool>,
    /// Seconds from its first line until it took requests.
    pub seconds_to_ready: Option<f64>,
    /// Answers to inference requests by HTTP status.
    pub answers: BTreeMap<u16, u64>,
    /// Most requests that ran at once.
    pub peak_running: Option<f64>,
    /// Most requests that waited at once.
    pub peak_waiting: Option<f64>,
    /// Generated tokens a second, on average over the lines with requests running.
    pub tokens_per_second: Option<f64>,
    /// How it ended.
    pub end: LogEnd,
    /// The stamp of the log's last line.
    pub last_heard: Option<String>,
    /// The first line that ends a server; what follows is its echo.
    pub first_fatal: Option<FatalLine>,
    /// The exception that all others follow from.
    pub root: Option<RootError>,
}

/// How a process ended, as its log tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogEnd {
    /// It runs at the end of the log, or nothing tells of its end.
    #[default]
    Unknown,
    /// Somebody asked it to stop, and it did.
    Stopped,
    /// It was killed from outside.
    Killed,
    /// It died while it served.
    Crashed,
    /// It did not get through its start.
    FailedStart,
}

/// A line of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FatalLine {
    /// The log's name.
    pub file: String,
    /// Its number, from 1.
    pub line: u32,
    /// What it says, shortened.
    pub says: String,
}

/// An exception, with the place and the rank that threw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RootError {
    /// Its type.
    pub kind: String,
    /// Its message.
    pub message: String,
    /// The innermost frame inside the engine's package, such as `vllm/v1/engine/core.py:700 in run_engine_core`.
    pub place: Option<String>,
    /// The process that said it.
    pub process: Option<String>,
    /// Its rank.
    pub rank: Option<String>,
    /// The log's name.
    pub file: String,
    /// The line of its words.
    pub line: u32,
    /// In one line.
    pub says: String,
}

/// How many flags are told.
const FLAGS: usize = 8;

impl LogStory {
    /// The story of a case's log; `None` where there is no log of an engine.
    pub fn of(o: &Observed) -> Option<Self> {
        let log = &o.log;
        let tells = o.identity.engine.is_some() || !log.thrown.is_empty() || first_fatal(log).is_some();
        if !log.present || !tells {
            return None;
        }
        let version = o.identity.version.as_ref().map_or(String::new(), |version| format!(" {version}"));
        let engine = o.identity.engine.map(|engine| format!("{engine}{version}"));
        let peak = |signal| {
            let known = log.signal(signal)?;
            known.known().map(|(_, value)| value).reduce(f64::max)
        };
        let fatal = first_fatal(log);
        let serving = log.root().is_some_and(|root| root.starting == Some(false));
        let came_up = if log.is_up() || serving { Some(true) } else { fatal.map(|_| false) };
        let end = end(log, came_up);
        let ready = log.span.ready.zip(log.span.began).and_then(|(ready, began)| ready.after(began));
        Some(Self {
            began: log.span.began.map(|at| at.to_string()),
            engine,
            model: model(o),
            card: o.gpu.name.clone(),
            flags: flags(o),
            starts: 1 + log.events.iter().map(|event| event.starts_since).max().unwrap_or(0),
            came_up,
            seconds_to_ready: ready.map(Seconds::get),
            answers: log.answers.clone(),
            peak_running: peak(Signal::RequestsRunning),
            peak_waiting: peak(Signal::RequestsWaiting),
            tokens_per_second: pace(log),
            end,
            last_heard: log.span.ended.map(|at| at.to_string()),
            first_fatal: fatal.map(|event| FatalLine {
                file: event.file.clone(),
                line: event.line,
                says: event.excerpt.clone(),
            }),
            root: log.root().map(|root| RootError {
                kind: root.kind.clone(),
                message: root.message.clone(),
                place: root.place(),
                process: root.process.clone(),
                rank: root.rank.clone(),
                file: root.file.clone(),
                line: root.told_line,
                says: root.says(),
            }),
        })
    }
}

/// Lines that end a server, or say that it ended.
fn is_fatal(meaning: Meaning) -> bool {
    use Meaning::*;
    matches!(
        meaning,
        EngineDied
            | StartFailed
            | CppException
            | DriverTooOld
            | FabricNotReady
            | NoGpu
            | NotBuiltForGpu
            | NoKernelImage
            | DtypeUnsupported
            | QuantizationUnsupported
            | AttentionUnsupported
            | CpuInstruction
            | ModelUnknown
            | RemoteCode
            | HubAuth
            | ModelFiles
            | LoraRank
            | PortInUse
            | DiskFull
            | SharedMemoryShort
            | PermissionDenied
            | BadArgument
            | ConfigurationRefused
            | ContextBeyondModel
            | ParallelismUnfit
            | CollectiveFailed
            | HostKilled
            | OomKilled
            | ProbeKilled
            | EnvironmentBroken
            | ForkedCuda
            | GpuEcc
            | CoordinationUnreachable
            | EngineFileUnfit
            | KernelBuild
            | GpuOutOfMemory
            | WarmupOutOfMemory
            | NoRoomForKv
            | MemoryTaken
            | KvExhausted
            | WatchdogFired
    )
}

/// The first line of the process that runs that ends a server, and that no later word of being up takes back.
fn first_fatal(log: &LogReadings) -> Option<&LogEvent> {
    let fatal = |event: &&LogEvent| !event.is_earlier() && is_fatal(event.meaning);
    log.events.iter().filter(fatal).find(|event| log.ready_after(event).is_none())
}

fn end(log: &LogReadings, came_up: Option<bool>) -> LogEnd {
    let told = |meaning: Meaning| log.of_running(meaning).filter(|event| log.ready_after(event).is_none());
    if told(Meaning::HostKilled).is_some()
        || told(Meaning::OomKilled).is_some()
        || told(Meaning::ProbeKilled).is_some()
    {
        return LogEnd::Killed;
    }
    let died = told(Meaning::EngineDied).or(told(Meaning::CppException)).or(told(Meaning::WatchdogFired));
    let aborted = log.root().is_some_and(|root| root.is_abort);
    let stopped = told(Meaning::ShuttingDown);
    // A server that loses its engine shuts down, too; one that is told to stop loses its engine behind that.
    if let Some(stopped) = stopped.filter(|stop| died.is_none_or(|died| died.line > stop.line)) {
        let failed = told(Meaning::StartFailed).is_some_and(|start| start.line < stopped.line);
        return if failed { LogEnd::FailedStart } else { LogEnd::Stopped };
    }
    match came_up {
        Some(false) => LogEnd::FailedStart,
        _ if died.is_some() || aborted => LogEnd::Crashed,
        _ => LogEnd::Unknown,
    }
}

fn model(o: &Observed) -> Option<String> {
    let told = o.config.text(crate::Setting::Model).or(o.config.text(crate::Setting::ServedModel));
    told.map(str::to_owned).or_else(|| o.identity.models.first().cloned())
}

/// The flags the process was started with, the model left out.
fn flags(o: &Observed) -> Vec<String> {
    use crate::Setting::{Model, ServedModel};
    let rows = o.table.rows.iter().filter(|row| !matches!(row.setting, Some(Model | ServedModel)));
    let given = rows.filter_map(|row| Some((row, row.started_with.as_ref().or(row.requested.as_ref())?)));
    given.take(FLAGS).map(|(row, said)| format!("{} {}", row.name, said.value)).collect()
}

/// Generated tokens a second, on average over the lines with requests running.
fn pace(log: &LogReadings) -> Option<f64> {
    let rates = log.signal(Signal::TokenRateGenerated)?;
    let busy: Vec<f64> = rates.known().map(|(_, rate)| rate).filter(|rate| *rate > 0.0).collect();
    (!busy.is_empty()).then(|| busy.iter().sum::<f64>() / busy.len() as f64)
}

#[cfg(test)]
mod tests {
    use intriage_case::{Case, LogText};

    use super::*;
    use crate::read;

    const START: &str = "(APIServer pid=1) INFO 11-15 02:26:25 [api_utils.py:345]  ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.26.0\n(APIServer pid=1) INFO 11-15 02:26:25 [api_utils.py:273] non-default args: {'model': 'm', 'max_num_seqs': 4}\n";
    const READY: &str = "(EngineCore pid=2) INFO 11-15 02:27:22 [core.py:1] init engine took 3 s\nINFO:     Application startup complete.\n";
    const SERVED: &str = "INFO:     10.0.0.1:1 - \"POST /v1/completions HTTP/1.1\" 200 OK\n";
    const STATS: &str = "(APIServer pid=1) INFO 11-15 02:28:00 [loggers.py:259] Engine 000: Avg prompt throughput: 400.0 tokens/s, Avg generation throughput: 900.0 tokens/s, Running: 39 reqs, Waiting: 2 reqs, GPU KV cache usage: 68.9%, Prefix cache hit rate: 29.7%\n";
    const DIED: &str = "(EngineCore pid=2) ERROR 11-15 02:29:00 [core.py:700] EngineCore encountered a fatal error.\n(EngineCore pid=2) ERROR 11-15 02:29:00 [core.py:700] Traceback (most recent call last):\n(EngineCore pid=2) ERROR 11-15 02:29:00 [core.py:700]   File \"/x/site-packages/vllm/v1/core/sched/scheduler.py\", line 812, in schedule\n(EngineCore pid=2) ERROR 11-15 02:29:00 [core.py:700]     assert num_new_tokens > 0\n(EngineCore pid=2) ERROR 11-15 02:29:00 [core.py:700] AssertionError\n";
    const STOPPED: &str =
        "(APIServer pid=1) INFO 11-15 02:46:30 [launcher.py:254] [shutdown] API server: shutdown triggered\n";

    fn story(parts: &[&str]) -> LogStory {
        let mut case = Case::default();
        case.add_log(LogText { name: "server.log".into(), text: parts.concat() });
        LogStory::of(&read(&case)).expect("a story")
    }

    #[test]
    fn a_life_is_told_from_start_to_death() {
        let told = story(&[START, READY, SERVED, SERVED, STATS, DIED]);
        assert_eq!((told.came_up, told.end), (Some(true), LogEnd::Crashed));
        assert_eq!(told.seconds_to_ready, Some(57.0));
        assert_eq!((told.peak_running, told.peak_waiting), (Some(39.0), Some(2.0)));
        assert_eq!(told.tokens_per_second, Some(900.0));
        let lines = told.lines();
        assert_eq!(lines.len(), 3, "{lines:#?}");
        assert!(lines[0].starts_with("vLLM 0.26.0, m, began 11-15 02:26:25"), "{lines:#?}");
        assert!(lines[1].starts_with("came up after 57.0 s; answered 2 requests; at most 39"), "{lines:#?}");
        assert!(lines[1].ends_with("died (last line 11-15 02:29:00)"), "{lines:#?}");
        assert_eq!(
            lines[2],
            "first error, line 12: AssertionError: assert num_new_tokens > 0, vllm/v1/core/sched/scheduler.py:812 in schedule, said by EngineCore"
        );
    }

    #[test]
    fn a_stop_a_kill_a_failed_start_and_an_open_end_are_four_things() {
        assert_eq!(story(&[START, READY, STOPPED]).end, LogEnd::Stopped);
        assert_eq!(story(&[START, READY, "Killed\n"]).end, LogEnd::Killed);
        assert_eq!(story(&[START, READY, SERVED]).end, LogEnd::Unknown);
        let failed = story(&[START, "OSError: [Errno 98] Address already in use\n"]);
        assert_eq!((failed.came_up, failed.end), (Some(false), LogEnd::FailedStart));
        assert!(failed.lines()[2].contains("Address already in use"), "{:?}", failed.lines());
        // An engine that goes behind an orderly stop did not crash.
        assert_eq!(story(&[START, READY, STOPPED, DIED]).end, LogEnd::Stopped);
    }

    #[test]
    fn a_log_of_no_engine_has_no_story() {
        let mut case = Case::default();
        case.add_log(LogText { name: "x.log".into(), text: "hello\n".into() });
        assert!(LogStory::of(&read(&case)).is_none());
    }
}
