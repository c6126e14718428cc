//! The server as its owner holds it.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;

use nix::sys::eventfd::{EfdFlags, EventFd};

use crate::config::Config;
use crate::serve::{Command, EventLoop};
use crate::served::Served;

/// Why the server does not run.
#[derive(Debug, thiserror::Error)]
pub enum TruthError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {why}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        why: io::Error,
    },
    /// The system refused something the server needs.
    #[error("the ground-truth server cannot run: {0}")]
    Start(#[from] io::Error),
    /// It ended by itself.
    #[error("the ground-truth server has ended")]
    Gone,
}

/// A running server. Dropping it stops it.
#[derive(Debug)]
pub struct Truth {
    address: SocketAddr,
    commands: Sender<Command>,
    wake: Arc<EventFd>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Truth {
    /// Serves on a thread of its own; port 0 takes any that is free.
    pub fn start(config: Config, address: SocketAddr) -> Result<Self, TruthError> {
        let listener = TcpListener::bind(address).map_err(|why| TruthError::Listen { address, why })?;
        let address = listener.local_addr()?;
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        let wake = Arc::new(EventFd::from_flags(flags).map_err(io::Error::from)?);
        let (commands, orders) = mpsc::channel();
        let server = EventLoop::new(config, listener, Arc::clone(&wake), orders)?;
        let thread = std::thread::Builder::new().name("truth".into()).spawn(move || server.run())?;
        Ok(Self { address, commands, wake, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes what it does; requests that arrive after this returns are answered so.
    pub fn set(&self, config: Config) -> Result<(), TruthError> {
        self.ask(|done| Command::Set(Box::new(config), done))
    }

    /// The requests that have ended, by sequence. Those whose last byte a client has read are among them.
    ///
    /// Copies the log on the server's thread: ask when no deadline matters.
    pub fn log(&self) -> Result<Vec<Served>, TruthError> {
        self.ask(Command::Log)
    }

    /// Forgets the log and counts from 1 again; requests in flight will not be logged.
    pub fn reset(&self) -> Result<(), TruthError> {
        self.ask(Command::Reset)
    }

    /// Ends it and closes its connections.
    pub fn stop(mut self) -> Result<(), TruthError> {
        self.halt()
    }

    fn halt(&mut self) -> Result<(), TruthError> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        // If it is gone already, joining says why.
        let _ = self.commands.send(Command::Stop);
        let _ = self.wake.write(1);
        thread.join().map_err(|_| TruthError::Gone)??;
        Ok(())
    }

    fn ask<T>(&self, command: impl FnOnce(Sender<T>) -> Command) -> Result<T, TruthError> {
        let (sender, answer): (Sender<T>, Receiver<T>) = mpsc::channel();
        self.commands.send(command(sender)).map_err(|_| TruthError::Gone)?;
        let _ = self.wake.write(1);
        answer.recv().map_err(|_| TruthError::Gone)
    }
}

impl Drop for Truth {
    fn drop(&mut self) {
        // Nobody is left to hear of a failure.
        let _ = self.halt();
    }
}
