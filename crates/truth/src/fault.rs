//! What can be made to go wrong, by name.

use std::str::FromStr;

/// A fault of an answer, or of the whole server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Closes the connection after half of the tokens.
    Die,
    /// Resets the connection (RST) after half of the tokens.
    Reset,
    /// Random bytes instead of an HTTP answer.
    Garbage,
    /// An event in the middle that is not JSON.
    GarbageEvent,
    /// The stream ends inside a UTF-8 character, with a correct HTTP end.
    HalfUtf8,
    /// Status 500 with an error body.
    Http500,
    /// Status 429 with `Retry-After: 1`.
    Http429,
    /// Status 503.
    Http503,
    /// A `data:` line that never ends, until the client closes or 64 MB are written.
    EndlessLine,
    /// 200, the role chunk and `[DONE]`, and no token.
    NoTokens,
    /// 200 and a correct end without a byte of body.
    Empty,
    /// The first token, then nothing; the connection stays open.
    Stall,
    /// An HTTP chunk that is announced longer than it is, then a close.
    Truncated,
    /// An error in the middle of the stream, as an event, then `[DONE]`.
    ErrorEvent,
    /// The stream ends in order after the last token, without `[DONE]` and usage.
    NoDone,
    /// A status line without a number.
    BadStatus,
    /// A header line that never ends, until the client closes or 64 MB are written.
    HugeHeader,
    /// One byte of the head every 100 ms.
    SlowHeader,
    /// Closes as soon as the request is read.
    CloseBefore,
    /// The server does not listen at all.
    Refuse,
}

/// Every fault and its name.
const NAMES: [(&str, Fault); 20] = [
    ("die", Fault::Die),
    ("reset", Fault::Reset),
    ("garbage", Fault::Garbage),
    ("garbage_event", Fault::GarbageEvent),
    ("half_utf8", Fault::HalfUtf8),
    ("http500", Fault::Http500),
    ("http429", Fault::Http429),
    ("http503", Fault::Http503),
    ("endless_line", Fault::EndlessLine),
    ("no_tokens", Fault::NoTokens),
    ("empty", Fault::Empty),
    ("stall", Fault::Stall),
    ("truncated", Fault::Truncated),
    ("error_event", Fault::ErrorEvent),
    ("no_done", Fault::NoDone),
    ("bad_status", Fault::BadStatus),
    ("huge_header", Fault::HugeHeader),
    ("slow_header", Fault::SlowHeader),
    ("close_before", Fault::CloseBefore),
    ("refuse", Fault::Refuse),
];

impl Fault {
    /// All faults.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.iter().map(|(_, fault)| *fault)
    }

    /// Its name in the configuration and in the log.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, fault)| *fault == self).map_or("", |(name, _)| name)
    }
}

impl FromStr for Fault {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        NAMES.iter().find(|(name, _)| *name == text).map(|(_, fault)| *fault).ok_or(())
    }
}
