//! One request as its client saw it.

use intriage_case::{Millis, Seconds, Tokens};

/// One request as its client saw it. Times count from `sent`.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientRequest {
    /// When it was sent.
    pub sent: Millis,
    /// Until the connection stood; `None` where an open one was used again.
    pub connect: Option<Seconds>,
    /// Until the head of the answer came.
    pub headers: Option<Seconds>,
    /// Until the first token came.
    pub first: Option<Seconds>,
    /// Until the last token came.
    pub last: Option<Seconds>,
    /// Pieces of the stream with tokens in them.
    pub chunks: u32,
    /// Median time between two pieces.
    pub gap_p50: Option<Seconds>,
    /// Longest time between two pieces.
    pub gap_max: Option<Seconds>,
    /// Tokens of the answer, as the server counted them, or else pieces.
    pub tokens: Tokens,
    /// Tokens of the prompt, as sent.
    pub prompt_tokens: Tokens,
    /// HTTP status; `None` without an answer.
    pub status: Option<u16>,
    /// What went wrong, the client's own giving up included.
    pub error: Option<String>,
}
