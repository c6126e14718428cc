//! The receiving half of a loop: first everything that has arrived is taken, then it is parsed.

use std::io::{self, ErrorKind};

use intriage_case::Nanos;
use intriage_record::Outcome;
use nix::sys::epoll::{EpollEvent, EpollFlags};

use super::Feed;
use super::arrival::Arrival;
use super::carrier::Carrier;
use super::line::State;
use super::looping::{EVENTS, Loop, TIMER};
use super::socket::{CONTROL, receive};

/// Bytes taken before any is parsed: they stay in the cache.
const ARENA: usize = 512 << 10;
/// Bytes taken from one connection at once.
const ONE_READ: usize = 128 << 10;

/// What was read and is not yet parsed.
pub(super) struct Arena {
    bytes: Vec<u8>,
    used: usize,
    reads: Vec<Read>,
}

impl Default for Arena {
    fn default() -> Self {
        Self { bytes: vec![0; ARENA], used: 0, reads: Vec::new() }
    }
}

struct Read {
    connection: usize,
    from: usize,
    to: usize,
    arrival: Arrival,
    /// Nothing more will come: the server closed the connection, or the system says why.
    closed: Option<io::Result<()>>,
}

impl<F: Feed, C: Carrier> Loop<F, C> {
    /// Takes what has arrived on all connections, then parses it.
    pub(super) fn take(&mut self, ready: &[EpollEvent], arena: &mut Arena) {
        let mut control = [0u8; CONTROL];
        let mut all = ready.len() < EVENTS;
        for event in ready {
            if event.data() == TIMER {
                // Reading clears it; what it says is known.
                let _ = self.timer.wait();
                self.armed = Nanos::NEVER;
                continue;
            }
            let index = event.data() as usize;
            if event.events().contains(EpollFlags::EPOLLOUT) {
                self.writable(index);
            }
            if !event.events().intersects(EpollFlags::EPOLLIN | EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR) {
                continue;
            }
            if ARENA - arena.used < ONE_READ {
                self.parse(arena);
            }
            let Some(Some(connection)) = self.connections.get(index) else { continue };
            if connection.line().state == State::Dialling {
                continue;
            }
            let free = &mut arena.bytes[arena.used..arena.used + ONE_READ];
            let got = receive(&connection.line().socket, free, &mut control);
            let now = self.clock.now();
            let (length, stamp, closed) = match got {
                Ok((0, _)) => (0, None, Some(Ok(()))),
                Ok((length, stamp)) => (length, stamp, None),
                Err(why) if matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => continue,
                Err(why) => (0, None, Some(Err(why))),
            };
            // Without the kernel's stamp, it may have come any time since the last look.
            let at = stamp.map_or(now, |s| self.offset.to_run(s).min(now));
            let lag = if stamp.is_some() { now.since(at) } else { self.health.longest_turn };
            self.reads += u64::from(closed.is_none());
            self.stamped += u64::from(stamp.is_some());
            let (from, to) = (arena.used, arena.used + length);
            all &= length < ONE_READ;
            let arrival = Arrival::new(at, lag, self.empty_at, now);
            arena.reads.push(Read { connection: index, from, to, arrival, closed });
            arena.used = to;
        }
        if all {
            self.empty_at = self.looked_at;
        }
        self.parse(arena);
    }

    fn parse(&mut self, arena: &mut Arena) {
        for read in arena.reads.drain(..) {
            match &read.closed {
                None => self.arrived(read.connection, &arena.bytes[read.from..read.to], read.arrival),
                Some(why) => self.closed(read.connection, why.as_ref().err(), read.arrival.at),
            }
            self.settle(read.connection);
        }
        arena.used = 0;
    }

    fn arrived(&mut self, index: usize, bytes: &[u8], arrival: Arrival) {
        let at = arrival.at;
        let Some(Some(connection)) = self.connections.get_mut(index) else { return };
        if !connection.line().is_secure() {
            connection.arrived(bytes, arrival, &mut self.ended);
            return;
        }
        self.plain.clear();
        let was_securing = connection.line().state == State::Securing;
        let closed = match connection.line_mut().decrypt(bytes, &mut self.plain) {
            Ok(closed) => closed,
            Err(why) => {
                let outcome = if was_securing { Outcome::Tls } else { Outcome::Reset };
                connection.lost(outcome, &why.to_string(), at, &mut self.ended);
                return;
            }
        };
        if was_securing && connection.line().state == State::Standing {
            let now = self.clock.now();
            connection.line_mut().secured = Some(now);
            connection.stands(now, &mut self.ended);
        }
        // The end of the handshake may bring the first bytes of the protocol with it.
        if !self.plain.is_empty() {
            connection.arrived(&self.plain, arrival, &mut self.ended);
        }
        if closed {
            self.closed(index, None, at);
        }
    }

    fn closed(&mut self, index: usize, why: Option<&io::Error>, at: Nanos) {
        let Some(Some(connection)) = self.connections.get_mut(index) else { return };
        if connection.line().state == State::Securing {
            let words = why.map_or_else(
                || "the server closed the connection in the handshake".to_owned(),
                |why| format!("in the handshake: {why}"),
            );
            connection.lost(Outcome::Tls, &words, at, &mut self.ended);
        } else {
            connection.closed(why, at, &mut self.ended);
        }
    }
}
