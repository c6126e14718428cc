//! The sending half of a loop: connections made, requests handed to the kernel, ended ones reported.

use std::os::fd::AsFd;

use intriage_case::Nanos;
use intriage_record::Outcome;
use nix::errno::Errno;
use nix::sys::epoll::{EpollEvent, EpollFlags};

use super::carrier::Carrier;
use super::exchange::Exchange;
use super::line::{Line, State};
use super::looping::Loop;
use super::socket::dial;
use super::{Ask, Feed};

impl<F: Feed, C: Carrier> Loop<F, C> {
    /// Starts a request.
    pub(super) fn start(&mut self, ask: Ask, now: Nanos) {
        let exchange = Exchange::new(&ask, now, &self.settings);
        self.in_flight += 1;
        self.place(exchange, ask.bytes, now);
    }

    /// Puts a request on a connection with room, or on a new one.
    fn place(&mut self, mut exchange: Exchange, bytes: Vec<u8>, now: Nanos) {
        let index = match self.roomy() {
            Some(index) => index,
            None => match self.connect() {
                Ok(index) => index,
                Err((outcome, error)) => {
                    exchange.request.dialled = Some(now);
                    self.ended.push(exchange.ended(outcome, error, self.clock.now()));
                    self.report_ended();
                    return;
                }
            },
        };
        let Some(Some(connection)) = self.connections.get_mut(index) else { return };
        if connection.is_connecting() {
            exchange.request.dialled.get_or_insert(now);
        }
        connection.begin(exchange, bytes, now, &mut self.ended);
        self.settle(index);
    }

    /// A connection with room for a request.
    fn roomy(&mut self) -> Option<usize> {
        while let Some(index) = self.roomy.last().copied() {
            let connection = self.connections.get_mut(index).and_then(Option::as_mut);
            if connection.as_ref().is_some_and(|c| c.has_room()) {
                return Some(index);
            }
            if let Some(full) = connection {
                full.line_mut().listed = false;
            }
            self.roomy.pop();
        }
        None
    }

    pub(super) fn connect(&mut self) -> Result<usize, (Outcome, String)> {
        let addresses = &self.settings.addresses;
        let to = self.next_address.checked_rem(addresses.len()).and_then(|n| addresses.get(n));
        let Some(&to) = to else { return Err((Outcome::Connect, "the server has no address".to_owned())) };
        self.next_address = self.next_address.wrapping_add(1);
        let in_words = |why: Errno| {
            let outcome = match why {
                Errno::EADDRNOTAVAIL => Outcome::NoPort,
                Errno::EMFILE | Errno::ENFILE => Outcome::NoFile,
                _ => Outcome::Connect,
            };
            (outcome, format!("{to}: {}", why.desc()))
        };
        let dialled = self.clock.now();
        let socket = dial(to).map_err(in_words)?;
        let tls = match &self.tls {
            Some(tls) => Some(tls.connect().map_err(|why| (Outcome::Tls, why.to_string()))?),
            None => None,
        };
        let index = self.free.last().copied().unwrap_or(self.connections.len());
        let watch = EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT, index as u64);
        self.epoll.add(socket.as_fd(), watch).map_err(in_words)?;
        if self.free.pop().is_none() {
            self.connections.push(None);
        }
        let line = Line::new(socket, self.number(), tls, dialled);
        self.connections[index] = Some(C::new(line, &self.settings, &self.shared));
        Ok(index)
    }

    /// The kernel can take bytes: a connection stands, or a long request goes on.
    pub(super) fn writable(&mut self, index: usize) {
        let now = self.clock.now();
        let Some(Some(connection)) = self.connections.get_mut(index) else { return };
        let line = connection.line_mut();
        if line.state == State::Dialling {
            if let Ok(Some(why)) | Err(why) = line.socket.take_error() {
                let no_port = why.raw_os_error() == Some(Errno::EADDRNOTAVAIL as i32);
                let outcome = if no_port { Outcome::NoPort } else { Outcome::Connect };
                connection.lost(outcome, &why.to_string(), now, &mut self.ended);
            } else {
                let took = Some(now.since(line.dialled));
                self.round_trip = [self.round_trip, took].into_iter().flatten().min();
                if let Err(why) = line.connected(now) {
                    connection.lost(Outcome::Tls, &why.to_string(), now, &mut self.ended);
                } else if line.state == State::Standing {
                    connection.stands(now, &mut self.ended);
                }
            }
        }
        self.settle(index);
    }

    /// After anything was done to a connection: hands the kernel what is to be sent, reports what has ended, finds
    /// requests without room another place, and drops the connection if it is of no more use.
    pub(super) fn settle(&mut self, index: usize) {
        let Some(Some(connection)) = self.connections.get_mut(index) else { return };
        if connection.line().state != State::Dialling {
            let mut whole = true;
            if connection.line().has_out() {
                let before = self.clock.now();
                match connection.line_mut().write_out() {
                    Ok(all) => {
                        whole = all;
                        connection.wrote(before, self.clock.now(), whole);
                    }
                    Err(why) => {
                        let securing = connection.line().state == State::Securing;
                        let outcome = if securing { Outcome::Tls } else { Outcome::Reset };
                        connection.lost(outcome, &format!("while sending: {why}"), before, &mut self.ended);
                    }
                }
            }
            self.want_out(index, !whole);
        }
        self.report_ended();
        let Some(Some(connection)) = self.connections.get_mut(index) else { return };
        let homeless = connection.overflow();
        if !connection.is_open() {
            self.drop_connection(index);
        } else if connection.has_room() && !connection.line().listed {
            connection.line_mut().listed = true;
            self.roomy.push(index);
        }
        for (exchange, bytes) in homeless {
            let now = self.clock.now();
            self.place(exchange, bytes, now);
        }
    }

    fn report_ended(&mut self) {
        for ended in std::mem::take(&mut self.ended) {
            let at = ended.at;
            let (finished, reported, text) = ended.finish();
            self.in_flight -= 1;
            self.feed.ended(&finished.request, &text, at);
            self.hand_over(finished, reported);
        }
    }

    fn drop_connection(&mut self, index: usize) {
        // Closing the socket takes it out of epoll.
        if let Some(gone) = self.connections.get_mut(index).and_then(Option::take) {
            if gone.line().listed {
                self.roomy.retain(|i| *i != index);
            }
            self.free.push(index);
        }
    }

    /// Asks the kernel to tell, or not, when bytes can be sent.
    fn want_out(&mut self, index: usize, wanted: bool) {
        let Some(Some(connection)) = self.connections.get_mut(index) else { return };
        let line = connection.line_mut();
        if line.wants_out != wanted {
            line.wants_out = wanted;
            let flags = if wanted { EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT } else { EpollFlags::EPOLLIN };
            let mut watch = EpollEvent::new(flags, index as u64);
            // The socket is open and was added, so this cannot fail.
            let _ = self.epoll.modify(line.socket.as_fd(), &mut watch);
        }
    }
}
