//! Tokens are as fast as the card can read its memory.

use intriage_case::{ObjectiveMetric, Ratio, Seconds, Signal};
use intriage_engines::Engine;

use super::card::{card_waits, memory_waits};
use super::pace::pace_impact;
use super::roof::{context_is_the_larger_part, no_floor, step_is_most_of_the_gap, step_is_near_floor};
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "decode-bandwidth-roofline",
    class: Class::Decode,
    layer: Layer::Gpu,
    hurts: &[Aspect::DecodeStep],
    summary: "Every token needs the weights read once, and the card already reads as fast as its memory allows.",
    symptoms: &[
        "tokens are slow even for a single user",
        "the first token is fine",
        "the gap grows with the model's bytes",
    ],
    confirmed_by: &[
        "on an idle server one stream's gap is within twice (weights + context × KV bytes per token) / bandwidth",
        "the memory interface is active at least 60 % of the time in decode",
        "from one to eight streams the gap stays flat while tokens per second grow",
    ],
    refuted_by: &[
        "no kernel runs for much of the time: the card waits",
        "GPU memory is rarely read or written",
        "an idle stream is three times slower than the bound or more: something else is slow",
        "well-tuned software on this card would keep the objective for the token pace",
    ],
    look_alikes: &[
        LookAlike { cause: "decode-host-overhead-bound", tell: "there the card is idle between steps" },
        LookAlike {
            cause: "batch-past-knee",
            tell: "there a single stream is fast and only the full batch is slow",
        },
        LookAlike {
            cause: "kernel-fallback-slow-path",
            tell: "there a single stream is three times slower than the bound or more",
        },
        LookAlike {
            cause: "long-context-kv-read-bound",
            tell: "there a single stream slows down as its context grows",
        },
        LookAlike {
            cause: "gpu-power-or-capability-limit",
            tell: "there the card is a slower part or slice than the one meant",
        },
    ],
    probe: Probe {
        name: "single-stream",
        steps: "On an idle server send one prompt of 64 tokens, ask for 256 greedily, five times, and compare the mean gap with weight bytes / memory bandwidth of the card really installed.",
        if_so: "The gap is within twice that bound.",
        if_not: "The gap is three times the bound or more.",
    },
    remedies: &[
        Remedy::of(
            Engine::Vllm,
            "serve an FP8 checkpoint (or AWQ/GPTQ for small batches), or raise --tensor-parallel-size over NVLink, or --speculative-config at low load",
            "quality; 4-bit weights lose their gain above about 64 tokens per step; speculation costs throughput at high load",
        ),
        Remedy::of(
            Engine::Sglang,
            "--quantization fp8, or --tp N over NVLink, or --speculative-algorithm at low load",
            "quality; speculation costs throughput at high load",
        ),
        Remedy::of(
            Engine::LlamaCpp,
            "a GGUF with fewer bits, and every layer on the GPU (-ngl 999)",
            "quality",
        ),
        Remedy::of(
            Engine::TensorRtLlm,
            "an FP8 or NVFP4 checkpoint, or a larger --tp_size",
            "quality; hardware",
        ),
        Remedy::any("a smaller model, or a card with more memory bandwidth", "quality or hardware"),
    ],
    effect: "The gap falls with the bytes read per token: about half from 16-bit to FP8, about a third at 4 bits and small batches.",
    confirm: "latency.itl of a single stream falls by about the ratio of the weight bytes.",
    explains: &[],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let tight =
        is_missed_near_the_floor(e).filter(|_| !matches!(objective_is_out_of_reach(e), Test::Holds(_)));
    // It may be within reach of better software, but not by far: every other cause comes first.
    let last_resort = tight.is_some();
    let mut w = Weighing::new().requires(step_is_near_floor(e)).requires(step_is_most_of_the_gap(e));
    w = match tight {
        Some(test) => w.requires(test).at_most_likely(0.6),
        None => w.requires(objective_is_out_of_reach(e)),
    };
    let w = w
        .refuted_by(card_waits(e))
        .refuted_by(memory_waits(e))
        .refuted_by(context_is_the_larger_part(e))
        .supports(Test::Unknown("a single stream on an idle server was not measured".into()));
    let (Ok(floor), Some(step)) = (&e.floor, e.account.ordinary_step()) else {
        return w.conclude("", pace_impact(e, 0.0));
    };
    let says = format!(
        "{} needs {} a token to read this model ({}); {} were measured: the memory is the limit, not a setting",
        floor.gpu,
        Seconds(floor.decode),
        floor.how,
        Seconds(step)
    );
    let mut impact = pace_impact(e, step);
    if last_resort {
        impact.share = Ratio(0.0);
    }
    w.conclude(says, impact)
}

/// An objective on tokens or on whole answers is missed, most of an answer is decoding, and its length is its own.
fn is_missed_near_the_floor(e: &Evidence<'_>) -> Option<Test> {
    const OF_TOKENS: [ObjectiveMetric; 3] =
        [ObjectiveMetric::Itl, ObjectiveMetric::Tpot, ObjectiveMetric::E2e];
    let missed = e
        .objectives
        .iter()
        .find(|o| o.met == Some(false) && o.asked.is_some_and(|asked| OF_TOKENS.contains(&asked.metric)))?;
    let decoding = e.account.share_of_life(e.account.decode?);
    let at_limit = e.delta_by(Signal::RequestsFinished, "length").unwrap_or(0.0);
    let cut =
        Ratio::of(at_limit, e.finished()?.get()).is_some_and(|s| s.get() >= e.limit(Limit::RunawayShare));
    let says =
        format!("objective {} is missed, and {decoding} of an answer's time is decoding", missed.objective);
    let own = decoding.get() >= e.limit(Limit::DecodeShare) && !cut;
    own.then(|| Test::Holds(e.derived(says, decoding, "decode time / life of a request")))
}

/// Even at the share of the bandwidth that good software reaches, the step is longer than the objective.
fn objective_is_out_of_reach(e: &Evidence<'_>) -> Test {
    let Ok(floor) = &e.floor else { return no_floor(e) };
    let wanted = [ObjectiveMetric::Itl, ObjectiveMetric::Tpot].into_iter().filter_map(|m| e.objective(m));
    let Some(limit) = wanted.reduce(|a, b| if a < b { a } else { b }) else {
        return Test::Unknown("no objective was given for the pace of tokens".into());
    };
    let best = floor.decode / floor.reached.1;
    let says = format!(
        "well-tuned software on {} needs {} a token, the objective is {limit}",
        floor.gpu,
        Seconds(best)
    );
    Test::when(best > limit.get(), e.derived(says, Seconds(best), "bytes per step / bandwidth"))
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::CAUSE;
    use crate::diagnosis::{Outcome, Status};
    use crate::testing::{Given, Place};

    /// Scenario F17: an 8B model on an L4, 66 ms a token where 30 ms are wanted.
    fn slow() -> Given {
        Given::vllm("0.28.0")
            .on_gpu()
            .gauge(RequestsRunning, 2.0)
            .gauge(KvUsage, 0.1)
            .pool(20_000.0)
            .observed(LatencyItl, &[(0.066, 20_000.0)])
            .objective("itl.p95=30ms")
    }

    #[test]
    fn without_the_card_the_floor_is_unknown() {
        let j = slow().judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
        assert!(j.missing[0].contains("which GPU this is"), "{:?}", j.missing);
    }

    #[test]
    fn an_8b_model_on_an_l4_is_as_fast_as_its_memory() {
        let j = slow().on_card("NVIDIA L4", "meta-llama/Llama-3.1-8B").judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:?}");
        assert!(j.says.contains("the memory is the limit"), "{}", j.says);
    }

    #[test]
    fn the_same_pace_on_an_h100_has_another_reason() {
        let j = slow().on_card("NVIDIA H100 80GB HBM3", "meta-llama/Llama-3.1-8B").judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
        assert!(j.against[0].says.contains("times the least it could"), "{:?}", j.against);
    }

    #[test]
    fn without_an_objective_the_pace_of_the_memory_is_no_fault() {
        let given = Given::vllm("0.28.0")
            .on_gpu()
            .gauge(RequestsRunning, 2.0)
            .gauge(KvUsage, 0.1)
            .pool(20_000.0)
            .observed(LatencyItl, &[(0.066, 20_000.0)])
            .on_card("NVIDIA L4", "meta-llama/Llama-3.1-8B");
        let j = given.judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
        assert!(j.missing[0].contains("no objective"), "{:?}", j.missing);
        let d = given.verdict();
        assert_ne!(d.verdict.status, Status::Finding, "{}", d.verdict.answer);
    }

    #[test]
    fn a_pace_inside_its_objective_is_ruled_out() {
        let given = Given::vllm("0.28.0")
            .on_gpu()
            .gauge(RequestsRunning, 2.0)
            .gauge(KvUsage, 0.1)
            .pool(20_000.0)
            .observed(LatencyItl, &[(0.066, 20_000.0)])
            .objective("itl.p95=100ms")
            .on_card("NVIDIA L4", "meta-llama/Llama-3.1-8B");
        let j = given.judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
        assert!(j.against[0].says.contains("the objective is 100 ms"), "{:?}", j.against);
        let d = given.verdict();
        assert_ne!(d.verdict.status, Status::Finding, "{}", d.verdict.answer);
    }

    #[test]
    fn an_objective_the_memory_cannot_keep_is_missed_for_that_reason() {
        assert_eq!(slow().on_card("NVIDIA L4", "meta-llama/Llama-3.1-8B").place_of(&CAUSE), Place::First);
    }

    #[test]
    fn an_idle_card_is_the_look_alike() {
        let j = slow().gpu_busy(37).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
        assert!(j.against[0].says.contains("no kernel runs 63 %"), "{:?}", j.against);
    }
}
