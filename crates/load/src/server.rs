//! The server under load: its address, and small questions asked before the run.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use serde_json::{Value, json};
use thiserror::Error;

use crate::api::Api;
use crate::engine::NO_TLS;
use crate::wire::{Answer, Progress};

/// The server under load.
#[derive(Debug, Clone)]
pub struct Server {
    /// Host name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// What stands before every path.
    pub prefix: String,
    /// TLS, where it is spoken.
    pub tls: Option<Arc<ClientConfig>>,
    /// Header lines of every request; they may hold secrets and are never printed.
    pub headers: Vec<(String, String)>,
}

/// Why the server cannot be asked.
#[derive(Debug, Error)]
pub enum ServerError {
    /// The name has no address.
    #[error("{host} cannot be found: {why}")]
    Name {
        /// The name.
        host: String,
        /// The reason.
        why: String,
    },
    /// No connection.
    #[error("cannot connect to {to}: {why}")]
    Connect {
        /// Host and port.
        to: String,
        /// The reason.
        why: String,
    },
    /// A header given by the user is not one.
    #[error("{name:?} is not a valid header")]
    Header {
        /// Its name; its value may be a secret.
        name: String,
    },
    /// An answer that helps nobody.
    #[error("{path} answers {what}")]
    Answer {
        /// What was asked.
        path: String,
        /// What came.
        what: String,
    },
    /// The models it serves are not one.
    #[error("the server offers {0}: name one with --model")]
    Models(String),
}

/// How long a small question may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of an answer at most.
const MOST_ANSWER: usize = 8 << 20;

impl Server {
    /// Host and port as they stand in a request.
    pub fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    /// The header lines, checked: a line end in one would be another request.
    pub fn header_lines(&self) -> Result<String, ServerError> {
        let mut lines = String::new();
        for (name, value) in &self.headers {
            let token = |c: char| c.is_ascii_graphic() && !"()<>@,;:\\\"/[]?={}".contains(c);
            if name.is_empty() || !name.chars().all(token) || value.chars().any(char::is_control) {
                return Err(ServerError::Header { name: name.clone() });
            }
            lines.extend([name, ": ", value, "\r\n"]);
        }
        Ok(lines)
    }

    /// An address that takes connections: of several, the first one that does.
    pub fn reachable(&self) -> Result<SocketAddr, ServerError> {
        let named = |why: io::Error| ServerError::Name { host: self.host.clone(), why: why.to_string() };
        let addresses = (self.host.as_str(), self.port).to_socket_addrs().map_err(named)?;
        let mut last = "the name has no address".to_owned();
        for address in addresses {
            match TcpStream::connect_timeout(&address, PATIENCE / 2) {
                Ok(_) => return Ok(address),
                Err(why) => last = format!("{address}: {why}"),
            }
        }
        Err(ServerError::Connect { to: self.authority(), why: last })
    }

    /// The model it serves, where it is one.
    pub fn only_model(&self, at: SocketAddr) -> Result<String, ServerError> {
        let said = self.ask(at, "GET", "/v1/models", "")?;
        let names: Vec<&str> =
            said["data"].as_array().into_iter().flatten().filter_map(|m| m["id"].as_str()).collect();
        match names.as_slice() {
            [one] => Ok((*one).to_owned()),
            [] => Err(ServerError::Models("no model".to_owned())),
            several => Err(ServerError::Models(several.join(", "))),
        }
    }

    /// Tokens of a text by the server's own tokenizer.
    pub fn count(&self, at: SocketAddr, api: Api, model: &str, text: &str) -> Result<u32, ServerError> {
        let body = match api {
            Api::LlamaCpp => json!({"content": text}),
            Api::Tgi => json!({"inputs": text}),
            _ => json!({"model": model, "prompt": text}),
        };
        counted(&self.ask(at, "POST", "/tokenize", &body.to_string())?)
    }

    /// Tokens of a conversation with its template, as chat requests have it.
    pub fn count_chat(
        &self,
        at: SocketAddr,
        model: &str,
        system: Option<&str>,
        text: &str,
    ) -> Result<u32, ServerError> {
        let system = system.map(|text| json!({"role": "system", "content": text}));
        let user = json!({"role": "user", "content": text});
        let messages: Vec<Value> = system.into_iter().chain([user]).collect();
        let body = json!({"model": model, "messages": messages});
        counted(&self.ask(at, "POST", "/tokenize", &body.to_string())?)
    }

    /// Prompt tokens by the server's own count of a real request, with whatever it puts around the text. It generates
    /// one token for it.
    pub fn usage(&self, at: SocketAddr, api: Api, model: &str, text: &str) -> Result<u32, ServerError> {
        let body = match api {
            Api::Chat => {
                json!({"model": model, "messages": [{"role": "user", "content": text}], "max_tokens": 1})
            }
            _ => json!({"model": model, "prompt": text, "max_tokens": 1}),
        };
        let said = self.ask(at, "POST", api.path(), &body.to_string())?;
        let none = || ServerError::Answer { path: api.path().to_owned(), what: "without usage".to_owned() };
        said["usage"]["prompt_tokens"].as_u64().and_then(|n| u32::try_from(n).ok()).ok_or_else(none)
    }

    /// One small question; the answer must be JSON.
    fn ask(&self, at: SocketAddr, method: &str, path: &str, body: &str) -> Result<Value, ServerError> {
        let failed = |what: String| ServerError::Answer { path: path.to_owned(), what };
        let (status, answer) = self.exchange(at, method, path, body).map_err(|why| {
            let words = why.to_string();
            let words = if words.contains("InvalidContentType") { NO_TLS } else { &words };
            failed(format!("nothing: {words}"))
        })?;
        if status != 200 {
            return Err(failed(format!("HTTP {status}")));
        }
        serde_json::from_slice(&answer).map_err(|why| failed(format!("no JSON: {why}")))
    }

    fn exchange(&self, at: SocketAddr, method: &str, path: &str, body: &str) -> io::Result<(u16, Vec<u8>)> {
        let until = Instant::now() + PATIENCE;
        let request = self.request(method, path, body).map_err(io::Error::other)?;
        self.with_connection(at, |stream| converse(stream, &request, until))
    }

    /// A small request, as it goes over the wire.
    pub(crate) fn request(&self, method: &str, path: &str, body: &str) -> Result<String, ServerError> {
        let lines = self.header_lines()?;
        Ok(format!(
            "{method} {}{path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: application/json\r\n{lines}content-length: {}\r\n\r\n{body}",
            self.prefix,
            self.authority(),
            body.len()
        ))
    }

    /// A connection of its own, secured where the server wants that, with time limits.
    pub(crate) fn with_connection<T>(
        &self,
        at: SocketAddr,
        talk: impl FnOnce(&mut dyn Stream) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut tcp = TcpStream::connect_timeout(&at, PATIENCE / 2)?;
        tcp.set_nodelay(true)?;
        tcp.set_read_timeout(Some(PATIENCE))?;
        tcp.set_write_timeout(Some(PATIENCE))?;
        let Some(config) = &self.tls else { return talk(&mut tcp) };
        let name = ServerName::try_from(self.host.clone()).map_err(io::Error::other)?;
        let session = ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?;
        let mut secure = StreamOwned::new(session, tcp);
        while secure.conn.is_handshaking() {
            secure.conn.complete_io(&mut secure.sock)?;
        }
        talk(&mut secure)
    }
}

/// Both ways.
pub(crate) trait Stream: Read + Write {}

impl<T: Read + Write> Stream for T {}

fn converse(stream: &mut dyn Stream, request: &str, until: Instant) -> io::Result<(u16, Vec<u8>)> {
    stream.write_all(request.as_bytes())?;
    stream.flush()?;
    let mut answer = Answer::default();
    let (mut body, mut buffer) = (Vec::new(), vec![0; 64 << 10]);
    loop {
        let length = stream.read(&mut buffer)?;
        if length == 0 {
            return if answer.is_complete_at_close() {
                Ok((answer.head.status, body))
            } else {
                Err(io::ErrorKind::UnexpectedEof.into())
            };
        }
        let progress = answer
            .read(&buffer[..length], |_, part| body.extend_from_slice(part))
            .map_err(io::Error::other)?;
        if let Progress::Done { .. } = progress {
            return Ok((answer.head.status, body));
        }
        if body.len() > MOST_ANSWER {
            return Err(io::Error::other("the answer is too long"));
        }
        if Instant::now() > until {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
}

/// A count in the words of vLLM and SGLang, of llama.cpp, or of TGI.
fn counted(said: &Value) -> Result<u32, ServerError> {
    let count = said["count"].as_u64().or_else(|| {
        let tokens = said["tokens"].as_array().or(said.as_array())?;
        Some(tokens.len() as u64)
    });
    let none = || ServerError::Answer { path: "/tokenize".to_owned(), what: "without a count".to_owned() };
    count.and_then(|c| u32::try_from(c).ok()).ok_or_else(none)
}
