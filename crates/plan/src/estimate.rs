//! What a deployment is expected to do at a stated load, without objectives and without a simulation.

use intriage_case::{PerSecond, Ratio, Seconds, Tokens};
use intriage_physics::bounds::StepLoad;

use crate::ask::{Ask, EngineLimits, Headroom, Traffic};
use crate::assumptions::{HOST_PER_SEQUENCE, HOST_PER_STEP, STAGE_HANDOVER};
use crate::capacity::Pace;
use crate::deployed::Deployed;
use crate::instance::Instance;
use crate::limits::ceilings;
use crate::pace::expected;

/// Tokens a second of one saturated instance, prompts and answers together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Saturated {
    /// The most that physics allows at the same batch.
    pub bound: PerSecond<Tokens>,
    /// What is expected of good software.
    pub expected: PerSecond<Tokens>,
}

impl Pace {
    /// The time of a step in which `sequences` sequences get a token.
    pub(crate) fn of(deployed: &Deployed, step: String, load: &StepLoad, sequences: u32) -> Self {
        let on = deployed.physics();
        let least = on.step(load);
        let host = HOST_PER_STEP.get() + f64::from(sequences) * HOST_PER_SEQUENCE.get();
        let handovers = f64::from(deployed.pp.max(1) - 1) * STAGE_HANDOVER.get();
        Self {
            step,
            bound: least.bound,
            compute_bound: least.compute_bound(),
            expected: Seconds(expected(&on, load).get() + host + handovers),
        }
    }
}

impl Deployed {
    /// One decode step: `batch` requests with `context` tokens each.
    pub fn decode_pace(&self, batch: u32, context: Tokens) -> Pace {
        let step = match batch {
            1 => format!("decode, one request at {context}"),
            _ => format!("decode, {batch} requests at {context}"),
        };
        Pace::of(self, step, &StepLoad::decode(batch, context), batch)
    }

    /// An instance that always has requests waiting, all of these lengths; `None` where it does not start.
    pub fn saturated(&self, isl: Tokens, osl: Tokens, limits: EngineLimits) -> Option<Saturated> {
        let mut traffic = Traffic::of(PerSecond(intriage_case::Requests(1.0)), isl, osl);
        traffic.variation = Ratio(0.0);
        let ask = Ask {
            deployed: Some(self.clone()),
            measured: None,
            limits,
            traffic,
            objectives: Vec::new(),
            headroom: Headroom::Spare(Ratio(0.0)),
            price: None,
            seed: 1,
        };
        let instance = Instance::of(&ask, Some(self), limits).ok()?;
        let ceiling = ceilings(&instance, &ask.traffic).into_iter().next()?;
        let tokens = isl.get() + osl.get();
        let batch = ceiling.batch.get().max(1.0);
        let on = self.physics();
        let prompt = on.prefill(isl, Tokens(0.0));
        let step = on.decode(batch as u32, instance.pool.live_context);
        // Work of prompts fills the gaps of steps that wait for memory, and the other way round.
        let compute = prompt.compute.get() + osl.get() * step.compute.get() / batch;
        let bandwidth = osl.get() * step.bandwidth.get() / batch;
        let each = compute.max(bandwidth).max(1e-9);
        Some(Saturated {
            bound: PerSecond(Tokens(tokens / each)),
            expected: PerSecond(Tokens(tokens * ceiling.rate.0.get())),
        })
    }
}
