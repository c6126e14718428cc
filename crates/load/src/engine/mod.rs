//! The engine: event loops that send what a [`Feed`] gives them and record what arrives.
//!
//! One thread is one loop around epoll with its own connections. In each turn it first takes everything that has
//! arrived, with one clock reading a read and the kernel's own stamp, and only then parses. Sends are due at absolute
//! instants: the loop sleeps on a timer until shortly before, then looks at the clock until it is time.
//!
//! The loop is the same for every protocol: a `Carrier` is one connection that makes requests out of bytes and bytes
//! out of requests, HTTP/1.1 with one at a time or HTTP/2 with many at once.

mod arrival;
mod carrier;
mod exchange;
mod health;
mod http1;
mod http2;
mod line;
mod looping;
mod reading;
mod sending;
mod socket;
mod tls;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use intriage_case::Nanos;
use intriage_record::{Chunk, Finished, Request};

pub use health::raise_file_limit;
pub(crate) use http1::Http1;
pub(crate) use http2::Http2;
pub(crate) use looping::Loop;
pub(crate) use socket::begin_stamping;
pub(crate) use tls::NO_TLS;
pub use tls::{Tls, TlsError};

use crate::api::Api;

/// One request to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// Its number in the plan.
    pub id: u64,
    /// Its class in the mix.
    pub class: u16,
    /// The stage of the run.
    pub stage: u16,
    /// Its session.
    pub session: u64,
    /// Its turn in the session.
    pub turn: u32,
    /// Sent to warm up.
    pub warmup: bool,
    /// When it is due.
    pub planned: Nanos,
    /// Prompt tokens as declared.
    pub input: Option<u32>,
    /// Answer tokens asked for.
    pub output: u32,
    /// Prompt tokens shared with earlier prompts.
    pub shared: u32,
    /// Give up after so many chunks of text.
    pub abort_after: Option<u32>,
    /// The text of the answer is needed for the next turn.
    pub keep_text: bool,
    /// The whole request, head and body, as HTTP/1.1 writes it; other versions make theirs of it.
    pub bytes: Vec<u8>,
}

/// What a loop should do next.
#[derive(Debug)]
pub enum Next {
    /// Send this now: its time has come.
    Send(Box<Ask>),
    /// Nothing before this instant.
    At(Nanos),
    /// Nothing until something in flight ends.
    Wait,
    /// Nothing more.
    Over,
}

/// Where a loop's requests come from.
pub trait Feed: Send {
    /// What to do next; `in_flight` requests are under way on this loop.
    fn next(&mut self, now: Nanos, in_flight: usize) -> Next;

    /// A request ended; `text` is its answer where it was to be kept.
    fn ended(&mut self, request: &Request, text: &str, now: Nanos);

    /// Connections to make before the first request, so that making them is no part of it.
    fn connections(&self) -> usize {
        0
    }

    /// There is nothing to do for a while: prepare what comes next.
    fn prepare(&mut self) {}

    /// Requests that were planned and will never be sent, to be accounted for at the end.
    fn never_sent(&mut self, now: Nanos) -> Vec<Request> {
        let _ = now;
        Vec::new()
    }
}

/// What all loops of a run share.
#[derive(Debug)]
pub struct Settings {
    /// Where to connect, in turn.
    pub addresses: Vec<SocketAddr>,
    /// The API spoken.
    pub api: Api,
    /// TLS, where the server wants it.
    pub tls: Option<Tls>,
    /// Speak HTTP/2: at once over plain connections, agreed on in the handshake over TLS.
    pub http2: bool,
    /// Use a connection again for the next request.
    pub keep_alive: bool,
    /// A request that has not ended by then has failed.
    pub timeout: Nanos,
    /// A connection that does not stand by then has failed.
    pub connect_timeout: Nanos,
    /// How long to wait at the end for requests in flight.
    pub drain: Nanos,
    /// Set from outside to end the run early.
    pub stop: Arc<AtomicBool>,
    /// Requests sent so far, by all loops.
    pub sent: AtomicU64,
}

/// What a loop reports to the recorder.
#[derive(Debug)]
pub(crate) enum Piece {
    /// Chunks of a request under way, so that a killed run has them.
    Partial(u64, Vec<Chunk>),
    /// A request that ended, and how many of its chunks were reported before.
    Ended(Box<Finished>, usize),
}
