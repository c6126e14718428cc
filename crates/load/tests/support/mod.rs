//! A small feed, a run over it, and what the test servers need.
#![allow(dead_code, clippy::unwrap_used)]

pub(crate) mod frames;

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use intriage_case::Nanos;
use intriage_load::api::Api;
use intriage_load::engine::{Ask, Feed, Next, Settings, Tls};
use intriage_load::{Clock, Ran, Run};
use intriage_record::{ChunkKind, Declared, Finished, Header, Request};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};

/// Requests, so many at once; the rest wait for `gate`.
pub(crate) struct Few {
    pub asks: VecDeque<Ask>,
    pub at_once: usize,
    pub gate: Arc<AtomicBool>,
}

impl Feed for Few {
    fn next(&mut self, now: Nanos, in_flight: usize) -> Next {
        if self.asks.is_empty() {
            return Next::Over;
        }
        if in_flight >= self.at_once {
            return Next::Wait;
        }
        if self.asks.front().is_some_and(|a| a.session > 0) && !self.gate.load(Ordering::SeqCst) {
            return Next::At(now + Nanos(1_000_000));
        }
        self.asks.pop_front().map_or(Next::Over, |mut ask| {
            ask.planned = now;
            Next::Send(Box::new(ask))
        })
    }

    fn ended(&mut self, _: &Request, _: &str, _: Nanos) {}
}

/// Request `id` for so many tokens, with a body.
pub(crate) fn ask(id: u64, tokens: u32, body: &str) -> Ask {
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nx-tokens: {tokens}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    Ask {
        id,
        class: 0,
        stage: 0,
        session: 0,
        turn: 0,
        warmup: false,
        planned: Nanos::ZERO,
        input: None,
        output: tokens,
        shared: 0,
        abort_after: None,
        keep_text: false,
        bytes: (head + body).into_bytes(),
    }
}

/// Requests from 0 on; request n asks for `tokens(n)`.
pub(crate) fn asks(number: u64) -> Vec<Ask> {
    (0..number).map(|id| ask(id, tokens(id), "{}")).collect()
}

/// What request `id` asks for.
pub(crate) fn tokens(id: u64) -> u32 {
    3 + (id % 7) as u32
}

pub(crate) fn settings(to: SocketAddr, http2: bool, tls: Option<Tls>) -> Settings {
    Settings {
        addresses: vec![to],
        api: Api::Chat,
        tls,
        http2,
        keep_alive: true,
        timeout: Nanos(60_000_000_000),
        connect_timeout: Nanos(60_000_000_000),
        drain: Nanos(60_000_000_000),
        stop: Arc::new(AtomicBool::new(false)),
        sent: AtomicU64::new(0),
    }
}

/// Runs the requests; what came of them, by id.
pub(crate) fn run(settings: Settings, asks: Vec<Ask>, at_once: usize) -> Vec<Finished> {
    run_gated(settings, asks, at_once, Arc::new(AtomicBool::new(true))).0
}

pub(crate) fn run_gated(
    settings: Settings,
    asks: Vec<Ask>,
    at_once: usize,
    gate: Arc<AtomicBool>,
) -> (Vec<Finished>, Ran) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&seen);
    let header = Header {
        intriage: "test".to_owned(),
        api: "chat".to_owned(),
        declared: Declared::default(),
        ..Header::default()
    };
    let ran = Run {
        questions: None,
        settings: Arc::new(settings),
        header,
        feeds: vec![Few { asks: asks.into(), at_once, gate }],
        file: None,
        observers: vec![Box::new(move |f: &Finished| into.lock().unwrap().push(f.clone()))],
        progress: Arc::default(),
        clock: Clock::start(),
    }
    .run()
    .unwrap();
    let mut seen = std::mem::take(&mut *seen.lock().unwrap());
    seen.sort_by_key(|f| f.request.id);
    (seen, ran)
}

/// Chunks with text.
pub(crate) fn texts(finished: &Finished) -> u32 {
    finished.chunks.iter().filter(|c| c.kind == ChunkKind::Content).count() as u32
}

/// The events of an answer of so many tokens.
pub(crate) fn events(tokens: u32) -> Vec<String> {
    let word = |n| {
        format!("data: {{\"id\":\"a\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"w{n}\"}}}}]}}\n\n")
    };
    let usage = format!(
        "data: {{\"choices\":[],\"usage\":{{\"prompt_tokens\":1,\"completion_tokens\":{tokens}}}}}\n\n"
    );
    (0..tokens).map(word).chain([usage, "data: [DONE]\n\n".to_owned()]).collect()
}

const CERTIFICATE: &[u8] = include_bytes!("../data/certificate.pem");
const KEY: &[u8] = include_bytes!("../data/key.pem");

/// TLS for a client that trusts the test certificate, if `trusts`.
pub(crate) fn client_tls(name: &str, trusts: bool) -> Tls {
    let mut roots = RootCertStore::empty();
    if trusts {
        roots.add(CertificateDer::from_pem_slice(CERTIFICATE).unwrap()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    Tls::new(Arc::new(config.with_root_certificates(roots).with_no_client_auth()), name).unwrap()
}

pub(crate) fn server_tls(protocols: &[&[u8]]) -> Arc<ServerConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE).unwrap();
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], PrivateKeyDer::from_pem_slice(KEY).unwrap())
        .unwrap();
    config.alpn_protocols = protocols.iter().map(|p| p.to_vec()).collect();
    Arc::new(config)
}

/// A server on a port of its own: every connection gets a thread and its number.
pub(crate) fn listen(each: impl Fn(TcpStream, usize) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let each = Arc::new(each);
    thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let each = Arc::clone(&each);
            let stream = stream.unwrap();
            stream.set_nodelay(true).unwrap();
            thread::spawn(move || each(stream, number));
        }
    });
    at
}

/// A request as an HTTP/1.1 server sees it: tokens asked for, and the body. `None` when the client has gone.
pub(crate) fn read_request(from: &mut impl Read) -> Option<(u32, Vec<u8>)> {
    let (tokens, length) = read_head(from)?;
    let mut body = vec![0; length];
    from.read_exact(&mut body).ok()?;
    Some((tokens, body))
}

/// The head of a request: tokens asked for, and the length of the body.
pub(crate) fn read_head(from: &mut impl Read) -> Option<(u32, usize)> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        from.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let field = |name: &str| head.lines().find_map(|l| l.strip_prefix(name)).unwrap().trim().to_owned();
    Some((field("x-tokens:").parse().unwrap(), field("content-length:").parse().unwrap()))
}

/// Streams an answer in chunks, one event each.
pub(crate) fn answer(to: &mut impl Write, tokens: u32) -> std::io::Result<()> {
    to.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
    )?;
    for event in events(tokens) {
        write!(to, "{:x}\r\n{event}\r\n", event.len())?;
        to.flush()?;
    }
    to.write_all(b"0\r\n\r\n")?;
    to.flush()
}
