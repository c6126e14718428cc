//! HTTP/2, plain and over TLS: many requests at once on a connection, and servers that break off.
#![allow(clippy::unwrap_used)]

mod support;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use h2::RecvStream;
use h2::server::SendResponse;
use http::{Request, Response};
use intriage_case::Nanos;
use intriage_load::engine::Settings;
use intriage_record::{Finished, Outcome};
use support::frames::{Frames, INTERNAL_ERROR, REFUSED_STREAM};
use support::{ask, asks, client_tls, events, listen, run, run_gated, server_tls, settings, texts, tokens};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Barrier;
use tokio_rustls::TlsAcceptor;

type Respond = SendResponse<Bytes>;

/// A server of HTTP/2 in a thread of its own; `limit` is the number of streams it allows on a connection.
fn serve<F>(
    tls: bool,
    limit: u32,
    each: impl Fn(Request<RecvStream>, Respond) -> F + Clone + Send + 'static,
) -> SocketAddr
where
    F: Future<Output = ()> + 'static,
{
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    listener.set_nonblocking(true).unwrap();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let each = each.clone();
                tokio::task::spawn_local(async move {
                    if tls {
                        let acceptor = TlsAcceptor::from(server_tls(&[b"h2"]));
                        connection(acceptor.accept(stream).await.unwrap(), limit, each).await;
                    } else {
                        connection(stream, limit, each).await;
                    }
                });
            }
        });
    });
    at
}

async fn connection<F: Future<Output = ()> + 'static>(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    limit: u32,
    each: impl Fn(Request<RecvStream>, Respond) -> F,
) {
    let mut builder = h2::server::Builder::new();
    let Ok(mut connection) = builder.max_concurrent_streams(limit).handshake(stream).await else { return };
    while let Some(Ok((request, respond))) = connection.accept().await {
        tokio::task::spawn_local(each(request, respond));
    }
}

fn asked(request: &Request<RecvStream>) -> u32 {
    request.headers()["x-tokens"].to_str().unwrap().parse().unwrap()
}

/// Streams the answer, one event a frame, with a pause after each.
async fn stream(mut respond: Respond, tokens: u32, pause: Duration) {
    let head = Response::builder().header("content-type", "text/event-stream").body(()).unwrap();
    let mut to = respond.send_response(head, false).unwrap();
    for event in events(tokens) {
        to.send_data(event.into(), false).unwrap();
        tokio::time::sleep(pause).await;
    }
    to.send_data(Bytes::new(), true).unwrap();
}

fn secure(at: SocketAddr) -> Settings {
    settings(at, true, Some(client_tls("localhost", true)))
}

fn plain(at: SocketAddr) -> Settings {
    settings(at, true, None)
}

fn answered(f: &Finished) {
    let r = &f.request;
    assert_eq!((r.outcome, r.error.as_str()), (Outcome::Ok, ""), "request {}", r.id);
    assert_eq!(texts(f), tokens(r.id));
    assert_eq!(r.completion_tokens, Some(tokens(r.id)));
    assert_eq!(r.status, 200);
    assert!(r.written >= r.sent && r.head.unwrap() >= r.sent && r.ended >= r.head.unwrap());
    assert!(f.chunks.windows(2).all(|w| w[0].at <= w[1].at));
}

#[test]
fn fifty_at_once_ride_on_one_connection() {
    for tls in [false, true] {
        // Nobody is answered before all have asked.
        let all = Arc::new(Barrier::new(50));
        let at = serve(tls, 200, move |request, respond| {
            let all = Arc::clone(&all);
            async move {
                all.wait().await;
                stream(respond, asked(&request), Duration::from_millis(1)).await;
            }
        });
        let to = if tls { secure(at) } else { plain(at) };
        let (finished, ran) = run_gated(to, asks(100), 50, Arc::new(AtomicBool::new(true)));
        assert_eq!(finished.len(), 100);
        finished.iter().for_each(answered);
        assert!(finished.iter().all(|f| f.request.connection == 0));
        let mut places: Vec<u32> = finished.iter().map(|f| f.request.nth).collect();
        places.sort_unstable();
        assert!(places.into_iter().eq(0..100));
        for r in finished.iter().map(|f| &f.request) {
            // Those that waited for the connection say how long.
            assert_eq!(r.secured.is_some(), tls && r.dialled.is_some());
        }
        assert!(ran.client.round_trip.is_some());
    }
}

#[test]
fn the_servers_limit_of_streams_is_kept_and_more_connections_made() {
    // The server answers when ten have asked, and allows four on a connection.
    let all = Arc::new(Barrier::new(10));
    let at = serve(false, 4, move |request, respond| {
        let all = Arc::clone(&all);
        async move {
            all.wait().await;
            stream(respond, asked(&request), Duration::ZERO).await;
        }
    });
    let finished = run(plain(at), asks(30), 10);
    finished.iter().for_each(answered);
    let connections = finished.iter().map(|f| f.request.connection).max().unwrap() + 1;
    assert_eq!(connections, 3);
}

#[test]
fn without_keep_alive_each_request_has_its_own_connection() {
    let at = serve(false, 100, |request, respond| async move {
        stream(respond, asked(&request), Duration::ZERO).await;
    });
    let finished = run(Settings { keep_alive: false, ..plain(at) }, asks(6), 2);
    finished.iter().for_each(answered);
    let mut connections: Vec<u32> = finished.iter().map(|f| f.request.connection).collect();
    connections.sort_unstable();
    assert_eq!(connections, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn long_requests_pass_through_small_windows() {
    for tls in [false, true] {
        let at = serve(tls, 100, |request, respond| async move {
            let tokens = asked(&request);
            let mut body = request.into_body();
            let mut length = 0;
            while let Some(part) = body.data().await {
                let part = part.unwrap();
                length += part.len();
                body.flow_control().release_capacity(part.len()).unwrap();
            }
            stream(respond, if length == 1 << 20 { tokens } else { 0 }, Duration::ZERO).await;
        });
        let body = "x".repeat(1 << 20);
        let asks = (0..5).map(|id| ask(id, tokens(id), &body)).collect();
        let finished = run(if tls { secure(at) } else { plain(at) }, asks, 5);
        finished.iter().for_each(answered);
        assert!(finished.iter().all(|f| f.request.bytes_sent > 1 << 20));
    }
}

#[test]
fn a_status_is_told_with_the_servers_words() {
    let at = serve(false, 100, |_, mut respond: Respond| async move {
        let head = Response::builder().status(429).header("retry-after", "7").body(()).unwrap();
        let mut to = respond.send_response(head, false).unwrap();
        to.send_data(r#"{"error":{"message":"queue full"}}"#.into(), true).unwrap();
    });
    let finished = run(plain(at), asks(1), 1);
    let r = &finished[0].request;
    assert_eq!((r.outcome, r.status), (Outcome::Refused, 429));
    assert_eq!(r.error, "HTTP 429, Retry-After 7: queue full");
}

#[test]
fn a_reset_stream_keeps_its_chunks_and_leaves_the_others_alone() {
    let at = listen(|stream, _| {
        let mut frames = Frames::accept(stream);
        let (first, second) = (frames.request().unwrap(), frames.request().unwrap());
        frames.head(first);
        frames.data(first, &events(9)[..2].concat(), false);
        frames.reset(first, INTERNAL_ERROR);
        frames.answer(second, tokens(1));
        let third = frames.request().unwrap();
        frames.reset(third, REFUSED_STREAM);
        let fourth = frames.request().unwrap();
        frames.answer(fourth, tokens(3));
        frames.request();
    });
    let finished = run(plain(at), asks(4), 2);
    let [first, second, third, fourth] = &finished[..] else { unreachable!() };
    assert_eq!((first.request.outcome, texts(first)), (Outcome::Reset, 2));
    assert!(first.request.error.contains("INTERNAL_ERROR"), "{}", first.request.error);
    answered(second);
    assert_eq!((third.request.outcome, texts(third)), (Outcome::Refused, 0));
    assert!(third.request.error.contains("REFUSED_STREAM"), "{}", third.request.error);
    answered(fourth);
    assert!(finished.iter().all(|f| f.request.connection == 0));
}

#[test]
fn a_server_that_goes_away_ends_what_it_took_and_refuses_the_rest() {
    let at = listen(|stream, number| {
        let mut frames = Frames::accept(stream);
        let first = frames.request().unwrap();
        if number == 0 {
            let _second = frames.request().unwrap();
            frames.head(first);
            frames.go_away(first, 0);
            frames.data(first, &events(tokens(0)).concat(), true);
        } else {
            frames.answer(first, tokens(2));
        }
        frames.request();
    });
    let finished = run(plain(at), asks(3), 2);
    let [first, second, third] = &finished[..] else { unreachable!() };
    answered(first);
    assert_eq!(second.request.outcome, Outcome::Refused);
    assert!(second.request.error.contains("going away"), "{}", second.request.error);
    answered(third);
    assert_ne!(third.request.connection, first.request.connection);
}

#[test]
fn a_server_that_breaks_off_is_told_by_how_it_did() {
    let at = listen(|stream, number| {
        let mut frames = Frames::accept(stream);
        let stream = frames.request().unwrap();
        if number < 2 {
            frames.head(stream);
            frames.data(stream, &events(9)[0], false);
        }
        if number == 0 {
            frames.go_away(stream, INTERNAL_ERROR);
        }
        frames.0.shutdown(std::net::Shutdown::Write).unwrap();
        frames.request();
    });
    let finished = run(plain(at), asks(3), 1);
    let ends: Vec<_> = finished.iter().map(|f| (f.request.outcome, texts(f))).collect();
    assert_eq!(ends, [(Outcome::Reset, 1), (Outcome::CutOff, 1), (Outcome::CutOff, 0)]);
    assert!(finished[0].request.error.contains("INTERNAL_ERROR"), "{}", finished[0].request.error);
    assert!(finished[1].request.error.contains("before the answer was complete"));
    assert!(finished[2].request.error.contains("without an answer"));
}

#[test]
fn a_request_given_up_or_overdue_leaves_the_connection_to_the_others() {
    let gate = Arc::new(AtomicBool::new(false));
    let opens = Arc::clone(&gate);
    let at = listen(move |stream, _| {
        let mut frames = Frames::accept(stream);
        let (first, second) = (frames.request().unwrap(), frames.request().unwrap());
        frames.head(first);
        frames.data(first, &events(9)[..4].concat(), false);
        // The second is never answered.
        assert_eq!(frames.given_up(), Some(first));
        assert_eq!(frames.given_up(), Some(second));
        opens.store(true, Ordering::SeqCst);
        let third = frames.request().unwrap();
        frames.answer(third, tokens(2));
        frames.request();
    });
    let mut asks = asks(3);
    asks[0].abort_after = Some(2);
    asks[2].session = 1;
    let to = Settings { timeout: Nanos(2_000_000_000), ..plain(at) };
    let (finished, _) = run_gated(to, asks, 2, gate);
    let outcomes: Vec<_> = finished.iter().map(|f| f.request.outcome).collect();
    assert_eq!(outcomes, [Outcome::Aborted, Outcome::TimedOut, Outcome::Ok]);
    assert!(finished.iter().all(|f| f.request.connection == 0));
}

#[test]
fn a_server_without_http2_is_told() {
    let old = listen(|mut stream, _| {
        use std::io::{Read, Write};
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
        let _ = stream.read(&mut [0; 4096]);
    });
    let finished = run(plain(old), asks(2), 2);
    for r in finished.iter().map(|f| &f.request) {
        assert_eq!(r.outcome, Outcome::NotHttp, "{}", r.error);
        assert!(r.error.contains("HTTP/2"), "{}", r.error);
    }
    let silent = listen(|stream, _| {
        let connection = rustls::ServerConnection::new(server_tls(&[])).unwrap();
        let mut stream = rustls::StreamOwned::new(connection, stream);
        let _ = std::io::Read::read(&mut stream, &mut [0; 4096]);
    });
    let finished = run(secure(silent), asks(1), 1);
    let r = &finished[0].request;
    assert_eq!(r.outcome, Outcome::NotHttp, "{}", r.error);
    assert!(r.error.contains("did not agree"), "{}", r.error);
    let other = listen(|stream, _| {
        let connection = rustls::ServerConnection::new(server_tls(&[b"http/1.1"])).unwrap();
        let mut stream = rustls::StreamOwned::new(connection, stream);
        let _ = std::io::Read::read(&mut stream, &mut [0; 4096]);
    });
    let finished = run(secure(other), asks(1), 1);
    assert_eq!(finished[0].request.outcome, Outcome::Tls, "{}", finished[0].request.error);
}
