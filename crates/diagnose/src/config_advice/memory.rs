//! Rules about GPU memory and the KV pool.

use intriage_case::{Bytes, Ratio, Tokens};
use intriage_engines::{MeantStart, Setting};
use intriage_physics::{Budget, Counting, Deployment, KvDtype, Link, Policy, Spending, memory};

use super::scene::{Hit, Scene};
use super::{AdviceRule, Severity};
use crate::preflight::values;

pub(super) const RULES: &[AdviceRule] = &[
    AdviceRule {
        id: "kv-pool-too-small",
        summary: "the KV pool holds less than one full-length request (error) or less than two (warning)",
        severity: Severity::Error,
        source: "vLLM 0.32.0 v1/core/kv_cache_utils.py refuses a window larger than the pool; pool estimated by crates/physics",
        judge: pool,
    },
    AdviceRule {
        id: "memory-utilization-too-high",
        summary: "--gpu-memory-utilization leaves no room for what the engine does not count",
        severity: Severity::Error,
        source: "vLLM 0.32.0 config/cache.py takes 0 to 1; the limit of 0.97 is this project's own",
        judge: utilization,
    },
    AdviceRule {
        id: "gpu-shared-beyond-memory",
        summary: "two servers on one GPU claim more than its memory",
        severity: Severity::Error,
        source: "vLLM 0.32.0 v1/worker/utils.py: a start needs its share of the memory to be free",
        judge: shared,
    },
    AdviceRule {
        id: "memory-utilization-ignored",
        summary: "--gpu-memory-utilization stands beside --kv-cache-memory-bytes, which replaces it",
        severity: Severity::Warning,
        source: "vLLM 0.32.0 config/cache.py, kv_cache_memory_bytes",
        judge: ignored,
    },
    AdviceRule {
        id: "kv-blocks-forced",
        summary: "--num-gpu-blocks-override replaces the measured size of the KV pool",
        severity: Severity::Warning,
        source: "vLLM 0.32.0 config/cache.py, num_gpu_blocks_override: meant for tests of preemption",
        judge: forced,
    },
    AdviceRule {
        id: "token-budget-below-window",
        summary: "the token budget is below the window while chunked prefill is off: the start fails",
        severity: Severity::Error,
        source: "vLLM 0.32.0 config/scheduler.py, verify_max_model_len",
        judge: below_window,
    },
    AdviceRule {
        id: "token-budget-below-sequences",
        summary: "the token budget is below the number of sequences: the start fails",
        severity: Severity::Error,
        source: "vLLM 0.32.0 config/scheduler.py, verify_max_model_len",
        judge: |scene| {
            let said = values::budget(&scene.facts).into_iter().collect();
            Hit::of_check(scene, &["--max-num-batched-tokens"], said)
        },
    },
];

/// Share of the memory from which on nothing is left for other users of it. Own reasoning: the CUDA context and fragments of
/// the allocator take 1 to 2 GiB of 80.
const MOST_SHARE: f64 = 0.97;
/// The share where nobody asks, from 0.20 on and before (crates/engines/src/vllm/defaults.rs).
const SHARES: [f64; 2] = [0.92, 0.9];
/// The smallest token budget and number of sequences that any GPU gets by default (crates/engines/src/vllm/defaults.rs): the pool is judged at its largest.
const LEAST_BUDGET: f64 = 2048.0;
const LEAST_SEQUENCES: u32 = 256;
/// A window is suggested in whole steps of this many tokens.
const STEP: f64 = 1024.0;

fn share(scene: &Scene<'_>) -> f64 {
    let given = scene.facts.number(Setting::MemoryFraction).filter(|share| *share > 0.0 && *share <= 1.0);
    given.unwrap_or(if scene.is_from("0.20.0").unwrap_or(true) { SHARES[0] } else { SHARES[1] })
}

fn pool(scene: &Scene<'_>) -> Vec<Hit> {
    let (Some(gpu), Some(model)) = (scene.gpu(), scene.shape.as_ref()) else { return Vec::new() };
    let (tensor, pipeline) = scene.facts.ranks();
    // Weights that are changed or moved while they are loaded take another size than the configuration tells.
    let other = ["--cpu-offload-gb", "--load-format", "--num-gpu-blocks-override", "--hf-overrides"];
    let converted = scene.start.line.flag(&["--quantization"]).is_some() && scene.facts.quantized().is_none();
    if pipeline > 1 || converted || other.iter().any(|name| scene.start.line.flag(&[name]).is_some()) {
        return Vec::new();
    }
    let given = scene.start.line.flag(&["--max-model-len"]);
    let window = match given {
        Some(_) => scene.facts.number(Setting::ContextWindow),
        None => model.max_positions.map(|n| n as f64),
    };
    let Some(window) = window.filter(|n| *n >= 1.0) else { return Vec::new() };
    let kv = KvDtype::parse(scene.start.line.value(&["--kv-cache-dtype"]).unwrap_or("auto"), model);
    let Ok(kv) = kv else { return Vec::new() };
    let tp = u32::try_from(tensor).unwrap_or(1);
    let deployment = Deployment { model, gpu, tp, kv, link: Link::Direct, counting: Counting::Touched };
    let budget = scene.facts.number(Setting::TokenBudget).unwrap_or(LEAST_BUDGET);
    let sequences = scene.facts.number(Setting::MaxSequences).map_or(LEAST_SEQUENCES, |n| n as u32);
    let mut spending = Spending::estimate(&deployment, Tokens(budget), sequences);
    // The estimate may be off by half; the smaller one judges.
    spending.activations = Bytes(spending.activations.get() * 0.5);
    let policy = Policy::Vllm { utilisation: Ratio(share(scene)), graphs_counted: true };
    let by_hand = scene.facts.number(Setting::KvBytes).map(Bytes);
    let pool = by_hand.unwrap_or_else(|| Budget::of(&deployment, policy, spending).kv_pool);
    let holds = memory::concurrency(pool, &deployment, Tokens(window)).get();
    let (severity, needed) = match holds {
        holds if holds < 1.0 => (Severity::Error, 1.0),
        holds if holds < 2.0 => (Severity::Warning, 2.0),
        _ => return Vec::new(),
    };
    let name = intriage_physics::gpu::short(gpu);
    let reason = format!(
        "the KV pool of about {pool} a GPU on {tensor} x {name} holds {holds:.2} requests of {window} tokens{}",
        if holds < 1.0 { ": the start fails" } else { ": the second long request waits for the first" }
    );
    let fits = (holds * window / needed / STEP).floor() * STEP;
    let change = if pool.get() <= 0.0 {
        "more GPUs (--tensor-parallel-size), a GPU with more memory, or weights in fewer bits".to_owned()
    } else if fits >= STEP {
        format!("--max-model-len {fits} or less, or more GPUs (--tensor-parallel-size)")
    } else {
        "more GPUs (--tensor-parallel-size), or weights in fewer bits".to_owned()
    };
    vec![Hit::first_of(scene, severity, &["--max-model-len", "--gpu-memory-utilization"], reason, change)]
}

fn utilization(scene: &Scene<'_>) -> Vec<Hit> {
    let Some(flag) = scene.flag("--gpu-memory-utilization") else { return Vec::new() };
    let Some(share) = scene.facts.number(Setting::MemoryFraction) else { return Vec::new() };
    if share > 1.0 || share <= 0.0 {
        let reason = format!("{share} is no share of the memory: the start fails");
        return vec![Hit::flag(scene, Severity::Error, flag, reason, format!("{} 0.9", flag.written))];
    }
    if share <= MOST_SHARE {
        return Vec::new();
    }
    let reason = format!(
        "{share} leaves less than 3 % of the GPU for the CUDA context and other users: out of memory under load"
    );
    vec![Hit::flag(scene, Severity::Warning, flag, reason, format!("{} 0.95 or less", flag.written))]
}

/// The cards a server is bound to, where its environment lists them.
fn cards(start: &MeantStart) -> Vec<&str> {
    let list =
        ["CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"].iter().find_map(|name| start.variable(name));
    let list = list.map_or("", |variable| variable.value.as_str());
    let is_card = |card: &&str| !card.is_empty() && !["all", "none", "void", "-1"].contains(card);
    list.split(',').map(str::trim).filter(is_card).collect()
}

fn shared(scene: &Scene<'_>) -> Vec<Hit> {
    let own = cards(scene.start);
    let share_of = |start: &MeantStart| {
        start
            .line
            .number(&["--gpu-memory-utilization"])
            .filter(|s| *s > 0.0 && *s <= 1.0)
            .unwrap_or(SHARES[0])
    };
    // The later of two has the finding.
    let before = scene.all.iter().take_while(|start| !std::ptr::eq(*start, scene.start));
    let other = before.filter(|start| start.one_machine && scene.start.one_machine).find_map(|start| {
        let card = cards(start).into_iter().find(|card| own.contains(card))?;
        (share_of(start) + share_of(scene.start) > 1.0).then_some((start, card))
    });
    let Some((other, card)) = other else { return Vec::new() };
    let reason = format!(
        "GPU {card} is also that of {}, and together they claim {:.2} of its memory",
        other.name,
        share_of(other) + share_of(scene.start)
    );
    let change = "another GPU (CUDA_VISIBLE_DEVICES), or shares whose sum is 0.95 or less".to_owned();
    vec![Hit::first_of(scene, Severity::Error, &["--gpu-memory-utilization"], reason, change)]
}

fn ignored(scene: &Scene<'_>) -> Vec<Hit> {
    let both = scene.flag("--gpu-memory-utilization").zip(scene.flag("--kv-cache-memory-bytes"));
    let Some((flag, _)) = both else { return Vec::new() };
    let reason = "--kv-cache-memory-bytes sets the size of the KV pool, and this share is ignored".to_owned();
    vec![Hit::flag(scene, Severity::Warning, flag, reason, format!("remove {}", flag.written))]
}

fn forced(scene: &Scene<'_>) -> Vec<Hit> {
    let Some(flag) = scene.flag("--num-gpu-blocks-override") else { return Vec::new() };
    let reason = "the KV pool has a size set by hand instead of what the memory holds".to_owned();
    vec![Hit::flag(scene, Severity::Warning, flag, reason, format!("remove {}", flag.written))]
}

fn below_window(scene: &Scene<'_>) -> Vec<Hit> {
    let off = scene.switched("--enable-chunked-prefill").is_some_and(|(on, _)| !on);
    let budget = scene.facts.number(Setting::TokenBudget);
    let window = scene.facts.number(Setting::ContextWindow).filter(|n| *n > 0.0);
    let window = window.or_else(|| Some(scene.shape.as_ref()?.max_positions? as f64));
    match (scene.flag("--max-num-batched-tokens"), budget, window) {
        (Some(flag), Some(budget), Some(window)) if off && budget < window => {
            let reason = format!(
                "without chunked prefill a prompt of {window} tokens has to fit into one step of {budget}: the start fails"
            );
            let change =
                format!("remove --no-enable-chunked-prefill, or --max-num-batched-tokens {window} or more");
            vec![Hit::flag(scene, Severity::Error, flag, reason, change)]
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ids, on, rules, unit, units};
    use super::*;

    #[test]
    fn a_pool_is_held_against_the_window() {
        let long = "llama-3.1-8b --max-model-len 131072";
        assert_eq!(rules(long, on("a10")), ["kv-pool-too-small"]);
        assert!(rules("llama-3.1-8b --max-model-len 8192", on("h100")).is_empty());
        // Nothing is said without the card, or of weights whose size is not known.
        assert!(rules(long, |_| {}).is_empty());
        assert!(rules(&format!("{long} --quantization bitsandbytes"), on("a10")).is_empty());
        let advice = unit(&format!("ExecStart=vllm serve {long}"), on("a10"));
        assert_eq!(advice.findings[0].severity, Severity::Error);
        assert!(advice.findings[0].change.starts_with("--max-model-len "), "{advice:?}");
    }

    #[test]
    fn a_share_near_all_is_too_high() {
        assert_eq!(rules("m --gpu-memory-utilization 0.99", |_| {}), ["memory-utilization-too-high"]);
        assert_eq!(rules("m --gpu-memory-utilization 95", |_| {}), ["memory-utilization-too-high"]);
        assert!(rules("m --gpu-memory-utilization 0.95", |_| {}).is_empty());
        assert!(rules("m --gpu-memory-utilization $SHARE", |_| {}).is_empty());
    }

    #[test]
    fn two_servers_on_one_card_are_found() {
        let of = |card: u32, share: f64| {
            format!(
                "Environment=CUDA_VISIBLE_DEVICES={card}\nExecStart=vllm serve m{card}{share} --gpu-memory-utilization {share}"
            )
        };
        let found = |a: String, b: String| ids(&units(&[&a, &b], |_| {}));
        assert_eq!(found(of(0, 0.9), of(0, 0.5)), ["gpu-shared-beyond-memory"]);
        assert!(found(of(0, 0.9), of(1, 0.9)).is_empty());
        assert!(found(of(0, 0.45), of(0, 0.4)).is_empty());
    }

    #[test]
    fn sizes_set_by_hand_are_found() {
        assert_eq!(rules("m --num-gpu-blocks-override 512", |_| {}), ["kv-blocks-forced"]);
        let both = "m --kv-cache-memory-bytes 4G --gpu-memory-utilization 0.9";
        assert_eq!(rules(both, |_| {}), ["memory-utilization-ignored"]);
        assert!(rules("m --kv-cache-memory-bytes 4G", |_| {}).is_empty());
    }

    #[test]
    fn a_token_budget_has_to_hold_a_window_without_chunks() {
        let of = |budget: u32| {
            format!("m --no-enable-chunked-prefill --max-model-len 8192 --max-num-batched-tokens {budget}")
        };
        assert_eq!(rules(&of(4096), |_| {}), ["token-budget-below-window", "chunked-prefill-off"]);
        assert_eq!(rules(&of(8192), |_| {}), ["chunked-prefill-off"]);
        assert!(rules("m --max-model-len 8192 --max-num-batched-tokens 4096", |_| {}).is_empty());
        let few = "m --max-num-seqs 256 --max-num-batched-tokens 128";
        assert_eq!(rules(few, |_| {}), ["token-budget-below-sequences"]);
    }
}
