//! A relay to put before a server: it holds answers back until a buffer is full, or delays every message.
//!
//! The buffer works as nginx's `proxy_buffering`: nothing of an answer, not even its head, goes out before
//! so many bytes have come or all have. The delay is a longer path: each message is late by the same time,
//! and none overtakes another. Only the TCP handshake stays fast: the system answers it.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Body, Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use intriage_case::Seconds;
use tokio::sync::mpsc::{self, Receiver};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::serve::ServeError;
use crate::serve::listen::{accept, builder};
use crate::serve::running::Running;
use crate::serve::wire::{Connection, Target};
use crate::setup::Path;

/// Largest body of a request that is passed on, in bytes.
const REQUEST_BYTES: usize = 64 << 20;
/// Pieces of an answer under way at most.
const UNDER_WAY: usize = 4096;

/// What the relay does.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Relay {
    to: Target,
    delay: Duration,
    buffer: usize,
}

/// Relays to `to` on a thread of its own; port 0 takes any.
pub fn start(path: Path, to: Target, address: SocketAddr) -> Result<Running<()>, ServeError> {
    let relay =
        Arc::new(Relay { to, delay: duration(path.delay), buffer: path.buffer.map_or(0, |b| b.0 as usize) });
    let listener =
        TcpListener::bind(address).map_err(|why| ServeError::Listen { address: address.to_string(), why })?;
    Ok(Running::start(listener, move |listener, stop| async move {
        accept(&listener, async move { drop(stop.await) }, |tcp| {
            let relay = Arc::clone(&relay);
            async move {
                let service = service_fn(move |request| pass(Arc::clone(&relay), request));
                // A broken connection concerns nobody else.
                let _ = builder().serve_connection(TokioIo::new(tcp), service).await;
            }
        })
        .await;
    })?)
}

/// Nothing for a negative time, a day for an endless one.
fn duration(seconds: Seconds) -> Duration {
    Duration::try_from_secs_f64(seconds.0.clamp(0.0, 86_400.0)).unwrap_or_default()
}

/// Passes one request on and its answer back.
async fn pass(relay: Arc<Relay>, request: Request<Incoming>) -> Result<Response<Delayed>, Infallible> {
    Ok(exchange(&relay, request).await.unwrap_or_else(|status| {
        let mut response = Response::new(Delayed::of(Bytes::from(status.to_string())));
        *response.status_mut() = status;
        response
    }))
}

async fn exchange(relay: &Relay, request: Request<Incoming>) -> Result<Response<Delayed>, StatusCode> {
    let (mut head, body) = request.into_parts();
    let body =
        Limited::new(body, REQUEST_BYTES).collect().await.map_err(|_| StatusCode::PAYLOAD_TOO_LARGE)?;
    let came = Instant::now();
    let mut connection = Connection::open(&relay.to).await.map_err(|_| StatusCode::BAD_GATEWAY)?;
    tokio::time::sleep_until(came + relay.delay).await;
    for own in [header::CONNECTION, header::TRANSFER_ENCODING, header::CONTENT_LENGTH] {
        head.headers.remove(own);
    }
    let onward = Request::from_parts(head, Full::new(body.to_bytes()));
    let answer = connection.sender.send_request(onward).await.map_err(|_| StatusCode::BAD_GATEWAY)?;
    let came = Instant::now();
    let (mut head, body) = answer.into_parts();
    head.headers.remove(header::CONNECTION);
    head.headers.remove(header::TRANSFER_ENCODING);

    let (pieces, mut arriving) = mpsc::channel(UNDER_WAY);
    // The task ends with the answer, or when the client hangs up and nobody takes its pieces.
    tokio::spawn(collect(connection, body, relay.buffer, pieces));
    let mut first = VecDeque::new();
    let release = if relay.buffer > 0 {
        let piece: Option<Piece> = arriving.recv().await;
        let at = piece.as_ref().map_or(came, |p| p.came);
        first.extend(piece);
        at
    } else {
        came
    };
    sleep_until(release + relay.delay).await;
    Ok(Response::from_parts(
        head,
        Delayed { first, arriving: Some(arriving), delay: relay.delay, waiting: None },
    ))
}

struct Piece {
    came: Instant,
    bytes: Bytes,
}

/// Reads an answer and hands it on in pieces of at least `buffer` bytes.
async fn collect(connection: Connection, mut body: Incoming, buffer: usize, pieces: mpsc::Sender<Piece>) {
    let mut held = BytesMut::new();
    loop {
        let frame = tokio::select! {
            frame = body.frame() => frame,
            () = pieces.closed() => break,
        };
        let Some(Ok(frame)) = frame else { break };
        if let Ok(data) = frame.into_data() {
            held.extend_from_slice(&data);
            if held.len() >= buffer {
                let piece = Piece { came: Instant::now(), bytes: held.split().freeze() };
                if pieces.send(piece).await.is_err() {
                    break;
                }
            }
        }
    }
    if !held.is_empty() {
        // A client that has gone does not want the rest.
        let _ = pieces.send(Piece { came: Instant::now(), bytes: held.freeze() }).await;
    }
    drop(connection);
}

/// An answer whose pieces come out a fixed time after they came in.
struct Delayed {
    first: VecDeque<Piece>,
    arriving: Option<Receiver<Piece>>,
    delay: Duration,
    waiting: Option<(Bytes, Pin<Box<Sleep>>)>,
}

impl Delayed {
    fn of(bytes: Bytes) -> Self {
        let first = VecDeque::from([Piece { came: Instant::now(), bytes }]);
        Self { first, arriving: None, delay: Duration::ZERO, waiting: None }
    }

    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Piece>> {
        if let Some(piece) = self.first.pop_front() {
            return Poll::Ready(Some(piece));
        }
        self.arriving.as_mut().map_or(Poll::Ready(None), |arriving| arriving.poll_recv(context))
    }
}

impl Body for Delayed {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.waiting.is_none() {
            match self.poll_piece(context) {
                Poll::Ready(Some(Piece { came, bytes })) => {
                    let until = came + self.delay;
                    self.waiting = Some((bytes, Box::pin(sleep_until(until))));
                }
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => return Poll::Pending,
            }
        }
        if let Some((_, sleep)) = &mut self.waiting
            && sleep.as_mut().poll(context).is_pending()
        {
            return Poll::Pending;
        }
        Poll::Ready(self.waiting.take().map(|(bytes, _)| Ok(Frame::data(bytes))))
    }
}
