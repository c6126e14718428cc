//! Deadlines, kept by one absolute timer of the kernel.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

/// Who is to be woken when.
pub(super) struct Timers {
    heap: BinaryHeap<Reverse<(u64, u64)>>,
    fd: TimerFd,
    /// The deadline the kernel knows of.
    armed: Option<u64>,
}

impl Timers {
    pub(super) fn new() -> nix::Result<Self> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let fd = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
        Ok(Self { heap: BinaryHeap::new(), fd, armed: None })
    }

    pub(super) fn fd(&self) -> &TimerFd {
        &self.fd
    }

    pub(super) fn add(&mut self, due: u64, who: u64) {
        self.heap.push(Reverse((due, who)));
    }

    /// Whoever is due, first come first.
    pub(super) fn next_due(&mut self, now: u64) -> Option<(u64, u64)> {
        let Reverse((due, _)) = self.heap.peek()?;
        if *due > now {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| entry)
    }

    /// Tells the kernel of the first deadline, if that is news.
    pub(super) fn arm(&mut self) -> nix::Result<()> {
        let first = self.heap.peek().map(|Reverse((due, _))| *due);
        if first.is_none() || first == self.armed {
            return Ok(());
        }
        self.armed = first;
        let time = TimeSpec::from_duration(Duration::from_nanos(first.unwrap_or(0).max(1)));
        self.fd.set(Expiration::OneShot(time), TimerSetTimeFlags::TFD_TIMER_ABSTIME)
    }

    /// The kernel's timer went off.
    pub(super) fn fired(&mut self) {
        self.armed = None;
    }
}
