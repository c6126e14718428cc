//! A whole deployment: engines, what is asked of them, and what lies between them and their clients.

use intriage_case::{Bytes, PerSecond, Ratio, Requests, Seconds, Tokens};

use crate::engine::{EngineConfig, Policy, StepTime};
use crate::fleet::{FleetConfig, Front, Router};
use crate::random::Random;
use crate::workload::{Arrivals, Class, Lengths, Workload};

/// A deployment with its load.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// What the deployment says about itself.
    pub identity: Identity,
    /// Engines, router and front end.
    pub fleet: FleetConfig,
    /// What is asked of it.
    pub workload: Workload,
    /// Between it and its clients.
    pub path: Path,
    /// What befalls it.
    pub mishap: Option<Mishap>,
    /// What its users expect, in the words of `--slo`.
    pub objectives: Vec<&'static str>,
    /// Whether its users want throughput rather than quick answers.
    pub batch: bool,
    /// How long its process had been running when the load began.
    pub uptime: Seconds,
}

/// What a deployment says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The served model's name.
    pub model: String,
    /// The checkpoint it was loaded from.
    pub checkpoint: String,
    /// The GPU, by its device name.
    pub gpu: String,
    /// Whether CUDA graphs are off.
    pub eager: bool,
}

/// What lies between clients and server.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Path {
    /// Each way.
    pub delay: Seconds,
    /// A proxy that passes the answer on only when it has so many bytes, or all.
    pub buffer: Option<Bytes>,
}

/// What befalls a deployment while it is watched.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mishap {
    /// From then on an engine (or all) stays in its step.
    Hang {
        /// After the start of the load.
        after: Seconds,
        /// Which engine; all where none is named.
        engine: Option<usize>,
    },
    /// Every engine stands still for a while, and then goes on.
    Pause {
        /// After the start of the load.
        after: Seconds,
        /// For so long.
        lasting: Seconds,
    },
    /// From then on nobody answers.
    Crash {
        /// After the start of the load.
        after: Seconds,
    },
}

impl Setup {
    /// A healthy deployment: an 8B model on one H100 under moderate chat traffic. Seeds differ in
    /// speed, rate and lengths as deployments do.
    pub fn healthy(seed: u64) -> Self {
        let mut random = Random::new(seed, "setup");
        let mut vary = |value: f64, by: f64| value * (1.0 + by * 2.0_f64.mul_add(random.unit(), -1.0));
        let step = StepTime {
            base: Seconds(vary(6.3e-3, 0.1)),
            per_prompt_token: Seconds(vary(24e-6, 0.15)),
            per_sequence: Seconds(vary(14e-6, 0.2)),
            per_context_token: Seconds(vary(45e-9, 0.1)),
            per_draft_token: Seconds(vary(40e-6, 0.1)),
            noise: Ratio(vary(0.05, 0.3)),
            ..StepTime::constant(Seconds(0.0))
        };
        let engine = EngineConfig {
            max_sequences: 256,
            token_budget: 8192,
            chunked_prefill: true,
            plans_ahead: true,
            block_tokens: 16,
            pool_blocks: 26_875,
            prefix_cache: true,
            policy: Policy::Fcfs,
            context_window: 32_768,
            queue_limit: None,
            max_adapters: 1,
            speculation: None,
            step,
        };
        let prompt = Lengths::LogNormal { mean: Tokens(vary(450.0, 0.2)), variation: Ratio(0.6), most: 4000 };
        let answer = Lengths::LogNormal { mean: Tokens(vary(110.0, 0.2)), variation: Ratio(0.6), most: 4000 };
        let rate = PerSecond(Requests(vary(16.0, 0.2)));
        Self {
            identity: Identity {
                model: "llama-3.1-8b".into(),
                checkpoint: "meta-llama/Llama-3.1-8B-Instruct".into(),
                gpu: "NVIDIA H100 80GB HBM3".into(),
                eager: false,
            },
            fleet: FleetConfig {
                engines: vec![engine],
                router: Router::LeastRequests,
                front: Front { per_request: Seconds(vary(1.2e-3, 0.3)), per_prompt_token: Seconds(2e-6) },
                going_on: Vec::new(),
            },
            workload: Workload {
                arrivals: Arrivals::Rate { rate, variation: Ratio(1.0) },
                classes: vec![Class::plain(prompt, answer, 1024)],
            },
            path: Path::default(),
            mishap: None,
            objectives: vec!["ttft.p95=500ms", "itl.p95=50ms"],
            batch: false,
            uptime: Seconds(0.0),
        }
    }

    /// Changes every engine.
    pub(crate) fn each_engine(&mut self, change: impl Fn(&mut EngineConfig)) {
        self.fleet.engines.iter_mut().for_each(change);
    }

    /// As many engines as this, all alike.
    pub(crate) fn replicas(&mut self, n: usize) {
        if let Some(first) = self.fleet.engines.first().cloned() {
            self.fleet.engines = vec![first; n];
        }
    }

    /// Poisson arrivals at this rate.
    pub(crate) fn rate(&mut self, per_second: f64) {
        self.workload.arrivals =
            Arrivals::Rate { rate: PerSecond(Requests(per_second)), variation: Ratio(1.0) };
    }

    /// The lengths of the first class: mean prompt and mean answer.
    pub(crate) fn lengths(&mut self, prompt: f64, answer: f64) {
        if let Some(class) = self.workload.classes.first_mut() {
            class.prompt = lognormal(prompt);
            class.answer = lognormal(answer);
            class.max_tokens = 1024.max((answer * 6.0) as u32);
        }
    }
}

/// Lengths around a mean, none longer than six times that.
pub(crate) fn lognormal(mean: f64) -> Lengths {
    Lengths::LogNormal { mean: Tokens(mean), variation: Ratio(0.5), most: (mean * 6.0) as u32 }
}
