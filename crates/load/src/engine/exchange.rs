//! One request under way and what has come of it, whatever protocol carries it.

use intriage_case::Nanos;
use intriage_record::{Chunk, ChunkKind, Finished, Outcome, Request};

use super::arrival::Arrival;
use super::{Ask, Settings};
use crate::api::{Reading, error_words};
use crate::wire::{Events, Head};

/// Bytes of an error's body that are kept.
const ERROR_BODY: usize = 4 << 10;

/// One request under way.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub request: Request,
    /// Not over by then, it has failed.
    pub deadline: Nanos,
    chunks: Vec<Chunk>,
    /// Chunks already reported to the recorder.
    reported: usize,
    abort_after: Option<u32>,
    /// Chunks with a generated token so far.
    generated: u32,
    /// The chunk that told the finish reason with an empty text.
    blank_end: Option<usize>,
    leaving: Leaving,
    events: Events,
    reading: Reading,
    error_body: Vec<u8>,
    too_long: bool,
}

/// How much of a request the kernel has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leaving {
    Nothing,
    Part,
    All,
}

/// An exchange that has ended, and how.
#[derive(Debug)]
pub(crate) struct Ended {
    pub exchange: Exchange,
    pub outcome: Outcome,
    pub error: String,
    pub at: Nanos,
}

impl Exchange {
    pub(super) fn new(ask: &Ask, now: Nanos, settings: &Settings) -> Self {
        let request = Request {
            class: ask.class,
            stage: ask.stage,
            session: ask.session,
            turn: ask.turn,
            warmup: ask.warmup,
            sent: now,
            written: now,
            ended: now,
            outcome: Outcome::Unfinished,
            input: ask.input,
            output: ask.output,
            shared: ask.shared,
            ..Request::planned(ask.id, ask.planned)
        };
        let mut reading = Reading::new(settings.api);
        reading.keep_text = ask.keep_text;
        Self {
            request,
            deadline: now + settings.timeout,
            // Role, counts and end marker come on top; a wish for very long answers must not cost memory ahead.
            chunks: Vec::with_capacity((ask.output as usize + 4).min(1024)),
            reported: 0,
            abort_after: ask.abort_after,
            generated: 0,
            blank_end: None,
            leaving: Leaving::Nothing,
            events: Events::default(),
            reading,
            error_body: Vec::new(),
            too_long: false,
        }
    }

    /// Bytes of it were handed to the kernel between `before` and `after`; `whole` if they were its last.
    pub(super) fn wrote(&mut self, before: Nanos, after: Nanos, whole: bool) {
        if self.leaving == Leaving::Nothing {
            self.request.sent = before;
        }
        if self.leaving != Leaving::All {
            self.request.written = after;
            self.leaving = if whole { Leaving::All } else { Leaving::Part };
        }
    }

    /// Bytes of the answer, head included, that arrived at `at`.
    pub(super) fn came(&mut self, bytes: usize, at: Nanos) {
        self.request.head.get_or_insert(at);
        self.request.bytes_received += bytes as u64;
    }

    /// A part of the body, which came with this read.
    pub(super) fn body(&mut self, status: u16, part: &[u8], arrival: Arrival) {
        if status != 200 {
            let room = ERROR_BODY.saturating_sub(self.error_body.len());
            self.error_body.extend_from_slice(&part[..part.len().min(room)]);
            return;
        }
        let (reading, generated, chunks) = (&mut self.reading, &mut self.generated, &mut self.chunks);
        let blank_end = &mut self.blank_end;
        let read = self.events.read(part, |event| {
            let (kind, tokens) = reading.event(event);
            *generated += u32::from(kind.is_generated());
            if reading.blank_end {
                *blank_end = Some(chunks.len());
            }
            let bytes = u32::try_from(event.bytes).unwrap_or(u32::MAX);
            let Arrival { at, lag, others_lag } = arrival;
            if let Some(before) = chunks.last_mut().filter(|c| c.at == at) {
                before.lag = others_lag;
            }
            chunks.push(Chunk { at, lag, bytes, kind, tokens });
        });
        self.too_long |= read.is_err();
    }

    /// A reason to end it before the answer is complete.
    pub(super) fn cut_short(&self) -> Option<(Outcome, &'static str)> {
        if self.too_long {
            return Some((Outcome::TooLong, "a line of the stream does not end"));
        }
        self.abort_after.filter(|after| self.generated >= *after).map(|_| (Outcome::Aborted, ""))
    }

    /// The answer is complete by its protocol: what it is worth.
    pub(super) fn worth(&self, head: &Head) -> (Outcome, String) {
        let has = |kind: ChunkKind| self.chunks.iter().any(|c| c.kind == kind);
        let reading = &self.reading;
        if self.too_long {
            return (Outcome::TooLong, "a line of the stream does not end".to_owned());
        }
        match head.status {
            200 if has(ChunkKind::Error) => (Outcome::ErrorEvent, reading.error.clone()),
            200 if has(ChunkKind::Garbage) => (Outcome::Garbage, reading.error.clone()),
            200 if self.generated == 0 && !self.ends_with_a_token() => {
                let words = if head.is_events {
                    "the stream held no token"
                } else {
                    "the answer is not a stream of events"
                };
                (Outcome::NoTokens, words.to_owned())
            }
            200 if self.events.pending() > 0 => {
                (Outcome::CutOff, "the stream ends inside an event".to_owned())
            }
            200 if reading.marked_end => (Outcome::Ok, String::new()),
            200 => {
                let words = "the stream ends without a finish reason, counts or end marker";
                (Outcome::CutOff, words.to_owned())
            }
            429 => {
                let wait = head.retry_after.as_deref().map(|s| format!(", Retry-After {}", short(s)));
                (Outcome::Refused, format!("HTTP 429{}{}", wait.unwrap_or_default(), self.said()))
            }
            status => (Outcome::Status, format!("HTTP {status}{}", self.said())),
        }
    }

    /// The server counted one token more than came before the finish reason: it came with it, and had no text.
    fn ends_with_a_token(&self) -> bool {
        self.blank_end.is_some_and(|at| at >= self.reported)
            && self.reading.completion_tokens == Some(self.generated + 1)
    }

    /// What the server said with an error.
    fn said(&self) -> String {
        let words = error_words(&String::from_utf8_lossy(&self.error_body));
        if words.is_empty() { String::new() } else { format!(": {}", short(&words)) }
    }

    /// The head of the answer has come.
    pub(super) fn headed(&mut self, head: &Head) {
        self.request.status = head.status;
        if let (Some(id), true) = (&head.request_id, self.request.answer_id.is_empty()) {
            self.request.answer_id.clone_from(id);
        }
    }

    /// Chunks that the recorder has not seen; it has now.
    pub(super) fn unreported(&mut self) -> Option<(u64, Vec<Chunk>)> {
        let new = &self.chunks[self.reported..];
        if new.is_empty() {
            return None;
        }
        let new = new.to_vec();
        self.reported = self.chunks.len();
        Some((self.request.id, new))
    }

    pub(super) fn ended(self, outcome: Outcome, error: impl Into<String>, at: Nanos) -> Ended {
        Ended { exchange: self, outcome, error: error.into(), at }
    }
}

impl Ended {
    /// What the recorder gets: the request, how many of its chunks it had before; and the answer's text where kept.
    pub(super) fn finish(mut self) -> (Finished, usize, String) {
        if let (Some(at), true) = (self.exchange.blank_end, self.exchange.ends_with_a_token()) {
            self.exchange.chunks[at].kind = ChunkKind::Silent;
        }
        let Exchange { mut request, chunks, reported, reading, .. } = self.exchange;
        request.outcome = self.outcome;
        request.error = self.error;
        request.ended = self.at;
        request.prompt_tokens = reading.prompt_tokens;
        request.completion_tokens = reading.completion_tokens;
        request.cached_tokens = reading.cached_tokens;
        request.finish = reading.finish;
        if !reading.id.is_empty() {
            request.answer_id = reading.id;
        }
        (Finished { request, chunks }, reported, reading.text)
    }
}

/// A server's words, cut to a line.
fn short(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(160).collect()
}
