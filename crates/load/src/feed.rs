//! Gives a loop its share of a plan.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::io::Write as _;
use std::sync::Arc;

use intriage_case::Nanos;
use intriage_record::{Outcome, Request};

use crate::api::{Message, Role};
use crate::arrivals::Schedule;
use crate::engine::{Ask, Feed, Next};
use crate::plan::{Pattern, Plan};
use crate::prompts::{Session, Turn};

/// A place of a closed loop that got no connection tries again after so long, with its next request.
const KNOCK: Nanos = Nanos(100_000_000);
/// Sessions made ahead while there is nothing else to do.
const AHEAD: usize = 8;

/// A loop's share of a plan.
#[derive(Debug)]
pub struct PlannedFeed {
    plan: Arc<Plan>,
    arrivals: Arrivals,
    /// Sessions made ahead, with their first request.
    ready: VecDeque<Ready>,
    /// Later turns, by when they are due.
    turns: BinaryHeap<Reverse<(Nanos, u64)>>,
    /// Sessions under way, by number, where they have more turns.
    talking: HashMap<u64, Talk>,
    /// Sessions under way.
    active: usize,
}

#[derive(Debug)]
enum Arrivals {
    /// Instants at which a place became free; `None` for places that were free from the start.
    Closed { free: VecDeque<Option<Nanos>>, over: bool },
    Open {
        schedule: Schedule,
        next: Option<(u64, Nanos)>,
        share: (u64, u64),
        max_in_flight: Option<usize>,
        over: bool,
    },
}

#[derive(Debug)]
struct Ready {
    index: u64,
    class: u16,
    first: Turn,
    bytes: Vec<u8>,
    talk: Option<Talk>,
}

/// A session with more to say.
#[derive(Debug)]
struct Talk {
    class: u16,
    history: Vec<Message>,
    left: VecDeque<Turn>,
    turn: u32,
}

impl PlannedFeed {
    pub(crate) fn new(plan: Arc<Plan>, index: u32, threads: u32) -> Self {
        let even = |n: u32| (n / threads + u32::from(index < n % threads)) as usize;
        let arrivals = match &plan.pattern {
            Pattern::Closed { concurrency } => {
                let free = std::iter::repeat_n(None, even(*concurrency)).collect();
                Arrivals::Closed { free, over: false }
            }
            Pattern::Open { schedule, max_in_flight } => Arrivals::Open {
                schedule: schedule.clone(),
                next: None,
                // Shards first, then the threads of a shard.
                share: (
                    u64::from(plan.shard.0) + u64::from(index) * u64::from(plan.shard.1.max(1)),
                    u64::from(threads) * u64::from(plan.shard.1.max(1)),
                ),
                max_in_flight: max_in_flight.map(|n| even(n).max(1)),
                over: false,
            },
        };
        let mut feed = Self {
            plan,
            arrivals,
            ready: VecDeque::new(),
            turns: BinaryHeap::new(),
            talking: HashMap::new(),
            active: 0,
        };
        feed.advance();
        feed
    }

    /// Finds the next arrival of an open loop that is ours.
    fn advance(&mut self) {
        let Arrivals::Open { schedule, next, share, over, .. } = &mut self.arrivals else { return };
        *next = loop {
            let Some(arrival) = schedule.next() else { break None };
            if !self.plan.has(arrival.index) || self.plan.start + arrival.at >= self.plan.ends() {
                break None;
            }
            if arrival.index % share.1 == share.0 {
                break Some((arrival.index, self.plan.start + arrival.at));
            }
        };
        *over = next.is_none();
    }

    /// Makes a session with its first request.
    fn make(&self, index: u64) -> Option<Ready> {
        let Session { class, turns } = self.plan.source.session(index)?;
        let mut turns: VecDeque<Turn> = turns.into();
        let mut first = turns.pop_front()?;
        let mut history = Vec::new();
        if let Some(text) = first.system.take() {
            history.push(Message { role: Role::System, text });
        }
        history.push(Message { role: Role::User, text: std::mem::take(&mut first.user) });
        let bytes = self.request(self.id(index, 0), &history, first.output);
        let talk = (!turns.is_empty()).then_some(Talk { class, history, left: turns, turn: 0 });
        Some(Ready { index, class, first, bytes, talk })
    }

    fn id(&self, session: u64, turn: u32) -> u64 {
        // A session's requests are numbered within it, so that any shard can number its own.
        if self.plan.several_turns { session << 12 | u64::from(turn.min(4095)) } else { session }
    }

    /// The whole request, head and body.
    fn request(&self, id: u64, messages: &[Message], output: u32) -> Vec<u8> {
        let plan = &self.plan;
        let body = plan.common.body(messages, output);
        let mut bytes = Vec::with_capacity(body.len() + 320 + plan.headers.len());
        let connection = if plan.keep_alive { "" } else { "connection: close\r\n" };
        // Writing to memory cannot fail.
        let _ = write!(
            bytes,
            "POST {} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\naccept: text/event-stream\r\n{}{connection}x-request-id: {}-{id}\r\ncontent-length: {}\r\n\r\n",
            plan.path,
            plan.host,
            plan.headers,
            plan.id_prefix,
            body.len()
        );
        bytes.extend_from_slice(&body);
        bytes
    }

    /// The next session, made ahead or now.
    fn next_ready(&mut self) -> Option<Ready> {
        if let Some(ready) = self.ready.pop_front() {
            return Some(ready);
        }
        match &mut self.arrivals {
            Arrivals::Closed { over, .. } => {
                let made = self.plan.claim();
                if made.is_none() {
                    *over = true;
                }
                let made = self.make(made?);
                if let (None, Arrivals::Closed { over, .. }) = (&made, &mut self.arrivals) {
                    *over = true;
                }
                made
            }
            Arrivals::Open { next, .. } => {
                let (index, _) = (*next)?;
                self.make(index)
            }
        }
    }

    fn ask(&self, ready: Ready, planned: Nanos) -> Ask {
        Ask {
            id: self.id(ready.index, 0),
            class: ready.class,
            stage: self.plan.stage(planned),
            session: ready.index,
            turn: 0,
            warmup: self.plan.warms_up(ready.index, planned),
            planned,
            input: ready.first.input,
            output: ready.first.output,
            shared: ready.first.shared,
            abort_after: ready.first.abort_after,
            keep_text: ready.talk.is_some(),
            bytes: ready.bytes,
        }
    }

    fn start(&mut self, mut ready: Ready, planned: Nanos) -> Next {
        self.active += 1;
        let talk = ready.talk.take();
        let index = ready.index;
        let mut ask = self.ask(ready, planned);
        if let Some(talk) = talk {
            ask.keep_text = true;
            self.talking.insert(index, talk);
        }
        Next::Send(Box::new(ask))
    }

    /// A later turn that is due.
    fn due_turn(&mut self, now: Nanos) -> Option<Next> {
        let Reverse((at, session)) = *self.turns.peek()?;
        if at > now {
            return None;
        }
        self.turns.pop();
        let mut talk = self.talking.remove(&session)?;
        let mut turn = talk.left.pop_front()?;
        talk.turn += 1;
        talk.history.push(Message { role: Role::User, text: std::mem::take(&mut turn.user) });
        let id = self.id(session, talk.turn);
        let ask = Ask {
            id,
            class: talk.class,
            stage: self.plan.stage(at),
            session,
            turn: talk.turn,
            warmup: self.plan.warms_up(session, at),
            planned: at,
            input: None,
            output: turn.output,
            shared: turn.shared,
            abort_after: turn.abort_after,
            keep_text: !talk.left.is_empty(),
            bytes: self.request(id, &talk.history, turn.output),
        };
        self.talking.insert(session, talk);
        Some(Next::Send(Box::new(ask)))
    }

    fn next_turn_at(&self) -> Option<Nanos> {
        self.turns.peek().map(|Reverse((at, _))| *at)
    }

    /// A session is over: its place is free.
    fn end_session(&mut self, at: Nanos) {
        self.active = self.active.saturating_sub(1);
        if let Arrivals::Closed { free, .. } = &mut self.arrivals {
            free.push_back(Some(at));
        }
    }

    /// What to do when no later turn is due: by the turns to come and the sessions under way.
    fn otherwise(&self, over: bool, at: Option<Nanos>) -> Next {
        match [at, self.next_turn_at()].into_iter().flatten().min() {
            Some(at) => Next::At(at),
            None if over && self.talking.is_empty() => Next::Over,
            None => Next::Wait,
        }
    }
}

impl Feed for PlannedFeed {
    fn next(&mut self, now: Nanos, in_flight: usize) -> Next {
        if let Some(turn) = self.due_turn(now) {
            return turn;
        }
        if now < self.plan.start {
            return Next::At(self.plan.start);
        }
        match &mut self.arrivals {
            Arrivals::Closed { free, over } => {
                if *over || now >= self.plan.ends() {
                    *over = true;
                    return self.otherwise(true, None);
                }
                let is_due = |place: &Option<Nanos>| place.is_none_or(|at| at <= now);
                let Some(planned) = free.iter().position(is_due).and_then(|due| free.remove(due)) else {
                    let next = free.iter().flatten().min().copied();
                    return self.otherwise(false, next);
                };
                match self.next_ready() {
                    // Nothing is late that only begins: the first requests are due when their turn comes.
                    Some(ready) => self.start(ready, planned.unwrap_or(now)),
                    None => self.otherwise(true, None),
                }
            }
            Arrivals::Open { next, max_in_flight, over, .. } => {
                let Some((_, at)) = *next else {
                    let over = *over;
                    return self.otherwise(over, None);
                };
                if at > now {
                    return self.otherwise(false, Some(at));
                }
                if max_in_flight.is_some_and(|most| in_flight >= most) {
                    return self.otherwise(false, None);
                }
                let ready = self.next_ready();
                self.advance();
                if let Some(ready) = ready {
                    return self.start(ready, at);
                }
                // The file or trace has no more sessions.
                if let Arrivals::Open { next, over, .. } = &mut self.arrivals {
                    (*next, *over) = (None, true);
                }
                self.otherwise(true, None)
            }
        }
    }

    fn ended(&mut self, request: &Request, text: &str, at: Nanos) {
        // A place that finds nobody there must not knock ten thousand times a second.
        let at =
            if matches!(request.outcome, Outcome::Connect | Outcome::NoPort | Outcome::NoFile | Outcome::Tls)
            {
                at + KNOCK
            } else {
                at
            };
        let Some(talk) = self.talking.get_mut(&request.session) else {
            self.end_session(at);
            return;
        };
        // A session goes on after an answer only.
        let goes_on = request.outcome == Outcome::Ok && at < self.plan.ends();
        if let Some(turn) = talk.left.front().filter(|_| goes_on) {
            talk.history.push(Message { role: Role::Assistant, text: text.to_owned() });
            let due = at + turn.think;
            self.turns.push(Reverse((due, request.session)));
        } else {
            self.talking.remove(&request.session);
            self.end_session(at);
        }
    }

    fn connections(&self) -> usize {
        match &self.arrivals {
            // One HTTP/1.1 connection for each place, no more than there will be requests.
            Arrivals::Closed { free, .. } if self.plan.opens_ahead => {
                let all =
                    self.plan.sessions.map_or(u64::MAX, |n| n.saturating_add(self.plan.warmup_sessions));
                free.len().min(usize::try_from(all).unwrap_or(usize::MAX))
            }
            _ => 0,
        }
    }

    fn prepare(&mut self) {
        match &self.arrivals {
            Arrivals::Closed { over: false, .. } if self.ready.len() < AHEAD => {
                if let Some(ready) = self.plan.claim().and_then(|index| self.make(index)) {
                    self.ready.push_back(ready);
                }
            }
            Arrivals::Open { next: Some((index, _)), .. } if self.ready.is_empty() => {
                if let Some(ready) = self.make(*index) {
                    self.ready.push_back(ready);
                }
            }
            _ => {}
        }
    }

    fn never_sent(&mut self, now: Nanos) -> Vec<Request> {
        let mut missing = Vec::new();
        while let Arrivals::Open { next: Some((index, at)), .. } = &self.arrivals {
            let (index, at) = (*index, *at);
            if at > now {
                break;
            }
            let mut request = Request::planned(self.id(index, 0), at);
            (request.session, request.stage) = (index, self.plan.stage(at));
            request.warmup = self.plan.warms_up(index, at);
            missing.push(request);
            self.advance();
        }
        missing
    }
}
