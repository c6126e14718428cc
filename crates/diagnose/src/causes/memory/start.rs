//! What the log says about the memory at start.

use intriage_case::{Bytes, Fact, Signal, Source};
use intriage_engines::{LogEvent, Meaning, Told};

use crate::evidence::Evidence;
use crate::lately::stops_starts;

/// The start was refused because weights and workspace left no room for the KV pool.
pub(super) fn no_room<'a>(e: &Evidence<'a>) -> Option<&'a LogEvent> {
    stopped_by(e, Meaning::NoRoomForKv)
}

/// The start was refused because somebody else already held the memory.
pub(super) fn memory_taken<'a>(e: &Evidence<'a>) -> Option<&'a LogEvent> {
    stopped_by(e, Meaning::MemoryTaken)
}

/// What ended a start, unless a later one may have been mended.
pub(super) fn stopped_by<'a>(e: &Evidence<'a>, meaning: Meaning) -> Option<&'a LogEvent> {
    let mut all = e.observed.log.events.iter().filter(|l| l.meaning == meaning);
    all.find(|l| stops_starts(e, l))
}

/// Not one scrape could be read: whatever the log says is how things stand.
pub(super) fn does_not_answer(e: &Evidence<'_>) -> bool {
    e.observed.times.is_empty()
}

/// Requests were served before this line, as far as metrics, the access log or the engine's own lines tell.
pub(super) fn has_served(e: &Evidence<'_>, line: &LogEvent) -> bool {
    let log = &e.observed.log;
    // Who answers with an error is up, too, but not with "still loading".
    let answered = log.answers.keys().any(|status| *status != 503);
    let ran = || log.signal(Signal::RequestsRunning).is_some_and(|s| s.known().any(|(_, n)| n > 0.0));
    let thrown = log.root().filter(|root| root.starts_since == line.starts_since);
    let in_the_loop = thrown.is_some_and(|root| root.starting == Some(false));
    let serving = |l: &LogEvent| l.meaning == Meaning::ServingFailed && l.starts_since == line.starts_since;
    let in_the_loop = in_the_loop || log.events.iter().any(serving);
    // Answers and figures of a log are those of its last process.
    !e.busy().is_empty() || in_the_loop || (!line.is_earlier() && (answered || ran()))
}

/// Whether a line was written while the server took requests; unknown where the log does not say when that began.
pub(super) fn while_ready(e: &Evidence<'_>, line: &LogEvent) -> Option<bool> {
    let mut said = e.observed.log.events.iter().filter(|l| l.meaning == Meaning::Ready && l.is_beside(line));
    let first = said.clone().next()?;
    // What another process said of itself is not this one's word.
    let mine = said.find(|ready| ready.starts_since == line.starts_since).unwrap_or(first);
    Some(line.is_after(mine) && mine.starts_since == line.starts_since)
}

/// Memory that another process held when there was none left.
pub(super) fn held_by_another(line: &LogEvent) -> Option<Bytes> {
    line.told(Told::MemoryOfAnother).map(Bytes)
}

/// A line of the log as a fact.
pub(super) fn log_fact(event: &LogEvent) -> Fact {
    Fact {
        says: format!("the log says {:?}", event.excerpt),
        value: None,
        limit: None,
        signal: None,
        source: event.source(),
    }
}

/// A fact without a number.
pub(super) fn plain_fact(says: impl Into<String>, from: &str) -> Fact {
    Fact {
        says: says.into(),
        value: None,
        limit: None,
        signal: None,
        source: Source::Derived { from: from.to_owned() },
    }
}
