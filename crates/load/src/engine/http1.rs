//! HTTP/1.1: one request at a time on a connection.

use std::io;

use intriage_case::Nanos;
use intriage_record::Outcome;

use super::Settings;
use super::arrival::Arrival;
use super::carrier::{Carrier, closed_words, stamp};
use super::exchange::{Ended, Exchange};
use super::line::{Line, State};
use crate::wire::{Answer, HttpError, Progress};

/// One connection.
#[derive(Debug)]
pub(crate) struct Http1 {
    line: Line,
    keep_alive: bool,
    open: bool,
    served: u32,
    exchange: Option<Exchange>,
    /// The request, until the line stands.
    waiting: Vec<u8>,
    answer: Answer,
}

impl Http1 {
    fn send(&mut self, bytes: Vec<u8>, now: Nanos, ended: &mut Vec<Ended>) {
        let sent = self.line.send(bytes);
        match (sent, &mut self.exchange) {
            (Ok(length), Some(exchange)) => exchange.request.bytes_sent = length as u64,
            (Ok(_), None) => {}
            (Err(why), _) => self.lost(Outcome::Tls, &why.to_string(), now, ended),
        }
    }

    /// The request has ended; the connection can be used again if `reusable`.
    fn end(
        &mut self,
        outcome: Outcome,
        error: impl Into<String>,
        at: Nanos,
        reusable: bool,
    ) -> Option<Ended> {
        // A server may answer before it has the whole request: the rest would run into the next one.
        self.open = reusable && self.keep_alive && !self.line.has_out();
        self.exchange.take().map(|exchange| exchange.ended(outcome, error, at))
    }
}

impl Carrier for Http1 {
    type Shared = ();

    fn new(line: Line, settings: &Settings, (): &()) -> Self {
        Self {
            line,
            keep_alive: settings.keep_alive,
            open: true,
            served: 0,
            exchange: None,
            waiting: Vec::new(),
            answer: Answer::default(),
        }
    }

    fn line(&self) -> &Line {
        &self.line
    }

    fn line_mut(&mut self) -> &mut Line {
        &mut self.line
    }

    fn is_open(&self) -> bool {
        self.open
    }

    fn has_room(&self) -> bool {
        self.open && self.exchange.is_none()
    }

    fn begin(&mut self, mut exchange: Exchange, bytes: Vec<u8>, now: Nanos, ended: &mut Vec<Ended>) {
        exchange.request.connection = self.line.number;
        exchange.request.nth = self.served;
        self.served += 1;
        self.answer.reset();
        self.exchange = Some(exchange);
        if self.line.state == State::Standing {
            self.send(bytes, now, ended);
        } else {
            self.waiting = bytes;
        }
    }

    fn stands(&mut self, now: Nanos, ended: &mut Vec<Ended>) {
        if let Some(exchange) = &mut self.exchange {
            stamp(exchange, &self.line);
            let bytes = std::mem::take(&mut self.waiting);
            self.send(bytes, now, ended);
        }
    }

    fn arrived(&mut self, bytes: &[u8], arrival: Arrival, ended: &mut Vec<Ended>) {
        let at = arrival.at;
        let Some(exchange) = &mut self.exchange else {
            // Nothing was asked: whatever it says, it cannot be used again.
            self.open = false;
            return;
        };
        exchange.came(bytes.len(), at);
        let progress = self.answer.read(bytes, |status, part| exchange.body(status, part, arrival));
        exchange.headed(&self.answer.head);
        let end = match progress {
            Err(why @ HttpError::HeadTooLong) => self.end(Outcome::TooLong, why.to_string(), at, false),
            Err(why) => self.end(Outcome::NotHttp, why.to_string(), at, false),
            Ok(Progress::Done { left }) => {
                let (outcome, error) = exchange.worth(&self.answer.head);
                let reusable = left == 0 && !self.answer.closes;
                self.end(outcome, error, at, reusable)
            }
            Ok(Progress::More) => match exchange.cut_short() {
                Some((outcome, error)) => self.end(outcome, error, at, false),
                None => None,
            },
        };
        ended.extend(end);
    }

    fn closed(&mut self, why: Option<&io::Error>, at: Nanos, ended: &mut Vec<Ended>) {
        let status = self.answer.head.status;
        let complete = why.is_none() && status != 0 && self.answer.is_complete_at_close();
        let (outcome, error) = match &self.exchange {
            Some(exchange) if complete => exchange.worth(&self.answer.head),
            _ => closed_words(why, status),
        };
        ended.extend(self.end(outcome, error, at, false));
    }

    fn wrote(&mut self, before: Nanos, after: Nanos, whole: bool) {
        // What TLS says before it stands is not the request.
        if let (Some(exchange), State::Standing) = (&mut self.exchange, self.line.state) {
            exchange.wrote(before, after, whole);
        }
    }

    fn lost(&mut self, outcome: Outcome, error: &str, at: Nanos, ended: &mut Vec<Ended>) {
        if let Some(exchange) = &mut self.exchange {
            stamp(exchange, &self.line);
        }
        ended.extend(self.end(outcome, error, at, false));
    }

    fn overdue(&mut self, error: &str, now: Nanos, ended: &mut Vec<Ended>) {
        if self.exchange.as_ref().is_some_and(|e| e.deadline <= now) {
            self.lost(Outcome::TimedOut, error, now, ended);
        }
    }

    fn exchanges(&mut self) -> impl Iterator<Item = &mut Exchange> {
        self.exchange.iter_mut()
    }
}
