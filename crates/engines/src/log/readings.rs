//! What was read from the logs.

use std::collections::BTreeMap;

use intriage_case::{LogText, Series, Signal, Source};

use super::calendar::{Known, LogTime};
use super::line::number_behind;
use super::meaning::Meaning;
use super::read::read_logs;
use super::series::{LogSeries, together};
use super::signature::LogKind;
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
    /// Whether the engine was started again behind its last line: it happened to a process that is gone.
    pub earlier: bool,
    /// The first such line, prefix removed and shortened.
    pub excerpt: String,
    /// The same line at more length: what an engine advises stands at its end.
    pub message: String,
}

impl LogEvent {
    /// The number directly behind a text in its first line, such as the seconds in `took 0.38 seconds`.
    pub fn number_behind(&self, text: &str) -> Option<f64> {
        number_behind(&self.message, text)
    }

    /// Whether it stands behind another one's first line, in the same log.
    pub fn is_after(&self, other: &Self) -> bool {
        self.file == other.file && self.last_line > other.line
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
    /// Answers to inference requests by HTTP status, from access lines.
    pub answers: BTreeMap<u16, u64>,
    /// Signals over time, from lines engines write again and again.
    pub series: Vec<LogSeries>,
    /// Whether there was any log at all.
    pub present: bool,
}

impl LogReadings {
    /// What one log tells on its own: without an engine's settings, and without scrapes that would tell the year.
    pub fn of(log: &LogText) -> Self {
        read_logs(None, std::slice::from_ref(log), Known::default(), &mut Config::default())
    }

    /// The first event of this meaning.
    pub fn first(&self, meaning: Meaning) -> Option<&LogEvent> {
        self.events.iter().find(|e| e.meaning == meaning)
    }

    /// The first event of this meaning that happened to the process that runs.
    pub fn of_running(&self, meaning: Meaning) -> Option<&LogEvent> {
        self.events.iter().find(|e| e.meaning == meaning && !e.earlier)
    }

    /// The server came up after this event, in the same log: what the event tells is over.
    pub fn ready_after(&self, event: &LogEvent) -> Option<&LogEvent> {
        let later = |ready: &&LogEvent| ready.file == event.file && ready.last_line > event.last_line;
        self.events.iter().filter(|e| e.meaning == Meaning::Ready).find(later)
    }

    /// A signal over time, all engines of a log taken together. Times are those of the lines' stamps; see
    /// [`LogSeries::clock`] for what they are counted from.
    pub fn signal(&self, signal: Signal) -> Option<Series> {
        together(&self.series, signal)
    }
}
