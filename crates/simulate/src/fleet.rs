//! Replicas behind a router, with the front end that reads prompts before them.

use intriage_case::Seconds;

use crate::engine::{Engine, EngineConfig};
use crate::random::{Random, mix};
use crate::request::{Content, Finish, Request, RequestId};
use crate::time::Nanos;

/// One or several engines that answer under one address.
#[derive(Debug, Clone, PartialEq)]
pub struct FleetConfig {
    /// The engines.
    pub engines: Vec<EngineConfig>,
    /// Who gets a request.
    pub router: Router,
    /// What happens to a request before an engine sees it.
    pub front: Front,
    /// Conversations that were going on in every engine before the load began.
    pub going_on: Vec<GoingOn>,
}

/// A conversation in the middle of an answer, its context in the pool; lengths in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GoingOn {
    /// The prompt.
    pub prompt: u32,
    /// Answered already.
    pub generated: u32,
    /// The whole answer.
    pub output: u32,
}

/// Who gets a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Router {
    /// One after the other.
    RoundRobin,
    /// The engine with the fewest requests.
    LeastRequests,
    /// By chance, with these weights.
    Weighted(Vec<f64>),
    /// Prompts that begin alike go to the same engine.
    Prefix,
}

/// The front end: one thread that parses, applies the template and tokenizes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Front {
    /// For every request.
    pub per_request: Seconds,
    /// For every prompt token.
    pub per_prompt_token: Seconds,
}

impl GoingOn {
    fn request(self, id: RequestId) -> Request {
        Request {
            id,
            arrival: Nanos::ZERO,
            prompt: self.prompt,
            output: self.output,
            max_tokens: self.output,
            finish: Finish::Stop,
            content: Content::Unique,
            priority: 0,
            adapter: None,
        }
    }
}

/// Engines, router and front end at work.
#[derive(Debug)]
pub struct Fleet {
    /// The engines.
    pub engines: Vec<Engine>,
    router: Router,
    front: Front,
    front_free: Nanos,
    front_work: Nanos,
    turn: usize,
    random: Random,
}

impl Fleet {
    /// Idle engines.
    pub fn new(config: &FleetConfig, seed: u64) -> Self {
        let engines = config.engines.iter().zip(0..).map(|(c, i)| Engine::new(c.clone(), mix(seed ^ i)));
        let mut engines: Vec<Engine> = engines.collect();
        for engine in &mut engines {
            for (talk, number) in config.going_on.iter().zip(1..) {
                // Numbers from the far end: requests that arrive count from the near one.
                engine.resume(talk.request(RequestId(u64::MAX - number)), talk.generated, Nanos::ZERO);
            }
        }
        Self {
            engines,
            router: config.router.clone(),
            front: config.front,
            front_free: Nanos::ZERO,
            front_work: Nanos::ZERO,
            turn: 0,
            random: Random::new(seed, "router"),
        }
    }

    /// When the front end will be done with a request that arrives now.
    pub fn front_done(&mut self, prompt: u32, now: Nanos) -> Nanos {
        let work = self.front.per_request.0 + self.front.per_prompt_token.0 * f64::from(prompt);
        let work = Nanos::from_seconds(Seconds(work));
        self.front_work = self.front_work + work;
        self.front_free = self.front_free.max(now) + work;
        self.front_free
    }

    /// CPU time the front end has used until now.
    pub fn front_used(&self, now: Nanos) -> Seconds {
        self.front_work.since(self.front_free.since(now)).seconds()
    }

    /// The engine that gets a request.
    pub fn route(&mut self, request: &Request) -> usize {
        let n = self.engines.len();
        if n < 2 {
            return 0;
        }
        match &self.router {
            Router::RoundRobin => {
                self.turn = (self.turn + 1) % n;
                self.turn
            }
            Router::LeastRequests => {
                // Ties go round: the first engine is not everybody's favourite.
                self.turn = (self.turn + 1) % n;
                (0..n).map(|i| (i + self.turn) % n).min_by_key(|&i| self.engines[i].requests()).unwrap_or(0)
            }
            Router::Weighted(weights) => {
                let total: f64 = weights.iter().take(n).sum();
                let mut left = self.random.unit() * total;
                weights
                    .iter()
                    .take(n)
                    .position(|w| {
                        left -= w;
                        left < 0.0
                    })
                    .unwrap_or(0)
            }
            Router::Prefix => match &request.content {
                Content::Shared { prefix, .. } => (mix(*prefix) % n as u64) as usize,
                Content::Keys(keys) => keys.first().map_or(0, |k| (mix(*k) % n as u64) as usize),
                Content::Traced { blocks, .. } => blocks.first().map_or(0, |k| (mix(*k) % n as u64) as usize),
                Content::Unique => (mix(request.id.0) % n as u64) as usize,
            },
        }
    }
}
