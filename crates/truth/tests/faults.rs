//! Every fault does on the wire what its name says, and is logged.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::net::TcpStream;
use std::time::{Duration, Instant};

use intriage_truth::{Config, Fault, Served, Text, Truth, answer_text};
use serde_json::{Value, json};
use support::{CHAT, Client, Ended, Reply, chat, log_of, post, serve};

const FAST: &str = "ttft_ms=1,itl_ms=0";

fn broken(fault: Fault) -> Truth {
    serve(&format!("{FAST},fault={}", fault.name()))
}

/// A streamed chat of ten tokens from a server with this fault.
fn streamed(fault: Fault) -> (Reply, Served) {
    let server = broken(fault);
    let reply = Client::new(&server).post(CHAT, &chat(10));
    let record = log_of(&server, 1).remove(0);
    assert_eq!(record.fault, Some(fault));
    (reply, record)
}

fn done(reply: &Reply) -> bool {
    reply.data().last().is_some_and(|data| data == "[DONE]")
}

#[test]
fn a_dying_stream_closes_after_half_of_its_tokens() {
    let (reply, record) = streamed(Fault::Die);
    assert_eq!((reply.ended, reply.said().1), (Ended::Closed, answer_text(Text::Ascii, 5)));
    assert_eq!((record.tokens, record.aborted), (5, false));
}

#[test]
fn a_reset_stream_is_reset() {
    let (reply, record) = streamed(Fault::Reset);
    assert_eq!((reply.ended, record.tokens), (Ended::Reset, 5));
}

#[test]
fn garbage_is_no_http() {
    let server = broken(Fault::Garbage);
    let mut client = Client::new(&server);
    client.send(&post(CHAT, &chat(10)));
    assert_eq!(client.rest(), Ended::Closed);
    assert!(client.left.len() == 512 && !client.left.starts_with(b"HTTP"));
    assert_eq!(log_of(&server, 1)[0].status, 0);
}

#[test]
fn a_broken_event_stands_between_good_ones() {
    let (reply, record) = streamed(Fault::GarbageEvent);
    assert!(done(&reply));
    assert_eq!((reply.said().1, record.tokens), (answer_text(Text::Ascii, 10), 10));
    assert_eq!(reply.data().len() - reply.events().len(), 2, "the broken one and the mark of the end");
}

#[test]
fn a_stream_ends_inside_a_character() {
    let (reply, _) = streamed(Fault::HalfUtf8);
    assert_eq!(reply.ended, Ended::InOrder);
    let error = std::str::from_utf8(&reply.body).unwrap_err();
    assert_eq!((error.valid_up_to() + 2, error.error_len()), (reply.body.len(), None));
}

#[test]
fn refusals_have_their_status_and_a_body() {
    for (fault, status) in [(Fault::Http500, 500), (Fault::Http429, 429), (Fault::Http503, 503)] {
        let (reply, record) = streamed(fault);
        assert_eq!((reply.status, record.status, record.tokens), (status, status, 0));
        assert_eq!(reply.json()["error"]["code"], status);
        assert_eq!(reply.header("retry-after").is_some(), status == 429);
    }
}

#[test]
fn endless_things_end_only_with_the_client() {
    for (fault, letter) in [(Fault::EndlessLine, b'x'), (Fault::HugeHeader, b'a')] {
        let server = broken(fault);
        let mut client = Client::new(&server);
        client.send(&post(CHAT, &chat(10)));
        while client.left.len() < 3 << 20 {
            client.more().unwrap();
        }
        assert!(client.left.split(|byte| *byte == letter).count() > 2 << 20);
        drop(client);
        let record = &log_of(&server, 1)[0];
        assert!(record.aborted && record.tokens == 0);
    }
}

#[test]
fn an_endless_line_is_given_up_after_64_mb() {
    let server = broken(Fault::EndlessLine);
    let mut client = Client::new(&server);
    client.send(&post(CHAT, &chat(10)));
    let mut bytes = 0;
    while client.more().is_ok() {
        bytes += std::mem::take(&mut client.left).len();
    }
    assert!((64 << 20..66 << 20).contains(&bytes), "{bytes}");
    assert!(!log_of(&server, 1)[0].aborted);
}

#[test]
fn answers_without_tokens() {
    let (reply, record) = streamed(Fault::NoTokens);
    assert!(done(&reply) && reply.text().contains("\"role\""));
    assert_eq!((reply.said().1, record.tokens), (String::new(), 0));
    let (reply, record) = streamed(Fault::Empty);
    assert_eq!((reply.status, reply.ended, reply.body.len(), record.tokens), (200, Ended::InOrder, 0, 0));
}

#[test]
fn a_stalled_stream_says_one_word_and_stays_open() {
    let server = broken(Fault::Stall);
    let mut client = Client::new(&server);
    client.send(&post(CHAT, &chat(10)));
    while !client.left.ends_with(b"\n\n\r\n") {
        client.more().unwrap();
    }
    client.patience(Duration::from_millis(100));
    let reply = client.reply();
    assert_eq!((reply.ended, reply.said().1.as_str()), (Ended::Silent, "slow"));
    drop(client);
    let record = &log_of(&server, 1)[0];
    assert!(record.aborted && record.tokens == 1);
}

#[test]
fn a_truncated_chunk_is_shorter_than_it_said() {
    let (reply, record) = streamed(Fault::Truncated);
    assert_eq!((reply.ended, record.tokens), (Ended::Closed, 5));
    assert!(reply.text().ends_with("data: {\"choices\":[{\"in"));
}

#[test]
fn an_error_in_the_middle_is_an_event() {
    let (reply, record) = streamed(Fault::ErrorEvent);
    assert!(done(&reply));
    assert_eq!(reply.events().pop().unwrap()["error"]["code"], 500);
    assert_eq!((reply.said().1, record.tokens), (answer_text(Text::Ascii, 5), 5));
}

#[test]
fn a_stream_ends_without_its_mark() {
    let (reply, record) = streamed(Fault::NoDone);
    assert_eq!((reply.ended, record.tokens), (Ended::InOrder, 10));
    assert!(!done(&reply) && !reply.text().contains("usage"));
    assert_eq!(reply.said().1, answer_text(Text::Ascii, 10));
}

#[test]
fn a_status_line_without_a_number() {
    let server = broken(Fault::BadStatus);
    let mut client = Client::new(&server);
    client.send(&post(CHAT, &chat(10)));
    assert_eq!(client.rest(), Ended::Closed);
    assert!(client.left.starts_with(b"HTTP/1.1 abc\r\n"));
}

#[test]
fn a_slow_head_comes_byte_by_byte() {
    let server = broken(Fault::SlowHeader);
    let mut client = Client::new(&server);
    client.send(&post(CHAT, &chat(10)));
    let begin = Instant::now();
    while client.left.len() < 4 {
        client.more().unwrap();
    }
    assert!(client.left.starts_with(b"HTTP"));
    assert!(begin.elapsed() >= Duration::from_millis(290), "three pauses come before the fourth byte");
}

#[test]
fn a_close_before_the_answer() {
    let server = broken(Fault::CloseBefore);
    let mut client = Client::new(&server);
    client.send(&post(CHAT, &chat(10)));
    assert_eq!((client.rest(), client.left.len()), (Ended::Closed, 0));
    let record = &log_of(&server, 1)[0];
    assert_eq!((record.status, record.aborted), (0, false));
}

#[test]
fn a_server_that_refuses_does_not_listen_until_told_to() {
    let server = serve(FAST);
    let mut old = Client::new(&server);
    server.set(Config::default().with("fault=refuse,mode=flood").unwrap()).unwrap();
    assert!(TcpStream::connect(server.address()).is_err());
    assert_eq!(old.post(CHAT, &chat(3)).said().1, answer_text(Text::Ascii, 3), "open connections stay");
    server.set(Config::default()).unwrap();
    assert_eq!(Client::new(&server).get("/health").status, 200);
}

#[test]
fn only_every_nth_request_is_hit() {
    let server = serve(&format!("{FAST},fault=http503,fault_every=3"));
    let mut client = Client::new(&server);
    let statuses: Vec<u16> = (0..7).map(|_| client.post(CHAT, &chat(2)).status).collect();
    assert_eq!(statuses, [200, 200, 503, 200, 200, 503, 200]);
    let hit: Vec<bool> = log_of(&server, 7).iter().map(|s| s.fault.is_some()).collect();
    assert_eq!(hit, [false, false, true, false, false, true, false]);
}

#[test]
fn answers_in_one_piece_break_too() {
    let body: Value = json!({"messages": [{"role": "user", "content": "x"}], "max_tokens": 10});
    for (fault, ended, readable) in [
        (Fault::Die, Ended::Closed, false),
        (Fault::Reset, Ended::Reset, false),
        (Fault::Truncated, Ended::Closed, false),
        (Fault::Stall, Ended::Silent, false),
        (Fault::GarbageEvent, Ended::InOrder, false),
        (Fault::HalfUtf8, Ended::InOrder, false),
        (Fault::Empty, Ended::InOrder, false),
        (Fault::ErrorEvent, Ended::InOrder, true),
        (Fault::NoTokens, Ended::InOrder, true),
        (Fault::NoDone, Ended::InOrder, true),
    ] {
        let server = broken(fault);
        let mut client = Client::new(&server);
        if fault == Fault::Stall {
            client.patience(Duration::from_millis(200));
        }
        let reply = client.post(CHAT, &body);
        assert_eq!(reply.ended, ended, "{}", fault.name());
        assert_eq!(serde_json::from_slice::<Value>(&reply.body).is_ok(), readable, "{}", fault.name());
        drop(client);
        let tokens = if fault == Fault::NoDone { 10 } else { 0 };
        assert_eq!(log_of(&server, 1)[0].tokens, tokens, "{}", fault.name());
    }
}
