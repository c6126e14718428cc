//! h2's side of a connection.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use h2::client::{Builder, Connection, ResponseFuture, SendRequest};
use h2::{Reason, SendStream};
use http::Request;

use super::pipe::Pipe;

/// Bytes the server may send on all streams before it must wait for us.
const CONNECTION_WINDOW: u32 = 16 << 20;
/// And on one stream.
const STREAM_WINDOW: u32 = 4 << 20;
/// Streams given up that are remembered, because frames for them may still arrive.
const GIVEN_UP: usize = 4096;

/// h2's side of a connection.
pub(super) struct Talk {
    pub pipe: Pipe,
    sender: SendRequest<Bytes>,
    connection: Connection<Pipe, Bytes>,
    /// The server's settings have come.
    pub stands: bool,
    /// The server takes no more requests on it, for this reason.
    pub going_away: Option<Reason>,
}

impl Talk {
    pub(super) fn begin() -> Result<Self, h2::Error> {
        let mut builder = Builder::new();
        builder
            .initial_connection_window_size(CONNECTION_WINDOW)
            .initial_window_size(STREAM_WINDOW)
            .max_concurrent_reset_streams(GIVEN_UP)
            // None until the server's settings say how many: a request sent before might be refused.
            .initial_max_send_streams(0)
            .enable_push(false);
        let pipe = Pipe::default();
        match pin!(builder.handshake(pipe.clone())).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(made) => made.map(|(sender, connection)| Self {
                pipe,
                sender,
                connection,
                stands: false,
                going_away: None,
            }),
            // It only writes, and memory takes everything.
            Poll::Pending => Err(Reason::INTERNAL_ERROR.into()),
        }
    }

    /// Streams the server allows at once.
    pub(super) fn limit(&self) -> usize {
        self.sender.current_max_send_streams()
    }

    /// Whether it can carry one more than `streams`.
    pub(super) fn has_room(&self, streams: usize) -> bool {
        self.stands && self.going_away.is_none() && streams < self.limit()
    }

    /// Opens a stream.
    pub(super) fn open(
        &mut self,
        head: Request<()>,
    ) -> Result<(ResponseFuture, SendStream<Bytes>), h2::Error> {
        // A clone, because one sender does not open a stream while its last one waits to be opened.
        self.sender.clone().send_request(head, false)
    }

    /// Polls h2: how the connection ended, if it did.
    pub(super) fn poll(&mut self, waker: &Waker) -> Option<Result<(), h2::Error>> {
        let polled = Pin::new(&mut self.connection).poll(&mut Context::from_waker(waker));
        self.stands |= self.limit() > 0;
        if let Poll::Ready(Err(why)) = self.sender.poll_ready(&mut Context::from_waker(Waker::noop())) {
            self.going_away.get_or_insert(why.reason().unwrap_or(Reason::NO_ERROR));
        }
        match polled {
            Poll::Pending => None,
            Poll::Ready(end) => Some(end),
        }
    }
}
