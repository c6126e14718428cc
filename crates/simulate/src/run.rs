//! A run in virtual time: arrivals, the front end, engines' steps and impatient clients as events.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use intriage_case::Seconds;

use crate::engine::{Refusal, Sequence, Sink};
use crate::fleet::{Fleet, FleetConfig};
use crate::request::{Finish, Request, RequestId};
use crate::time::Nanos;
use crate::workload::{Planned, Source, Workload};

/// Who watches a run.
pub trait Watch {
    /// Where an engine's happenings go.
    fn sink(&mut self, engine: usize) -> &mut impl Sink;
    /// A request arrived.
    fn arrived(&mut self, _request: &Request, _now: Nanos) {}
    /// The client of an open request gave up.
    fn gave_up(&mut self, _id: RequestId, _now: Nanos) {}
    /// A request was refused.
    fn refused(&mut self, _request: &Request, _why: Refusal, _now: Nanos) {}
    /// The interval of [`Stop::every`] has passed.
    fn tick(&mut self, _fleet: &Fleet, _now: Nanos) {}
}

/// When a run ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stop {
    /// No request arrives after this time.
    pub arrivals: Seconds,
    /// No request arrives after so many.
    pub requests: u64,
    /// The run ends here whatever is still open.
    pub end: Seconds,
    /// How often the watcher is called.
    pub every: Option<Seconds>,
    /// From here on engines stop in the middle of their step, all or the one of this number.
    pub hang: Option<(Seconds, Option<usize>)>,
    /// In this time no engine ends a step.
    pub pause: Option<(Seconds, Seconds)>,
}

impl Stop {
    /// After so many requests, when all are answered.
    pub const fn after_requests(requests: u64) -> Self {
        Self {
            arrivals: Seconds(f64::MAX),
            requests,
            end: Seconds(f64::MAX),
            every: None,
            hang: None,
            pause: None,
        }
    }

    /// After so much time, whatever is still open.
    pub const fn after(time: Seconds) -> Self {
        Self { arrivals: time, requests: u64::MAX, end: time, every: None, hang: None, pause: None }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrival,
    Sent(RequestId),
    FrontDone(RequestId),
    StepEnd(usize),
    GiveUp(RequestId),
    Tick,
}

/// Runs a workload through a fleet; returns when it ended.
pub fn run(fleet: &FleetConfig, workload: &Workload, seed: u64, stop: Stop, watch: &mut impl Watch) -> Nanos {
    Run {
        fleet: Fleet::new(fleet, seed),
        source: Source::new(workload, seed),
        stop,
        events: BinaryHeap::new(),
        next: None,
        arrived: 0,
        in_front: HashMap::new(),
        at: HashMap::new(),
        busy: vec![false; fleet.engines.len()],
        order: 0,
    }
    .go(watch)
}

struct Run {
    fleet: Fleet,
    source: Source,
    stop: Stop,
    // The order number makes ties fall the same way every time.
    events: BinaryHeap<Reverse<(Nanos, u64, Event)>>,
    next: Option<Planned>,
    arrived: u64,
    in_front: HashMap<RequestId, Planned>,
    // Engines of requests whose clients may give up.
    at: HashMap<RequestId, usize>,
    busy: Vec<bool>,
    order: u64,
}

/// Passes everything on, and remembers who finished.
struct Relay<'a, S> {
    to: &'a mut S,
    finished: Vec<RequestId>,
}

impl<S: Sink> Sink for Relay<'_, S> {
    fn admitted(&mut self, sequence: &Sequence, now: Nanos) {
        self.to.admitted(sequence, now);
    }
    #[inline]
    fn tokens(&mut self, sequence: &Sequence, tokens: u32, gap: Option<Nanos>, now: Nanos) {
        self.to.tokens(sequence, tokens, gap, now);
    }
    fn speculated(&mut self, drafted: u32, accepted: u32) {
        self.to.speculated(drafted, accepted);
    }
    fn finished(&mut self, sequence: &Sequence, reason: Finish, now: Nanos) {
        self.finished.push(sequence.request.id);
        self.to.finished(sequence, reason, now);
    }
    fn stepped(&mut self, load: crate::engine::EngineLoad, now: Nanos) {
        self.to.stepped(load, now);
    }
}

impl Run {
    fn go(mut self, watch: &mut impl Watch) -> Nanos {
        let end = Nanos::from_seconds(self.stop.end);
        let mut now = Nanos::ZERO;
        self.expect_next_arrival();
        for engine in 0..self.busy.len() {
            self.begin_step(engine, now, watch);
        }
        if let Some(every) = self.stop.every {
            self.push(Nanos::from_seconds(every), Event::Tick);
        }
        while let Some(Reverse((at, _, event))) = self.events.pop() {
            if at > end {
                return end;
            }
            now = at;
            match event {
                Event::Arrival => self.arrival(now, watch),
                Event::Sent(id) => {
                    if let Some(planned) = self.in_front.remove(&id) {
                        self.receive(planned, now, watch);
                    }
                }
                Event::FrontDone(id) => self.front_done(id, now, watch),
                Event::StepEnd(engine) => {
                    let hung = self.stop.hang.is_some_and(|(from, which)| {
                        now.seconds() >= from && which.is_none_or(|w| w == engine)
                    });
                    if let Some(until) = self.paused_until(now) {
                        self.push(until, Event::StepEnd(engine));
                    } else if !hung {
                        self.end_step(engine, now, watch);
                        self.begin_step(engine, now, watch);
                    }
                }
                Event::GiveUp(id) => self.give_up(id, now, watch),
                Event::Tick => {
                    watch.tick(&self.fleet, now);
                    // Ticks alone do not keep a run alive.
                    if let Some(every) = self.stop.every
                        && (!self.events.is_empty() || self.stop.end.0 < f64::MAX)
                    {
                        self.push(now + Nanos::from_seconds(every), Event::Tick);
                    }
                }
            }
        }
        now
    }

    /// When the pause ends that lasts now.
    fn paused_until(&self, now: Nanos) -> Option<Nanos> {
        let (from, until) = self.stop.pause?;
        let (from, until) = (Nanos::from_seconds(from), Nanos::from_seconds(until));
        (from..until).contains(&now).then_some(until)
    }

    fn push(&mut self, at: Nanos, event: Event) {
        self.order += 1;
        self.events.push(Reverse((at, self.order, event)));
    }

    fn expect_next_arrival(&mut self) {
        if self.arrived >= self.stop.requests {
            return;
        }
        if let Some(planned) = self.source.next()
            && planned.request.arrival.seconds() <= self.stop.arrivals
        {
            self.push(planned.request.arrival, Event::Arrival);
            self.next = Some(planned);
        }
    }

    fn arrival(&mut self, now: Nanos, watch: &mut impl Watch) {
        if let Some(planned) = self.next.take() {
            self.arrived += 1;
            self.receive(planned, now, watch);
        }
        self.expect_next_arrival();
    }

    fn receive(&mut self, planned: Planned, now: Nanos, watch: &mut impl Watch) {
        let id = planned.request.id;
        watch.arrived(&planned.request, now);
        let done = self.fleet.front_done(planned.request.prompt, now);
        if let Some(patience) = planned.patience {
            self.push(planned.request.arrival + patience, Event::GiveUp(id));
        }
        self.in_front.insert(id, planned);
        if done > now {
            self.push(done, Event::FrontDone(id));
        } else {
            self.front_done(id, now, watch);
        }
    }

    fn front_done(&mut self, id: RequestId, now: Nanos, watch: &mut impl Watch) {
        let Some(planned) = self.in_front.remove(&id) else { return };
        let engine = self.fleet.route(&planned.request);
        match self.fleet.engines[engine].submit(planned.request.clone(), now) {
            Ok(()) => {
                if planned.patience.is_some() {
                    self.at.insert(id, engine);
                }
                if !self.busy[engine] {
                    self.begin_step(engine, now, watch);
                }
            }
            Err(why) => {
                watch.refused(&planned.request, why, now);
                self.answered(now);
            }
        }
    }

    fn begin_step(&mut self, engine: usize, now: Nanos, watch: &mut impl Watch) {
        let end = self.fleet.engines[engine].begin_step(now, watch.sink(engine));
        self.busy[engine] = end.is_some();
        if let Some(end) = end {
            self.push(end, Event::StepEnd(engine));
        }
    }

    fn end_step(&mut self, engine: usize, now: Nanos, watch: &mut impl Watch) {
        let mut relay = Relay { to: watch.sink(engine), finished: Vec::new() };
        self.fleet.engines[engine].end_step(now, &mut relay);
        for id in relay.finished {
            self.at.remove(&id);
            self.answered(now);
        }
    }

    fn give_up(&mut self, id: RequestId, now: Nanos, watch: &mut impl Watch) {
        let in_front = self.in_front.remove(&id).is_some();
        let engine = self.at.remove(&id);
        if in_front || engine.is_some() {
            watch.gave_up(id, now);
        }
        if let Some(engine) = engine {
            self.fleet.engines[engine].abort(id, now, watch.sink(engine));
        }
    }

    /// In a closed loop the client of an answered request sends its next one.
    fn answered(&mut self, now: Nanos) {
        if self.arrived >= self.stop.requests {
            return;
        }
        if let Some(planned) = self.source.after_answer(now)
            && planned.request.arrival.seconds() <= self.stop.arrivals
        {
            self.arrived += 1;
            let id = planned.request.id;
            self.push(planned.request.arrival, Event::Sent(id));
            self.in_front.insert(id, planned);
        }
    }
}
