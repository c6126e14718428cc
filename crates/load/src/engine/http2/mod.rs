//! HTTP/2: many requests at once on a connection.
//!
//! h2 keeps the books of frames, windows and streams. It works on memory and never sees a socket: the loop gives it the
//! bytes of one read, h2 and then every stream with news are polled until nothing moves, and so each frame has the
//! stamp of the read that brought it.

mod pipe;
mod ready;
mod request;
mod stream;
mod streams;
mod talk;

use std::cell::Cell;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;

use h2::Reason;
use intriage_case::Nanos;
use intriage_record::Outcome;

use self::stream::{End, Stream, length};
use self::streams::Streams;
use self::talk::Talk;
use super::Settings;
use super::arrival::Arrival;
use super::carrier::{Carrier, closed_words, stamp};
use super::exchange::{Ended, Exchange};
use super::line::{Line, State};
use super::tls::HTTP2;

/// Requests that wait for one connection to stand at most: what the standard wants servers to allow at least.
const WAITING: usize = 100;

/// One connection.
pub(crate) struct Http2 {
    line: Line,
    keep_alive: bool,
    open: bool,
    served: u32,
    /// Requests that wait for the server's settings.
    waiting: VecDeque<(Exchange, Vec<u8>)>,
    talk: Option<Talk>,
    /// Requests a new connection will take, as far as is known.
    limit: Rc<Cell<usize>>,
    streams: Streams,
}

impl Http2 {
    /// Opens a stream for a request.
    fn send(&mut self, mut exchange: Exchange, bytes: Vec<u8>, now: Nanos, ended: &mut Vec<Ended>) {
        let Some(talk) = &mut self.talk else { return };
        let opened = request::parse(bytes, self.line.is_secure()).and_then(|(head, body)| {
            let bytes = (length(head.headers()) + body.len()) as u64;
            let (answer, sender) = talk.open(head).map_err(|why| why.to_string())?;
            Ok((bytes, answer, sender, body))
        });
        match opened {
            Ok((bytes, answer, sender, body)) => {
                exchange.request.bytes_sent = bytes;
                self.streams.add(Stream::new(exchange, answer, sender, body), now, ended);
            }
            Err(why) => ended.push(exchange.ended(Outcome::Reset, format!("not sent: {why}"), now)),
        }
    }

    /// Ends everything, each request in the words that `how` finds for its status.
    fn end_all(&mut self, how: impl Fn(u16) -> End, at: Nanos, ended: &mut Vec<Ended>) {
        self.open = false;
        for (mut exchange, _) in std::mem::take(&mut self.waiting) {
            stamp(&mut exchange, &self.line);
            let (outcome, error) = how(0);
            ended.push(exchange.ended(outcome, error, at));
        }
        self.streams.end_all(how, at, ended);
    }

    /// Polls h2 and its streams until nothing moves; what it wants to send goes to the line.
    fn drive(&mut self, arrival: Arrival, ended: &mut Vec<Ended>) {
        let at = arrival.at;
        let waker = self.streams.ready.connection();
        let mut moves = true;
        let mut over = None;
        while moves && over.is_none() {
            let Some(talk) = &mut self.talk else { return };
            over = talk.poll(&waker);
            moves = self.admit(at, ended);
            moves |= self.streams.poll_woken(arrival, ended);
            moves |= self.streams.ready.take_connection();
        }
        if let Some(output) = self.talk.as_ref().map(|t| t.pipe.output()).filter(|o| !o.is_empty())
            && let Err(why) = self.line.send(output)
        {
            self.lost(Outcome::Tls, &why.to_string(), at, ended);
        }
        match over {
            Some(Err(why)) if why.is_library() && self.served == 0 => {
                let words = format!("the server does not speak HTTP/2: {why}");
                self.lost(Outcome::NotHttp, &words, at, ended);
            }
            Some(Err(why)) if why.is_library() => self.lost(Outcome::Reset, &why.to_string(), at, ended),
            Some(_) => self.end_closed(None, at, ended),
            None => self.leave(at, ended),
        }
    }

    /// Ends everything because nothing more will arrive.
    fn end_closed(&mut self, why: Option<&io::Error>, at: Nanos, ended: &mut Vec<Ended>) {
        let away = self.talk.as_ref().and_then(|t| t.going_away);
        let how = |status| match (closed_words(why, status), away) {
            ((_, words), Some(reason)) if reason != Reason::NO_ERROR => {
                (Outcome::Reset, format!("{words} ({reason:?})"))
            }
            (end, _) => end,
        };
        self.end_all(how, at, ended);
    }

    /// Sends what waited for the server's settings, once they are known; whether there was any.
    fn admit(&mut self, now: Nanos, ended: &mut Vec<Ended>) -> bool {
        let Some(talk) = self.talk.as_ref().filter(|t| t.stands) else { return false };
        self.limit.set(talk.limit().max(1));
        let mut any = false;
        while self.talk.as_ref().is_some_and(|t| t.has_room(self.streams.count())) {
            let Some((mut exchange, bytes)) = self.waiting.pop_front() else { break };
            stamp(&mut exchange, &self.line);
            exchange.request.nth = self.served;
            self.served += 1;
            self.send(exchange, bytes, now, ended);
            any = true;
        }
        any
    }

    /// The server takes no more requests: those that still wait end, and with the last stream the connection.
    fn leave(&mut self, at: Nanos, ended: &mut Vec<Ended>) {
        let away = self.talk.as_ref().is_some_and(|t| t.going_away.is_some());
        if away {
            for (exchange, _) in std::mem::take(&mut self.waiting) {
                let words = "the server is going away and did not take the request";
                ended.push(exchange.ended(Outcome::Refused, words, at));
            }
        }
        let used_up = away || (!self.keep_alive && self.served > 0);
        if used_up && self.streams.count() == 0 && self.waiting.is_empty() {
            self.open = false;
        }
    }
}

impl Carrier for Http2 {
    type Shared = Rc<Cell<usize>>;

    fn new(line: Line, settings: &Settings, shared: &Self::Shared) -> Self {
        if shared.get() == 0 {
            shared.set(WAITING);
        }
        Self {
            line,
            limit: Rc::clone(shared),
            keep_alive: settings.keep_alive,
            open: true,
            served: 0,
            waiting: VecDeque::new(),
            talk: None,
            streams: Streams::default(),
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
        let taken = self.waiting.len() + self.streams.count();
        let room = match &self.talk {
            Some(talk) if talk.stands => talk.has_room(taken),
            Some(Talk { going_away: Some(_), .. }) => false,
            _ => taken < self.limit.get(),
        };
        self.open && room && (self.keep_alive || (self.served == 0 && self.waiting.is_empty()))
    }

    fn is_connecting(&self) -> bool {
        !self.talk.as_ref().is_some_and(|t| t.stands)
    }

    fn begin(&mut self, mut exchange: Exchange, bytes: Vec<u8>, now: Nanos, ended: &mut Vec<Ended>) {
        exchange.request.connection = self.line.number;
        self.waiting.push_back((exchange, bytes));
        if self.line.state == State::Standing {
            self.drive(Arrival::now(now), ended);
        }
    }

    fn stands(&mut self, now: Nanos, ended: &mut Vec<Ended>) {
        if self.line.is_secure() && self.line.agreed() != Some(HTTP2) {
            self.lost(Outcome::NotHttp, "the server did not agree to HTTP/2 in the handshake", now, ended);
            return;
        }
        match Talk::begin() {
            Ok(talk) => {
                self.talk = Some(talk);
                self.drive(Arrival::now(now), ended);
            }
            Err(why) => self.lost(Outcome::NotHttp, &why.to_string(), now, ended),
        }
    }

    fn arrived(&mut self, bytes: &[u8], arrival: Arrival, ended: &mut Vec<Ended>) {
        if let Some(talk) = &self.talk {
            talk.pipe.arrived(bytes);
            self.drive(arrival, ended);
        }
    }

    fn closed(&mut self, why: Option<&io::Error>, at: Nanos, ended: &mut Vec<Ended>) {
        self.end_closed(why, at, ended);
    }

    fn wrote(&mut self, before: Nanos, after: Nanos, whole: bool) {
        self.streams.wrote(before, after, whole);
    }

    fn lost(&mut self, outcome: Outcome, error: &str, at: Nanos, ended: &mut Vec<Ended>) {
        self.end_all(|_| (outcome, error.to_owned()), at, ended);
    }

    fn overdue(&mut self, error: &str, now: Nanos, ended: &mut Vec<Ended>) {
        for (exchange, bytes) in std::mem::take(&mut self.waiting) {
            if exchange.deadline <= now {
                ended.push(exchange.ended(Outcome::TimedOut, error, now));
            } else {
                self.waiting.push_back((exchange, bytes));
            }
        }
        self.streams.end_overdue(error, now, ended);
        self.drive(Arrival::now(now), ended);
    }

    fn overflow(&mut self) -> Vec<(Exchange, Vec<u8>)> {
        // With the settings known, whatever still waits is too much for this connection.
        if self.is_connecting() { Vec::new() } else { std::mem::take(&mut self.waiting).into() }
    }

    fn exchanges(&mut self) -> impl Iterator<Item = &mut Exchange> {
        self.waiting.iter_mut().map(|(exchange, _)| exchange).chain(self.streams.exchanges())
    }
}
