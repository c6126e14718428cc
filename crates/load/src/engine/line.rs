//! One connection below its protocol: the socket, TLS where wanted, and bytes on their way out.

use std::io::{self, ErrorKind, Write};
use std::net::TcpStream;

use intriage_case::Nanos;

use super::tls::Session;

/// Where a connection stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Waiting for the connection to stand.
    Dialling,
    /// Waiting for TLS to stand.
    Securing,
    /// Bytes can be sent.
    Standing,
}

/// One connection below its protocol.
#[derive(Debug)]
pub(crate) struct Line {
    pub socket: TcpStream,
    /// Its number within the run.
    pub number: u32,
    pub state: State,
    pub dialled: Nanos,
    pub connected: Option<Nanos>,
    pub secured: Option<Nanos>,
    /// The kernel was asked to tell when it is writable.
    pub wants_out: bool,
    /// It is among the connections with room.
    pub listed: bool,
    tls: Option<Session>,
    /// Bytes to send as they go over the wire, and how many of them are sent.
    out: Vec<u8>,
    out_at: usize,
}

impl Line {
    pub(super) fn new(socket: TcpStream, number: u32, tls: Option<Session>, dialled: Nanos) -> Self {
        Self {
            socket,
            number,
            state: State::Dialling,
            dialled,
            connected: None,
            secured: None,
            wants_out: true,
            listed: false,
            tls,
            out: Vec::new(),
            out_at: 0,
        }
    }

    /// The socket is connected: TLS begins, or the line stands.
    pub(super) fn connected(&mut self, now: Nanos) -> io::Result<()> {
        self.connected = Some(now);
        if let Some(tls) = &mut self.tls {
            self.state = State::Securing;
            return tls.encrypted(&mut self.out);
        }
        self.state = State::Standing;
        Ok(())
    }

    pub(super) fn is_secure(&self) -> bool {
        self.tls.is_some()
    }

    /// The protocol both sides agreed on within TLS.
    pub(super) fn agreed(&self) -> Option<&[u8]> {
        self.tls.as_ref().and_then(Session::agreed)
    }

    /// Takes bytes of the protocol to be sent; says how many that makes on the wire.
    pub(super) fn send(&mut self, bytes: Vec<u8>) -> io::Result<usize> {
        let before = self.out.len();
        match &mut self.tls {
            Some(tls) => {
                tls.encrypt(&bytes)?;
                tls.encrypted(&mut self.out)?;
            }
            None if self.out.is_empty() => self.out = bytes,
            None => self.out.extend_from_slice(&bytes),
        }
        Ok(self.out.len() - before)
    }

    /// Makes plain bytes of those that arrived; says whether the server has closed its side of TLS.
    pub(super) fn decrypt(&mut self, bytes: &[u8], plain: &mut Vec<u8>) -> io::Result<bool> {
        let Some(tls) = &mut self.tls else { return Ok(false) };
        let decrypted = tls.decrypt(bytes, plain);
        // TLS has something to say in any state: its part of the handshake, an alert, an answer to new keys.
        tls.encrypted(&mut self.out)?;
        let closed = decrypted?;
        if self.state == State::Securing && !tls.is_handshaking() {
            self.state = State::Standing;
        }
        Ok(closed)
    }

    /// Whether bytes wait to be sent.
    pub(super) fn has_out(&self) -> bool {
        self.out_at < self.out.len()
    }

    /// Hands the kernel what it takes; says whether that was all.
    pub(super) fn write_out(&mut self) -> io::Result<bool> {
        while self.has_out() {
            match self.socket.write(&self.out[self.out_at..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(n) => self.out_at += n,
                Err(why) if why.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Err(why) => return Err(why),
            }
        }
        self.out.clear();
        self.out_at = 0;
        Ok(true)
    }
}
