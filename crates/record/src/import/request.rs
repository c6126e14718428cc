//! What every import builds: requests with the chunks that are known, and a header that says where they come from.

use intriage_case::{Nanos, Seconds};

use super::json::File;
use super::{IMPORTED_FROM, ImportError, Printed};
use crate::definitions::Tool;
use crate::event::{Chunk, ChunkKind, Finished, Outcome, Request};
use crate::header::{Arrival, Declared, Header};

/// Longest time in a file, in seconds: a year.
const LONGEST: f64 = 366.0 * 86_400.0;

/// A time from a file, in seconds, that can be one.
pub(super) fn time(
    file: &File<'_>,
    place: impl std::fmt::Display,
    seconds: f64,
) -> Result<Nanos, ImportError> {
    if (0.0..=LONGEST).contains(&seconds) {
        Ok(Nanos::from_seconds(Seconds(seconds)))
    } else {
        Err(file.value(place, format!("{seconds} s is no time")))
    }
}

/// An instant of a file's own clock, counted from `zero`.
pub(super) fn instant(
    file: &File<'_>,
    place: impl std::fmt::Display,
    seconds: f64,
    zero: f64,
) -> Result<Nanos, ImportError> {
    let since = seconds - zero;
    if (0.0..=LONGEST).contains(&since) {
        Ok(Nanos::from_seconds(Seconds(since)))
    } else {
        Err(file.value(place, format!("{seconds} s lies {since} s from the first of the run")))
    }
}

/// The smallest of instants, where all following count from.
pub(super) fn earliest(instants: impl Iterator<Item = f64>) -> f64 {
    let first = instants.filter(|s| s.is_finite()).fold(f64::INFINITY, f64::min);
    if first.is_finite() { first } else { 0.0 }
}

/// A request of which nothing is known but its number.
pub(super) fn blank(id: u64) -> Finished {
    let request = Request { outcome: Outcome::Ok, ..Request::planned(id, Nanos::ZERO) };
    Finished { request, chunks: Vec::new() }
}

/// Sets when it was sent; planned then too unless more is known.
pub(super) const fn sent_at(finished: &mut Finished, sent: Nanos) {
    finished.request.sent = sent;
    finished.request.written = sent;
    finished.request.planned = sent;
}

/// A chunk of which only the instant is known.
pub(super) const fn chunk(at: Nanos, kind: ChunkKind) -> Chunk {
    Chunk { at, lag: 0, bytes: 0, kind, tokens: 0 }
}

/// A count from a file; beyond 32 bits there is none.
pub(super) fn count(n: Option<f64>) -> Option<u32> {
    n.filter(|n| (0.0..=f64::from(u32::MAX)).contains(n)).map(|n| n as u32)
}

/// Words in the errors of Python's HTTP clients, and what happened then.
const ERRORS: [(&str, Outcome); 14] = [
    ("Too Many Requests", Outcome::Refused),
    ("429", Outcome::Refused),
    ("Timeout", Outcome::TimedOut),
    ("timed out", Outcome::TimedOut),
    ("Never received a valid chunk", Outcome::NoTokens),
    ("No responses with actual content", Outcome::NoTokens),
    ("PayloadError", Outcome::CutOff),
    ("incomplete", Outcome::CutOff),
    ("ServerDisconnected", Outcome::Reset),
    ("reset by peer", Outcome::Reset),
    ("ConnectorError", Outcome::Connect),
    ("ConnectError", Outcome::Connect),
    ("Connection refused", Outcome::Connect),
    ("JSONDecode", Outcome::Garbage),
];

/// Makes it a failed one, of the kind its error tells; without a telling word the server answered with an error.
pub(super) fn failed(finished: &mut Finished, error: &str) {
    let kind = ERRORS.iter().find(|(word, _)| error.contains(word)).map(|(_, outcome)| *outcome);
    finished.request.outcome = kind.unwrap_or(Outcome::Status);
    finished.request.status = if kind == Some(Outcome::Refused) { 429 } else { 0 };
    // The last line of a traceback says what happened.
    let line = error.trim().lines().next_back().unwrap_or_default();
    finished.request.error = line.chars().take(300).collect();
}

/// A header of which only the origin is known.
pub(super) fn header(tool: Tool, version: Option<&str>) -> Header {
    let origin = version.map_or(tool.title().to_owned(), |v| format!("{} {v}", tool.title()));
    Header {
        intriage: env!("CARGO_PKG_VERSION").to_owned(),
        declared: Declared { arrival: unknown_arrival(), ..Declared::default() },
        host: vec![(IMPORTED_FROM.to_owned(), origin)],
        ..Header::default()
    }
}

/// The API spoken, by the word a tool has for it.
pub(super) fn api(word: &str) -> String {
    if word.contains("chat") { "chat" } else { "completions" }.to_owned()
}

/// How requests came, when the file does not say.
pub(super) fn unknown_arrival() -> Arrival {
    Arrival::Open { rate: None, shape: "unknown".to_owned(), max_concurrency: None }
}

/// How requests came, from a rate (none is no limit) and a limit on those in flight.
pub(super) fn arrival(rate: Option<f64>, shape: &str, most: Option<u32>, requests: Option<u32>) -> Arrival {
    match (rate.filter(|r| *r > 0.0), most.or(requests)) {
        (None, Some(concurrency)) => Arrival::Closed { concurrency },
        (None, None) => unknown_arrival(),
        (rate, _) => Arrival::Open { rate, shape: shape.to_owned(), max_concurrency: most },
    }
}

/// A printed number.
pub(super) fn printed(figure: &str, statistic: &str, value: f64, unit: &str) -> Printed {
    Printed { figure: figure.to_owned(), statistic: statistic.to_owned(), value, unit: unit.to_owned() }
}
