//! Which steps an answer takes, in order and with each fault.

use std::collections::VecDeque;

use crate::answer::{Answer, Spent};
use crate::config::{Config, Headers, Mode, Role};
use crate::fault::Fault;
use crate::http::response;
use crate::random;
use crate::schedule::Schedule;
use crate::script::{End, Script, Step};

/// An answer's script, and the status it will have (0 for none).
pub(crate) fn plan(
    answer: Answer,
    config: &Config,
    stream: bool,
    fault: Option<Fault>,
    schedule: Schedule,
    begin: u64,
) -> (Script, u16) {
    let batch = match (config.mode, config.flood_batch) {
        (Mode::Paced, _) => 1,
        (Mode::Flood, 0) => u32::MAX,
        (Mode::Flood, batch) => batch,
    };
    let mut script = Script::new(answer, schedule, batch, begin);
    let status = if let Some(fault) = fault {
        match crude(fault, begin) {
            Some((steps, end, status)) => {
                script.steps = steps;
                script.end = end;
                status
            }
            None if stream => broken_stream(&mut script, config, fault),
            None => broken_whole(&mut script, fault),
        }
    } else if stream {
        let want = script.answer.want;
        script.steps = opening(config);
        script.steps.extend([Step::Tokens(want), Step::Close, Step::EndBody]);
        200
    } else {
        let (due, bytes) = whole(&script);
        script.steps.extend([Step::Until(due), Step::Raw(bytes, script.answer.want)]);
        200
    };
    (script, status)
}

/// The head of a streamed answer.
pub(crate) const STREAM_HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\
    Cache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n";

/// Up to the first token.
fn opening(config: &Config) -> VecDeque<Step> {
    let head = Step::Raw(STREAM_HEAD.as_bytes().to_vec(), 0);
    VecDeque::from(match (config.headers, config.role) {
        (_, Role::Early) => vec![head, Step::Open, Step::Send],
        (Headers::Early, _) => vec![head, Step::Send, Step::Open],
        (Headers::First, _) => vec![head, Step::Open],
    })
}

/// When an answer in one piece is due, and its bytes.
fn whole(script: &Script) -> (u64, Vec<u8>) {
    let (first, last) = (script.schedule.due(0), script.schedule.due(script.answer.want.saturating_sub(1)));
    let last = last.max(first);
    let begin = script.schedule.begin();
    let spent = Spent { prompt: first.saturating_sub(begin), answer: last - first };
    let mut out = Vec::new();
    response(200, "application/json", "", &script.answer.whole(spent), &mut out);
    (last, out)
}

type Crude = (VecDeque<Step>, End, u16);

/// Faults that come before any answer, alike for a stream and a whole.
fn crude(fault: Fault, seed: u64) -> Option<Crude> {
    let raw = |bytes: Vec<u8>| Step::Raw(bytes, 0);
    let error = |status: u16, headers: &str, kind: &str, message: &str| {
        let mut out = Vec::new();
        let body = error_body(status, kind, message);
        response(status, "application/json", headers, body.as_bytes(), &mut out);
        (VecDeque::from([raw(out)]), End::KeepAlive, status)
    };
    Some(match fault {
        Fault::Garbage => {
            let noise = (0..64).flat_map(|i| random::mix(seed ^ i).to_le_bytes()).collect();
            (VecDeque::from([raw(noise)]), End::Close, 0)
        }
        Fault::Http500 => error(500, "", "InternalServerError", "this failure was asked for"),
        Fault::Http429 => {
            error(429, "Retry-After: 1\r\n", "RateLimitError", "too many requests: try again later")
        }
        Fault::Http503 => error(503, "", "ServiceUnavailable", "the server is busy, as it was told to be"),
        Fault::BadStatus => {
            let bytes = b"HTTP/1.1 abc\r\nContent-Length: 0\r\n\r\n".to_vec();
            (VecDeque::from([raw(bytes)]), End::Close, 0)
        }
        Fault::HugeHeader => {
            let endless = Step::Endless { letter: b'a', chunked: false, written: 0 };
            (VecDeque::from([raw(b"HTTP/1.1 200 OK\r\nX-Long: ".to_vec()), endless]), End::Close, 200)
        }
        Fault::EndlessLine => {
            let line = Step::Body(b"data: {\"choices\":\"".to_vec());
            let endless = Step::Endless { letter: b'x', chunked: true, written: 0 };
            (VecDeque::from([raw(STREAM_HEAD.as_bytes().to_vec()), line, endless]), End::Close, 200)
        }
        Fault::CloseBefore => (VecDeque::new(), End::Close, 0),
        _ => return None,
    })
}

fn error_body(status: u16, kind: &str, message: &str) -> String {
    format!(r#"{{"error":{{"message":"{message}","type":"{kind}","param":null,"code":{status}}}}}"#)
}

/// What a model's failure in mid-answer reads like.
fn engine_error() -> String {
    error_body(500, "InternalServerError", "the engine failed, as it was told to")
}

/// Faults of a stream; returns the status.
fn broken_stream(script: &mut Script, config: &Config, fault: Fault) -> u16 {
    let want = script.answer.want;
    let half = Step::Tokens(want / 2);
    let head = || STREAM_HEAD.as_bytes().to_vec();
    let event = |text: &str, answer: &Answer| {
        let mut out = Vec::new();
        answer.event(None, &mut out, |out| out.extend_from_slice(text.as_bytes()));
        out
    };
    let mut steps = opening(config);
    match fault {
        Fault::Die => {
            steps.push_back(half);
            script.end = End::Close;
        }
        Fault::Reset => {
            steps.push_back(half);
            script.end = End::Reset;
        }
        Fault::GarbageEvent => {
            let broken = Step::Body(event(r#"{"choices":[{"delta":oops"#, &script.answer));
            steps.extend([half, broken, Step::Tokens(want), Step::Close, Step::EndBody]);
        }
        Fault::HalfUtf8 => {
            // The first two bytes of a character of three.
            let mut broken = b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"".to_vec();
            broken.extend_from_slice(&[0xe6, 0x99]);
            steps.extend([half, Step::Body(broken), Step::EndBody]);
        }
        Fault::NoTokens => {
            script.answer.want = 0;
            script.answer.reasoning = 0;
            steps.extend([Step::Close, Step::EndBody]);
        }
        Fault::Empty => steps = VecDeque::from([Step::Raw(head(), 0), Step::EndBody]),
        Fault::Stall => {
            steps.extend([Step::Tokens(1), Step::Send]);
            script.end = End::Hold;
        }
        Fault::Truncated => {
            steps.extend([half, Step::Raw(b"ffff\r\ndata: {\"choices\":[{\"in".to_vec(), 0)]);
            script.end = End::Close;
        }
        Fault::ErrorEvent => {
            let mut bytes = event(&engine_error(), &script.answer);
            script.answer.done(&mut bytes);
            steps.extend([half, Step::Body(bytes), Step::EndBody]);
        }
        Fault::NoDone => steps.extend([Step::Tokens(want), Step::EndBody]),
        Fault::SlowHeader => {
            let drip = Step::Drip(head().into());
            steps = VecDeque::from([drip, Step::Open, Step::Tokens(want), Step::Close, Step::EndBody]);
        }
        // The rest is crude, or none of an answer.
        _ => steps.extend([Step::Tokens(want), Step::Close, Step::EndBody]),
    }
    script.steps = steps;
    200
}

/// Faults of an answer in one piece; returns the status.
fn broken_whole(script: &mut Script, fault: Fault) -> u16 {
    let (due, mut bytes) = whole(script);
    let half = bytes.len() / 2;
    let json = |body: &[u8]| {
        let mut out = Vec::new();
        response(200, "application/json", "", body, &mut out);
        out
    };
    let mut tokens = 0;
    match fault {
        Fault::Die | Fault::Truncated => {
            bytes.truncate(half);
            script.end = End::Close;
        }
        Fault::Reset => {
            bytes.truncate(half);
            script.end = End::Reset;
        }
        Fault::Stall => {
            bytes.truncate(half);
            script.end = End::Hold;
        }
        Fault::GarbageEvent => bytes = json(br#"{"choices":[{"message":oops"#),
        Fault::HalfUtf8 => bytes = json(b"{\"choices\":[{\"message\":{\"content\":\"\xe6\x99"),
        Fault::ErrorEvent => bytes = json(engine_error().as_bytes()),
        Fault::Empty => bytes = json(b""),
        Fault::NoTokens => {
            script.answer.want = 0;
            script.answer.reasoning = 0;
            bytes = json(&script.answer.whole(Spent::default()));
        }
        Fault::SlowHeader => {
            let end = memchr::memmem::find(&bytes, b"\r\n\r\n").map_or(0, |at| at + 4);
            let body = bytes.split_off(end);
            let rest = Step::Raw(body, script.answer.want);
            script.steps = VecDeque::from([Step::Drip(bytes.into()), Step::Until(due), rest]);
            return 200;
        }
        _ => tokens = script.answer.want,
    }
    script.steps = VecDeque::from([Step::Until(due), Step::Raw(bytes, tokens)]);
    200
}
