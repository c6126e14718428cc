//! One client connection, and the address it goes to.

use std::str::FromStr;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::AbortHandle;

/// Host and port of an `http://` URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    host: String,
    port: u16,
}

/// A URL that is none of ours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a plain address: write http://HOST:PORT")]
pub struct BadTarget(String);

impl FromStr for Target {
    type Err = BadTarget;

    fn from_str(text: &str) -> Result<Self, BadTarget> {
        let bad = || BadTarget(text.to_owned());
        let uri: http::Uri = text.parse().map_err(|_| bad())?;
        let host = uri.host().ok_or_else(bad)?;
        let plain = uri.scheme_str() == Some("http") && matches!(uri.path(), "" | "/");
        if !plain || host.is_empty() {
            return Err(bad());
        }
        let named_alone = uri.authority().is_some_and(|a| a.as_str() == host);
        let port = if named_alone { 80 } else { uri.port_u16().ok_or_else(bad)? };
        Ok(Self { host: host.trim_matches(['[', ']']).to_owned(), port })
    }
}

impl Target {
    /// As a `Host` header names it.
    pub(super) fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

/// An open connection. Dropping it closes it, whatever is under way.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) sender: SendRequest<Full<Bytes>>,
    driver: AbortHandle,
}

impl Connection {
    pub(super) async fn open(target: &Target) -> std::io::Result<Self> {
        let tcp = TcpStream::connect((target.host.as_str(), target.port)).await?;
        tcp.set_nodelay(true)?;
        let (sender, connection) =
            http1::handshake(TokioIo::new(tcp)).await.map_err(std::io::Error::other)?;
        let driver = tokio::spawn(async move {
            // Whoever uses the connection sees the error too.
            let _ = connection.await;
        });
        Ok(Self { sender, driver: driver.abort_handle() })
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_address_is_taken() {
        let authority = |text: &str| text.parse::<Target>().map(|t| t.authority());
        assert_eq!(authority("http://127.0.0.1:8000").unwrap(), "127.0.0.1:8000");
        assert_eq!(authority("http://localhost/").unwrap(), "localhost:80");
        assert_eq!(authority("http://[::1]:9").unwrap(), "[::1]:9");
        for bad in ["https://a:1", "127.0.0.1:80", "http://", "http://a/b", "", "http://a:99999"] {
            assert!(authority(bad).is_err(), "{bad}");
        }
    }
}
