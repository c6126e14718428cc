//! How long the steps of an instance take: a line through the roofline, in the simulator's terms.

use intriage_case::{Ratio, Seconds, Tokens};
use intriage_physics::bounds::StepLoad;
use intriage_physics::{Deployment, Link};
use intriage_simulate::StepTime;

use crate::assumptions::{
    EXPERT_COMPUTE, HOST_PER_SEQUENCE, HOST_PER_STEP, STAGE_HANDOVER, STEP_NOISE, layer_kernels, middle,
};

/// The load for which the line is drawn: between these points it is interpolation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Around {
    /// Prompt tokens to compute for an average request.
    pub(crate) prompt: Tokens,
    /// Context of an average running request.
    pub(crate) context: Tokens,
    /// Sequences that can run at once.
    pub(crate) sequences: u32,
    /// Tokens in one step at most.
    pub(crate) token_budget: u32,
    /// Sequences whose experts every step is charged with.
    pub(crate) typical_batch: u32,
}

/// What good software is expected to reach of a step's bound; host work not included.
pub(crate) fn expected(on: &Deployment<'_>, load: &StepLoad) -> Seconds {
    let (bandwidth, compute, fixed) = parts(on, load);
    Seconds(bandwidth.max(compute) + fixed)
}

/// Reading and multiplying, each at its expected share of the peak, and what comes on top of both:
/// communication and the small kernels of each layer.
fn parts(on: &Deployment<'_>, load: &StepLoad) -> (f64, f64, f64) {
    let step = on.step(load);
    let (least, most) = Link::latency(on.link);
    // The bound has the link's best latency; half the range is added, twice a layer.
    let slower = if on.tp > 1 { (most - least).get() * on.model.layers.len() as f64 } else { 0.0 };
    let uneven = if on.model.experts().is_some() { EXPERT_COMPUTE.get() } else { 1.0 };
    (
        step.bandwidth.get() / middle(on.gpu.mbu).get(),
        step.compute.get() / (middle(on.gpu.mfu).get() * uneven),
        step.communication.get() + slower + layer_kernels(on.model).get(),
    )
}

/// The step time of a deployment around a load.
///
/// Reading weights is the base, reading live KV goes with the context, and a prompt token costs what
/// the roofline adds between a step without prompts and one with enough of them to keep the
/// arithmetic busy. A step with few prompt tokens therefore comes out a little too long, never too short.
///
/// With `stages` pipeline stages as many batches are under way at once, each with its share of the
/// requests: a pass still reads all weights, and the work that goes with requests is divided.
pub(crate) fn step_time(on: &Deployment<'_>, stages: u32, around: Around) -> StepTime {
    let batch = around.sequences.clamp(1, around.typical_batch.max(1));
    let nothing = Tokens(0.0);
    let (_, _, alone) = parts(on, &StepLoad::decode(1, nothing));
    let (weights, ..) = parts(on, &StepLoad::decode(batch, nothing));
    let gpu = weights + alone;
    // A full batch shows where decoding itself becomes arithmetic.
    let full = around.sequences.max(1);
    let per_sequence =
        ((expected(on, &StepLoad::decode(full, nothing)).get() - gpu) / f64::from(full)).max(0.0);
    let (with_kv, ..) = parts(on, &StepLoad::decode(batch, around.context));
    let per_context = (with_kv - weights) / (f64::from(batch) * around.context.get()).max(1.0);
    let stages = f64::from(stages.max(1));
    let handovers = (stages - 1.0) * STAGE_HANDOVER.get();
    StepTime {
        base: Seconds(gpu + HOST_PER_STEP.get() + handovers),
        per_prompt_token: Seconds(per_prompt_token(on, around, gpu).get() / stages),
        per_sequence: Seconds((per_sequence + HOST_PER_SEQUENCE.get()) / stages),
        per_context_token: Seconds(per_context.max(0.0) / stages),
        noise: STEP_NOISE,
        ..StepTime::constant(Seconds(0.0))
    }
}

fn per_prompt_token(on: &Deployment<'_>, around: Around, gpu: f64) -> Seconds {
    let prompt = around.prompt.get().max(1.0);
    let budget = f64::from(around.token_budget.max(1));
    // Four ridges of tokens leave no doubt that arithmetic binds.
    let busy = (4.0 * on.ridge().get()).clamp(prompt.min(budget), budget.max(prompt));
    let (mut tokens, mut time) = (0.0, 0.0);
    if prompt < busy {
        let together = (busy / prompt).ceil();
        let load = (0..together as u32)
            .fold(StepLoad::default(), |load, _| load.with_chunk(Tokens(prompt), Tokens(0.0), true));
        tokens = together * prompt;
        time = expected(on, &load).get() - gpu;
    } else {
        let mut past = 0.0;
        while past < prompt {
            let chunk = budget.min(prompt - past);
            let load = StepLoad::prefill(Tokens(chunk), Tokens(past));
            time += (expected(on, &load).get() - gpu).max(0.0);
            past += chunk;
        }
        tokens += prompt;
    }
    Seconds((time / tokens).max(0.0))
}

/// Measured over expected, for the two parts of a step that a case can tell apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Calibration {
    pub(crate) decode: Ratio,
    pub(crate) prompt: Ratio,
}

impl Calibration {
    /// The step time with both parts scaled.
    pub(crate) fn apply(self, step: StepTime) -> StepTime {
        let scaled = |time: Seconds, by: Ratio| Seconds(time.get() * by.get());
        StepTime {
            base: scaled(step.base, self.decode),
            per_sequence: scaled(step.per_sequence, self.decode),
            per_context_token: scaled(step.per_context_token, self.decode),
            per_prompt_token: scaled(step.per_prompt_token, self.prompt),
            ..step
        }
    }
}
