//! An answer as a short list of steps, and the writes that come of it.

use std::collections::VecDeque;

use crate::answer::{Answer, Spent};
use crate::http;
use crate::schedule::Schedule;

/// Bytes that an endless thing has at most.
const ENDLESS: usize = 64 << 20;
/// Bytes of one write of an endless thing.
const BLOCK: usize = 64 << 10;
/// Between the bytes of a slow head, in nanoseconds.
const DRIP: u64 = 100_000_000;

/// What is done next. Bytes of a step wait for those of the next unless something sends them.
#[derive(Debug)]
pub(crate) enum Step {
    /// Bytes outside of the chunked body, with the tokens they hold.
    Raw(Vec<u8>, u32),
    /// Bytes of the chunked body.
    Body(Vec<u8>),
    /// What comes before the first token.
    Open,
    /// Tokens up to this many, each event at its time.
    Tokens(u32),
    /// What comes after the last token.
    Close,
    /// The end of the chunked body.
    EndBody,
    /// Everything so far goes out now.
    Send,
    /// Nothing before this time.
    Until(u64),
    /// These bytes, one every 100 ms.
    Drip(VecDeque<u8>),
    /// A letter over and over; inside the chunked body or outside.
    Endless { letter: u8, chunked: bool, written: usize },
}

/// How an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The connection is free for the next request.
    KeepAlive,
    /// The connection is closed.
    Close,
    /// The connection is reset.
    Reset,
    /// Nothing more comes, and nothing ends.
    Hold,
}

/// What there is to do now.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Pull {
    /// Bytes were appended that go out in one write, with so many tokens.
    Send { tokens: u32, due: u64 },
    /// Nothing before this time.
    Wait(u64),
    /// All is out.
    End(End),
}

/// An answer on its way.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) answer: Answer,
    pub(crate) steps: VecDeque<Step>,
    pub(crate) end: End,
    pub(crate) schedule: Schedule,
    /// Tokens in one write at least, unless fewer are left; `u32::MAX` for all.
    pub(crate) batch: u32,
    /// Tokens that have been given out.
    pub(crate) given: u32,
    /// Bytes that wait for a send: outside of the chunked body, and inside.
    raw: Vec<u8>,
    body: Vec<u8>,
    tokens: u32,
    /// Deadline of the last event; later ones are not due before it.
    due: u64,
    begin: u64,
    first: Option<u64>,
}

impl Script {
    pub(crate) fn new(answer: Answer, schedule: Schedule, batch: u32, begin: u64) -> Self {
        Self {
            answer,
            steps: VecDeque::new(),
            end: End::KeepAlive,
            schedule,
            batch,
            given: 0,
            raw: Vec::new(),
            body: Vec::new(),
            tokens: 0,
            due: begin,
            begin,
            first: None,
        }
    }

    /// Appends the bytes of the next write to `out`, or says what to wait for.
    pub(crate) fn pull(&mut self, now: u64, out: &mut Vec<u8>) -> Pull {
        loop {
            let Some(step) = self.steps.front_mut() else {
                return if self.waits() { self.send(out) } else { Pull::End(self.end) };
            };
            match step {
                Step::Raw(bytes, tokens) => {
                    if !self.body.is_empty() {
                        return self.send(out);
                    }
                    self.raw.append(bytes);
                    self.tokens += *tokens;
                    self.given += *tokens;
                }
                Step::Body(bytes) => self.body.append(bytes),
                Step::Open => self.answer.open(&mut self.body),
                Step::Close => {
                    let first = self.first.unwrap_or(now);
                    let spent =
                        Spent { prompt: first.saturating_sub(self.begin), answer: now.saturating_sub(first) };
                    self.answer.close(spent, &mut self.body);
                }
                Step::EndBody => {
                    http::chunk(&self.body, &mut self.raw);
                    self.body.clear();
                    self.raw.extend_from_slice(b"0\r\n\r\n");
                }
                Step::Send => {
                    self.steps.pop_front();
                    if self.waits() {
                        return self.send(out);
                    }
                    continue;
                }
                Step::Until(due) => {
                    let due = *due;
                    if now < due {
                        return Pull::Wait(due);
                    }
                    self.due = due;
                }
                Step::Tokens(upto) => {
                    let upto = *upto;
                    if self.given < upto {
                        let next = self.next_event(upto);
                        if now < next.1 {
                            return if self.tokens > 0 { self.send(out) } else { Pull::Wait(next.1) };
                        }
                        self.event(now, next);
                        if self.given < upto {
                            if self.tokens >= self.batch {
                                return self.send(out);
                            }
                            continue;
                        }
                    }
                }
                Step::Drip(bytes) => {
                    if now < self.due {
                        return Pull::Wait(self.due);
                    }
                    if let Some(byte) = bytes.pop_front() {
                        self.due = now.saturating_add(DRIP);
                        out.push(byte);
                        return Pull::Send { tokens: 0, due: now };
                    }
                }
                Step::Endless { letter, chunked, written } => {
                    if *written < ENDLESS {
                        if !self.raw.is_empty() || !self.body.is_empty() {
                            return self.send(out);
                        }
                        *written += BLOCK;
                        let block = vec![*letter; BLOCK];
                        if *chunked {
                            http::chunk(&block, out);
                        } else {
                            out.extend_from_slice(&block);
                        }
                        return Pull::Send { tokens: 0, due: now };
                    }
                }
            }
            self.steps.pop_front();
        }
    }

    /// Tokens of the next event, and its deadline.
    fn next_event(&self, upto: u32) -> (u32, u64) {
        let count = self.answer.event_tokens(self.given).min(upto.saturating_sub(self.given)).max(1);
        // An event is whole when its last token is; the first one comes at the time to first token all the same.
        let last = if self.given == 0 { 0 } else { self.given.saturating_add(count) - 1 };
        (count, self.schedule.due(last).max(self.due))
    }

    fn event(&mut self, now: u64, (count, due): (u32, u64)) {
        self.due = due;
        self.answer.tokens(self.given, count, &mut self.body);
        self.given += count;
        self.tokens += count;
        self.first.get_or_insert(now);
    }

    fn waits(&self) -> bool {
        !self.raw.is_empty() || !self.body.is_empty()
    }

    /// One write: what is outside of the body goes first, then the body as one chunk.
    fn send(&mut self, out: &mut Vec<u8>) -> Pull {
        out.append(&mut self.raw);
        http::chunk(&self.body, out);
        self.body.clear();
        Pull::Send { tokens: std::mem::take(&mut self.tokens), due: self.due }
    }
}
