//! A client of plain sockets, which shares nothing with the server but the address.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use intriage_truth::{Config, Served, Truth};
use serde_json::{Value, json};

pub(crate) const CHAT: &str = "/v1/chat/completions";

/// A server with these keys.
pub(crate) fn serve(keys: &str) -> Truth {
    Truth::start(Config::default().with(keys).unwrap(), "127.0.0.1:0".parse().unwrap()).unwrap()
}

/// How a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// As HTTP says.
    InOrder,
    /// By a close before that.
    Closed,
    /// By a reset before that.
    Reset,
    /// Not at all while the client waited.
    Silent,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    pub(crate) ended: Ended,
}

pub(crate) struct Client {
    stream: TcpStream,
    /// Bytes read and not used.
    pub(crate) left: Vec<u8>,
}

impl Client {
    pub(crate) fn new(server: &Truth) -> Self {
        let stream = TcpStream::connect(server.address()).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Self { stream, left: Vec::new() }
    }

    pub(crate) fn patience(&self, time: Duration) {
        self.stream.set_read_timeout(Some(time)).unwrap();
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    pub(crate) fn post(&mut self, path: &str, body: &Value) -> Reply {
        self.send(&post(path, body));
        self.reply()
    }

    pub(crate) fn get(&mut self, path: &str) -> Reply {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes());
        self.reply()
    }

    /// Reads once; says how it ended if it did.
    pub(crate) fn more(&mut self) -> Result<usize, Ended> {
        let mut buffer = vec![0; 65_536];
        match self.stream.read(&mut buffer) {
            Ok(0) => Err(Ended::Closed),
            Ok(n) => {
                self.left.extend_from_slice(&buffer[..n]);
                Ok(n)
            }
            Err(e) if e.kind() == ErrorKind::ConnectionReset => Err(Ended::Reset),
            Err(e) if e.kind() == ErrorKind::WouldBlock => Err(Ended::Silent),
            Err(e) => panic!("{e}"),
        }
    }

    /// Everything up to the end of the connection.
    pub(crate) fn rest(&mut self) -> Ended {
        loop {
            if let Err(ended) = self.more() {
                return ended;
            }
        }
    }

    /// Up to and with a mark.
    fn upto(&mut self, mark: &[u8]) -> Result<Vec<u8>, Ended> {
        loop {
            if let Some(at) = self.left.windows(mark.len()).position(|w| w == mark) {
                return Ok(self.left.drain(..at + mark.len()).collect());
            }
            self.more()?;
        }
    }

    fn exactly(&mut self, bytes: usize) -> Result<Vec<u8>, Ended> {
        while self.left.len() < bytes {
            self.more()?;
        }
        Ok(self.left.drain(..bytes).collect())
    }

    pub(crate) fn reply(&mut self) -> Reply {
        let mut reply = Reply { status: 0, head: String::new(), body: Vec::new(), ended: Ended::InOrder };
        if let Err(ended) = self.fill(&mut reply) {
            reply.ended = ended;
            // What came of a piece that is not whole.
            reply.body.append(&mut self.left);
        }
        reply
    }

    fn fill(&mut self, reply: &mut Reply) -> Result<(), Ended> {
        reply.head = String::from_utf8(self.upto(b"\r\n\r\n")?).unwrap();
        reply.status = reply.head[9..12].parse().unwrap();
        if let Some(length) = reply.header("content-length") {
            reply.body = self.exactly(length.parse().unwrap())?;
            return Ok(());
        }
        assert_eq!(reply.header("transfer-encoding").as_deref(), Some("chunked"));
        loop {
            let line = String::from_utf8(self.upto(b"\r\n")?).unwrap();
            let size = usize::from_str_radix(line.trim(), 16).unwrap();
            let chunk = self.exactly(size)?;
            assert_eq!(self.exactly(2)?, b"\r\n");
            if size == 0 {
                return Ok(());
            }
            reply.body.extend(chunk);
        }
    }
}

pub(crate) fn post(path: &str, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nX-Request-Id: mine\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// A streamed chat of so many tokens.
pub(crate) fn chat(tokens: u32) -> Value {
    json!({"messages": [{"role": "user", "content": "say it slowly"}], "max_tokens": tokens, "stream": true,
        "stream_options": {"include_usage": true}})
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let lines = self.head.lines().filter_map(|line| line.split_once(':'));
        lines.into_iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.trim().to_owned())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The data of the events, `[DONE]` as it is.
    pub(crate) fn data(&self) -> Vec<String> {
        let lines = self.text().lines();
        lines.filter_map(|line| line.strip_prefix("data:")).map(|data| data.trim().to_owned()).collect()
    }

    /// The events that are JSON.
    pub(crate) fn events(&self) -> Vec<Value> {
        self.data().iter().filter_map(|data| serde_json::from_str(data).ok()).collect()
    }

    /// The text of a chat: its reasoning and its content.
    pub(crate) fn said(&self) -> (String, String) {
        let join = |field: &str| {
            let pieces = self.events();
            pieces.iter().filter_map(|e| e["choices"][0]["delta"][field].as_str()).collect::<String>()
        };
        (join("reasoning_content"), join("content"))
    }
}

/// The log, once it has so many records.
pub(crate) fn log_of(server: &Truth, records: usize) -> Vec<Served> {
    let begin = Instant::now();
    loop {
        let log = server.log().unwrap();
        if log.len() >= records || begin.elapsed() > Duration::from_secs(20) {
            assert_eq!(log.len(), records);
            return log;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}
