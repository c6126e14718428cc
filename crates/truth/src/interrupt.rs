//! Ctrl-C as something to wait for.

use std::io;
use std::os::fd::AsFd as _;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

/// SIGINT and SIGTERM, held back from this thread and from those it starts afterwards.
#[derive(Debug)]
pub struct Interrupt(SignalFd);

impl Interrupt {
    /// Holds the signals back from now on; call it before other threads are started.
    pub fn hold() -> io::Result<Self> {
        let mut signals = SigSet::empty();
        signals.add(Signal::SIGINT);
        signals.add(Signal::SIGTERM);
        signals.thread_block()?;
        Ok(Self(SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC)?))
    }

    /// Waits for a signal, or for so long.
    pub fn wait(&self, limit: Option<Duration>) -> io::Result<()> {
        let timeout = match limit {
            // A time too long to be told to the system is no limit.
            Some(limit) => PollTimeout::try_from(limit).unwrap_or(PollTimeout::NONE),
            None => PollTimeout::NONE,
        };
        loop {
            match poll(&mut [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)], timeout) {
                Err(Errno::EINTR) => {}
                Ok(_) => return Ok(()),
                Err(why) => return Err(why.into()),
            }
        }
    }
}
