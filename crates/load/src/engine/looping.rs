//! One event loop: its turns, its sleep, and what it reports.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use intriage_case::Nanos;
use intriage_record::{Finished, Outcome, ThreadFacts};
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::prctl;
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

use super::arrival::{LOOK, LOOK_MS};
use super::carrier::Carrier;
use super::exchange::Ended;
use super::health::Health;
use super::reading::Arena;
use super::{Feed, Next, Piece, Settings, Tls};
use crate::clock::{Clock, WallOffset};

/// The timer's place among the connections.
pub(super) const TIMER: u64 = u64::MAX;
/// Events taken from the kernel at once.
pub(super) const EVENTS: usize = 512;
/// The loop wakes this much before a request is due and looks at the clock from then on: timers come late.
const EARLY: Nanos = Nanos(120_000);
/// Requests sent before looking at what arrived.
const SENDS_A_TURN: usize = 32;
/// How often the recorder hears from the loop.
const TICK: Nanos = Nanos(100_000_000);
/// How often chunks of unfinished requests are reported.
const PARTIAL: Nanos = Nanos(500_000_000);
/// Requests reported at once at most.
const BATCH: usize = 128;

/// One event loop.
pub(crate) struct Loop<F, C: Carrier> {
    pub(super) settings: Arc<Settings>,
    pub(super) tls: Option<Tls>,
    pub(super) clock: Clock,
    pub(super) feed: F,
    pub(super) epoll: Epoll,
    pub(super) timer: TimerFd,
    pub(super) armed: Nanos,
    pub(super) connections: Vec<Option<C>>,
    /// What they know together.
    pub(super) shared: C::Shared,
    /// Places among the connections that can be used again.
    pub(super) free: Vec<usize>,
    /// Connections with room for another request; some may have filled up since.
    pub(super) roomy: Vec<usize>,
    /// Exchanges that have ended and are not yet reported.
    pub(super) ended: Vec<Ended>,
    /// What TLS made of the bytes of one read.
    pub(super) plain: Vec<u8>,
    pub(super) in_flight: usize,
    pub(super) next_number: u32,
    number_step: u32,
    pub(super) next_address: usize,
    recorder: SyncSender<Vec<Piece>>,
    batch: Vec<Piece>,
    pub(super) health: Health,
    /// Reads, and those of them that the kernel stamped.
    pub(super) reads: u64,
    pub(super) stamped: u64,
    pub(super) round_trip: Option<Nanos>,
    pub(super) offset: WallOffset,
    /// When the kernel was last asked what has arrived.
    pub(super) looked_at: Nanos,
    /// When it was asked for what has all been taken: whatever is taken next came later.
    pub(super) empty_at: Nanos,
    next_tick: Nanos,
    next_partial: Nanos,
    /// When the wait for the last requests ends.
    give_up: Option<Nanos>,
}

/// How a loop fared.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoopFacts {
    pub thread: ThreadFacts,
    pub stamps: bool,
    pub round_trip: Option<Nanos>,
}

impl<F: Feed, C: Carrier> Loop<F, C> {
    /// A loop, number `index` of `of`.
    pub(crate) fn new(
        settings: Arc<Settings>,
        clock: Clock,
        feed: F,
        recorder: SyncSender<Vec<Piece>>,
        (index, of): (u32, u32),
    ) -> Result<Self, Errno> {
        // Without this the kernel may wake us 50 µs late on purpose.
        let _ = prctl::set_timerslack(1);
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let timer =
            TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)?;
        epoll.add(timer.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, TIMER))?;
        Ok(Self {
            next_address: index as usize,
            tls: settings.tls.as_ref().map(|t| if settings.http2 { t.for_http2() } else { t.clone() }),
            settings,
            clock,
            feed,
            epoll,
            timer,
            armed: Nanos::NEVER,
            connections: Vec::new(),
            shared: C::Shared::default(),
            free: Vec::new(),
            roomy: Vec::new(),
            ended: Vec::new(),
            plain: Vec::new(),
            in_flight: 0,
            next_number: index,
            number_step: of.max(1),
            recorder,
            batch: Vec::new(),
            health: Health::default(),
            reads: 0,
            stamped: 0,
            round_trip: None,
            offset: WallOffset::measure(clock),
            looked_at: clock.now(),
            empty_at: clock.now(),
            next_tick: TICK,
            next_partial: PARTIAL,
            give_up: None,
        })
    }

    /// Runs until the feed is over and nothing is in flight.
    pub(crate) fn run(mut self) -> Result<LoopFacts, Errno> {
        let mut events = vec![EpollEvent::empty(); EVENTS];
        let mut arena = Arena::default();
        self.open_ahead(&mut events, &mut arena)?;
        let mut looked = self.clock.now();
        loop {
            let now = self.clock.now();
            let Some(next) = self.send_due(now) else { break };
            self.tick(now);
            let ready = self.wait(next, &mut events)?;
            let woke = self.clock.now();
            // The turn is what lies between two looks at the sockets, less the sleep.
            self.health.longest_turn = self.health.longest_turn.max(now.since(looked));
            looked = woke;
            self.take(&events[..ready], &mut arena);
        }
        let now = self.clock.now();
        for request in self.feed.never_sent(now) {
            self.hand_over(Finished { request, chunks: Vec::new() }, 0);
        }
        self.report();
        Ok(LoopFacts {
            thread: self.health.end(now),
            stamps: self.stamped * 100 >= self.reads * 99,
            round_trip: self.round_trip,
        })
    }

    /// Makes the connections that are needed from the start, and waits until they stand. What cannot be made shows
    /// with the requests.
    fn open_ahead(&mut self, events: &mut [EpollEvent], arena: &mut Arena) -> Result<(), Errno> {
        let until = self.clock.now() + self.settings.connect_timeout;
        for _ in 0..self.feed.connections() {
            if self.connect().is_err() {
                break;
            }
        }
        let waits = |all: &[Option<C>]| all.iter().flatten().any(Carrier::is_connecting);
        while waits(&self.connections)
            && self.clock.now() < until
            && !self.settings.stop.load(Ordering::Relaxed)
        {
            let next = until.min(self.clock.now() + TICK);
            let ready = self.wait(next, events)?;
            self.take(&events[..ready], arena);
        }
        Ok(())
    }

    /// Sends what is due; says when to look again, or `None` when all is over.
    fn send_due(&mut self, now: Nanos) -> Option<Nanos> {
        if self.settings.stop.load(Ordering::Relaxed) && self.give_up.is_none() {
            self.give_up = Some(now);
        }
        if self.give_up.is_some_and(|t| t <= now) {
            self.end_all(now);
            return None;
        }
        let mut now = now;
        for _ in 0..SENDS_A_TURN {
            match self.feed.next(now, self.in_flight) {
                Next::Send(ask) => {
                    if self.in_flight == 0 {
                        // Nothing can come that was not asked for.
                        self.empty_at = now;
                    }
                    self.health.begin(now);
                    self.start(*ask, now);
                    self.settings.sent.fetch_add(1, Ordering::Relaxed);
                    now = self.clock.now();
                }
                Next::At(at) => return Some(at.min(self.next_tick)),
                Next::Wait => return Some(self.next_tick),
                Next::Over if self.in_flight == 0 => return None,
                Next::Over => {
                    let by = *self.give_up.get_or_insert(now + self.settings.drain);
                    return Some(by.min(self.next_tick));
                }
            }
        }
        Some(now)
    }

    /// Waits for something to arrive, until shortly before `next` at most.
    fn wait(&mut self, next: Nanos, events: &mut [EpollEvent]) -> Result<usize, Errno> {
        let now = self.clock.now();
        let timeout = if next <= now + EARLY {
            EpollTimeout::ZERO
        } else {
            self.feed.prepare();
            if self.in_flight > 0 && next > now + LOOK + EARLY {
                return self.look(LOOK_MS.into(), events);
            }
            let wake = Nanos(next.0 - EARLY.0);
            if wake != self.armed {
                // Relative to now, because the run's clock has its own zero.
                let left = wake.since(self.clock.now()).0.max(1);
                let left = TimeSpec::from_duration(Duration::from_nanos(left));
                self.timer.set(Expiration::OneShot(left), TimerSetTimeFlags::empty())?;
                self.armed = wake;
            }
            EpollTimeout::NONE
        };
        self.look(timeout, events)
    }

    fn look(&mut self, timeout: EpollTimeout, events: &mut [EpollEvent]) -> Result<usize, Errno> {
        self.looked_at = self.clock.now();
        match self.epoll.wait(events, timeout) {
            Ok(ready) => Ok(ready),
            // Stopped and let go on: the kernel has not looked at the sockets since.
            Err(Errno::EINTR) => self.epoll.wait(events, EpollTimeout::ZERO),
            Err(why) => Err(why),
        }
    }

    pub(super) fn number(&mut self) -> u32 {
        let number = self.next_number;
        self.next_number = self.next_number.wrapping_add(self.number_step);
        number
    }

    /// Now and then: reports to the recorder, ends what has taken too long, measures the clocks' offset.
    fn tick(&mut self, now: Nanos) {
        if now < self.next_tick {
            return;
        }
        self.next_tick = now + TICK;
        self.offset = WallOffset::measure(self.clock);
        for index in 0..self.connections.len() {
            let Some(Some(connection)) = self.connections.get_mut(index) else { continue };
            let settings = &self.settings;
            let limit = settings.connect_timeout;
            if connection.is_connecting() && now.since(connection.line().dialled) > limit {
                let words = format!("no connection within {}", limit.seconds());
                connection.lost(Outcome::Connect, &words, now, &mut self.ended);
            } else if connection.exchanges().any(|e| e.deadline <= now) {
                let words = format!("no end within {}", settings.timeout.seconds());
                connection.overdue(&words, now, &mut self.ended);
            } else {
                continue;
            }
            self.settle(index);
        }
        if now >= self.next_partial {
            self.next_partial = now + PARTIAL;
            let exchanges = self.connections.iter_mut().flatten().flat_map(C::exchanges);
            let new = exchanges.filter_map(|e| e.unreported().map(|(id, chunks)| Piece::Partial(id, chunks)));
            self.batch.extend(new);
        }
        self.report();
    }

    /// Reports a request that ended.
    pub(super) fn hand_over(&mut self, finished: Finished, reported: usize) {
        self.batch.push(Piece::Ended(Box::new(finished), reported));
        if self.batch.len() >= BATCH {
            self.report();
        }
    }

    fn report(&mut self) {
        if !self.batch.is_empty() {
            // A recorder that is gone has already said why.
            let _ = self.recorder.send(std::mem::take(&mut self.batch));
        }
    }

    /// The run is over: what is still in flight will not end.
    fn end_all(&mut self, now: Nanos) {
        for index in 0..self.connections.len() {
            if let Some(Some(connection)) = self.connections.get_mut(index) {
                connection.lost(Outcome::Unfinished, "", now, &mut self.ended);
                self.settle(index);
            }
        }
    }
}
