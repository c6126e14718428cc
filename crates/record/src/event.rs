//! The raw record: one request, and one chunk per event of its answer.

use intriage_case::Nanos;
use serde::{Deserialize, Serialize};

/// One event of a streamed answer, as it arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// When its last byte reached this machine, by the kernel's stamp where there is one, since the start of the run.
    pub at: Nanos,
    /// How much later the program read it, in nanoseconds (at most 4.3 s is kept). Where another chunk of the same answer
    /// came with the same read, how much later at most: only the last is stamped.
    pub lag: u32,
    /// Bytes of the event in the body of the answer.
    pub bytes: u32,
    /// What it carries.
    pub kind: ChunkKind,
    /// Tokens in it where the server told, else 0.
    pub tokens: u16,
}

/// What an event of an answer carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChunkKind {
    /// A choice without text: the role, an empty delta, a finish reason alone.
    Empty,
    /// Text of the answer, or a tool call.
    Content,
    /// Text of the reasoning before the answer.
    Reasoning,
    /// A generated token without text: a special token, part of a character.
    Silent,
    /// The token counts.
    Usage,
    /// The end marker.
    Done,
    /// An error told inside the stream.
    Error,
    /// Anything else that is well formed: other events of the API.
    Other,
    /// An event that could not be read.
    Garbage,
}

impl ChunkKind {
    /// Every kind, in the order of their codes in the file.
    pub const ALL: [Self; 9] = [
        Self::Empty,
        Self::Content,
        Self::Reasoning,
        Self::Silent,
        Self::Usage,
        Self::Done,
        Self::Error,
        Self::Other,
        Self::Garbage,
    ];

    /// Whether the model generated what it carries.
    pub const fn is_generated(self) -> bool {
        matches!(self, Self::Content | Self::Reasoning | Self::Silent)
    }

    /// Whether it carries text the model generated.
    pub const fn has_text(self) -> bool {
        matches!(self, Self::Content | Self::Reasoning)
    }
}

/// How a request ended.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The whole answer came, with at least one token.
    Ok,
    /// No connection could be made.
    Connect,
    /// This machine had no port left for another connection.
    NoPort,
    /// This process had no file descriptor left for another connection.
    NoFile,
    /// The TLS handshake failed.
    Tls,
    /// The server answered with a status other than 200.
    Status,
    /// The server asked for patience: 429.
    Refused,
    /// The connection was reset.
    Reset,
    /// The connection closed before the answer was complete.
    CutOff,
    /// What came was not HTTP.
    NotHttp,
    /// The answer held an event that could not be read.
    Garbage,
    /// The server reported an error inside the stream.
    ErrorEvent,
    /// A complete answer without a single token.
    NoTokens,
    /// A line, a head or an answer over the limit in bytes.
    TooLong,
    /// Nothing came within the time limit.
    TimedOut,
    /// Given up by plan, after so many chunks.
    Aborted,
    /// Still running when the run ended.
    Unfinished,
    /// Planned but never sent, because the run ended first.
    NeverSent,
}

impl Outcome {
    /// Every outcome, in the order of their codes in the file.
    pub const ALL: [Self; 18] = [
        Self::Ok,
        Self::Connect,
        Self::NoPort,
        Self::NoFile,
        Self::Tls,
        Self::Status,
        Self::Refused,
        Self::Reset,
        Self::CutOff,
        Self::NotHttp,
        Self::Garbage,
        Self::ErrorEvent,
        Self::NoTokens,
        Self::TooLong,
        Self::TimedOut,
        Self::Aborted,
        Self::Unfinished,
        Self::NeverSent,
    ];

    /// Whether it counts as failed. Given up by plan or by the end of the run is no failure, and no success.
    pub const fn is_failure(self) -> bool {
        !matches!(self, Self::Ok | Self::Aborted | Self::Unfinished | Self::NeverSent)
    }

    /// In words, for a table of errors.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Ok => "answered",
            Self::Connect => "no connection",
            Self::NoPort => "no port left on this machine",
            Self::NoFile => "no file descriptor left in this process",
            Self::Tls => "TLS handshake failed",
            Self::Status => "HTTP status other than 200",
            Self::Refused => "HTTP 429",
            Self::Reset => "connection reset",
            Self::CutOff => "connection closed before the end",
            Self::NotHttp => "not an HTTP answer",
            Self::Garbage => "an event that is not JSON",
            Self::ErrorEvent => "error inside the stream",
            Self::NoTokens => "an answer without tokens",
            Self::TooLong => "longer than the limit",
            Self::TimedOut => "timed out",
            Self::Aborted => "given up by plan",
            Self::Unfinished => "still running at the end",
            Self::NeverSent => "never sent",
        }
    }
}

/// Why the server stopped generating.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It did not say.
    #[default]
    Unknown,
    /// A stop token or string.
    Stop,
    /// The length asked for.
    Length,
    /// Anything else: a tool call, a filter.
    Other,
}

impl Finish {
    /// Every reason, in the order of their codes in the file.
    pub const ALL: [Self; 4] = [Self::Unknown, Self::Stop, Self::Length, Self::Other];
}

/// One request, from plan to end. Instants count from the start of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Its number in the plan.
    pub id: u64,
    /// Its class in the mix.
    pub class: u16,
    /// The stage of the run it was planned in (a step of a ramp, a point of a sweep).
    pub stage: u16,
    /// The session it belongs to.
    pub session: u64,
    /// Its turn in the session, from 0.
    pub turn: u32,
    /// Sent to warm up: no figure counts it.
    pub warmup: bool,
    /// The connection it rode on, numbered within the run.
    pub connection: u32,
    /// Its place on that connection, from 0.
    pub nth: u32,
    /// When it should have been sent.
    pub planned: Nanos,
    /// When the connection was begun, where a new one was needed.
    pub dialled: Option<Nanos>,
    /// When the connection stood.
    pub connected: Option<Nanos>,
    /// When TLS stood.
    pub secured: Option<Nanos>,
    /// The clock right before the first byte was handed to the kernel.
    pub sent: Nanos,
    /// The clock right after the last byte was handed to the kernel.
    pub written: Nanos,
    /// When the first byte of the answer arrived.
    pub head: Option<Nanos>,
    /// When it ended, however it did.
    pub ended: Nanos,
    /// HTTP status; 0 without one.
    pub status: u16,
    /// How it ended.
    pub outcome: Outcome,
    /// Why the server stopped.
    pub finish: Finish,
    /// Prompt tokens as declared by the plan.
    pub input: Option<u32>,
    /// Answer tokens asked for.
    pub output: u32,
    /// Prompt tokens the plan shares with earlier prompts.
    pub shared: u32,
    /// Prompt tokens as the server counted them.
    pub prompt_tokens: Option<u32>,
    /// Answer tokens as the server counted them.
    pub completion_tokens: Option<u32>,
    /// Prompt tokens the server found in its cache.
    pub cached_tokens: Option<u32>,
    /// Bytes sent, head included.
    pub bytes_sent: u64,
    /// Bytes received, head included.
    pub bytes_received: u64,
    /// The id the server gave its answer.
    pub answer_id: String,
    /// What went wrong, in the server's or the system's words.
    pub error: String,
}

impl Request {
    /// A request of the plan that has not been sent.
    pub const fn planned(id: u64, at: Nanos) -> Self {
        Self {
            id,
            class: 0,
            stage: 0,
            session: id,
            turn: 0,
            warmup: false,
            connection: 0,
            nth: 0,
            planned: at,
            dialled: None,
            connected: None,
            secured: None,
            sent: at,
            written: at,
            head: None,
            ended: at,
            status: 0,
            outcome: Outcome::NeverSent,
            finish: Finish::Unknown,
            input: None,
            output: 0,
            shared: 0,
            prompt_tokens: None,
            completion_tokens: None,
            cached_tokens: None,
            bytes_sent: 0,
            bytes_received: 0,
            answer_id: String::new(),
            error: String::new(),
        }
    }
}

/// A request that has ended, with all that arrived for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// The request.
    pub request: Request,
    /// Its chunks, in order of arrival.
    pub chunks: Vec<Chunk>,
}
