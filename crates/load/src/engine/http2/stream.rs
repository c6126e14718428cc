//! One stream of a connection: a request and its answer.

use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h2::client::ResponseFuture;
use h2::{Reason, RecvStream, SendStream};
use http::HeaderMap;
use http::response::Parts;
use intriage_case::Nanos;
use intriage_record::Outcome;

use crate::engine::arrival::Arrival;
use crate::engine::exchange::Exchange;
use crate::wire::{Head, HttpError};

/// One stream.
pub(super) struct Stream {
    pub exchange: Exchange,
    /// The rest of the body, until all of it is given to h2.
    sending: Option<(SendStream<Bytes>, Bytes)>,
    answer: Answer,
    head: Head,
}

enum Answer {
    Awaited(ResponseFuture),
    Coming(RecvStream),
}

/// How a stream ended.
pub(super) type End = (Outcome, String);

impl Stream {
    pub(super) fn new(
        exchange: Exchange,
        answer: ResponseFuture,
        sender: SendStream<Bytes>,
        body: Bytes,
    ) -> Self {
        Self {
            exchange,
            sending: Some((sender, body)),
            answer: Answer::Awaited(answer),
            head: Head::default(),
        }
    }

    /// Bytes of the request were handed to the kernel, all that h2 gave if `flushed`; whether the kernel has it whole.
    pub(super) fn wrote(&mut self, before: Nanos, after: Nanos, flushed: bool) -> bool {
        let whole = flushed && self.sending.is_none();
        self.exchange.wrote(before, after, whole);
        whole
    }

    /// HTTP status of the answer; 0 before its head.
    pub(super) fn status(&self) -> u16 {
        self.head.status
    }

    /// Sends what the server's windows allow and reads what came; how it ended, if it did.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, arrival: Arrival) -> Poll<Result<End, h2::Error>> {
        self.send(cx);
        loop {
            match &mut self.answer {
                Answer::Awaited(answer) => {
                    let (head, body) = ready!(Pin::new(answer).poll(cx))?.into_parts();
                    self.exchange.came(length(&head.headers), arrival.at);
                    let read = self.read_head(&head);
                    self.exchange.headed(&self.head);
                    if let Err(why) = read {
                        return Poll::Ready(Ok((Outcome::NotHttp, why.to_string())));
                    }
                    self.answer = Answer::Coming(body);
                }
                Answer::Coming(body) => {
                    let Some(part) = ready!(body.poll_data(cx)).transpose()? else {
                        return Poll::Ready(Ok(self.exchange.worth(&self.head)));
                    };
                    // Everything is read at once, so the server need never wait for room.
                    body.flow_control().release_capacity(part.len())?;
                    self.exchange.came(part.len(), arrival.at);
                    self.exchange.body(self.head.status, &part, arrival);
                    if let Some((outcome, error)) = self.exchange.cut_short() {
                        return Poll::Ready(Ok((outcome, error.to_owned())));
                    }
                }
            }
        }
    }

    fn read_head(&mut self, head: &Parts) -> Result<(), HttpError> {
        self.head.status = head.status.as_u16();
        head.headers.iter().try_for_each(|(name, value)| self.head.line(name.as_str(), value.as_bytes()))
    }

    fn send(&mut self, cx: &mut Context<'_>) {
        while let Some((sender, body)) = &mut self.sending {
            sender.reserve_capacity(body.len());
            let room = sender.capacity().min(body.len());
            if room < body.len() && room == 0 {
                match sender.poll_capacity(cx) {
                    Poll::Pending => return,
                    Poll::Ready(Some(Ok(_))) => continue,
                    // The stream is no more: the answer's side says why.
                    Poll::Ready(None | Some(Err(_))) => {}
                }
            } else {
                let part = body.split_to(room);
                let last = body.is_empty();
                if sender.send_data(part, last).is_ok() && !last {
                    continue;
                }
            }
            self.sending = None;
        }
    }
}

/// Bytes of header lines, before they are packed.
pub(super) fn length(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum()
}

/// What the server did to a stream, in words.
pub(super) fn in_words(why: &h2::Error) -> End {
    // `Debug` gives the name the standard uses.
    let reason = why.reason().map_or_else(String::new, |r| format!(" ({r:?})"));
    match (why.is_remote(), why.is_go_away()) {
        (true, false) if why.reason() == Some(Reason::REFUSED_STREAM) => {
            (Outcome::Refused, format!("the server refused the stream{reason}"))
        }
        (true, false) => (Outcome::Reset, format!("the server reset the stream{reason}")),
        // A stream hears of it only if the server has not begun with it.
        (true, true) => {
            (Outcome::Refused, format!("the server is going away and did not take the request{reason}"))
        }
        _ => (Outcome::Reset, why.to_string()),
    }
}
