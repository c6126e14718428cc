//! When the process that runs began, came up and was last heard of, by the stamps of its lines.

use intriage_case::{Millis, Seconds};

use super::calendar::{Calendar, Known, LogClock};
use super::stamp::{self, Stamp};

/// Lines around a place that are looked at for a stamp: servers write some lines without one.
const LOOKED_AT: usize = 40;

/// The stamps of one log, as written.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Moments {
    began: Option<Stamp>,
    ready: Option<Stamp>,
    ended: Option<Stamp>,
}

/// When a process began, came up and was last heard of.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LogSpan {
    /// The first stamp of the process.
    pub began: Option<LogMoment>,
    /// The stamp of the line that says it takes requests, or of the one before it.
    pub ready: Option<LogMoment>,
    /// The last stamp of the log.
    pub ended: Option<LogMoment>,
}

/// A moment by the clock of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogMoment {
    /// Milliseconds from what `clock` counts from.
    pub at: Millis,
    /// What it is counted from.
    pub clock: LogClock,
}

impl LogMoment {
    /// Seconds from an earlier moment; `None` where the clocks differ or it is not earlier.
    pub fn after(self, earlier: Self) -> Option<Seconds> {
        (self.clock == earlier.clock && self.at >= earlier.at).then(|| self.at.since(earlier.at))
    }
}

impl std::fmt::Display for LogMoment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.clock {
            LogClock::Wall => write!(f, "{}", self.at),
            LogClock::SinceStart => write!(f, "{} after its start", Seconds(self.at.0 as f64 / 1000.0)),
            // The first of January 1972 stands for that of an unknown year.
            LogClock::Undated => {
                let dated = Millis(self.at.0.saturating_add(730 * 86_400_000)).to_string();
                f.write_str(dated.get(5..19).unwrap_or(&dated))
            }
        }
    }
}

impl Moments {
    /// A process that begins at the place `at` of a text.
    pub(super) fn beginning(text: &str, at: usize) -> Self {
        Self { began: first(text.get(at..).unwrap_or_default()), ..Self::default() }
    }

    /// A file of the log is opened: the first one begins the process.
    pub(super) fn open(&mut self, text: &str) {
        if self.began.is_none() {
            self.began = first(text);
        }
    }

    /// The line that ends at the place `at` of a text says that the server is up.
    pub(super) fn came_up(&mut self, text: &str, at: usize) {
        if self.ready.is_none() {
            self.ready = last(text.get(..at).unwrap_or_default());
        }
    }

    /// A file of the log is closed.
    pub(super) fn close(&mut self, text: &str) {
        self.ended = last(text).or(self.ended);
    }

    /// In the order they were written, as a missing year is found by it.
    pub(super) fn span(self, known: Known) -> LogSpan {
        let mut calendar = Calendar::new(known);
        let mut moment = |stamp: Option<Stamp>| {
            let (at, clock) = calendar.instant(stamp?);
            Some(LogMoment { at, clock })
        };
        LogSpan { began: moment(self.began), ready: moment(self.ready), ended: moment(self.ended) }
    }
}

fn first(text: &str) -> Option<Stamp> {
    text.split('\n').take(LOOKED_AT).find_map(stamp::of_line)
}

fn last(text: &str) -> Option<Stamp> {
    text.rsplit('\n').take(LOOKED_AT).find_map(stamp::of_line)
}
