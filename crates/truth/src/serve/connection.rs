//! One client connection: bytes in, bytes out, and the answer under way.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::Arc;

use nix::sys::socket::{setsockopt, sockopt};

use crate::config::Config;
use crate::http::Reader;
use crate::script::{End, Script};
use crate::served::Served;

/// An inference request that is being answered.
pub(super) struct Work {
    pub(super) script: Script,
    pub(super) served: Served,
    pub(super) config: Arc<Config>,
    pub(super) keep_alive: bool,
    /// When tokens were last written, in nanoseconds.
    pub(super) last: Option<u64>,
    /// Which reset of the log it came after.
    pub(super) epoch: u64,
}

impl Work {
    pub(super) fn new(
        script: Script,
        served: Served,
        config: Arc<Config>,
        keep_alive: bool,
        epoch: u64,
    ) -> Self {
        Self { script, served, config, keep_alive, last: None, epoch }
    }
}

/// How far a connection is from its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// More requests may come.
    Open,
    /// It closes when all is written.
    Closing,
    /// It only waits for the client to have read the last answer; what the client sends is thrown away.
    Draining,
}

/// An open connection.
pub(super) struct Connection {
    stream: TcpStream,
    /// Counted from 1.
    pub(super) number: u64,
    /// Requests so far.
    pub(super) requests: u32,
    pub(super) reader: Reader,
    /// When bytes were last read, in nanoseconds of both clocks.
    pub(super) read_at: (u64, u64),
    out: Vec<u8>,
    /// How much of `out` is written.
    written: usize,
    pub(super) work: Option<Box<Work>>,
    pub(super) stage: Stage,
    /// The client is gone.
    pub(super) gone: bool,
    /// Bytes may be waiting in the socket.
    pub(super) unread: bool,
    /// The deadline it waits for, in nanoseconds.
    pub(super) waiting: Option<u64>,
    /// When its last answer ended, in nanoseconds.
    pub(super) free_since: u64,
}

impl Connection {
    pub(super) fn new(stream: TcpStream, number: u64) -> Self {
        Self {
            stream,
            number,
            requests: 0,
            reader: Reader::default(),
            read_at: (0, 0),
            out: Vec::new(),
            written: 0,
            work: None,
            stage: Stage::Open,
            gone: false,
            unread: true,
            waiting: None,
            free_since: 0,
        }
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// Reads what there is.
    pub(super) fn receive(&mut self, scratch: &mut [u8], clocks: impl Fn() -> (u64, u64)) {
        while self.unread && !self.gone && !self.reader.is_full() {
            match self.stream.read(scratch) {
                Ok(0) => self.gone = true,
                Ok(n) => {
                    self.read_at = clocks();
                    if self.stage != Stage::Draining {
                        self.reader.push(scratch.get(..n).unwrap_or_default());
                    }
                    // A short read has emptied the socket; news come as a new event.
                    self.unread = n == scratch.len();
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.unread = false,
                Err(_) => self.gone = true,
            }
        }
    }

    /// Bytes that go out next.
    pub(super) fn out(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Whether everything is written.
    pub(super) fn is_flushed(&self) -> bool {
        self.written >= self.out.len()
    }

    /// Writes what waits, at most `split` bytes a write(2) where that is not 0; false where the socket is full.
    pub(super) fn flush(&mut self, split: usize) -> bool {
        while let Some(rest) = self.out.get(self.written..).filter(|rest| !rest.is_empty()) {
            let piece = if split == 0 { rest } else { rest.get(..split).unwrap_or(rest) };
            match self.stream.write(piece) {
                Ok(n) if n > 0 => {
                    self.written += n;
                    if n < piece.len() {
                        return false;
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
                Ok(_) | Err(_) => {
                    self.gone = true;
                    return false;
                }
            }
        }
        self.out.clear();
        self.out.shrink_to(256 * 1024);
        self.written = 0;
        true
    }

    /// Writes bytes that are kept elsewhere; what the socket does not take waits. False where something does.
    pub(super) fn write_shared(&mut self, bytes: &[u8]) -> bool {
        let taken = match self.stream.write(bytes) {
            Ok(n) => n,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => 0,
            Err(_) => {
                self.gone = true;
                return false;
            }
        };
        let rest = bytes.get(taken..).unwrap_or_default();
        self.out.extend_from_slice(rest);
        rest.is_empty()
    }

    /// After this request nothing more is answered, unless the client keeps the connection.
    pub(super) fn last_unless(&mut self, keep_alive: bool) {
        if !keep_alive {
            self.stage = Stage::Closing;
        }
    }

    /// Says that no more bytes come, and lets the client read the last ones before it is closed.
    pub(super) fn drain(&mut self) {
        self.stage = Stage::Draining;
        // A client that is gone is seen by reading.
        let _ = self.stream.shutdown(std::net::Shutdown::Write);
    }

    /// Ends it; a reset throws away what the client has not read.
    pub(super) fn end(self, how: End) {
        if how == End::Reset {
            let at_once = nix::libc::linger { l_onoff: 1, l_linger: 0 };
            // If it fails the client sees a plain close.
            let _ = setsockopt(&self.stream, sockopt::Linger, &at_once);
        }
    }
}
