//! The streams of a connection, and which of them have news.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use intriage_case::Nanos;
use intriage_record::Outcome;

use super::ready::Ready;
use super::stream::{End, Stream, in_words};
use crate::engine::arrival::Arrival;
use crate::engine::exchange::{Ended, Exchange};

/// The streams of a connection.
#[derive(Default)]
pub(super) struct Streams {
    /// Places, each with what wakes the stream in it.
    places: Vec<(Waker, Option<Stream>)>,
    free: Vec<usize>,
    pub ready: Arc<Ready>,
    woken: Vec<usize>,
    /// Streams whose requests the kernel does not have whole.
    leaving: Vec<usize>,
}

impl Streams {
    /// How many are under way.
    pub(super) fn count(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Takes a new one, and lets it send what it can.
    pub(super) fn add(&mut self, stream: Stream, now: Nanos, ended: &mut Vec<Ended>) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push((self.ready.stream(self.places.len()), None));
            self.places.len() - 1
        });
        self.places[place].1 = Some(stream);
        self.leaving.push(place);
        self.poll(place, Arrival::now(now), ended);
    }

    /// Polls those with news, which came like this; whether there were any.
    pub(super) fn poll_woken(&mut self, arrival: Arrival, ended: &mut Vec<Ended>) -> bool {
        let mut woken = std::mem::take(&mut self.woken);
        self.ready.take_streams(&mut woken);
        let any = !woken.is_empty();
        for place in woken.drain(..) {
            self.poll(place, arrival, ended);
        }
        self.woken = woken;
        any
    }

    fn poll(&mut self, place: usize, arrival: Arrival, ended: &mut Vec<Ended>) {
        let Some((waker, Some(stream))) = self.places.get_mut(place) else { return };
        match stream.poll(&mut Context::from_waker(waker), arrival) {
            Poll::Pending => {}
            Poll::Ready(Ok(end)) => self.end(place, end, arrival.at, ended),
            Poll::Ready(Err(why)) => self.end(place, in_words(&why), arrival.at, ended),
        }
    }

    /// Takes a stream off the connection; h2 tells the server if it is not over.
    fn end(&mut self, place: usize, (outcome, error): End, at: Nanos, ended: &mut Vec<Ended>) {
        if let Some(stream) = self.places.get_mut(place).and_then(|(_, slot)| slot.take()) {
            self.free.push(place);
            ended.push(stream.exchange.ended(outcome, error, at));
        }
    }

    /// Ends all, each in the words that `how` finds for its status.
    pub(super) fn end_all(&mut self, how: impl Fn(u16) -> End, at: Nanos, ended: &mut Vec<Ended>) {
        for place in 0..self.places.len() {
            if let Some(status) = self.places[place].1.as_ref().map(Stream::status) {
                self.end(place, how(status), at, ended);
            }
        }
    }

    /// Ends those whose time is over.
    pub(super) fn end_overdue(&mut self, error: &str, now: Nanos, ended: &mut Vec<Ended>) {
        for place in 0..self.places.len() {
            if self.places[place].1.as_ref().is_some_and(|s| s.exchange.deadline <= now) {
                self.end(place, (Outcome::TimedOut, error.to_owned()), now, ended);
            }
        }
    }

    /// All that h2 gave, or (not `whole`) a part of it, was handed to the kernel between `before` and `after`.
    pub(super) fn wrote(&mut self, before: Nanos, after: Nanos, whole: bool) {
        let places = &mut self.places;
        self.leaving.retain(|place| match places.get_mut(*place) {
            Some((_, Some(stream))) => !stream.wrote(before, after, whole),
            _ => false,
        });
    }

    pub(super) fn exchanges(&mut self) -> impl Iterator<Item = &mut Exchange> {
        self.places.iter_mut().filter_map(|(_, slot)| slot.as_mut().map(|s| &mut s.exchange))
    }
}
