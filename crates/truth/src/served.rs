//! The log: one record a request, with the time of every write.

use std::io::Write as _;

use serde_json::{Value, json};

use crate::api::Api;
use crate::fault::Fault;
use crate::prompt::Prompt;

/// One inference request as the server saw it. Times are CLOCK_MONOTONIC, in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// Counts inference requests from 1, in the order in which they were taken up.
    pub sequence: u64,
    /// The client's `X-Request-Id`.
    pub x_request_id: Option<String>,
    /// The id in the answer.
    pub response_id: String,
    /// Which connection, counted from 1 in the order of accepting.
    pub connection: u64,
    /// Which request of that connection, from 1; requests for pages count too.
    pub nth: u32,
    /// The API asked.
    pub api: Api,
    /// Whether the answer was to be streamed.
    pub stream: bool,
    /// When the last byte of the request had been read.
    pub arrived: u64,
    /// The same moment as Unix time, in nanoseconds.
    pub arrived_unix: u64,
    /// When the schedule began: the arrival, or for a request that came while its connection was busy, the end
    /// of the answer before it.
    pub taken: u64,
    /// The prompt.
    pub prompt: Prompt,
    /// Prompt tokens as usage tells them.
    pub prompt_tokens: u32,
    /// Tokens the answer should have.
    pub want: u32,
    /// Tokens written.
    pub tokens: u32,
    /// Tokens of each write, and the clock right before its write(2). Writes without a token are not listed.
    pub writes: Vec<(u32, u64)>,
    /// How often the socket took only a part of what there was.
    pub blocked: u32,
    /// When the last byte had been taken by the socket, or the connection was seen to be gone.
    pub done: u64,
    /// The HTTP status; 0 where none was sent.
    pub status: u16,
    /// The client went before the end.
    pub aborted: bool,
    /// What was made to go wrong.
    pub fault: Option<Fault>,
}

impl Served {
    /// As one JSON object.
    pub fn json(&self) -> Value {
        json!({
            "sequence": self.sequence,
            "x_request_id": self.x_request_id,
            "response_id": self.response_id,
            "connection": self.connection,
            "nth": self.nth,
            "api": self.api.name(),
            "stream": self.stream,
            "arrived": self.arrived,
            "arrived_unix": self.arrived_unix,
            "taken": self.taken,
            "prompt_bytes": self.prompt.bytes,
            "prompt_hash": format!("{:016x}", self.prompt.hash),
            "prompt_words": self.prompt.words,
            "prompt_tokens": self.prompt_tokens,
            "want": self.want,
            "tokens": self.tokens,
            "writes": self.writes,
            "blocked": self.blocked,
            "done": self.done,
            "status": self.status,
            "aborted": self.aborted,
            "fault": self.fault.map(Fault::name),
        })
    }
}

/// Most records that are kept; more are counted only.
const MOST: usize = 5_000_000;

/// The records of the requests that ended.
#[derive(Debug, Default)]
pub(crate) struct Log {
    records: Vec<Served>,
    /// Records that found no room.
    pub(crate) dropped: u64,
}

impl Log {
    pub(crate) fn push(&mut self, served: Served) {
        if self.records.len() < MOST {
            self.records.push(served);
        } else {
            self.dropped += 1;
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// All records, by sequence.
    pub(crate) fn all(&self) -> Vec<Served> {
        let mut all = self.records.clone();
        all.sort_by_key(|served| served.sequence);
        all
    }

    /// All records by sequence, one JSON object a line.
    pub(crate) fn lines(&self) -> Vec<u8> {
        let mut all: Vec<&Served> = self.records.iter().collect();
        all.sort_by_key(|served| served.sequence);
        let mut out = Vec::with_capacity(all.len() * 512);
        for served in all {
            let _ = writeln!(out, "{}", served.json());
        }
        out
    }
}
