//! The most an instance could serve, by what stops it: arithmetic on the step time.

use intriage_case::{PerSecond, Requests};
use schemars::JsonSchema;
use serde::Serialize;

use crate::ask::Traffic;
use crate::instance::Instance;

/// A rate that cannot be passed, and what it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Ceiling {
    /// What stops it.
    pub of: CeilingOf,
    /// Requests in the batch there.
    pub batch: Requests,
    /// Requests a second there, if nothing else stopped it sooner.
    pub rate: PerSecond<Requests>,
}

/// What bounds the batch, and with it the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CeilingOf {
    /// The KV pool is full.
    KvPool,
    /// The sequence cap is reached.
    SequenceCap,
    /// Every step is filled to the token budget.
    TokenBudget,
    /// Nothing bounds the batch and each token still costs its time.
    Speed,
}

/// The cost of a load in steady state.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    base: f64,
    /// One decoding sequence in a step.
    sequence: f64,
    /// One prompt, whenever it is computed.
    prompt: f64,
    osl: f64,
}

impl Cost {
    pub(crate) fn of(instance: &Instance, traffic: &Traffic) -> Self {
        let step = &instance.engine.step;
        Self {
            base: step.base.get(),
            sequence: step.per_sequence.get()
                + step.per_context_token.get() * instance.pool.live_context.get(),
            prompt: step.per_prompt_token.get() * traffic.computed().get(),
            osl: traffic.osl.get().max(1.0),
        }
    }

    /// Time of a step in which `batch` sequences decode and as many prompts begin as answers end.
    fn step(&self, batch: f64) -> f64 {
        self.base + batch * self.sequence + batch / self.osl * self.prompt
    }

    /// Requests a second with so many in the batch.
    fn rate(&self, batch: f64) -> f64 {
        batch / self.osl / self.step(batch).max(1e-9)
    }

    /// The rate that even an endless batch does not pass.
    fn asymptote(&self) -> f64 {
        1.0 / (self.osl * self.sequence + self.prompt).max(1e-12)
    }

    /// Requests in the batch at this rate; `None` at or above what speed allows.
    pub(crate) fn batch(&self, rate: PerSecond<Requests>) -> Option<Requests> {
        let rate = rate.0.get();
        let left = 1.0 - rate / self.asymptote();
        (left > 0.0).then(|| Requests(rate * self.osl * self.base / left))
    }
}

/// The ceilings of an instance, the lowest first.
pub(crate) fn ceilings(instance: &Instance, traffic: &Traffic) -> Vec<Ceiling> {
    let cost = Cost::of(instance, traffic);
    let engine = &instance.engine;
    let pool = instance.pool.concurrency_live.get();
    let budget = f64::from(engine.token_budget) / (1.0 + traffic.computed().get() / cost.osl);
    let at =
        |of, batch: f64| Ceiling { of, batch: Requests(batch), rate: PerSecond(Requests(cost.rate(batch))) };
    let mut all = vec![
        at(CeilingOf::KvPool, pool),
        at(CeilingOf::SequenceCap, f64::from(engine.max_sequences)),
        at(CeilingOf::TokenBudget, budget),
    ];
    all.sort_by(|a, b| a.rate.0.get().total_cmp(&b.rate.0.get()));
    let speed = PerSecond(Requests(cost.asymptote()));
    let batch = all.first().map_or(Requests(0.0), |lowest| lowest.batch);
    all.push(Ceiling { of: CeilingOf::Speed, batch, rate: speed });
    all
}
