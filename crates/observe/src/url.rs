//! Addresses as people type them: `http://host:8000`, `localhost:8000`, `https://host/prefix/metrics`.

use std::fmt;
use std::str::FromStr;

use ::http::Uri;
use thiserror::Error;

/// A server's address, split into what a connection needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// Whether TLS is spoken.
    pub tls: bool,
    /// Host name or IP address, without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Path as given, without a trailing slash; empty for the root.
    pub path: String,
}

/// Why a text is not an address.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AddressError {
    /// Not a URL at all.
    #[error("{shown} is not a URL: write http://HOST:PORT")]
    Shape {
        /// What was given, as far as it can be told: see [`shown`].
        shown: String,
    },
    /// A port that is none.
    #[error("{shown} has no valid port: write a number from 1 to 65535")]
    Port {
        /// What was given, as far as it can be told: see [`shown`].
        shown: String,
    },
    /// A name or password in the address.
    #[error(
        "the URL holds a name or password: give --bearer-token-file or --header 'Authorization: …' instead"
    )]
    Credentials,
    /// Another scheme.
    #[error("{scheme}:// is not supported: use http:// or https://")]
    Scheme {
        /// The scheme given.
        scheme: String,
    },
}

impl Address {
    /// Whether a target looks like an address rather than a path: it has a scheme, or a host and port.
    pub fn looks_like_one(text: &str) -> bool {
        if text.contains("://") {
            return true;
        }
        let authority = text.split('/').next().unwrap_or_default();
        authority.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
    }

    /// Another path on the same server. The prefix in front of `/metrics` is kept.
    pub fn sibling(&self, path: &str) -> String {
        let prefix = ["/metrics", "/prometheus"]
            .into_iter()
            .fold(self.path.as_str(), |p, end| p.strip_suffix(end).unwrap_or(p));
        format!("{prefix}{path}")
    }

    /// `host:port` for the `Host` header and messages.
    pub fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let shape = || AddressError::Shape { shown: shown(text) };
        let full = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        // A password with a slash or a blank in it makes no URL, and is one all the same.
        let unread = || if text.contains('@') { AddressError::Credentials } else { shape() };
        let uri: Uri = full.parse().map_err(|_| unread())?;
        let tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            Some(other) => return Err(AddressError::Scheme { scheme: other.to_owned() }),
            None => return Err(shape()),
        };
        let authority = uri.authority().map_or("", http::uri::Authority::as_str);
        if authority.contains('@') {
            return Err(AddressError::Credentials);
        }
        let after_host = authority.rsplit(']').next().unwrap_or_default();
        if after_host.contains(':') && uri.port_u16().is_none_or(|p| p == 0) {
            return Err(AddressError::Port { shown: shown(text) });
        }
        let host = uri.host().filter(|h| !h.is_empty()).ok_or_else(shape)?;
        Ok(Self {
            tls,
            host: host.trim_start_matches('[').trim_end_matches(']').to_owned(),
            port: uri.port_u16().unwrap_or(if tls { 443 } else { 80 }),
            // The base URL of a client library; metrics lie beside it, not below.
            path: uri.path().trim_end_matches('/').trim_end_matches("/v1").to_owned(),
        })
    }
}

/// What of a text that is no address can be told: neither a query, nor what may be a password, nor what no host or path
/// has in it.
fn shown(text: &str) -> String {
    let head = text.split(['?', '#']).next().unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._~:/[]".contains(c);
    if head.is_empty() || text.contains('@') || !head.chars().all(plain) {
        return "what was given".to_owned();
    }
    let (scheme, rest) = head.split_once("://").map_or(("", head), |(scheme, rest)| (scheme, rest));
    let host_end = rest.find(']').unwrap_or(0);
    // Behind a colon there is a port, or a password whose `@` was forgotten.
    let port = rest[host_end..].find(':').map(|at| host_end + at + 1);
    let is_port =
        |at: usize| rest[at..].split('/').next().is_some_and(|p| p.bytes().all(|b| b.is_ascii_digit()));
    let told = match port.filter(|at| !is_port(*at)) {
        Some(at) => [&rest[..at], "…"].concat(),
        None => rest.to_owned(),
    };
    format!("{:?}", [scheme, if scheme.is_empty() { "" } else { "://" }, &told].concat())
}

/// A URL that somebody else gave, as messages tell it: without user, password and query.
pub(crate) fn told(url: &str) -> String {
    let head = url.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = head.split_once("://").map_or(("", head), |(scheme, rest)| (scheme, rest));
    let rest = rest.rsplit('@').next().unwrap_or_default();
    if scheme.is_empty() { rest.to_owned() } else { [scheme, "://", rest].concat() }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority(), self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_people_type_them() {
        let a: Address = "localhost:8000".parse().unwrap();
        assert_eq!((a.tls, a.host.as_str(), a.port, a.path.as_str()), (false, "localhost", 8000, ""));
        let b: Address = "https://llm.example/a/metrics".parse().unwrap();
        assert_eq!((b.tls, b.port, b.path.as_str()), (true, 443, "/a/metrics"));
        assert_eq!(b.sibling("/version"), "/a/version");
        let c: Address = "http://[::1]:8000/".parse().unwrap();
        assert_eq!((c.host.as_str(), c.authority().as_str()), ("::1", "[::1]:8000"));
        assert!("ftp://x".parse::<Address>().is_err() && "http://".parse::<Address>().is_err());
    }

    #[test]
    fn a_path_is_not_an_address() {
        assert!(
            Address::looks_like_one("http://x")
                && Address::looks_like_one("x:8000")
                && Address::looks_like_one("10.0.0.1:80/metrics")
        );
        assert!(
            !Address::looks_like_one("fixtures/recordings/a")
                && !Address::looks_like_one("case.zip")
                && !Address::looks_like_one("C:/x")
        );
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        assert_eq!("http://user:secret@host:1/metrics".parse::<Address>(), Err(AddressError::Credentials));
        for bad in ["http://host:99999", "http://host:abc", "host:0"] {
            assert!(bad.parse::<Address>().is_err(), "{bad}");
        }
        assert_eq!("http://host:8000/v1".parse::<Address>().unwrap().path, "");
    }

    #[test]
    fn what_is_refused_is_told_without_its_secrets() {
        for bad in [
            "http://admin:hunter2@gpu7:8000",
            "http://admin:hun ter2@gpu7",
            "http://admin:hun/ter2@gpu7:x",
            "admin:hunter2@gpu7:99999",
            "http://admin:hunter2",
            "http://gpu7:99999/?api_key=hunter2",
            "http://gpu 7/?api_key=hunter2",
            "hunter2@",
            "ftp://hunter2@gpu7",
        ] {
            let error = bad.parse::<Address>().unwrap_err().to_string();
            assert!(!error.contains("hun") && !error.contains("ter2"), "{bad}: {error}");
        }
        let error = "http://gpu7:99999/metrics".parse::<Address>().unwrap_err().to_string();
        assert!(error.contains("\"http://gpu7:99999/metrics\""), "{error}");
        assert_eq!(
            told("https://ann:hunter2@sso.acme.com/login?state=hunter2#x"),
            "https://sso.acme.com/login"
        );
        assert_eq!(told("/login?token=hunter2"), "/login");
    }
}
