//! TLS for the loops: rustls, fed with the bytes the loop has read and stamped.

use std::io::{self, Read, Write};
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, InvalidMessage};
use thiserror::Error;

/// An answer that is not TLS.
pub(crate) const NO_TLS: &str = "the server does not speak TLS on this port; is http:// meant?";

/// HTTP/2 as TLS names it.
pub(super) const HTTP2: &[u8] = b"h2";

/// What is needed to speak TLS with the server.
#[derive(Debug, Clone)]
pub struct Tls {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

/// TLS cannot be set up.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TlsError {
    /// The host is no name a certificate could be for.
    #[error("'{0}' is not a name a certificate can be for")]
    Name(String),
}

impl Tls {
    /// For a server of this name.
    pub fn new(config: Arc<ClientConfig>, host: &str) -> Result<Self, TlsError> {
        let name = ServerName::try_from(host.to_owned()).map_err(|_| TlsError::Name(host.to_owned()))?;
        Ok(Self { config, name })
    }

    /// The same, asking for HTTP/2 within the handshake.
    pub(super) fn for_http2(&self) -> Self {
        let mut config = ClientConfig::clone(&self.config);
        config.alpn_protocols = vec![HTTP2.to_vec()];
        Self { config: Arc::new(config), name: self.name.clone() }
    }

    pub(super) fn connect(&self) -> Result<Session, rustls::Error> {
        let mut connection = ClientConnection::new(Arc::clone(&self.config), self.name.clone())?;
        // A request is encrypted whole, however long: what the kernel does not take waits on our side.
        connection.set_buffer_limit(None);
        Ok(Session(Box::new(connection)))
    }
}

/// What went wrong; the commonest mistake in words that help.
fn in_words(why: rustls::Error) -> io::Error {
    match why {
        rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => io::Error::other(NO_TLS),
        other => io::Error::other(other),
    }
}

/// One connection's TLS.
#[derive(Debug)]
pub(super) struct Session(Box<ClientConnection>);

impl Session {
    pub(super) fn is_handshaking(&self) -> bool {
        self.0.is_handshaking()
    }

    /// The protocol both sides agreed on.
    pub(super) fn agreed(&self) -> Option<&[u8]> {
        self.0.alpn_protocol()
    }

    /// What the server sent, decrypted; whether it said that nothing more will come.
    pub(super) fn decrypt(&mut self, mut from: &[u8], into: &mut Vec<u8>) -> io::Result<bool> {
        let mut closed = false;
        while !from.is_empty() {
            if self.0.read_tls(&mut from)? == 0 {
                break;
            }
            let state = self.0.process_new_packets().map_err(in_words)?;
            let plain = state.plaintext_bytes_to_read();
            closed |= state.peer_has_closed();
            let before = into.len();
            into.resize(before + plain, 0);
            self.0.reader().read_exact(&mut into[before..])?;
        }
        Ok(closed)
    }

    /// Takes plain bytes; they come out encrypted by [`Session::encrypted`].
    pub(super) fn encrypt(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.writer().write_all(bytes)
    }

    /// What must be sent now, handshake included.
    pub(super) fn encrypted(&mut self, into: &mut Vec<u8>) -> io::Result<()> {
        while self.0.wants_write() {
            self.0.write_tls(into)?;
        }
        Ok(())
    }
}
