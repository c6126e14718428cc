//! Decode steps run without CUDA graphs.

use intriage_case::{Ratio, Requests, Seconds, Signal, Source};
use intriage_engines::{Engine, Setting};

use crate::causes::shared::{decode_dominates, runs_on_gpu};
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "cuda-graph-miss",
    class: Class::Decode,
    layer: Layer::Configuration,
    hurts: &[Aspect::DecodeStep, Aspect::Interference, Aspect::Stalls, Aspect::HostGap],
    summary: "Decode steps launch every kernel one by one instead of replaying a CUDA graph, so the card waits for the host.",
    symptoms: &["tokens are slow although the card is far from busy", "small models suffer most", "the pace drops at once where the batch passes a certain size"],
    confirmed_by: &["eager mode is on, or the batch is larger than the largest captured graph", "the card has no kernel running for much of the time"],
    refuted_by: &["graphs are in use", "the model does not run on a GPU", "the card is busy all the time anyway"],
    look_alikes: &[
        LookAlike { cause: "decode-host-overhead-bound", tell: "there graphs are in use and the gaps lie between steps" },
        LookAlike { cause: "batch-past-knee", tell: "there the pace falls smoothly with the batch" },
        LookAlike { cause: "kernel-fallback-slow-path", tell: "there the card is busy with slow kernels" },
    ],
    probe: Probe {
        name: "size-straddle",
        steps: "Hold the concurrency just below and just above the largest captured batch for two minutes each, or restart a canary with graphs on.",
        if_so: "The gap between tokens changes by more than 15 %.",
        if_not: "It changes smoothly or not at all.",
    },
    remedies: &[
        Remedy::of(Engine::Vllm, "remove --enforce-eager", "some GPU memory for the graphs and a longer start"),
        Remedy::of(Engine::Vllm, "--max-cudagraph-capture-size N (at least the batch you run), or --max-num-seqs at most the largest captured size", "GPU memory and start-up time").since("0.11.1"),
        Remedy::of(Engine::Sglang, "remove --disable-cuda-graph; --cuda-graph-max-bs-decode N", "GPU memory: lower --mem-fraction-static a little"),
        Remedy::of(Engine::Tgi, "--cuda-graphs with the batch sizes you run", "GPU memory"),
        Remedy::of(Engine::TensorRtLlm, "cuda_graph_config.max_batch_size, cuda_graph_config.enable_padding", "GPU memory"),
        Remedy::of(Engine::Lmdeploy, "remove --eager-mode", "GPU memory"),
    ],
    effect: "The time the card waits for the host between kernels goes; small and medium models gain most.",
    confirm: "latency.itl falls and gpu.util rises at the same load.",
    explains: &["decode-host-overhead-bound", "batch-past-knee"],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    if let Some(judgement) = by_lines(e) {
        return judgement;
    }
    let busy = e.observed.gpu.busy_share();
    let itl = e.account.itl.unwrap_or(0.0);
    let waits = busy.map_or(e.limit(Limit::GraphsSave), |b| 1.0 - b.get());
    let lost = waits * e.account.decode.unwrap_or(0.0);
    let share = e.account.share_of_life(lost);
    let mut w = Weighing::new()
        .requires(graphs_are_missed(e))
        .requires(runs_on_gpu(e))
        .requires(decode_dominates(e))
        .refuted_by(card_is_busy(e));
    if let Some(missing) = readings_are_there(e) {
        w = w.supports(missing);
    }
    let why = if e.observed.config.switch(Setting::EagerMode) == Some(true) {
        "eager mode is on"
    } else {
        "the batch exceeds the captured graphs"
    };
    let card = busy.map_or(String::new(), |b| format!(" while the card runs kernels only {b} of the time"));
    let says = format!("{why}, so each token takes {}{card}", Seconds(itl));
    let impact = Impact {
        on: ImpactOn::Tpot,
        share,
        time: Some(Seconds(lost)),
        says: format!("about {} per request, {share} of its life", Seconds(lost)),
    };
    w.conclude(says, impact)
}

/// The engine's own lines say of each batch whether it ran inside a graph: all there is where nobody scraped the server.
fn by_lines(e: &Evidence<'_>) -> Option<Judgement> {
    let log = &e.observed.log;
    let inside = log.signal(Signal::ComputeGraphNow).filter(|_| e.observed.times.is_empty())?;
    let known: Vec<f64> = inside.known().map(|(_, inside)| inside).collect();
    let without = known.iter().filter(|inside| **inside == 0.0).count();
    let share = Ratio::of(without as f64, known.len() as f64)?;
    if (without as f64) < e.limit(Limit::GraphLines) || share.get() < e.limit(Limit::Mostly) {
        return None;
    }
    let says = format!("{share} of the {} batches in the log were decoded without CUDA graphs", known.len());
    let saved = Ratio(e.limit(Limit::GraphsSave));
    let impact = Impact {
        on: ImpactOn::Tpot,
        share: saved,
        time: None,
        says: format!("about {saved} of a token's time"),
    };
    let fact = e.derived(says.clone(), share, "decode lines of the log");
    let w = Weighing::new().requires(Test::Holds(fact)).explains(CAUSE.explains);
    Some(w.at_most_likely(0.65).conclude(says, impact))
}

fn graphs_are_missed(e: &Evidence<'_>) -> Test {
    if e.observed.config.switch(Setting::EagerMode) == Some(true) {
        return Test::Holds(e.setting_fact(Setting::EagerMode, "eager mode is on: no CUDA graphs"));
    }
    if let Some(now) = e.mean_busy(Signal::ComputeGraphNow) {
        let says = format!("{} of the scrapes saw a step inside a CUDA graph", Ratio(now));
        return Test::when(now < 0.5, e.fact(Signal::ComputeGraphNow, says, now));
    }
    let (Some(largest), Some(running)) =
        (e.setting(Setting::GraphMaxBatch), e.mean_busy(Signal::RequestsRunning))
    else {
        return if e.observed.config.was_chosen(Setting::EagerMode) {
            Test::Fails(e.setting_fact(Setting::EagerMode, "CUDA graphs are on"))
        } else {
            Test::Unknown(
                "whether CUDA graphs are in use is stated nowhere: give --engine-args or --log".into(),
            )
        };
    };
    let says = format!("{} running, graphs are captured up to a batch of {largest:.0}", Requests(running));
    Test::when(running > largest, e.fact(Signal::RequestsRunning, says, running))
}

fn card_is_busy(e: &Evidence<'_>) -> Test {
    let Some(busy) = e.observed.gpu.busy_share() else { return Test::Unknown("no GPU readings".into()) };
    let mut fact = e.derived(format!("some kernel runs {busy} of the time"), busy, "nvidia-smi dmon");
    fact.source = Source::Gpu { tool: e.observed.gpu.samples_source.clone() };
    if busy.get() >= e.limit(Limit::GpuBusyHigh) {
        return Test::Holds(fact);
    }
    if busy.get() < e.limit(Limit::GpuBusyLow) {
        return Test::Fails(fact);
    }
    Test::Unknown(format!("{}: neither busy nor idle", fact.says))
}

/// The refutation says how busy the card is; without readings the cost is an estimate.
fn readings_are_there(e: &Evidence<'_>) -> Option<Test> {
    e.observed.gpu.busy_share().is_none().then(|| {
        Test::Unknown(
            "no GPU readings were given (nvidia-smi dmon): how long the card waits is an estimate".into(),
        )
    })
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::CAUSE;
    use crate::diagnosis::Outcome;
    use crate::testing::Given;

    fn eager() -> Given {
        Given::vllm("0.26.0")
            .on_gpu()
            .flags("--enforce-eager")
            .gpu_busy(37)
            .gauge(RequestsRunning, 25.0)
            .gauge(RequestsWaiting, 0.0)
            .observed(LatencyTtft, &[(0.065, 235.0)])
            .observed(LatencyDecode, &[(2.7, 235.0)])
            .observed(LatencyItl, &[(0.0215, 30_000.0)])
            .finished("stop", 235.0)
    }

    #[test]
    fn eager_mode_with_a_waiting_card_is_the_cause() {
        let j = eager().judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert!(j.impact.unwrap().share.get() > 0.5);
    }

    #[test]
    fn a_card_that_is_busy_anyway_loses_nothing() {
        assert_eq!(eager().gpu_busy(95).judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn a_cpu_engine_has_no_graphs_to_miss() {
        let cpu = Given::vllm("0.32.0")
            .flags("--enforce-eager")
            .log("INFO Initializing a V1 LLM engine (v0.32.0) with config: model='m', device_config=cpu\n")
            .gauge(RequestsRunning, 3.0)
            .observed(LatencyItl, &[(0.06, 3000.0)]);
        let j = cpu.judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
        assert!(j.against.iter().any(|f| f.says.contains("CPU")), "{:?}", j.against);
    }

    #[test]
    fn graphs_in_use_are_the_look_alike() {
        assert_eq!(eager().flags("--max-num-seqs 256").judge(&CAUSE).outcome, Outcome::CannotTell);
        assert_eq!(
            eager().flags("--max-cudagraph-capture-size 512").judge(&CAUSE).outcome,
            Outcome::RuledOut
        );
    }

    #[test]
    fn a_batch_above_the_captured_sizes_misses_them_too() {
        let j = eager().flags("--max-cudagraph-capture-size 16").judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed);
        assert!(j.says.contains("exceeds the captured graphs"), "{}", j.says);
    }
}
