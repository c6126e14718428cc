//! What a program threw and nobody caught: the words that count, and where in the engine it happened.
//!
//! A failure of one rank is told by every process that waits for it. The first exception that is no echo counts, and of a chain
//! of exceptions the one it began with.

mod crash;
mod echoes;
mod python;
mod speaker;

use super::line::excerpt;

pub(super) use crash::crash;
pub(super) use python::traceback;

/// Text that begins what a program threw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Throws {
    /// A traceback of Python.
    Python,
    /// An exception of C++ that nobody caught.
    Cpp,
    /// A panic of Rust.
    Rust,
    /// A panic of Go.
    Go,
}

/// What begins with which text.
pub(super) const THROWS: [(&str, Throws); 4] = [
    ("Traceback (most recent call last)", Throws::Python),
    ("terminate called after throwing an instance of '", Throws::Cpp),
    ("' panicked at ", Throws::Rust),
    ("panic: ", Throws::Go),
];

/// An exception, a panic or an abort that a log tells of in full.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thrown {
    /// Its type, such as `torch.OutOfMemoryError`; empty where the language has none.
    pub kind: String,
    /// What it says; empty where it says nothing, as a bare assertion.
    pub message: String,
    /// The innermost frame inside the engine's package, else the innermost of all.
    pub frame: Option<Frame>,
    /// Whether its frames are of a start (`true`) or of the loop that serves requests (`false`); `None` where they tell neither.
    pub starting: Option<bool>,
    /// The process that said it, such as `EngineCore_DP0`.
    pub process: Option<String>,
    /// Its rank, such as `rank 1` or `TP3`.
    pub rank: Option<String>,
    /// The log's name.
    pub file: String,
    /// The line it begins with, from 1.
    pub line: u32,
    /// The line of the exception's own words.
    pub told_line: u32,
    /// Whether it only says that another process failed.
    pub is_echo: bool,
    /// Whether it ends its process whatever catches it: an exception of C++ that reached the top, a panic.
    pub is_abort: bool,
    /// How often the engine was started again behind it.
    pub starts_since: u32,
    /// The last line that belongs to it.
    pub(super) until: u32,
}

/// A place in a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The file, from the engine's package on.
    pub file: String,
    /// Line in it.
    pub line: u32,
    /// The function; empty where none is named.
    pub function: String,
    /// The source line, where the log quotes it.
    pub code: String,
    /// Whether it lies in the engine's own package.
    pub of_engine: bool,
}

impl Thrown {
    /// Type and message in one line, cut to 160 characters. A bare assertion is told by its source line.
    pub fn says(&self) -> String {
        let code = self.frame.as_ref().map_or("", |frame| frame.code.as_str());
        let short = match (self.kind.as_str(), self.message.as_str()) {
            ("", message) => message.to_owned(),
            (kind, "") if code.is_empty() => kind.to_owned(),
            (kind, "") => format!("{kind}: {code}"),
            (kind, message) => format!("{}: {message}", kind.rsplit('.').next().unwrap_or(kind)),
        };
        excerpt(&short)
    }

    /// Whether the same process and rank threw both.
    pub(super) fn is_of(&self, other: &Self) -> bool {
        (&self.process, &self.rank) == (&other.process, &other.rank)
    }

    /// Where it was thrown, such as `vllm/v1/core/sched/scheduler.py:812 in schedule`.
    pub fn place(&self) -> Option<String> {
        let frame = self.frame.as_ref()?;
        let at = if frame.line > 0 { format!(":{}", frame.line) } else { String::new() };
        let function = if frame.function.is_empty() { "" } else { " in " };
        Some(format!("{}{at}{function}{}", frame.file, frame.function))
    }
}

/// Most exceptions kept of one process: what ended it is among the first.
pub(super) const MOST: usize = 32;
/// An exception this many lines before the first word of a death is part of it: ranks speak before their leader does.
const NEAR: u32 = 600;

/// The exception all others follow from: the first that is no echo, of those near to the death where one is told.
pub(super) fn root<'a>(
    all: &(impl Iterator<Item = &'a Thrown> + Clone),
    death: Option<(&str, u32)>,
) -> Option<&'a Thrown> {
    let real = || all.clone().filter(|thrown| !thrown.is_echo);
    let near = death.and_then(|(file, line)| {
        real().find(|thrown| thrown.file == file && thrown.until.saturating_add(NEAR) >= line)
    });
    near.or_else(|| real().next())
}

#[cfg(test)]
mod tests {
    use intriage_case::LogText;

    use crate::LogReadings;

    fn read(text: &str) -> LogReadings {
        LogReadings::of(&LogText { name: "server.log".into(), text: text.into() })
    }

    /// A traceback with its logger's prefix in front of each line.
    fn traceback(prefix: &str, path: &str, function: &str, error: &str) -> String {
        let lines = [
            "Traceback (most recent call last):".to_owned(),
            format!("  File \"/usr/lib/python3/dist-packages/{path}\", line 12, in {function}"),
            "    run(x)".to_owned(),
            error.to_owned(),
        ];
        lines.map(|line| format!("{prefix}{line}\n")).concat()
    }

    const WORKER: &str = "(Worker_TP1 pid=9) ERROR 11-15 03:53:11 [multiproc_executor.py:870] ";
    const CORE: &str = "(EngineCore_DP0 pid=7) ERROR 11-15 03:53:12 [core.py:700] ";
    const SERVER: &str = "(APIServer pid=1) ";

    #[test]
    fn of_a_cascade_the_first_exception_counts_and_the_rank_that_said_it() {
        let log = [
            traceback(WORKER, "vllm/v1/worker/gpu_worker.py", "load_model", "KeyError: 'layers.0.mlp'"),
            format!("{CORE}EngineCore failed to start.\n"),
            traceback(CORE, "vllm/v1/engine/core.py", "__init__", "Exception: WorkerProc initialization failed due to an exception in a background process. See stack trace for root cause."),
            traceback(SERVER, "vllm/v1/engine/utils.py", "wait", "RuntimeError: Engine core initialization failed. See root cause above."),
        ]
        .concat();
        let readings = read(&log);
        let root = readings.root().expect("a root");
        assert_eq!((root.says().as_str(), root.rank.as_deref()), ("KeyError: 'layers.0.mlp'", Some("TP1")));
        assert_eq!(root.place().as_deref(), Some("vllm/v1/worker/gpu_worker.py:12 in load_model"));
    }

    #[test]
    fn an_error_of_a_request_long_before_the_death_is_not_its_root() {
        let early = traceback("", "vllm/entrypoints/serving.py", "create", "ValueError: bad image");
        let late = traceback(CORE, "vllm/v1/core/sched/scheduler.py", "schedule", "AssertionError");
        let quiet = "INFO 11-15 03:50:00 [loggers.py:1] working\n".repeat(700);
        let died = format!("{CORE}EngineCore encountered a fatal error.\n");
        let log = read(&[early.clone(), quiet, died, late].concat());
        assert_eq!(log.root().map(super::Thrown::says).as_deref(), Some("AssertionError: run(x)"));
        // With nothing else it is what the log tells.
        assert_eq!(read(&early).root().map(super::Thrown::says).as_deref(), Some("ValueError: bad image"));
    }

    #[test]
    fn of_a_process_that_was_started_again_and_came_up_no_exception_is_told() {
        let failed = traceback(CORE, "vllm/v1/engine/core.py", "load_model", "ValueError: no");
        let again = "INFO non-default args: {'model': 'm'}\n";
        let up = "INFO:     Application startup complete.\n";
        let log = |parts: &[&str]| {
            let text = LogText { name: "server.log".into(), text: parts.concat() };
            crate::log::read_logs(
                Some(crate::dialect(crate::Engine::Vllm)),
                [&text],
                crate::log::Known::default(),
                &mut crate::config::Config::default(),
            )
        };
        assert!(log(&[again, &failed, again]).root().is_some());
        assert!(log(&[again, &failed, again, up]).root().is_none());
    }
}
