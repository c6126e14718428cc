//! What a plan takes for granted where nobody told it otherwise, each with its source.

use intriage_case::{Bytes, ObjectiveMetric, Ratio, Seconds, Tokens};
use intriage_physics::model::Layer;
use intriage_physics::{Gpu, ModelShape};

use crate::ask::Ask;
use crate::deployed::{Deployed, Release};
use crate::instance::Instance;

/// `--gpu-memory-utilization` of vLLM from 0.20 on.
pub(crate) const UTILISATION: Ratio = Ratio(0.92);

/// The same before 0.20.
pub(crate) const UTILISATION_BEFORE_0_20: Ratio = Ratio(0.9);

/// Memory that the driver reports and CUDA does not see: vLLM's log says 79.2 of 79.65 GiB on an 80 GB
/// H100 and 139.8 of 140.4 GiB on an H200 (`fixtures/h200/vllm-h200-healthy30`).
pub(crate) const DRIVER_RESERVED: Bytes = Bytes(0.48 * 1_073_741_824.0);

/// CUDA graphs of one vLLM instance: 0.98 GiB in `fixtures/h200/vllm-h200-healthy30` (8B, 51 sizes).
pub(crate) const GRAPHS: Bytes = Bytes(1_073_741_824.0);

/// Host work that every step waits for. A step of 4 sequences took 5.2 ms on an H200
/// (`fixtures/recordings/vllm-h200-maxseqs4`), 4.5 ms of it explained by bandwidth.
pub(crate) const HOST_PER_STEP: Seconds = Seconds(0.7e-3);

/// Scheduling, sampling and detokenizing of one more sequence in a step, from the same recordings.
pub(crate) const HOST_PER_SEQUENCE: Seconds = Seconds(10e-6);

/// Time of the small kernels of one layer with experts (norms, router, top-k, sorting of tokens, scaling),
/// whatever the batch: they run one after the other, and bytes or FLOPs do not explain them. It is what
/// is left of the published single-stream steps in `data/published.json`, 85 to 105 µs for Qwen3's.
pub(crate) const EXPERT_LAYER: Seconds = Seconds(90e-6);

/// The same for one layer of latent attention, which multiplies in six steps instead of two.
pub(crate) const LATENT_LAYER: Seconds = Seconds(40e-6);

/// Of the FLOP/s that a dense model reaches, what a mixture of experts reaches: each expert gets few
/// tokens and an uneven share of them. Published prompt rates reach 8 to 24 % of peak where dense
/// models reach 40 to 55 % (`data/published.json`).
pub(crate) const EXPERT_COMPUTE: Ratio = Ratio(0.3);

/// Time to hand a batch from one pipeline stage to the next.
pub(crate) const STAGE_HANDOVER: Seconds = Seconds(50e-6);

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

/// Time of the small kernels of one step, all layers together: 0 for dense models with plain attention,
/// whose share of peak bandwidth already covers them.
pub(crate) fn layer_kernels(model: &ModelShape) -> Seconds {
    let latent = model.layers.iter().filter(|layer| matches!(layer, Layer::Latent { .. })).count();
    let expert = if model.experts().is_some() { model.layers.len() } else { 0 };
    Seconds(expert as f64 * EXPERT_LAYER.get() + latent as f64 * LATENT_LAYER.get())
}

/// The middle of a range of achieved shares.
pub(crate) fn middle((low, high): (Ratio, Ratio)) -> Ratio {
    Ratio(f64::midpoint(low.get(), high.get()))
}

/// Every assumption behind the numbers, those that move them most first.
pub(crate) fn assumptions(ask: &Ask, instance: Option<&Instance>) -> Vec<String> {
    let mut all = Vec::new();
    if let Some(deployed) = &ask.deployed {
        speed(ask, deployed, instance, &mut all);
        let (share, given) = (deployed.utilisation(), deployed.utilisation.is_some());
        let given = if given { "" } else { " (vLLM's default)" };
        let graphs = match deployed.release {
            Release::Before020 => "CUDA graphs outside of it (vLLM before 0.20)".to_owned(),
            Release::From020 => format!("CUDA graphs {GRAPHS}"),
        };
        all.push(format!(
            "the engine may take {share} of the memory{given}; {graphs}, activations estimated"
        ));
        let (budget, sequences) = engine_defaults(&deployed.gpu);
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

fn speed(ask: &Ask, deployed: &Deployed, instance: Option<&Instance>, all: &mut Vec<String>) {
    let gpu = &deployed.gpu;
    let (mfu, mbu) = (middle(gpu.mfu), middle(gpu.mbu));
    let scaled = if ask.measured.is_some() { ", scaled to what was measured" } else { "" };
    all.push(format!(
        "{mbu} of peak bandwidth and {mfu} of peak FLOP/s are reached (middle of the usual {} to {} and {} to {}); the host adds {HOST_PER_STEP} a step and {HOST_PER_SEQUENCE} a sequence{scaled}",
        gpu.mbu.0, gpu.mbu.1, gpu.mfu.0, gpu.mfu.1
    ));
    if ask.measured.is_none() {
        all.push("published speeds differ from such expectations by 14 to 28 % in the median and by up to half (docs/plan-accuracy.md): hold the plan against a load test".into());
    }
    if deployed.model.experts().is_some() {
        let batch = instance.map_or(TYPICAL_BATCH, |instance| instance.typical_batch);
        all.push(format!(
            "a mixture of experts reaches {EXPERT_COMPUTE} of a dense model's FLOP/s, and each layer costs {} besides bytes; every step reads the experts that {batch} tokens touch, which is too many at low rates",
            Seconds(layer_kernels(&deployed.model).get() / deployed.model.layers.len().max(1) as f64)
        ));
    }
    if deployed.pp > 1 {
        all.push(format!(
            "{} pipeline stages work on different requests at the same time; a handover takes {STAGE_HANDOVER}",
            deployed.pp
        ));
    }
}
