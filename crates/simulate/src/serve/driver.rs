//! The fleet in real time: one task owns it, sleeps until the next event is due and tells the open streams.
//!
//! Events happen at their virtual instants, whenever the machine gets round to them: a late wake-up
//! delays what clients see by that much, and never the steps that follow.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::fmt::Write as _;
use std::time::Duration;

use intriage_case::Seconds;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep_until};

use crate::fleet::Fleet;
use crate::metrics::Exporter;
use crate::request::{Request, RequestId};
use crate::run::Watch as _;
use crate::serve::ServeConfig;
use crate::serve::events::{Both, Command, Happening, Listener, Listeners};
use crate::setup::Mishap;
use crate::time::Nanos;

/// A step that ends later than this after its instant is counted as late.
const LATE: Nanos = Nanos(20_000_000);

/// How long a server whose engine died still answers, with errors, before it goes too.
const DYING: Nanos = Nanos(500_000_000);

/// How well the machine kept up with virtual time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Lag {
    /// Engine steps.
    pub steps: u64,
    /// Of these, ended more than 20 ms after their instant.
    pub late: u64,
    /// The latest of all.
    pub worst: Seconds,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    FrontDone(RequestId),
    StepEnd(usize),
    Crash,
    Exit,
}

/// The driver.
pub(super) struct Driver {
    fleet: Fleet,
    exporter: Exporter,
    mishap: Option<Mishap>,
    dead: bool,
    exited: bool,
    start: Instant,
    due: BinaryHeap<Reverse<(Nanos, u64, Due)>>,
    order: u64,
    in_front: HashMap<RequestId, Request>,
    listeners: Listeners,
    busy: Vec<bool>,
    lag: Lag,
}

impl Driver {
    pub(super) fn new(config: &ServeConfig, started: Seconds) -> Self {
        let mut driver = Self {
            fleet: Fleet::new(&config.fleet, config.seed),
            exporter: Exporter::new(&config.identity.model, &config.fleet, started),
            mishap: config.mishap,
            dead: false,
            exited: false,
            start: Instant::now(),
            due: BinaryHeap::new(),
            order: 0,
            in_front: HashMap::new(),
            listeners: HashMap::new(),
            busy: vec![false; config.fleet.engines.len()],
            lag: Lag::default(),
        };
        if let Some(Mishap::Crash { after }) = config.mishap {
            driver.push(Nanos::from_seconds(after), Due::Crash);
        }
        driver
    }

    /// Runs until nobody is left to give commands, or the server has died of its engine.
    pub(super) async fn run(mut self, mut commands: UnboundedReceiver<Command>) -> Lag {
        // Conversations may be going on already.
        for engine in 0..self.busy.len() {
            self.begin_step(engine, Nanos::ZERO);
        }
        loop {
            let next = self.due.peek().and_then(|Reverse((at, ..))| self.instant(*at));
            tokio::select! {
                biased;
                command = commands.recv() => match command {
                    Some(command) => {
                        let now = self.catch_up();
                        self.obey(command, now);
                    }
                    None => return self.lag,
                },
                () = sleep_until(next.unwrap_or(self.start)), if next.is_some() => {
                    self.catch_up();
                    if self.exited {
                        return self.lag;
                    }
                    // Lagging behind, the next event is due at once: the streams must have their turn.
                    tokio::task::yield_now().await;
                }
            }
        }
    }

    /// The real instant of a virtual one; `None` where it lies beyond any clock.
    fn instant(&self, at: Nanos) -> Option<Instant> {
        self.start.checked_add(Duration::from_nanos(at.0))
    }

    /// Lets everything happen that is due; returns the present.
    fn catch_up(&mut self) -> Nanos {
        let now = Nanos(self.start.elapsed().as_nanos() as u64);
        while let Some(Reverse((at, ..))) = self.due.peek()
            && *at <= now
            && let Some(Reverse((at, _, event))) = self.due.pop()
        {
            match event {
                Due::FrontDone(id) => self.front_done(id, at),
                Due::StepEnd(engine) => {
                    let late = now.since(at);
                    self.lag.steps += 1;
                    self.lag.late += u64::from(late > LATE);
                    self.lag.worst = Seconds(self.lag.worst.0.max(late.seconds().0));
                    self.step_end(engine, at);
                }
                Due::Crash => {
                    self.dead = true;
                    self.in_front.clear();
                    self.listeners.drain().for_each(|(_, listener)| listener.tell(Happening::Died));
                    self.push(at + DYING, Due::Exit);
                }
                Due::Exit => self.exited = true,
            }
        }
        now
    }

    fn obey(&mut self, command: Command, now: Nanos) {
        match command {
            Command::Submit { mut request, choice, events } => {
                let listener = Listener { events, choice, engine: None };
                if self.dead {
                    return listener.tell(Happening::Died);
                }
                request.arrival = now;
                let done = self.fleet.front_done(request.prompt, now);
                let id = request.id;
                self.listeners.insert(id, listener);
                self.in_front.insert(id, *request);
                if done > now {
                    self.push(done, Due::FrontDone(id));
                } else {
                    self.front_done(id, now);
                }
            }
            Command::Abort(id) => {
                self.in_front.remove(&id);
                if let Some(Listener { engine: Some(engine), .. }) = self.listeners.remove(&id) {
                    let mut both =
                        Both { metrics: self.exporter.sink(engine), listeners: &mut self.listeners };
                    self.fleet.engines[engine].abort(id, now, &mut both);
                }
            }
            Command::Answered { route, status } => self.exporter.answered(route, status),
            Command::Metrics(page) => {
                // Whoever asked may be gone.
                let _ = page.send(self.page(now));
            }
        }
    }

    fn page(&mut self, now: Nanos) -> String {
        self.exporter.used_cpu(self.fleet.front_used(now));
        let mut page = self.exporter.render();
        let Lag { steps, late, worst } = self.lag;
        // Writing to a string cannot fail.
        let _ = write!(
            page,
            "# HELP simulate_late_steps_total Steps that ended more than 20 ms after their instant: the machine lags.\n\
             # TYPE simulate_late_steps_total counter\n\
             simulate_late_steps_total {late}\n\
             # HELP simulate_steps_total Engine steps.\n\
             # TYPE simulate_steps_total counter\n\
             simulate_steps_total {steps}\n\
             # HELP simulate_worst_lag_seconds The latest end of a step after its instant.\n\
             # TYPE simulate_worst_lag_seconds gauge\n\
             simulate_worst_lag_seconds {:?}\n",
            worst.0
        );
        page
    }

    fn push(&mut self, at: Nanos, due: Due) {
        self.order += 1;
        self.due.push(Reverse((at, self.order, due)));
    }

    fn front_done(&mut self, id: RequestId, now: Nanos) {
        let Some(request) = self.in_front.remove(&id) else { return };
        let engine = self.fleet.route(&request);
        match self.fleet.engines[engine].submit(request.clone(), now) {
            Ok(()) => {
                if let Some(listener) = self.listeners.get_mut(&id) {
                    listener.engine = Some(engine);
                    listener.tell(Happening::Accepted);
                }
                if !self.busy[engine] {
                    self.begin_step(engine, now);
                }
            }
            Err(why) => {
                self.exporter.refused(&request, why, now);
                if let Some(listener) = self.listeners.remove(&id) {
                    listener.tell(Happening::Refused(why));
                }
            }
        }
    }

    fn step_end(&mut self, engine: usize, now: Nanos) {
        let hung = match self.mishap {
            Some(Mishap::Hang { after, engine: which }) => {
                now.seconds() >= after && which.is_none_or(|w| w == engine)
            }
            _ => false,
        };
        if hung || self.dead {
            return;
        }
        if let Some(Mishap::Pause { after, lasting }) = self.mishap {
            let (from, until) =
                (Nanos::from_seconds(after), Nanos::from_seconds(Seconds(after.0 + lasting.0)));
            if (from..until).contains(&now) {
                return self.push(until, Due::StepEnd(engine));
            }
        }
        let mut both = Both { metrics: self.exporter.sink(engine), listeners: &mut self.listeners };
        self.fleet.engines[engine].end_step(now, &mut both);
        self.begin_step(engine, now);
    }

    fn begin_step(&mut self, engine: usize, now: Nanos) {
        let mut both = Both { metrics: self.exporter.sink(engine), listeners: &mut self.listeners };
        let end = self.fleet.engines[engine].begin_step(now, &mut both);
        self.busy[engine] = end.is_some();
        if let Some(end) = end {
            self.push(end, Due::StepEnd(engine));
        }
    }
}
