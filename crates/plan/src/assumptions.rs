//! What a plan takes for granted where nobody told it otherwise, each with its source.

use intriage_case::{Bytes, ObjectiveMetric, Ratio, Seconds, Tokens};
use intriage_physics::Gpu;

use crate::ask::{Ask, Deployed};
use crate::instance::Instance;

/// `--gpu-memory-utilization` of vLLM from 0.20 on.
pub(crate) const UTILISATION: Ratio = Ratio(0.92);

/// CUDA graphs of one vLLM instance: 0.98 GiB in `fixtures/h200/vllm-h200-healthy30` (8B, 51 sizes).
pub(crate) const GRAPHS: Bytes = Bytes(1_073_741_824.0);

/// Host work that every step waits for. A step of 4 sequences took 5.2 ms on an H200
/// (`fixtures/recordings/vllm-h200-maxseqs4`), 4.5 ms of it explained by bandwidth.
pub(crate) const HOST_PER_STEP: Seconds = Seconds(0.7e-3);

/// Scheduling, sampling and detokenizing of one more sequence in a step, from the same recordings.
pub(crate) const HOST_PER_SEQUENCE: Seconds = Seconds(10e-6);

/// Steps alike differ by so much; seen on the H200.
pub(crate) const STEP_NOISE: Ratio = Ratio(0.05);

/// Tokens in a KV block, vLLM's default.
pub(crate) const BLOCK: Tokens = Tokens(16.0);

/// Coefficient of variation of lengths where no histogram tells it.
pub(crate) const LENGTH_VARIATION: Ratio = Ratio(0.5);

/// Sequences beyond which the share of experts that a step reads no longer matters.
pub(crate) const TYPICAL_BATCH: u32 = 64;

/// vLLM's defaults by size of the GPU: token budget and sequence cap (0.8.4 and later).
pub(crate) fn engine_defaults(gpu: &Gpu) -> (u32, u32) {
    let large = gpu.memory.get() >= 70.0 * 1_073_741_824.0 && !gpu.id.contains("a100");
    if large { (8192, 1024) } else { (2048, 256) }
}

/// The middle of a range of achieved shares.
pub(crate) fn middle((low, high): (Ratio, Ratio)) -> Ratio {
    Ratio(f64::midpoint(low.get(), high.get()))
}

/// Every assumption behind the numbers, those that move them most first.
pub(crate) fn assumptions(ask: &Ask, instance: Option<&Instance>) -> Vec<String> {
    let mut all = Vec::new();
    if let Some(deployed) = &ask.deployed {
        speed(ask, deployed, &mut all);
        let Deployed { utilisation, gpu, .. } = deployed;
        let share = utilisation.unwrap_or(UTILISATION);
        let given = if utilisation.is_some() { "" } else { " (vLLM's default)" };
        all.push(format!(
            "the engine may take {share} of the memory{given}; CUDA graphs {GRAPHS}, activations estimated"
        ));
        let (budget, sequences) = engine_defaults(gpu);
        let seen = ask.measured.as_ref().map(|measured| measured.limits).unwrap_or_default();
        if ask.limits.token_budget.or(seen.token_budget).is_none() {
            all.push(format!("token budget {budget} (vLLM's default here; --max-num-batched-tokens)"));
        }
        if ask.limits.max_sequences.or(seen.max_sequences).is_none() {
            all.push(format!("sequence cap {sequences} (vLLM's default here; --max-num-seqs)"));
        }
    }
    if let Some(measured) = &ask.measured {
        let step = &measured.step;
        all.push(format!(
            "speed as fitted until a replay of the case shows its latencies: a step takes {}, {} more for a prompt token, {} for a running request, and {} for a thousand tokens of context",
            step.base,
            step.per_prompt_token,
            step.per_sequence,
            Seconds(step.per_context_token.get() * 1000.0),
        ));
        all.push(format!(
            "{} between tokens at {:.0} running requests was measured; a larger batch is extrapolated",
            measured.itl,
            measured.batch.get()
        ));
    }
    let traffic = &ask.traffic;
    let spread = if traffic.prompts.is_some() || traffic.answers.is_some() {
        "lengths as in the case's histograms".to_owned()
    } else if traffic.variation.get() == 0.0 {
        "all requests of the same length".to_owned()
    } else {
        format!("lengths log-normal, coefficient of variation {:.2} (--cv)", traffic.variation.get())
    };
    all.push(format!("random (Poisson) arrivals, {spread}, seed {}", ask.seed));
    if traffic.prefix_share.get() > 0.0 {
        all.push(format!(
            "{} of an average prompt is one shared beginning that stays in the prefix cache and is held once",
            traffic.prefix_share
        ));
    } else {
        all.push("no prompt tokens come from the prefix cache (--prefix-share)".into());
    }
    all.push("network, tokenizing and the front end are not included; instances are loaded evenly".into());
    if instance.is_some() && ask.objectives.iter().any(|o| o.metric == ObjectiveMetric::Tpot) {
        all.push("tpot is judged by the mean time between tokens".into());
    }
    all
}

fn speed(ask: &Ask, deployed: &Deployed, all: &mut Vec<String>) {
    let gpu = &deployed.gpu;
    let (mfu, mbu) = (middle(gpu.mfu), middle(gpu.mbu));
    let scaled = if ask.measured.is_some() { ", scaled to what was measured" } else { "" };
    all.push(format!(
        "{mbu} of peak bandwidth and {mfu} of peak FLOP/s are reached (middle of the usual {} to {} and {} to {}); the host adds {HOST_PER_STEP} a step and {HOST_PER_SEQUENCE} a sequence{scaled}",
        gpu.mbu.0, gpu.mbu.1, gpu.mfu.0, gpu.mfu.1
    ));
    if deployed.model.experts().is_some() {
        all.push(format!(
            "every step reads the experts that {TYPICAL_BATCH} tokens touch: too many at low rates"
        ));
    }
}
