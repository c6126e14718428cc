//! What the tests share: the program, the recordings, and servers that behave or misbehave.
#![allow(dead_code, missing_docs, unreachable_pub, reason = "each test file uses its own part")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

pub fn recording(name: &str) -> PathBuf {
    root().join("fixtures/recordings").join(name)
}

/// Every labelled recording below `fixtures/`.
pub fn recordings(folder: &str) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = std::fs::read_dir(root().join("fixtures").join(folder))
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.join("truth.json").is_file())
        .collect();
    all.sort();
    all
}

pub fn intriage(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_intriage"))
        .args(args)
        .current_dir(std::env::temp_dir())
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .output()
        .unwrap()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

pub fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

pub fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}\n{}", stdout(output), stderr(output)))
}

pub fn truth(recording: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(recording.join("truth.json")).unwrap()).unwrap()
}

/// Whether a verdict's cause is the truth or accepted.
pub fn is_right(truth: &Value, verdict: &Value) -> bool {
    let cause = &verdict["verdict"]["primary"]["cause"];
    *cause == truth["cause"] || truth["accept"].as_array().unwrap().contains(cause)
}

/// A server on a port of its own; answers each request with what `reply` writes.
pub struct Server {
    pub port: u16,
}

impl Server {
    pub fn start(reply: impl Fn(&str, &mut TcpStream) -> After + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let reply = Arc::new(reply);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { break };
                let Some(path) = read_path(&mut stream) else { continue };
                // Handled one by one: the order of scrapes is the order of the recording.
                if reply(&path, &mut stream) == After::Gone {
                    break;
                }
            }
        });
        Self { port }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Answers `/metrics` with a recording's scrapes in turn, and its endpoints.
    pub fn replay(recording: &Path) -> Self {
        let mut scrapes: Vec<PathBuf> =
            std::fs::read_dir(recording.join("metrics")).unwrap().map(|e| e.unwrap().path()).collect();
        scrapes.sort();
        let (next, folder) = (AtomicUsize::new(0), recording.to_owned());
        Self::start(move |path, stream| {
            if path != "/metrics" {
                let name = path.split('?').next().unwrap().trim_start_matches('/').replace('/', "__");
                match std::fs::read(folder.join("endpoints").join(format!("{name}.json"))) {
                    Ok(body) => answer(stream, "200 OK", &body),
                    Err(_) => answer(stream, "404 Not Found", b"{}"),
                }
                return After::Stays;
            }
            let at = next.fetch_add(1, Ordering::SeqCst).min(scrapes.len() - 1);
            if scrapes[at].extension().unwrap() == "failed" {
                return After::Gone;
            }
            answer(stream, "200 OK", &std::fs::read(&scrapes[at]).unwrap());
            After::Stays
        })
    }
}

#[derive(PartialEq, Eq)]
pub enum After {
    Stays,
    Gone,
}

fn read_path(stream: &mut TcpStream) -> Option<String> {
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    Some(String::from_utf8_lossy(&head).split(' ').nth(1)?.to_owned())
}

pub fn answer(stream: &mut TcpStream, status: &str, body: &[u8]) {
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    // The client may have given up: that is its business.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
}
