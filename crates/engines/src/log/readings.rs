//! What was read from the logs.

use std::collections::BTreeMap;

use intriage_case::{LogText, Series, Signal, Source};

use super::calendar::{Known, LogTime};
use super::forms::Pasted;
use super::line::number_behind;
use super::meaning::Meaning;
use super::moments::LogSpan;
use super::order::LogChain;
use super::read::read_logs;
use super::series::{LogSeries, together};
use super::signature::LogKind;
use super::thrown::{self, Thrown};
use crate::config::Config;

/// A signature found in a log.
#[derive(Debug, Clone, PartialEq)]
pub struct LogEvent {
    /// What it means.
    pub meaning: Meaning,
    /// Who wrote it.
    pub log: LogKind,
    /// The number its signature asks for: an Xid, or the latest of a count.
    pub number: Option<u32>,
    /// The log's name.
    pub file: String,
    /// The line it stands in first, from 1.
    pub line: u32,
    /// The line it stands in last.
    pub last_line: u32,
    /// The line that is quoted: the first, or the last where what comes later replaces it.
    pub told_line: u32,
    /// How many lines carry it.
    pub count: u32,
    /// When the last of them was written, where it is a kernel's and its date is known.
    pub written: Option<LogTime>,
    /// How often the engine was started again behind its last line: 0 where it happened to the process that runs.
    pub starts_since: u32,
    /// To how many processes it happened one after the other, up to that of its last line.
    pub in_a_row: u32,
    /// Whether what comes later replaces it.
    pub(super) replaced: bool,
    /// The same three lines counted in the order they were written: a file may begin with its newest.
    pub(super) in_order: InOrder,
    /// Which of the logs side by side it stands in, and in which of that one's files.
    pub(super) place: (u32, u32),
    /// Which process or rank of the server wrote the line that is quoted, where it says so: `Worker_TP0`, `DP1 TP0`, `rank0`.
    pub writer: Option<String>,
    /// Why it means nothing, where it is a line that only scares; empty elsewhere.
    pub reason: &'static str,
    /// The first such line, prefix removed and shortened.
    pub excerpt: String,
    /// The same line at more length: what an engine advises stands at its end.
    pub message: String,
}

/// Where an event stands among the lines of its log, in the order they were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct InOrder {
    pub(super) first: u32,
    pub(super) last: u32,
    pub(super) told: u32,
}

impl LogEvent {
    /// The number directly behind a text in its first line, such as the seconds in `took 0.38 seconds`.
    pub fn number_behind(&self, text: &str) -> Option<f64> {
        number_behind(&self.message, text)
    }

    /// Whether it stands behind another one's first line, in the same log.
    pub fn is_after(&self, other: &Self) -> bool {
        self.is_beside(other) && (self.place, self.in_order.last) > (other.place, other.in_order.first)
    }

    /// Whether it is told by the same line as another one.
    pub fn is_at(&self, other: &Self) -> bool {
        self.file == other.file && self.line == other.line
    }

    /// Whether its first line stands behind another one's, in the same file or a later one of the same log.
    pub fn begins_after(&self, other: &Self) -> bool {
        self.is_beside(other) && (self.place, self.in_order.first) > (other.place, other.in_order.first)
    }

    /// Whether it stands in the same log, of which there may be several files.
    pub fn is_beside(&self, other: &Self) -> bool {
        self.place.0 == other.place.0
    }

    /// Whether it happened to a process that is gone: the engine was started again since.
    pub fn is_earlier(&self) -> bool {
        self.starts_since > 0
    }

    /// Takes in the same event of a later process in the same file.
    pub(super) fn add(&mut self, later: Self) {
        self.count = self.count.saturating_add(later.count);
        self.last_line = later.last_line;
        self.number = later.number;
        self.written = later.written;
        if self.replaced {
            (self.message, self.excerpt, self.told_line) = (later.message, later.excerpt, later.told_line);
            self.writer = later.writer;
        }
    }

    /// Layers on the GPU and layers of the model, where the line tells both: Ollama's `layers.model=63 layers.offload=49`,
    /// llama.cpp's `offloaded 49/63 layers to GPU`, and how threads quote them.
    pub fn layers_on_gpu(&self) -> Option<(u32, u32)> {
        let text = &self.excerpt;
        let behind = |mark| text.split_once(mark).map(|(_, rest)| rest);
        let (there, all) = if let Some(rest) = behind("layers.offload=") {
            match behind("layers.model=") {
                Some(all) => (rest, all),
                None => rest.split_once(" of ")?,
            }
        } else if let Some(rest) = behind("offloaded ").filter(|rest| rest.contains('/')) {
            rest.split_once('/')?
        } else {
            text.split_once(" layers offloaded")?.0.rsplit(' ').next()?.split_once('/')?
        };
        let whole = |text: &str| text.split_whitespace().next()?.parse().ok();
        Some((whole(there)?, whole(all)?))
    }

    /// As a fact's source.
    pub fn source(&self) -> Source {
        Source::Log { file: self.file.clone(), line: self.told_line }
    }
}

/// Everything read from the logs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LogReadings {
    /// Signatures found, in order of appearance.
    pub events: Vec<LogEvent>,
    /// Answers to inference requests by HTTP status, from access lines of the process that runs.
    pub answers: BTreeMap<u16, u64>,
    /// Signals over time, from lines the process that runs writes again and again.
    pub series: Vec<LogSeries>,
    /// What programs threw and nobody caught, of the process that runs and of the one before it, in order of appearance.
    pub thrown: Vec<Thrown>,
    /// When the process that runs began, came up and was last heard of, in the first of the logs side by side.
    pub span: LogSpan,
    /// Which files are one log, and in which order.
    pub chains: Vec<LogChain>,
    /// Whether there was any log at all.
    pub present: bool,
}

/// What servers answer while they load.
const LOADING: u16 = 503;

impl LogReadings {
    /// What one log tells on its own: without an engine's settings, and without scrapes that would tell the year.
    pub fn of(log: &LogText) -> Self {
        let Some(pasted) = Pasted::of([log]) else {
            return read_logs(None, [log], Known::default(), &mut Config::default());
        };
        let mut readings = read_logs(None, &pasted.logs, Known::default(), &mut Config::default());
        pasted.renumber_log(&mut readings);
        readings
    }

    /// The first event of this meaning.
    pub fn first(&self, meaning: Meaning) -> Option<&LogEvent> {
        self.events.iter().find(|e| e.meaning == meaning)
    }

    /// The event of this meaning whose line stands last.
    pub fn last(&self, meaning: Meaning) -> Option<&LogEvent> {
        self.events.iter().filter(|e| e.meaning == meaning).max_by_key(|e| (e.place, e.in_order.told))
    }

    /// The first event of this meaning that happened to the process that runs.
    pub fn of_running(&self, meaning: Meaning) -> Option<&LogEvent> {
        self.events.iter().find(|e| e.meaning == meaning && !e.is_earlier())
    }

    /// The exception that all others of the process that runs follow from; of the one before it where the one that runs has
    /// said nothing of the kind and has not come up.
    pub fn root(&self) -> Option<&Thrown> {
        let of = |behind: u32| {
            let is_death = |e: &&LogEvent| {
                let ends =
                    matches!(e.meaning, Meaning::EngineDied | Meaning::StartFailed | Meaning::CppException);
                ends && e.starts_since == behind
            };
            let death = self.events.iter().find(is_death).map(|e| (e.file.as_str(), e.line));
            let all = self.thrown.iter().filter(|thrown| thrown.starts_since == behind);
            thrown::root(&all, death)
        };
        of(0).or_else(|| if self.is_up() { None } else { of(1) })
    }

    /// Whether the process that runs got through its start, as far as its lines tell: it said so, answered or computed.
    pub fn is_up(&self) -> bool {
        // Any answer but the one of a server that loads.
        let answered = self.answers.keys().any(|status| *status != LOADING);
        let ran = || self.signal(Signal::RequestsRunning).is_some_and(|s| s.known().any(|(_, n)| n > 0.0));
        self.of_running(Meaning::Ready).is_some() || answered || ran()
    }

    /// The server came up after this event, in the same log: what the event tells is over.
    pub fn ready_after(&self, event: &LogEvent) -> Option<&LogEvent> {
        let later = |ready: &&LogEvent| {
            ready.is_beside(event) && (ready.place, ready.in_order.last) > (event.place, event.in_order.last)
        };
        self.events.iter().filter(|e| e.meaning == Meaning::Ready).find(later)
    }

    /// A signal over time, all engines of a log taken together. Times are those of the lines' stamps; see
    /// [`LogSeries::clock`] for what they are counted from.
    pub fn signal(&self, signal: Signal) -> Option<Series> {
        together(&self.series, signal)
    }
}
