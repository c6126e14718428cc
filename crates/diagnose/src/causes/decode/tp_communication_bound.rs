//! GPUs that share every layer wait for each other.

use intriage_case::{Fact, Seconds, Source};
use intriage_engines::{Engine, Setting, dialect};

use super::pace::pace_impact;
use super::roof::{step_is_far_above_floor, step_is_near_floor};
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "tp-communication-bound",
    class: Class::Decode,
    layer: Layer::Network,
    hurts: &[Aspect::DecodeStep, Aspect::HostGap],
    summary: "GPUs that share every layer exchange their results twice a layer, and over these links that takes much of each step.",
    symptoms: &[
        "more GPUs do not make tokens faster, or make them slower",
        "the GPUs hang on PCIe, or on two sockets or hosts",
        "utilisation is 100 % at low power",
    ],
    confirmed_by: &[
        "the exchange takes 40 % of a step or more, by profile or by measured link speed",
        "the GPUs of one group are joined by PCIe, across sockets or across hosts",
        "with half as many GPUs per replica the gap is no longer",
    ],
    refuted_by: &[
        "one GPU holds the whole layer: there is nothing to exchange",
        "the links carry at least 70 % of NVLink's speed",
        "a step is within twice what the memory of the group needs",
    ],
    look_alikes: &[
        LookAlike { cause: "collective-transport-fallback", tell: "there NVLink exists and is not used" },
        LookAlike { cause: "nvlink-degraded", tell: "there links are down or count errors" },
        LookAlike {
            cause: "straggler-gpu-or-rank",
            tell: "there one GPU is slow and the others wait for it",
        },
        LookAlike { cause: "decode-bandwidth-roofline", tell: "there a single GPU is as near to its bound" },
    ],
    probe: Probe {
        name: "nccl-busbw",
        steps: "On the idle GPUs of one group run all_reduce_perf -b 8 -e 256M -f 2 -g N from nccl-tests.",
        if_so: "Small messages take more than 30 µs, or large ones reach less than 60 % of the link's speed.",
        if_not: "Both are as the links promise.",
    },
    remedies: &[
        Remedy::of(
            Engine::Vllm,
            "the smallest --tensor-parallel-size that fits, with --data-parallel-size or replicas for the rest; --pipeline-parallel-size across hosts",
            "a single stream of a huge model gets slower",
        ),
        Remedy::of(
            Engine::Sglang,
            "a smaller --tp with more --dp, or --enable-dp-attention",
            "a single stream of a huge model gets slower",
        ),
        Remedy::of(
            Engine::TensorRtLlm,
            "a smaller --tp_size, --pp_size across slow links",
            "a single stream of a huge model gets slower",
        ),
        Remedy::of(
            Engine::Tgi,
            "a smaller --num-shard, with replicas for the rest",
            "a single stream of a huge model gets slower",
        ),
        Remedy::of(Engine::LlamaCpp, "--split-mode layer instead of row", "the GPUs work in turn"),
        Remedy::any(
            "put the GPUs of one group on NVLink (CUDA_VISIBLE_DEVICES chooses the pair)",
            "hardware",
        ),
    ],
    effect: "Over PCIe two replicas of two GPUs usually serve more than one of four.",
    confirm: "Tokens per second over all GPUs rise at the same latency.itl.",
    explains: &[],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let w = Weighing::new()
        .requires(a_layer_is_shared(e))
        .requires(the_link_is_slow(e))
        .refuted_by(step_is_near_floor(e))
        // Kernels that fall back and a slow host leave the same gap: a profile tells them apart.
        .at_most_likely(0.55)
        .explains(&["decode-host-overhead-bound"]);
    let (Ok(floor), Some(step)) = (&e.floor, e.account.ordinary_step()) else {
        return w.conclude("", pace_impact(e, 0.0));
    };
    let says = format!(
        "a step takes {} where the memory of {:.0} {} needs {}: they exchange every layer over PCIe",
        Seconds(step),
        e.setting(Setting::TensorParallel).unwrap_or(1.0),
        floor.gpu,
        Seconds(floor.decode)
    );
    w.conclude(says, pace_impact(e, (step - floor.decode / floor.reached.0).max(0.0)))
}

/// The card has no link of its own, and a step takes far longer than its memory explains.
fn the_link_is_slow(e: &Evidence<'_>) -> Test {
    const MEASURE: &str = "how much of a step the exchange takes is in no metric: it takes the links between the GPUs and nccl-tests or a profile";
    match &e.floor {
        Ok(floor) if !floor.linked => step_is_far_above_floor(e),
        _ => Test::Unknown(MEASURE.into()),
    }
}

/// More than one GPU holds each layer.
fn a_layer_is_shared(e: &Evidence<'_>) -> Test {
    if let Some(gpus) = e.setting(Setting::TensorParallel) {
        let says = if gpus > 1.0 {
            format!("{gpus:.0} GPUs share every layer")
        } else {
            "tensor parallel size 1: there is nothing to exchange".to_owned()
        };
        return Test::when(gpus > 1.0, e.setting_fact(Setting::TensorParallel, says));
    }
    if e.observed.gpu.count == Some(1) {
        let source = Source::Gpu { tool: e.observed.gpu.source.clone() };
        return Test::Fails(Fact {
            says: "there is only one GPU".into(),
            value: None,
            limit: None,
            signal: None,
            source,
        });
    }
    let name = e.observed.engine_name();
    let has_flag = e
        .observed
        .identity
        .engine
        .is_some_and(|engine| dialect(engine).flags.iter().any(|f| f.setting == Setting::TensorParallel));
    Test::Unknown(if has_flag {
        format!("the tensor parallel size of {name} is not stated anywhere: give --engine-args or --log")
    } else {
        format!("over how many GPUs {name} spreads a layer is not shown")
    })
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::CAUSE;
    use crate::diagnosis::{Outcome, Status};
    use crate::testing::Given;

    /// Scenario F23: 70B over four cards on PCIe, 62 ms a token.
    fn four_cards() -> Given {
        Given::vllm("0.28.0")
            .flags("--tensor-parallel-size 4")
            .on_gpu()
            .gpu_busy(100)
            .gauge(RequestsRunning, 2.0)
            .observed(LatencyItl, &[(0.062, 20_000.0)])
            .objective("itl.p95=30ms")
    }

    #[test]
    fn a_slow_group_of_gpus_needs_the_links_measured() {
        let j = four_cards().judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
        assert!(j.missing[0].contains("nccl-tests"), "{:?}", j.missing);
    }

    #[test]
    fn four_cards_without_a_link_far_above_their_floor_are_likely_exchanging() {
        let known = four_cards().gauge(KvUsage, 0.05).pool(200_000.0);
        let j = known.clone().on_card("NVIDIA L40S", "meta-llama/Llama-3.1-8B").judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.says.contains("over PCIe"), "{}", j.says);
        // With NVLink the exchange has to be measured.
        let j = known.on_card("NVIDIA H100 80GB HBM3", "meta-llama/Llama-3.1-8B").judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
    }

    #[test]
    fn one_gpu_exchanges_nothing() {
        let j = four_cards().flags("--tensor-parallel-size 1").judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
        assert!(j.against[0].says.contains("nothing to exchange"), "{:?}", j.against);
    }

    #[test]
    fn a_fast_group_is_ruled_out() {
        let fast = four_cards().observed(LatencyItl, &[(0.009, 20_000.0)]);
        let d = fast.verdict();
        assert_ne!(d.verdict.status, Status::Finding, "{}", d.verdict.answer);
        let known =
            fast.gauge(KvUsage, 0.05).pool(200_000.0).on_card("NVIDIA L40S", "meta-llama/Llama-3.1-8B");
        assert_eq!(known.judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn an_unknown_size_is_said() {
        let j = four_cards().flags("").judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
        assert!(j.missing[0].contains("not stated"), "{:?}", j.missing);
    }
}
