//! One way to the server: its name, its addresses, its handshake, and connections on it.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use intriage_case::{AddressSeen, Family, PathProbe, Resolved, Route, Seconds};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;

use super::PathPlan;
use super::question::first_model;
use super::tap::{Reads, Tap};
use crate::http::{Access, chain};
use crate::tls;
use crate::url::Address;

/// Addresses of one name connected to at most.
const MOST_ADDRESSES: usize = 16;

/// A way and what was seen of it.
#[derive(Debug)]
pub(super) struct Way {
    address: Address,
    access: Access,
    /// What was seen.
    pub(super) seen: PathProbe,
    /// Where connections go; absent while nothing answers.
    pub(super) line: Option<Arc<Line>>,
    /// The first model served there.
    pub(super) model: Option<String>,
}

impl Way {
    /// Nothing seen yet.
    pub(super) fn new(address: &Address, access: &Access, route: Route) -> Self {
        let seen = PathProbe {
            url: address.to_string(),
            route,
            resolved: Resolved::default(),
            addresses: Vec::new(),
            tls: None,
            first_byte: None,
            streams: Vec::new(),
            held: Vec::new(),
            error: None,
        };
        Self { address: address.clone(), access: access.clone(), seen, line: None, model: None }
    }

    /// Resolves, connects to every address, shakes hands, asks for the head of a small answer.
    pub(super) async fn reach(&mut self, plan: &PathPlan) {
        if let Err(why) = self.try_to_reach(plan).await {
            self.seen.error = Some(why);
        }
    }

    async fn try_to_reach(&mut self, plan: &PathPlan) -> Result<(), String> {
        let (resolved, found) = resolve(&self.address, plan).await;
        self.seen.resolved = resolved;
        self.seen.addresses = connect_each(&found, plan).await;
        let stands = found.iter().zip(&self.seen.addresses).find(|(_, seen)| seen.connect.is_some());
        let at = *stands.ok_or("no connection")?.0;
        let line = Arc::new(Line::new(self.address.clone(), self.access.clone(), at)?);
        let (mut connection, tls) = line.open(plan).await?;
        self.seen.tls = tls;
        // The first answer warms the connection; it may also say that there is none to come.
        let (_, body) = connection.get("/v1/models", plan).await?;
        self.model = first_model(&body);
        self.line = Some(Arc::clone(&line));
        self.seen.first_byte = connection.get("/v1/models", plan).await.ok().map(|(head, _)| head);
        Ok(())
    }
}

async fn resolve(address: &Address, plan: &PathPlan) -> (Resolved, Vec<SocketAddr>) {
    let began = Instant::now();
    let answer = timeout(plan.connect, lookup_host((address.host.as_str(), address.port))).await;
    let took = Seconds(began.elapsed().as_secs_f64());
    let (found, error) = match answer {
        Ok(Ok(found)) => (found.take(MOST_ADDRESSES).collect(), None),
        Ok(Err(why)) => (Vec::new(), Some(why.to_string())),
        Err(_) => (Vec::new(), Some(format!("no answer within {} s", plan.connect.as_secs_f64()))),
    };
    let aaaa = found.iter().filter(|a: &&SocketAddr| a.is_ipv6()).count() as u32;
    (Resolved { a: found.len() as u32 - aaaa, aaaa, took, error }, found)
}

/// Connects to all addresses side by side, so that dead ones cost the time of one.
async fn connect_each(found: &[SocketAddr], plan: &PathPlan) -> Vec<AddressSeen> {
    let limit = plan.connect;
    let attempts: Vec<_> = found
        .iter()
        .map(|&at| {
            tokio::spawn(async move {
                let began = Instant::now();
                let error = match timeout(limit, TcpStream::connect(at)).await {
                    Ok(Ok(_)) => None,
                    Ok(Err(why)) => Some(why.to_string()),
                    Err(_) => Some(format!("no answer within {} s", limit.as_secs_f64())),
                };
                (began.elapsed(), error)
            })
        })
        .collect();
    let mut seen = Vec::new();
    for (at, attempt) in found.iter().zip(attempts) {
        let (took, error) = attempt.await.unwrap_or_else(|why| (limit, Some(why.to_string())));
        let took = Some(Seconds(took.as_secs_f64()));
        let family = if at.is_ipv6() { Family::V6 } else { Family::V4 };
        let (connect, failed) = if error.is_none() { (took, None) } else { (None, took) };
        seen.push(AddressSeen { family, address: at.ip().to_string(), connect, failed, error });
    }
    seen
}

/// Where connections go and how.
#[derive(Debug)]
pub(super) struct Line {
    address: Address,
    access: Access,
    tls: Option<Arc<ClientConfig>>,
    at: SocketAddr,
}

trait Wire: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Wire for T {}

impl Line {
    fn new(address: Address, access: Access, at: SocketAddr) -> Result<Self, String> {
        let tls = if address.tls {
            Some(tls::config(access.ca_file.as_deref(), access.insecure).map_err(|e| e.to_string())?)
        } else {
            None
        };
        Ok(Self { address, access, tls, at })
    }

    /// A new connection, and the time of its handshake.
    pub(super) async fn open(&self, plan: &PathPlan) -> Result<(Connection<'_>, Option<Seconds>), String> {
        let late = |_| format!("no connection within {} s", plan.connect.as_secs_f64());
        let tcp = timeout(plan.connect, TcpStream::connect(self.at)).await.map_err(late)?;
        let tcp = tcp.map_err(|e| e.to_string())?;
        tcp.set_nodelay(true).map_err(|e| e.to_string())?;
        let (wire, handshake): (Box<dyn Wire>, _) = match &self.tls {
            None => (Box::new(tcp), None),
            Some(config) => {
                let name = ServerName::try_from(self.address.host.clone()).map_err(|e| e.to_string())?;
                let began = Instant::now();
                let secure = TlsConnector::from(Arc::clone(config)).connect(name, tcp);
                let late = |_| format!("no TLS handshake within {} s", plan.connect.as_secs_f64());
                let secure = timeout(plan.connect, secure).await.map_err(late)?;
                let secure = secure.map_err(|e| format!("TLS failed: {e}"))?;
                (Box::new(secure), Some(Seconds(began.elapsed().as_secs_f64())))
            }
        };
        let reads = Reads::default();
        let io = TokioIo::new(Tap::new(wire, reads.clone()));
        let (sender, connection) = http1::handshake(io).await.map_err(|e| chain(&e))?;
        let driver = tokio::spawn(async move {
            // Its error shows at the request.
            let _ = connection.await;
        });
        Ok((Connection { line: self, sender, reads, driver }, handshake))
    }
}

/// An open connection; it ends with its owner.
pub(super) struct Connection<'a> {
    line: &'a Line,
    sender: SendRequest<Full<Bytes>>,
    /// What its reads brought.
    pub(super) reads: Reads,
    driver: JoinHandle<()>,
}

impl Drop for Connection<'_> {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Connection<'_> {
    /// Sends a request and waits for the head of its answer; without a body it is a GET.
    pub(super) async fn send(
        &mut self,
        path: &str,
        body: Option<Vec<u8>>,
    ) -> Result<http::Response<Incoming>, String> {
        let streams = body.is_some();
        let method = if body.is_some() { http::Method::POST } else { http::Method::GET };
        let mut request = http::Request::builder()
            .method(method)
            .uri(self.line.address.sibling(path))
            .header(http::header::HOST, self.line.address.authority())
            .header(http::header::USER_AGENT, concat!("intriage/", env!("CARGO_PKG_VERSION")))
            .header(http::header::CONTENT_TYPE, "application/json");
        if streams {
            // As every client library does: a proxy packs only for those who take it.
            request = request.header(http::header::ACCEPT_ENCODING, "gzip");
        }
        for (name, value) in &self.line.access.headers {
            request = request.header(name, value);
        }
        let body = Full::new(Bytes::from(body.unwrap_or_default()));
        let request = request.body(body).map_err(|e| e.to_string())?;
        self.sender.ready().await.map_err(|e| chain(&e))?;
        self.sender.send_request(request).await.map_err(|e| chain(&e))
    }

    /// A small answer: the time until its head came, and its body.
    async fn get(&mut self, path: &str, plan: &PathPlan) -> Result<(Seconds, Vec<u8>), String> {
        let late = |_| format!("no answer to GET {path} within {} s", plan.stream.as_secs_f64());
        let began = Instant::now();
        timeout(plan.stream, async {
            let response = self.send(path, None).await?;
            let head = Seconds(began.elapsed().as_secs_f64());
            let body = Limited::new(response.into_body(), plan.bytes).collect().await;
            Ok((head, body.map_err(|e| e.to_string())?.to_bytes().to_vec()))
        })
        .await
        .map_err(late)?
    }
}
