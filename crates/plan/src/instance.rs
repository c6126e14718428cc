//! One instance: its memory, its limits and its speed, ready to be simulated.

use intriage_case::{Bytes, Ratio, Requests, Seconds, Tokens};
use intriage_physics::memory::Budget;
use intriage_physics::queueing::{LiveContext, live_context};
use intriage_simulate::{EngineConfig, FleetConfig, Front, Policy, Random, Router, StepTime};

use crate::ask::{Ask, EngineLimits};
use crate::assumptions::{BLOCK, TYPICAL_BATCH, engine_defaults};
use crate::deployed::Deployed;
use crate::measured::{Measured, at};
use crate::memory::Pool;
use crate::pace::{Around, Calibration, step_time};

/// One instance that can start.
#[derive(Debug, Clone)]
pub(crate) struct Instance {
    pub(crate) engine: EngineConfig,
    pub(crate) gpus: u32,
    pub(crate) budget: Option<Budget>,
    pub(crate) pool: Pool,
    /// Sequences whose experts every step is charged with.
    pub(crate) typical_batch: u32,
}

/// Why an instance cannot start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Unfit {
    /// Weights and the rest exceed what the engine may take.
    Memory { budget: Budget },
    /// One request does not fit the pool.
    Request { budget: Budget, pool: Tokens, needed: Tokens },
    /// One request of the asked window does not fit the pool: engines refuse to start.
    Window { budget: Budget, pool: Tokens, window: u32 },
    /// Neither a model nor a case says what would serve.
    Nothing,
}

/// Draws from which the live context is computed.
const DRAWS: usize = 4000;

impl Instance {
    /// The instance that an ask describes, or the same with another deployment.
    pub(crate) fn of(ask: &Ask, deployed: Option<&Deployed>, limits: EngineLimits) -> Result<Self, Unfit> {
        if let Some(deployed) = deployed {
            return Self::with_batch(ask, deployed, limits, TYPICAL_BATCH);
        }
        match &ask.measured {
            Some(measured) => Ok(Self::measured(ask, measured, limits)),
            None => Err(Unfit::Nothing),
        }
    }

    /// The same, charged with the experts that a batch of this size touches.
    pub(crate) fn with_batch(
        ask: &Ask,
        deployed: &Deployed,
        limits: EngineLimits,
        typical_batch: u32,
    ) -> Result<Self, Unfit> {
        let on = deployed.physics();
        let seen = ask.measured.as_ref().map(|measured| measured.limits).unwrap_or_default();
        let (budget_default, sequences_default) = engine_defaults(&deployed.gpu);
        let token_budget = limits.token_budget.or(seen.token_budget).unwrap_or(budget_default);
        let max_sequences = limits.max_sequences.or(seen.max_sequences).unwrap_or(sequences_default);
        let budget = deployed.budget(token_budget, max_sequences);
        if budget.short_by.get() > 0.0 || budget.kv_pool.get() <= 0.0 {
            return Err(Unfit::Memory { budget });
        }
        let longest =
            deployed.model.max_positions.map_or(u32::MAX, |own| own.min(u64::from(u32::MAX)) as u32);
        let needed = Tokens(ask.traffic.isl.get() + ask.traffic.osl.get());
        let asked = limits.window.or(seen.window);
        let at = Tokens(asked.map_or(needed.get(), f64::from));
        let pool = Tokens(deployed.concurrency(&budget, at).get() * at.get());
        match asked {
            Some(window) if pool.get() < f64::from(window) => {
                return Err(Unfit::Window { budget, pool, window });
            }
            _ if pool.get() < needed.get() => return Err(Unfit::Request { budget, pool, needed }),
            _ => {}
        }
        let window = asked.unwrap_or_else(|| longest.min(pool.get() as u32));
        let live = live(ask, window);
        let full = deployed.concurrency(&budget, Tokens(f64::from(window)));
        let running = deployed.concurrency(&budget, live.mean);
        let pool = Pool::new(
            Some(deployed.kv_bytes_per_token(live.mean)),
            (window, full),
            (live, running),
            ask.traffic.shared(),
        );
        let around = Around {
            prompt: ask.traffic.computed(),
            context: live.mean,
            sequences: max_sequences.min(pool.concurrency_live.get() as u32).max(1),
            token_budget,
            typical_batch,
        };
        let mut step = step_time(&on, deployed.pp, around);
        if let (Some(measured), Some(own)) = (&ask.measured, &ask.deployed) {
            step = calibration(measured, own, around).apply(step);
        }
        let engine = engine(step, pool.tokens, window, max_sequences, token_budget);
        Ok(Self { engine, gpus: deployed.gpus(), budget: Some(budget), pool, typical_batch })
    }

    /// What a case alone tells: no memory account, and a pool as the engine reported it.
    fn measured(ask: &Ask, measured: &Measured, limits: EngineLimits) -> Self {
        let seen = measured.limits;
        let window = limits.window.or(seen.window).unwrap_or(u32::MAX);
        let live = live(ask, window);
        let hold = |length: f64| Requests(measured.pool.get() / length.max(1.0));
        let window = window.min(measured.pool.get() as u32).max(1);
        let pool = Pool::new(
            measured.bytes_per_token,
            (window, hold(f64::from(window))),
            (live, hold(live.mean.get())),
            ask.traffic.shared(),
        );
        let sequences = limits.max_sequences.or(seen.max_sequences).unwrap_or(256);
        let token_budget = limits.token_budget.or(seen.token_budget).unwrap_or(2048);
        let mut engine = engine(measured.step, pool.tokens, window, sequences, token_budget);
        engine.plans_ahead = measured.plans_ahead;
        Self { engine, gpus: measured.gpus, budget: None, pool, typical_batch: TYPICAL_BATCH }
    }

    /// The instance alone behind its address.
    pub(crate) fn fleet(&self) -> FleetConfig {
        FleetConfig {
            engines: vec![self.engine.clone()],
            router: Router::RoundRobin,
            front: Front::default(),
            going_on: Vec::new(),
        }
    }
}

/// The measured instance's speed over what is expected of the deployment that was measured.
fn calibration(measured: &Measured, own: &Deployed, around: Around) -> Calibration {
    let expected = step_time(&own.physics(), own.pp, around);
    let decode = at(&expected, measured.batch, measured.context);
    let ratio = |measured: Seconds, expected: Seconds| {
        Ratio::of(measured.get(), expected.get()).unwrap_or(Ratio(1.0))
    };
    Calibration {
        decode: ratio(measured.decode(), decode),
        prompt: ratio(measured.step.per_prompt_token, expected.per_prompt_token),
    }
}

fn engine(step: StepTime, pool: Tokens, window: u32, max_sequences: u32, token_budget: u32) -> EngineConfig {
    // More could not fill before the sequences run out, and every simulation lays the pool out anew.
    let blocks = (pool.get() / BLOCK.get()).clamp(1.0, 2e6);
    EngineConfig {
        max_sequences,
        token_budget,
        chunked_prefill: true,
        plans_ahead: true,
        block_tokens: BLOCK.get() as u32,
        pool_blocks: blocks as u32,
        prefix_cache: true,
        policy: Policy::Fcfs,
        context_window: window,
        queue_limit: None,
        max_adapters: 1,
        speculation: None,
        step,
    }
}

/// The context of running requests, from draws of the length distributions.
fn live(ask: &Ask, window: u32) -> LiveContext {
    let (prompts, answers) = ask.traffic.lengths(window);
    let mut random = Random::new(ask.seed, "live context");
    let pairs: Vec<(Tokens, Tokens)> = (0..DRAWS)
        .map(|_| {
            let prompt = prompts.draw(&mut random);
            (Tokens(f64::from(prompt)), Tokens(f64::from(answers.draw(&mut random))))
        })
        .collect();
    let whole = Tokens(ask.traffic.isl.get() + ask.traffic.osl.get() / 2.0);
    live_context(&pairs).unwrap_or(LiveContext { mean: whole, naive: whole, safe: whole })
}

impl Unfit {
    /// The memory as far as it could be divided.
    pub(crate) const fn budget(&self) -> Option<&Budget> {
        match self {
            Self::Memory { budget } | Self::Request { budget, .. } | Self::Window { budget, .. } => {
                Some(budget)
            }
            Self::Nothing => None,
        }
    }

    /// Why it does not start, with the number.
    pub(crate) fn says(&self, deployed: &Deployed) -> String {
        let gpus = match deployed.gpus() {
            1 => "one GPU".to_owned(),
            gpus => format!("{gpus} GPUs"),
        };
        match self {
            Self::Memory { budget } => {
                let rest = Bytes(
                    budget.spending.activations.get()
                        + budget.spending.graphs.get()
                        + budget.spending.non_torch.get(),
                );
                format!(
                    "{} as {} does not fit {gpus} of {}: each GPU would hold {} of weights and {rest} besides, {} more than it may",
                    deployed.name, deployed.weights, budget.total, budget.spending.weights, budget.short_by
                )
            }
            Self::Request { pool, needed, .. } => {
                format!("the KV pool on {gpus} holds {pool}, and one request of this length needs {needed}")
            }
            Self::Window { pool, window, .. } => format!(
                "the KV pool on {gpus} holds {pool}, less than one request of --max-model-len {window}: vLLM refuses to start"
            ),
            Self::Nothing => "neither a model nor a case says what would serve".to_owned(),
        }
    }
}
