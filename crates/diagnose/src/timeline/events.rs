//! Events: what happened inside the window, with start, length and size. None of them is an alarm by itself.

use intriage_case::{Millis, Quantity, Requests, Seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What kind of thing happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// No token was produced although requests were in the engine. Size: those requests.
    Standstill,
    /// The server did not answer, or nobody asked. Size: looks that failed.
    NoAnswer,
    /// Many requests came at once, and then no more than before. Size: how many. Its end: when the queue was as before.
    Burst,
    /// The rate of arrivals changed and stayed so. Size: the new rate.
    LoadStep,
    /// Traffic began. Size: its rate.
    LoadStart,
    /// No new requests came while those in the engine were finished. Size: how many those were.
    Drain,
    /// Traffic ended, and nothing is left in the engine.
    LoadEnd,
    /// Counters began anew: another process answers.
    Restart,
    /// First answers were many times slower than later ones. Size: their time to first token.
    WarmUp,
    /// A GPU lowered its clocks while it worked. Size: its lowest SM clock.
    Throttle,
    /// Tokens took longer than before (or afterwards), and the load does not explain it. Size: how long.
    SlowTokens,
    /// First tokens took longer than before, and the load does not explain it. Size: how long.
    SlowFirstTokens,
    /// Requests waited. Size: the most of them.
    Queue,
}

/// Something that happened inside the window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// What kind of thing.
    pub kind: EventKind,
    /// When it began, as exactly as the scrapes tell; in milliseconds since the Unix epoch.
    pub start: Millis,
    /// How long it lasted, up to the end of the window at most.
    pub seconds: Seconds,
    /// How large it was; what that is depends on the kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Quantity>,
    /// What `size` is in the calm part of the window, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usual: Option<Quantity>,
    /// It had not ended when the window did.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
    /// In one sentence; times are UTC.
    pub says: String,
}

impl Event {
    /// From `start` to `end`.
    pub(super) fn new(kind: EventKind, start: Millis, end: Millis, says: String) -> Self {
        let seconds = Seconds(end.since(start).get().max(0.0));
        Self { kind, start, seconds, size: None, usual: None, open: false, says }
    }

    /// How large it was.
    #[must_use]
    pub(super) fn size(mut self, size: impl Into<Quantity>) -> Self {
        self.size = Some(size.into());
        self
    }

    /// How large it usually is.
    #[must_use]
    pub(super) fn usual(mut self, usual: impl Into<Quantity>) -> Self {
        self.usual = Some(usual.into());
        self
    }

    /// Whether it goes on when the window ends.
    #[must_use]
    pub(super) fn open(mut self, open: bool) -> Self {
        self.open = open;
        self
    }

    /// When it ended, or the window did.
    pub(crate) fn end(&self) -> Millis {
        later(self.start, self.seconds.get())
    }
}

/// So many seconds later; never before the epoch.
pub(super) fn later(at: Millis, seconds: f64) -> Millis {
    // A cast from f64 saturates at both ends.
    Millis((at.0 as f64 + seconds * 1000.0).round() as u64)
}

/// The time of day in UTC, to the second: `15:20:07`.
pub(super) fn clock(at: Millis) -> String {
    let of_day = at.0 / 1000 % 86_400;
    format!("{:02}:{:02}:{:02}", of_day / 3600, of_day / 60 % 60, of_day % 60)
}

/// `from 15:20:07, for 7 s,`, or up to the end of the window.
pub(super) fn when(start: Millis, end: Millis, open: bool) -> String {
    let length = length(end.since(start).get());
    if open {
        format!("from {} to the end of the window ({length})", clock(start))
    } else {
        format!("from {}, for {length},", clock(start))
    }
}

/// A length of time of a second and more, as people say it: `7 s`, `7.4 s`, `48 s`.
pub(super) fn length(seconds: f64) -> String {
    let text = if seconds < 9.95 { format!("{seconds:.1}") } else { format!("{seconds:.0}") };
    format!("{} s", text.strip_suffix(".0").unwrap_or(&text))
}

/// `1 request`, `31 requests`.
pub(super) fn requests(n: f64) -> String {
    if n == 1.0 { "1 request".into() } else { Requests(n).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_day() {
        assert_eq!(clock(Millis(1_794_709_609_999)), "02:26:49");
        assert_eq!(clock(Millis(0)), "00:00:00");
        assert_eq!(clock(later(Millis(1_794_709_609_999), 86_400.0 - 9.0)), "02:26:40");
        assert_eq!((length(7.02), length(7.44), length(47.8)), ("7 s".into(), "7.4 s".into(), "48 s".into()));
        let at = Millis(1_794_709_609_000);
        assert_eq!(when(at, later(at, 7.0), false), "from 02:26:49, for 7 s,");
        assert_eq!(when(at, later(at, 36.0), true), "from 02:26:49 to the end of the window (36 s)");
    }

    #[test]
    fn an_event_is_read_back_as_it_was_written() {
        let event = Event::new(EventKind::NoAnswer, Millis(1000), Millis(9000), "nobody".into());
        let text = serde_json::to_string(&event).unwrap();
        assert_eq!(text, r#"{"kind":"no_answer","start":1000,"seconds":8.0,"says":"nobody"}"#);
        let open = event.size(Requests(3.0)).open(true);
        let again: Event = serde_json::from_str(&serde_json::to_string(&open).unwrap()).unwrap();
        assert_eq!((again.end(), again), (Millis(9000), open));
    }
}
