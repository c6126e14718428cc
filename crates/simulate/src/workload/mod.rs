//! What is asked of the server: when, how long, how alike.

use std::ops::Range;

mod arrivals;
mod lengths;
pub mod trace;

pub use arrivals::{ArrivalTimes, Arrivals, Traced};
use intriage_case::Seconds;
pub use lengths::{LengthRange, Lengths};

use crate::random::Random;
use crate::request::{Content, Finish, Request, RequestId};
use crate::time::Nanos;

/// A workload: arrivals, and classes of requests drawn by their share.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// When requests come.
    pub arrivals: Arrivals,
    /// What they are like.
    pub classes: Vec<Class>,
}

/// Requests of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Class {
    /// How often, against the other classes.
    pub share: f64,
    /// Prompt length, the shared beginning included.
    pub prompt: Lengths,
    /// Length of the answer the model would give if nothing stopped it.
    pub answer: Lengths,
    /// The longest answer its client allows, in tokens.
    pub max_tokens: u32,
    /// Text that its prompts begin with.
    pub prefix: Option<SharedPrefix>,
    /// Adapters it chooses from; zero for none.
    pub adapters: u32,
    /// Its priority.
    pub priority: i32,
    /// The client gives up after this time.
    pub patience: Option<Seconds>,
    /// Only what is sent in this time, from the start of the load, is of this class.
    pub during: Option<Range<Seconds>>,
}

/// Text that many prompts begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedPrefix {
    /// Different such texts.
    pub groups: u32,
    /// Length in tokens.
    pub tokens: u32,
}

/// A request as its client plans it.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// The request; `arrival` is when it is sent.
    pub request: Request,
    /// The client gives up after this time.
    pub patience: Option<Nanos>,
}

impl Class {
    /// Requests with these lengths and nothing special about them.
    pub const fn plain(prompt: Lengths, answer: Lengths, max_tokens: u32) -> Self {
        Self {
            share: 1.0,
            prompt,
            answer,
            max_tokens,
            prefix: None,
            adapters: 0,
            priority: 0,
            patience: None,
            during: None,
        }
    }

    /// How often, against the other classes, at a time.
    fn share_at(&self, at: Seconds) -> f64 {
        let present = self.during.as_ref().is_none_or(|time| time.contains(&at));
        if present { self.share } else { 0.0 }
    }
}

/// Draws the requests of a workload: as an iterator those that come by themselves.
#[derive(Debug, Clone)]
pub struct Source {
    classes: Vec<Class>,
    times: ArrivalTimes,
    think: Option<Nanos>,
    arrivals: Random,
    lengths: Random,
    answers: Random,
    drawn: u64,
}

impl Iterator for Source {
    type Item = Planned;

    fn next(&mut self) -> Option<Planned> {
        let at = self.times.next(&mut self.arrivals)?;
        if let Some(planned) = self.times.planned() {
            let mut planned = planned.clone();
            self.drawn += 1;
            planned.request.id = RequestId(self.drawn);
            return Some(planned);
        }
        let mut planned = self.draw(at);
        if let Some(row) = self.times.row() {
            planned.request.follow(row);
        }
        Some(planned)
    }
}

impl Source {
    /// The requests of a workload under a seed.
    pub fn new(workload: &Workload, seed: u64) -> Self {
        Self {
            classes: workload.classes.clone(),
            times: ArrivalTimes::new(workload.arrivals.clone()),
            think: match workload.arrivals {
                Arrivals::Closed { think, .. } => Some(Nanos::from_seconds(think)),
                _ => None,
            },
            arrivals: Random::new(seed, "arrivals"),
            lengths: Random::new(seed, "lengths"),
            answers: Random::new(seed, "answers"),
            drawn: 0,
        }
    }

    /// The request a client of a closed loop sends after an answer.
    pub fn after_answer(&mut self, now: Nanos) -> Option<Planned> {
        let think = self.think?;
        Some(self.draw(now + think))
    }

    fn draw(&mut self, arrival: Nanos) -> Planned {
        self.drawn += 1;
        let id = RequestId(self.drawn);
        let Some(class) = self.pick(arrival.seconds()) else {
            return Planned { request: Self::smallest(id, arrival), patience: None };
        };
        let class = class.clone();
        let prompt = class.prompt.draw(&mut self.lengths);
        let answer = class.answer.draw(&mut self.answers);
        let content = match class.prefix {
            Some(prefix) => Content::Shared {
                prefix: self.lengths.below(u64::from(prefix.groups.max(1))) + 1,
                tokens: prefix.tokens.min(prompt),
                own: 0,
            },
            None => Content::Unique,
        };
        let adapter = (class.adapters > 0).then(|| self.lengths.below(u64::from(class.adapters)) as u32);
        let request = Request {
            id,
            arrival,
            prompt,
            output: answer.min(class.max_tokens).max(1),
            max_tokens: class.max_tokens,
            finish: if answer > class.max_tokens { Finish::Length } else { Finish::Stop },
            content,
            priority: class.priority,
            adapter,
        };
        Planned { request, patience: class.patience.map(Nanos::from_seconds) }
    }

    fn pick(&mut self, at: Seconds) -> Option<&Class> {
        let total: f64 = self.classes.iter().map(|c| c.share_at(at)).sum();
        let mut left = if self.classes.len() > 1 { self.lengths.unit() * total } else { 0.0 };
        let found = self.classes.iter().position(|c| {
            left -= c.share_at(at);
            left < 0.0
        });
        self.classes.get(found.unwrap_or(0))
    }

    fn smallest(id: RequestId, arrival: Nanos) -> Request {
        Request {
            id,
            arrival,
            prompt: 1,
            output: 1,
            max_tokens: 1,
            finish: Finish::Length,
            content: Content::Unique,
            priority: 0,
            adapter: None,
        }
    }
}
