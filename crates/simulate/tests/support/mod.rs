#![allow(dead_code, unreachable_pub)] // each test binary uses its part
//! A small server, and a client that hides nothing: plain sockets, one request a connection.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use intriage_case::Seconds;
use intriage_simulate::engine::StepTime;
use intriage_simulate::serve::{Lag, Running, ServeConfig, start};
use intriage_simulate::{EngineConfig, FleetConfig, Front, Identity, Lengths, Mishap, Policy, Router};
use serde_json::Value;

/// Nothing in a test takes this long.
const PATIENCE: Duration = Duration::from_secs(30);

pub fn local() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

/// One engine with eight places, blocks of 16 and steps of 2 ms.
pub fn fleet() -> FleetConfig {
    let engine = EngineConfig {
        max_sequences: 8,
        token_budget: 2048,
        chunked_prefill: true,
        block_tokens: 16,
        pool_blocks: 4096,
        prefix_cache: true,
        policy: Policy::Fcfs,
        context_window: 4096,
        queue_limit: None,
        max_adapters: 1,
        speculation: None,
        step: StepTime::constant(Seconds(0.002)),
    };
    let front = Front { per_request: Seconds(0.0005), per_prompt_token: Seconds(0.0) };
    FleetConfig { engines: vec![engine], router: Router::RoundRobin, front }
}

pub fn serve() -> Site {
    serve_with(fleet(), None)
}

pub fn serve_with(fleet: FleetConfig, mishap: Option<Mishap>) -> Site {
    let identity =
        Identity { model: "sim".into(), checkpoint: "org/sim".into(), gpu: "none".into(), eager: false };
    let config = ServeConfig { fleet, identity, answers: Lengths::Fixed(20), adapters: 0, mishap, seed: 1 };
    let running = start(config, local()).unwrap();
    Site { address: running.address(), running: Some(running) }
}

/// A server to talk to.
pub struct Site {
    address: SocketAddr,
    running: Option<Running<Lag>>,
}

/// An answer, read to its end.
pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: String,
    /// Sizes of the pieces the body came in, in bytes.
    pub chunks: Vec<usize>,
}

impl Reply {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.body))
    }

    pub fn events(&self) -> Vec<Value> {
        let lines = self.body.lines().filter_map(|l| l.strip_prefix("data: ")).filter(|l| *l != "[DONE]");
        lines.map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e}: {l}"))).collect()
    }
}

impl Site {
    pub fn at(address: SocketAddr) -> Self {
        Self { address, running: None }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn stop(mut self) {
        self.running.take().unwrap().stop().unwrap();
    }

    pub fn connect(&self) -> TcpStream {
        let tcp = TcpStream::connect(self.address).unwrap();
        tcp.set_read_timeout(Some(PATIENCE)).unwrap();
        tcp
    }

    /// Sends a request and leaves the answer unread.
    pub fn open(&self, route: &str, body: &Value) -> TcpStream {
        self.begin("POST", route, body.to_string().as_bytes())
    }

    fn begin(&self, method: &str, route: &str, body: &[u8]) -> TcpStream {
        let mut tcp = self.connect();
        let head = format!(
            "{method} {route} HTTP/1.1\r\nHost: t\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        // A server that refuses a large body may close before it has all.
        let _ = tcp.write_all(head.as_bytes()).and_then(|()| tcp.write_all(body));
        tcp
    }

    pub fn send(&self, method: &str, route: &str, body: &[u8]) -> Reply {
        let mut bytes = Vec::new();
        let mut tcp = self.begin(method, route, body);
        // A reset after the answer is as good as an end.
        let _ = tcp.read_to_end(&mut bytes);
        read(&bytes)
    }

    pub fn post(&self, route: &str, body: &Value) -> Reply {
        self.send("POST", route, body.to_string().as_bytes())
    }

    pub fn get(&self, route: &str) -> Reply {
        self.send("GET", route, b"")
    }

    /// Sends bytes and reads whatever comes back until the server closes.
    pub fn raw(&self, bytes: &[u8]) -> Vec<u8> {
        let (mut tcp, mut answer) = (self.connect(), Vec::new());
        let _ = tcp.write_all(bytes);
        let _ = tcp.shutdown(std::net::Shutdown::Write);
        let _ = tcp.read_to_end(&mut answer);
        answer
    }

    /// The sum of a metric's series that carry this text in their labels.
    pub fn metric(&self, name: &str, label: &str) -> f64 {
        let page = self.get("/metrics").body;
        let series = page.lines().filter(|l| l.starts_with(&format!("{name}{{")) && l.contains(label));
        let values: Vec<f64> = series.map(|l| l.rsplit(' ').next().unwrap().parse().unwrap()).collect();
        assert!(!values.is_empty(), "no series {name} {label}");
        values.iter().sum()
    }

    pub fn wait_for(&self, name: &str, value: f64) {
        let began = std::time::Instant::now();
        while self.metric(name, "") != value {
            assert!(began.elapsed() < PATIENCE, "{name} never became {value}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn wait_until_gone(&self) {
        let began = std::time::Instant::now();
        while TcpStream::connect(self.address).is_ok() {
            assert!(began.elapsed() < PATIENCE, "the server is still there");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn read(bytes: &[u8]) -> Reply {
    let cut = bytes.windows(4).position(|w| w == b"\r\n\r\n").expect("an HTTP head") + 4;
    let head = String::from_utf8(bytes[..cut].to_vec()).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let (body, chunks) = if head.to_lowercase().contains("transfer-encoding: chunked") {
        unchunk(&bytes[cut..])
    } else {
        (bytes[cut..].to_vec(), vec![bytes.len() - cut])
    };
    Reply { status, head, body: String::from_utf8(body).unwrap(), chunks }
}

fn unchunk(mut rest: &[u8]) -> (Vec<u8>, Vec<usize>) {
    let (mut body, mut sizes) = (Vec::new(), Vec::new());
    while let Some(line) = rest.windows(2).position(|w| w == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..line]).unwrap(), 16).unwrap();
        if size == 0 {
            break;
        }
        body.extend_from_slice(&rest[line + 2..line + 2 + size]);
        sizes.push(size);
        rest = &rest[line + 2 + size + 2..];
    }
    (body, sizes)
}
