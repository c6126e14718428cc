//! HTTP/1.1, plain and over TLS, against servers that are real and sometimes odd.
#![allow(clippy::unwrap_used)]

mod support;

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use intriage_load::engine::Settings;
use intriage_record::{Finished, Outcome};
use rustls::{ServerConnection, StreamOwned};
use support::{
    answer, ask, asks, client_tls, listen, read_head, read_request, run, run_gated, server_tls, settings,
    texts, tokens,
};

/// More than any kernel takes at once.
const LONG: usize = 12 << 20;

type Secure = StreamOwned<ServerConnection, TcpStream>;

fn secure(stream: TcpStream) -> Secure {
    StreamOwned::new(ServerConnection::new(server_tls(&[])).unwrap(), stream)
}

/// Answers until the client goes.
fn serve(mut stream: impl Read + Write) {
    while let Some((tokens, _)) = read_request(&mut stream) {
        if answer(&mut stream, tokens).is_err() {
            return;
        }
    }
}

fn over_tls(at: SocketAddr) -> Settings {
    settings(at, false, Some(client_tls("localhost", true)))
}

fn all_answered(finished: &[Finished]) {
    for f in finished {
        let r = &f.request;
        assert_eq!((r.outcome, r.error.as_str()), (Outcome::Ok, ""), "request {}", r.id);
        assert_eq!(texts(f), tokens(r.id));
        assert_eq!(r.completion_tokens, Some(tokens(r.id)));
        assert!(r.written >= r.sent && r.head.unwrap() >= r.sent && r.ended >= r.head.unwrap());
    }
}

#[test]
fn answers_over_tls_are_whole_and_connections_are_used_again() {
    let at = listen(|stream, _| serve(secure(stream)));
    let finished = run(over_tls(at), asks(40), 4);
    assert_eq!(finished.len(), 40);
    all_answered(&finished);
    let firsts = finished.iter().filter(|f| f.request.nth == 0).count();
    assert!(firsts <= 4, "{firsts} connections");
    for r in finished.iter().map(|f| &f.request) {
        assert_eq!(r.secured.is_some(), r.nth == 0);
        assert!(r.secured >= r.connected && r.connected >= r.dialled);
    }
}

#[test]
fn a_certificate_that_is_not_trusted_or_for_another_name_is_told() {
    let at = listen(|stream, _| serve(secure(stream)));
    for (name, trusts, word) in [("localhost", false, "UnknownIssuer"), ("example.org", true, "example.org")]
    {
        let finished = run(settings(at, false, Some(client_tls(name, trusts))), asks(1), 1);
        let r = &finished[0].request;
        assert_eq!(r.outcome, Outcome::Tls);
        assert!(r.error.contains("certificate") && r.error.contains(word), "{}", r.error);
        assert!(r.connected.is_some() && r.secured.is_none());
    }
}

#[test]
fn the_server_hears_why_its_certificate_was_not_taken() {
    let (told, hears) = std::sync::mpsc::channel();
    let told = std::sync::Mutex::new(told);
    let at = listen(move |mut stream, _| {
        let mut connection = ServerConnection::new(server_tls(&[])).unwrap();
        let end = loop {
            if let Err(why) = connection.complete_io(&mut stream) {
                break why.to_string();
            }
        };
        told.lock().unwrap().send(end).unwrap();
    });
    run(settings(at, false, Some(client_tls("localhost", false))), asks(1), 1);
    let words = hears.recv().unwrap();
    assert!(words.contains("alert"), "{words}");
}

#[test]
fn a_server_that_closes_in_the_handshake_is_told() {
    // With the greeting read, the close is orderly; without, the kernel resets the connection.
    for reads in [true, false] {
        let at = listen(move |mut stream, _| {
            let mut some = [0; 4096];
            // The greeting has arrived.
            stream.peek(&mut some).unwrap();
            while reads && stream.read(&mut some).unwrap() == some.len() {}
        });
        let finished = run(over_tls(at), asks(2), 1);
        for r in finished.iter().map(|f| &f.request) {
            assert_eq!(r.outcome, Outcome::Tls, "{}", r.error);
            assert!(r.error.contains("in the handshake"), "{}", r.error);
        }
    }
}

#[test]
fn a_server_that_does_not_speak_tls_is_told() {
    let at = listen(|mut stream, _| {
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
        sleep(Duration::from_millis(50));
    });
    let finished = run(over_tls(at), asks(1), 1);
    assert_eq!(finished[0].request.outcome, Outcome::Tls, "{}", finished[0].request.error);
}

/// Writes a few bytes at a time.
struct Dribble(TcpStream);

impl Read for Dribble {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = into.len().min(11);
        self.0.read(&mut into[..most])
    }
}

impl Write for Dribble {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        sleep(Duration::from_micros(200));
        self.0.write(&bytes[..bytes.len().min(7)])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_handshake_in_small_pieces_stands() {
    let at = listen(|stream, _| {
        serve(StreamOwned::new(ServerConnection::new(server_tls(&[])).unwrap(), Dribble(stream)));
    });
    let finished = run(over_tls(at), asks(6), 2);
    all_answered(&finished);
}

#[test]
fn what_tls_says_between_requests_does_not_matter() {
    let gate = Arc::new(AtomicBool::new(false));
    let opens = Arc::clone(&gate);
    let at = listen(move |stream, _| {
        let mut stream = secure(stream);
        // Session tickets leave with the end of the handshake, alone.
        stream.conn.complete_io(&mut stream.sock).unwrap();
        sleep(Duration::from_millis(20));
        let (tokens, _) = read_request(&mut stream).unwrap();
        answer(&mut stream, tokens).unwrap();
        // The connection is idle now; new keys are told by a message of TLS and wanted from the client too.
        stream.conn.refresh_traffic_keys().unwrap();
        stream.flush().unwrap();
        sleep(Duration::from_millis(20));
        opens.store(true, Ordering::SeqCst);
        serve(stream);
    });
    let mut asks = asks(3);
    asks[1].session = 1;
    let (finished, _) = run_gated(over_tls(at), asks, 1, gate);
    all_answered(&finished);
    assert!(finished.iter().all(|f| f.request.connection == 0));
}

#[test]
fn a_server_that_ends_tls_but_not_the_connection_has_closed() {
    let at = listen(|stream, _| {
        let mut stream = secure(stream);
        read_request(&mut stream).unwrap();
        // Without a length, the answer ends where the connection does.
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n").unwrap();
        stream.write_all(support::events(tokens(0)).concat().as_bytes()).unwrap();
        stream.conn.send_close_notify();
        stream.flush().unwrap();
        let _ = stream.sock.read(&mut [0; 64]);
    });
    let finished = run(over_tls(at), asks(1), 1);
    all_answered(&finished);
}

/// Reads late, so that the client has to wait for room, and answers if the body is the one that was sent.
fn serve_late(mut stream: impl Read + Write) {
    sleep(Duration::from_millis(50));
    while let Some((tokens, body)) = read_request(&mut stream) {
        let right = body == long_body().as_bytes() || body.len() < 100;
        if answer(&mut stream, if right { tokens } else { 0 }).is_err() {
            return;
        }
    }
}

fn long_body() -> String {
    (0..LONG).map(|n| char::from(b'a' + (n % 23) as u8)).collect()
}

#[test]
fn long_requests_arrive_whole() {
    let body = long_body();
    let long = || (0..3).map(|id| ask(id, tokens(id), if id == 1 { "{}" } else { &body })).collect();
    let plain = listen(|stream, _| serve_late(stream));
    let finished = run(settings(plain, false, None), long(), 1);
    all_answered(&finished);
    assert!(finished[0].request.bytes_sent > LONG as u64);
    let sealed = listen(|stream, _| serve_late(secure(stream)));
    let finished = run(over_tls(sealed), long(), 1);
    all_answered(&finished);
    assert!(finished.iter().all(|f| f.request.connection == 0));
}

#[test]
fn a_connection_answered_before_the_request_was_whole_is_not_used_again() {
    let at = listen(|mut stream, number| {
        if number > 0 {
            return serve(stream);
        }
        read_head(&mut stream).unwrap();
        stream
            .write_all(b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 3\r\ncontent-length: 0\r\n\r\n")
            .unwrap();
        // Never reads the rest, and waits for the client to go.
        while stream.peek(&mut [0]).is_ok() && stream.take_error().unwrap().is_none() {
            sleep(Duration::from_millis(5));
            if stream.write(b"").is_err() {
                break;
            }
        }
    });
    let asks = vec![ask(0, 3, &long_body()), ask(1, tokens(1), "{}")];
    let finished = run(settings(at, false, None), asks, 1);
    assert_eq!(finished[0].request.outcome, Outcome::Refused);
    assert!(finished[0].request.error.contains("Retry-After 3"));
    all_answered(&finished[1..]);
    assert_ne!(finished[0].request.connection, finished[1].request.connection);
}

/// One answer of an "a", and then the finish reason with an empty text; `counted` is the server's count.
fn ending_blank(before: &'static str, counted: u32) -> Finished {
    let at = listen(move |mut stream, _| {
        while read_request(&mut stream).is_some() {
            let body = format!(
                "{before}data: {{\"choices\":[{{\"delta\":{{\"content\":\"\"}},\"finish_reason\":\"stop\"}}]}}\n\n\
                 data: {{\"choices\":[],\"usage\":{{\"prompt_tokens\":1,\"completion_tokens\":{counted}}}}}\n\n\
                 data: [DONE]\n\n"
            );
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
            write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len()).unwrap();
        }
    });
    run(settings(at, false, None), asks(1), 1).remove(0)
}

#[test]
fn an_end_token_without_text_is_the_last_token_where_the_server_counts_it() {
    use intriage_record::ChunkKind::{Content, Done, Empty, Silent, Usage};
    let text = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    let kinds = |f: &Finished| f.chunks.iter().map(|c| c.kind).collect::<Vec<_>>();
    // vLLM sends the end token so; llama.cpp says only that it is over.
    assert_eq!(kinds(&ending_blank(text, 2)), [Content, Silent, Usage, Done]);
    assert_eq!(kinds(&ending_blank(text, 1)), [Content, Empty, Usage, Done]);
    let alone = ending_blank("", 1);
    assert_eq!((alone.request.outcome, kinds(&alone)), (Outcome::Ok, vec![Silent, Usage, Done]));
    assert_eq!(ending_blank("", 0).request.outcome, Outcome::NoTokens);
}
