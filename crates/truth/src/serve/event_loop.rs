//! One thread around epoll.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::EventFd;
use nix::sys::socket::Backlog;

use super::Core;
use super::connection::{Connection, Stage};
use super::drive::Wakes;
use super::timers::Timers;
use crate::clock;
use crate::config::Config;
use crate::fault::Fault;
use crate::script::End;
use crate::served::Served;

/// What the handle asks of the thread.
pub(crate) enum Command {
    Set(Box<Config>, Sender<()>),
    Log(Sender<Vec<Served>>),
    Reset(Sender<()>),
    Stop,
}

const LISTENER: u64 = u64::MAX;
const TIMER: u64 = u64::MAX - 1;
const WAKE: u64 = u64::MAX - 2;
/// Pause after an accept that failed, most likely for want of file descriptors, in nanoseconds.
const BREATH: u64 = 50_000_000;
/// Bytes of one read(2).
const READ: usize = 256 * 1024;

/// A place for a connection; the generation tells its users apart.
#[derive(Default)]
struct Slot {
    generation: u32,
    connection: Option<Box<Connection>>,
}

/// The server's thread.
pub(crate) struct EventLoop {
    epoll: Epoll,
    address: SocketAddr,
    listener: Option<TcpListener>,
    timers: Timers,
    wake: Arc<EventFd>,
    commands: Receiver<Command>,
    slots: Vec<Slot>,
    free: Vec<usize>,
    ready: VecDeque<u64>,
    scratch: Vec<u8>,
    accepted: u64,
    core: Core,
    stopped: bool,
}

impl EventLoop {
    pub(crate) fn new(
        config: Config,
        listener: TcpListener,
        wake: Arc<EventFd>,
        commands: Receiver<Command>,
    ) -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let timers = Timers::new()?;
        // The timer is never read: setting it again is what clears it.
        epoll.add(timers.fd(), EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, TIMER))?;
        epoll.add(&*wake, EpollEvent::new(EpollFlags::EPOLLIN, WAKE))?;
        let mut this = Self {
            epoll,
            address: listener.local_addr()?,
            listener: None,
            timers,
            wake,
            commands,
            slots: Vec::new(),
            free: Vec::new(),
            ready: VecDeque::new(),
            scratch: vec![0; READ],
            accepted: 0,
            core: Core::new(config),
            stopped: false,
        };
        this.listen(listener)?;
        Ok(this)
    }

    /// Runs until it is told to stop.
    pub(crate) fn run(mut self) -> io::Result<()> {
        // Sleeps end when they should, not up to 50 µs later.
        nix::sys::prctl::set_timerslack(1)?;
        let mut events = vec![EpollEvent::empty(); 256];
        while !self.stopped {
            self.follow_config()?;
            self.timers.arm()?;
            let timeout = if self.ready.is_empty() { EpollTimeout::NONE } else { EpollTimeout::ZERO };
            let count = match self.epoll.wait(&mut events, timeout) {
                Ok(count) => count,
                Err(nix::errno::Errno::EINTR) => 0,
                Err(why) => return Err(why.into()),
            };
            for event in events.iter().take(count) {
                match event.data() {
                    LISTENER => self.accept(),
                    TIMER => self.timers.fired(),
                    WAKE => self.obey()?,
                    who => self.drive(who, event.events().intersects(readable())),
                }
                // A deadline does not wait for the rest of the events.
                self.due();
            }
            for _ in 0..self.ready.len() {
                if let Some(who) = self.ready.pop_front() {
                    self.drive(who, false);
                }
                self.due();
            }
        }
        Ok(())
    }

    fn due(&mut self) {
        // One look at the clock: those who come due meanwhile have their turn next time.
        let now = clock::monotonic();
        while let Some((due, who)) = self.timers.next_due(now) {
            if who == LISTENER {
                self.accept();
                continue;
            }
            let Some(connection) = self.connection(who) else { continue };
            if connection.waiting == Some(due) {
                connection.waiting = None;
                if connection.stage == Stage::Draining {
                    self.end(who, End::Close);
                } else {
                    self.drive(who, false);
                }
            }
        }
    }

    fn connection(&mut self, who: u64) -> Option<&mut Box<Connection>> {
        let slot = self.slots.get_mut((who & 0xffff_ffff) as usize)?;
        if u64::from(slot.generation) == who >> 32 { slot.connection.as_mut() } else { None }
    }

    fn drive(&mut self, who: u64, unread: bool) {
        let Some(slot) = self.slots.get_mut((who & 0xffff_ffff) as usize) else { return };
        if u64::from(slot.generation) != who >> 32 {
            return;
        }
        let Some(connection) = slot.connection.as_mut() else { return };
        connection.unread |= unread;
        let mut wakes = Wakes { who, timers: &mut self.timers, ready: &mut self.ready };
        if let Some(end) = self.core.drive(connection, &mut self.scratch, &mut wakes) {
            self.end(who, end);
        }
    }

    fn end(&mut self, who: u64, how: End) {
        let index = (who & 0xffff_ffff) as usize;
        let Some(slot) = self.slots.get_mut(index) else { return };
        if let Some(connection) = slot.connection.take() {
            slot.generation = slot.generation.wrapping_add(1) & 0x7fff_ffff;
            self.free.push(index);
            self.core.connections = self.core.connections.saturating_sub(1);
            connection.end(how);
        }
    }

    fn accept(&mut self) {
        while let Some(listener) = &self.listener {
            match listener.accept() {
                Ok((stream, _)) => {
                    // A client that is gone already shows when it is read.
                    if stream.set_nonblocking(true).is_err() {
                        continue;
                    }
                    let _ = stream.set_nodelay(true);
                    self.accepted += 1;
                    let index = self.free.pop().unwrap_or_else(|| {
                        self.slots.push(Slot::default());
                        self.slots.len() - 1
                    });
                    let Some(slot) = self.slots.get_mut(index) else { return };
                    let who = u64::from(slot.generation) << 32 | index as u64;
                    let connection = Box::new(Connection::new(stream, self.accepted));
                    let flags = readable() | EpollFlags::EPOLLOUT | EpollFlags::EPOLLET;
                    if self.epoll.add(connection.fd(), EpollEvent::new(flags, who)).is_ok() {
                        slot.connection = Some(connection);
                        self.core.connections += 1;
                    } else {
                        self.free.push(index);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error)
                    if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => {}
                Err(_) => {
                    self.timers.add(clock::monotonic().saturating_add(BREATH), LISTENER);
                    return;
                }
            }
        }
    }

    fn obey(&mut self) -> io::Result<()> {
        let _ = self.wake.read();
        while let Ok(command) = self.commands.try_recv() {
            // Whoever asked may have stopped waiting.
            match command {
                Command::Set(config, done) => {
                    self.core.config = Arc::new(*config);
                    self.follow_config()?;
                    let _ = done.send(());
                }
                Command::Log(answer) => drop(answer.send(self.core.served())),
                Command::Reset(done) => {
                    self.core.reset();
                    let _ = done.send(());
                }
                Command::Stop => self.stopped = true,
            }
        }
        Ok(())
    }

    /// Opens or closes the door as the configuration says.
    fn follow_config(&mut self) -> io::Result<()> {
        let open = self.core.config.fault != Some(Fault::Refuse);
        if open && self.listener.is_none() {
            match TcpListener::bind(self.address) {
                Ok(listener) => self.listen(listener)?,
                // Someone else took the port; it may come back.
                Err(_) => self.timers.add(clock::monotonic().saturating_add(BREATH), LISTENER),
            }
        } else if !open {
            self.listener = None;
        }
        Ok(())
    }

    fn listen(&mut self, listener: TcpListener) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        // The standard library lets 128 connections wait; a client that opens a thousand at once would find the rest
        // a second later, when its kernel tries again, and count that as ours.
        nix::sys::socket::listen(&listener, Backlog::MAXALLOWABLE)?;
        let flags = EpollFlags::EPOLLIN | EpollFlags::EPOLLET;
        self.epoll.add(&listener, EpollEvent::new(flags, LISTENER))?;
        self.listener = Some(listener);
        Ok(())
    }
}

fn readable() -> EpollFlags {
    EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR
}
