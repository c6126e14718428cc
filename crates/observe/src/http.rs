//! One GET with a limit in bytes and in time. No redirects, no retries, no compression.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::tls;
use crate::url::Address;

/// How much of an answer is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of body.
    pub bytes: usize,
    /// Most time from connecting to the last byte.
    pub time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 64 << 20, time: Duration::from_secs(10) }
    }
}

/// How to get in: headers, CA, verification.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// Extra headers, the bearer token among them; never printed.
    pub headers: Vec<(String, String)>,
    /// A CA to trust beside the system's.
    pub ca_file: Option<std::path::PathBuf>,
    /// Accept any certificate.
    pub insecure: bool,
}

impl Access {
    /// What must never be shown: the values of the headers, and a token without the word before it.
    pub fn secrets(&self) -> impl Iterator<Item = String> + '_ {
        self.headers.iter().flat_map(|(_, value)| {
            let token = value.split_once(' ').map(|(_, token)| token.trim().to_owned());
            std::iter::once(value.clone()).chain(token)
        })
    }
}

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum FetchError {
    /// No connection.
    #[error("cannot connect to {to}: {why}")]
    Connect {
        /// Host and port.
        to: String,
        /// The reason.
        why: String,
    },
    /// TLS failed.
    #[error("TLS with {to} failed: {why}; does it speak plain http?")]
    Tls {
        /// Host and port.
        to: String,
        /// The reason.
        why: String,
    },
    /// Took too long.
    #[error("{to} did not answer within {} s", .limit.as_secs_f64())]
    Timeout {
        /// Host and port.
        to: String,
        /// The limit.
        limit: Duration,
    },
    /// Too large.
    #[error("the answer is larger than {limit} bytes; reading stopped")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// The answer broke off or is not HTTP.
    #[error("the answer from {to} is broken: {why}")]
    Broken {
        /// Host and port.
        to: String,
        /// The reason.
        why: String,
    },
    /// A header given by the user is not one.
    #[error("{name:?} is not a valid header")]
    Header {
        /// The header's name; its value may be a secret.
        name: String,
    },
    /// TLS could not be set up.
    #[error(transparent)]
    TlsSetup(#[from] tls::TlsError),
}

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) location: Option<String>,
    pub(crate) body: Vec<u8>,
}

/// Asks one server; connections are made anew each time, so a restart is seen at once.
#[derive(Debug)]
pub(crate) struct Client {
    address: Address,
    access: Access,
    tls: Option<Arc<ClientConfig>>,
}

impl Client {
    pub(crate) fn new(address: Address, access: Access) -> Result<Self, FetchError> {
        for (name, value) in &access.headers {
            let valid =
                name.parse::<http::HeaderName>().is_ok() && value.parse::<http::HeaderValue>().is_ok();
            if !valid {
                return Err(FetchError::Header { name: name.clone() });
            }
        }
        let tls =
            if address.tls { Some(tls::config(access.ca_file.as_deref(), access.insecure)?) } else { None };
        Ok(Self { address, access, tls })
    }

    /// GETs `path` within the limits.
    pub(crate) async fn get(&self, path: &str, limits: Limits) -> Result<Answer, FetchError> {
        timeout(limits.time, self.get_unbounded(path, limits.bytes))
            .await
            .unwrap_or_else(|_| Err(FetchError::Timeout { to: self.address.authority(), limit: limits.time }))
    }

    async fn get_unbounded(&self, path: &str, max_bytes: usize) -> Result<Answer, FetchError> {
        let to = self.address.authority();
        let connect = |e: std::io::Error| FetchError::Connect { to: to.clone(), why: e.to_string() };
        let tcp =
            TcpStream::connect((self.address.host.as_str(), self.address.port)).await.map_err(connect)?;
        match &self.tls {
            None => self.exchange(tcp, path, max_bytes).await,
            Some(config) => {
                let failed = |why: String| FetchError::Tls { to: to.clone(), why };
                let name =
                    ServerName::try_from(self.address.host.clone()).map_err(|e| failed(e.to_string()))?;
                let stream = TlsConnector::from(config.clone())
                    .connect(name, tcp)
                    .await
                    .map_err(|e| failed(e.to_string()))?;
                self.exchange(stream, path, max_bytes).await
            }
        }
    }

    async fn exchange<S>(&self, stream: S, path: &str, max_bytes: usize) -> Result<Answer, FetchError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let broken =
            |e: &dyn std::error::Error| FetchError::Broken { to: self.address.authority(), why: chain(e) };
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|e| broken(&e))?;
        let driver = tokio::spawn(connection);
        let mut request = http::Request::get(if path.is_empty() { "/" } else { path })
            .header(http::header::HOST, self.address.authority())
            .header(http::header::USER_AGENT, concat!("intriage/", env!("CARGO_PKG_VERSION")))
            .header(http::header::ACCEPT, "text/plain;version=0.0.4, application/json;q=0.9, */*;q=0.1");
        for (name, value) in &self.access.headers {
            request = request.header(name, value);
        }
        let request = request.body(Empty::<Bytes>::new()).map_err(|e| broken(&e))?;
        let response = sender.send_request(request).await.map_err(|e| broken(&e))?;
        let status = response.status().as_u16();
        let location =
            response.headers().get(http::header::LOCATION).and_then(|v| v.to_str().ok()).map(str::to_owned);
        let body = self.read_body(response.into_body(), max_bytes).await;
        driver.abort();
        Ok(Answer { status, location, body: body? })
    }

    async fn read_body(&self, mut body: Incoming, max_bytes: usize) -> Result<Vec<u8>, FetchError> {
        let mut bytes = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame =
                frame.map_err(|e| FetchError::Broken { to: self.address.authority(), why: chain(&e) })?;
            if let Some(data) = frame.data_ref() {
                if bytes.len() + data.len() > max_bytes {
                    return Err(FetchError::TooLarge { limit: max_bytes });
                }
                bytes.extend_from_slice(data);
            }
        }
        Ok(bytes)
    }
}

/// An error with its causes on one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    text
}
