//! What the log says about the memory at start.

use intriage_case::{Fact, Source};
use intriage_engines::{LogEvent, Meaning};

use crate::evidence::Evidence;

/// vLLM's words for memory that was gone before it loaded anything.
const TAKEN: &str = "on startup is less than desired GPU memory utilization";

/// The start was refused because weights and workspace left no room for the KV pool.
pub(super) fn no_room<'a>(e: &Evidence<'a>) -> Option<&'a LogEvent> {
    e.observed.log.events.iter().find(|l| l.meaning == Meaning::NoRoomForKv && !l.excerpt.contains(TAKEN))
}

/// The start was refused because somebody else already held the memory.
pub(super) fn memory_taken<'a>(e: &Evidence<'a>) -> Option<&'a LogEvent> {
    e.observed.log.events.iter().find(|l| l.meaning == Meaning::NoRoomForKv && l.excerpt.contains(TAKEN))
}

/// Not one scrape could be read: whatever the log says is how things stand.
pub(super) fn does_not_answer(e: &Evidence<'_>) -> bool {
    e.observed.times.is_empty()
}

/// Requests were served, as far as metrics or the access log tell.
pub(super) fn has_served(e: &Evidence<'_>) -> bool {
    let answered = e.observed.log.answers.keys().any(|status| *status < 400);
    answered || !e.busy().is_empty()
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
