//! A deployment with every request it will get, before and while something goes wrong with it.

use std::ops::Range;

use intriage_case::{Bytes, PerSecond, Ratio, Requests, Seconds, Tokens};

use crate::draw::base::Base;
use crate::draw::load::Shape;
use crate::fleet::{FleetConfig, Router};
use crate::random::Random;
use crate::request::{Content, Finish, Request, RequestId};
use crate::setup::{Identity, Path, Setup};
use crate::time::Nanos;
use crate::workload::{Arrivals, Class, Lengths, Planned, Workload};

/// A deployment and its requests. A fault changes it; the control is the same without.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scene {
    /// What it was made from.
    pub(crate) base: Base,
    /// Engines, path, mishap. Its arrivals are those of a closed loop, or are replaced by `requests`.
    pub(crate) setup: Setup,
    /// Requests that come by themselves, in any order; empty in a closed loop.
    pub(crate) requests: Vec<Planned>,
}

impl Scene {
    /// The healthy deployment under its load.
    pub(crate) fn new(base: Base, random: &mut Random) -> Self {
        let class = class(&base);
        let arrivals = match base.shape {
            Shape::Closed { think } => {
                let busy = base.answer * base.pace();
                let clients = base.running() * (1.0 + think / busy) * f64::from(base.replicas);
                Arrivals::Closed { clients: clients.round().max(1.0) as u32, think: Seconds(think) }
            }
            _ => Arrivals::Rate { rate: PerSecond(Requests(base.rate())), variation: Ratio(1.0) },
        };
        let mut scene = Self {
            setup: Setup {
                identity: Identity {
                    model: base.model.name.to_owned(),
                    checkpoint: base.model.checkpoint.to_owned(),
                    gpu: base.card.name.to_owned(),
                    eager: false,
                },
                fleet: FleetConfig {
                    engines: vec![base.engine.clone(); base.replicas as usize],
                    router: Router::LeastRequests,
                    front: base.front,
                    going_on: Vec::new(),
                },
                workload: Workload { arrivals, classes: vec![class.clone()] },
                path: Path { delay: base.delay, buffer: None::<Bytes> },
                mishap: None,
                objectives: Vec::new(),
                batch: base.batch,
                uptime: base.uptime,
            },
            requests: Vec::new(),
            base,
        };
        let instants = scene.base.shape.instants(scene.base.rate(), scene.base.window, random);
        scene.requests = instants.into_iter().map(|at| request(&class, at, random)).collect();
        scene
    }

    /// When the window ends, in seconds from the start of the load.
    pub(crate) fn end(&self) -> f64 {
        self.base.window.from.0 + self.base.window.length.0
    }

    /// An instant inside the window, as a share of it, in seconds from the start of the load.
    pub(crate) fn inside(&self, share: f64) -> f64 {
        share.mul_add(self.base.window.length.0, self.base.window.from.0)
    }

    /// More requests like those there are, at a rate, in a time.
    pub(crate) fn add_more(&mut self, rate: f64, time: Range<f64>, random: &mut Random) {
        self.add(&class(&self.base), rate, time, random);
    }

    /// More requests of a class, as a Poisson stream in a time.
    pub(crate) fn add(&mut self, class: &Class, rate: f64, time: Range<f64>, random: &mut Random) {
        let mut at = time.start;
        loop {
            at += random.exponential() / rate.max(1e-9);
            if at >= time.end {
                return;
            }
            self.requests.push(request(class, at, random));
        }
    }

    /// A crowd of requests like those there are, at once.
    pub(crate) fn add_crowd(&mut self, size: u32, at: f64, random: &mut Random) {
        let class = class(&self.base);
        self.requests.extend((0..size).map(|_| request(&class, at, random)));
    }

    /// Changes every engine.
    pub(crate) fn each_engine(&mut self, change: impl Fn(&mut crate::engine::EngineConfig)) {
        self.setup.each_engine(change);
    }

    /// The deployment with its requests in order.
    pub(crate) fn into_setup(mut self) -> Setup {
        if !matches!(self.base.shape, Shape::Closed { .. }) {
            self.requests.sort_by_key(|planned| planned.request.arrival);
            self.setup.workload.arrivals = Arrivals::Planned(self.requests.into());
        }
        self.setup
    }
}

/// Requests of the base.
fn class(base: &Base) -> Class {
    let lengths = |mean: f64| Lengths::LogNormal {
        mean: Tokens(mean),
        variation: Ratio(base.spread),
        most: (mean * 6.0) as u32,
    };
    // What follows a shared beginning varies; the beginning does not.
    let shared = base.prefix.map_or(0, |prefix| prefix.tokens);
    let own = (base.prompt - f64::from(shared)).max(16.0);
    let prompt = if shared == 0 {
        lengths(base.prompt)
    } else {
        Lengths::Uniform(shared + (own * 0.5) as u32, shared + (own * 1.5) as u32)
    };
    // Clients allow powers of two, far more than most answers take.
    let max_tokens = base.max_tokens.unwrap_or(((base.answer * 5.0) as u32).next_power_of_two());
    Class {
        prefix: base.prefix,
        adapters: base.adapters,
        ..Class::plain(prompt, lengths(base.answer), max_tokens)
    }
}

/// One request of a class, at an instant in seconds.
pub(crate) fn request(class: &Class, at: f64, random: &mut Random) -> Planned {
    let prompt = class.prompt.draw(random);
    let answer = class.answer.draw(random);
    let content = class.prefix.map_or(Content::Unique, |prefix| Content::Shared {
        prefix: random.below(u64::from(prefix.groups.max(1))) + 1,
        tokens: prefix.tokens.min(prompt),
        own: 0,
    });
    let adapter = (class.adapters > 0).then(|| random.below(u64::from(class.adapters)) as u32);
    Planned {
        request: Request {
            // Numbers are given in the order of arrival.
            id: RequestId(0),
            arrival: Nanos::from_seconds(Seconds(at)),
            prompt,
            output: answer.min(class.max_tokens).max(1),
            max_tokens: class.max_tokens,
            finish: if answer > class.max_tokens { Finish::Length } else { Finish::Stop },
            content,
            priority: 0,
            adapter,
        },
        patience: class.patience.map(Nanos::from_seconds),
    }
}
