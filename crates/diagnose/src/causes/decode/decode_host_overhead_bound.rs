//! The card waits for the host between steps.

use intriage_case::{Ratio, Requests, Seconds, Signal, Source};
use intriage_engines::{Engine, Meaning, Setting};

use super::card::card_waits;
use super::pace::{fit_gaps, pace_impact, running};
use super::roof::step_is_far_above_floor;
use crate::causes::shared::{decode_dominates, on_cpu, unknown};
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "decode-host-overhead-bound",
    class: Class::Decode,
    layer: Layer::Cpu,
    hurts: &[Aspect::DecodeStep, Aspect::HostGap],
    summary: "Between steps the GPU waits for the host: scheduling, sampling, log probabilities, grammars, turning tokens into text.",
    symptoms: &[
        "tokens are slow whatever the model's size",
        "small models are hardly faster than large ones",
        "GPU utilisation and power are moderate under full load",
    ],
    confirmed_by: &[
        "no kernel runs for much of the time although several requests decode",
        "a single stream is three times slower than the memory bound or more",
        "without log probabilities, penalties or grammars the gap falls",
    ],
    refuted_by: &[
        "a kernel runs nearly all the time",
        "CUDA graphs are off: the gaps lie inside the step",
        "the model runs on a CPU",
    ],
    look_alikes: &[
        LookAlike {
            cause: "cuda-graph-miss",
            tell: "there the gaps are kernel launches inside the step, and graphs cure it",
        },
        LookAlike {
            cause: "decode-bandwidth-roofline",
            tell: "there the memory is busy and the gap is near its bound",
        },
        LookAlike {
            cause: "cpu-starvation-cgroup-throttle",
            tell: "there the host's threads are throttled or wait for a core",
        },
        LookAlike {
            cause: "tp-communication-bound",
            tell: "there the time between is filled by all-reduce kernels",
        },
        LookAlike {
            cause: "benign-busy-loop-core",
            tell: "a core at 100 % is how the engine polls, and proves nothing",
        },
    ],
    probe: Probe {
        name: "feature-strip",
        steps: "Run the same load without log probabilities, penalties, grammars and streaming, then record ten seconds with nsys or py-spy.",
        if_so: "The gap between tokens falls, or the recording shows the GPU idle between steps.",
        if_not: "Nothing changes and the GPU is busy throughout.",
    },
    remedies: &[
        Remedy::of(Engine::Vllm, "--async-scheduling", "not with every feature")
            .since("0.10.0")
            .until("0.13.0"),
        Remedy::of(
            Engine::Vllm,
            "take --no-async-scheduling away, or the feature that switches asynchronous scheduling off",
            "none",
        )
        .since("0.14.0"),
        Remedy::of(
            Engine::Vllm,
            "fewer log probabilities and penalties per request, --stream-interval 4, --api-server-count 2",
            "chunkier streams",
        ),
        Remedy::of(
            Engine::Sglang,
            "take --disable-overlap-schedule away; --stream-interval 4",
            "chunkier streams",
        ),
        Remedy::of(Engine::TensorRtLlm, "num_postprocess_workers: 4, stream_interval: 4", "chunkier streams"),
        Remedy::any("faster or dedicated cores, performance governor", "power or hardware"),
    ],
    effect: "The gap approaches the time the kernels take; two requests' worth of tokens fit where one did.",
    confirm: "The share of time in which a kernel runs rises above 80 % and latency.itl falls.",
    explains: &[],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let mut w = Weighing::new()
        .requires(host_is_waited_for(e))
        .requires(several_run(e))
        .requires(decode_dominates(e))
        .refuted_by(on_cpu(e))
        .refuted_by(graphs_are_off(e))
        .weakened_by(gaps_follow_the_batch(e))
        .at_most_likely(0.6);
    if e.observed.config.switch(Setting::AsyncScheduling) == Some(false) {
        w = w
            .supports(Test::Holds(
                e.setting_fact(Setting::AsyncScheduling, "scheduling does not overlap with the GPU's work"),
            ))
            .advise("let scheduling overlap with the GPU's work: it was switched off by hand", "a restart");
    }
    let running = Requests(e.mean_busy(Signal::RequestsRunning).unwrap_or(0.0));
    let token = Seconds(e.account.itl.unwrap_or(0.0));
    let idle = e.observed.gpu.busy_share().map(|busy| Ratio(1.0 - busy.get()));
    let (host, says) = match (idle, &e.floor) {
        (Some(idle), _) => {
            let host = e.account.host.map_or(0.0, |p| p.value);
            let says = format!(
                "no kernel runs {idle} of the time with {running} in the batch: the card waits for the host, about {} of each token's {token}",
                Seconds(host)
            );
            (host, says)
        }
        (None, Ok(floor)) => {
            let usual = floor.decode / floor.reached.0;
            let host = (e.account.ordinary_step().unwrap_or(0.0) - usual).max(0.0);
            let says = format!(
                "a token takes {token} with {running} in the batch where {} needs {} and software usually {}: about {} go by outside the kernels",
                floor.gpu,
                Seconds(floor.decode),
                Seconds(usual),
                Seconds(host)
            );
            (host, says)
        }
        (None, Err(_)) => (0.0, String::new()),
    };
    w.conclude(says, pace_impact(e, host))
}

/// Without readings of the card, a gap that grows with the batch is the batch's first.
fn gaps_follow_the_batch(e: &Evidence<'_>) -> Test {
    if e.observed.gpu.busy_share().is_some() {
        return Test::Unknown("the card itself was read".into());
    }
    match fit_gaps(e, running(e), "the number of running requests") {
        Ok(fit) if fit.follows(e) == Some(true) => Test::Holds(e.fact(
            Signal::LatencyItl,
            format!("the gaps between tokens follow the number of running requests (r² {:.2})", fit.quality),
            fit.slope,
        )),
        Ok(_) => Test::Unknown("the gaps between tokens do not follow the batch".into()),
        Err(why) => Test::Unknown(why),
    }
}

/// No kernel runs for much of the time; without readings of the card, the step is far above its floor.
fn host_is_waited_for(e: &Evidence<'_>) -> Test {
    if e.observed.gpu.busy_share().is_some() || e.floor.is_err() {
        return card_waits(e);
    }
    step_is_far_above_floor(e)
}

/// Enough requests decode at once, most of the time, to keep a card busy.
fn several_run(e: &Evidence<'_>) -> Test {
    let Some(running) = e.gauge(Signal::RequestsRunning) else { return unknown(e, Signal::RequestsRunning) };
    let several = e.limit(Limit::Several);
    let (Some(mean), Some(share)) = (running.mean_at(e.busy()), running.share_at(e.busy(), |r| r >= several))
    else {
        return Test::Unknown("nothing was running in the window".into());
    };
    // Against the least a step could take even a single request shows a slow host.
    let by_floor = e.observed.gpu.busy_share().is_none() && e.floor.is_ok();
    if !by_floor && (mean < several || share.get() < e.limit(Limit::Sustained)) {
        return Test::Unknown(format!(
            "with {} on average the card may idle for want of work: put more load on it",
            Requests(mean)
        ));
    }
    Test::Holds(e.fact(Signal::RequestsRunning, format!("{} in the batch on average", Requests(mean)), mean))
}

/// Without graphs the launches inside the step are the gaps: another cause.
fn graphs_are_off(e: &Evidence<'_>) -> Test {
    if e.observed.config.switch(Setting::EagerMode) == Some(true) {
        return Test::Holds(e.setting_fact(
            Setting::EagerMode,
            "CUDA graphs are switched off, which makes such gaps inside the step",
        ));
    }
    if let Some(event) = e.observed.log.first(Meaning::GraphsOff) {
        let mut fact = e.setting_fact(
            Setting::EagerMode,
            format!("the log says that CUDA graphs are off: {}", event.excerpt),
        );
        fact.source = event.source();
        return Test::Holds(fact);
    }
    match e.observed.config.get(Setting::EagerMode) {
        Some(stated) if !matches!(stated.source, Source::Default { .. }) => {
            Test::Fails(e.setting_fact(Setting::EagerMode, "CUDA graphs are on"))
        }
        _ => Test::Unknown("whether CUDA graphs are on is not stated".into()),
    }
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::CAUSE;
    use crate::diagnosis::Outcome;
    use crate::testing::{Given, Place};

    /// Scenario F21 under load: a 1.5B model with log probabilities on every request.
    fn waiting_card() -> Given {
        Given::vllm("0.28.0")
            .on_gpu()
            .gpu_busy(35)
            .gauge(RequestsRunning, 8.0)
            .gauge(RequestsWaiting, 0.0)
            .observed(LatencyTtft, &[(0.03, 500.0)])
            .observed(LatencyItl, &[(0.009, 100_000.0)])
            .observed(LatencyDecode, &[(1.8, 500.0)])
            .finished("stop", 500.0)
    }

    #[test]
    fn an_idle_card_under_a_steady_batch_is_likely_waiting_for_the_host() {
        let j = waiting_card().judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.confidence <= 0.6 && j.says.contains("no kernel runs 65 %"), "{}", j.says);
    }

    /// Without readings of the card, its floor tells: 8B on an H100 needs 5 ms a token.
    fn slow_on_a_known_card() -> Given {
        Given::vllm("0.28.0")
            .on_gpu()
            .pool(430_000.0)
            .gauge(RequestsRunning, 8.0)
            .gauge(RequestsWaiting, 0.0)
            .gauge(KvUsage, 0.02)
            .observed(LatencyTtft, &[(0.1, 500.0)])
            .observed(LatencyItl, &[(0.055, 100_000.0)])
            .observed(LatencyDecode, &[(5.5, 500.0)])
            .observed(TokensPromptEach, &[(300.0, 500.0)])
            .finished("stop", 500.0)
            .objective("itl.p95=30ms")
            .on_card("NVIDIA H100 80GB HBM3", "meta-llama/Llama-3.1-8B")
    }

    #[test]
    fn a_step_far_above_its_floor_is_likely_the_host() {
        let j = slow_on_a_known_card().judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.says.contains("outside the kernels"), "{}", j.says);
    }

    #[test]
    fn the_same_step_near_the_floor_of_a_small_card_is_not() {
        let small = slow_on_a_known_card().on_card("NVIDIA L4", "meta-llama/Llama-3.1-8B");
        assert_eq!(
            small.observed(LatencyItl, &[(0.066, 100_000.0)]).judge(&CAUSE).outcome,
            Outcome::RuledOut
        );
    }

    #[test]
    fn a_busy_card_rules_it_out() {
        assert_eq!(waiting_card().gpu_busy(80).judge(&CAUSE).outcome, Outcome::RuledOut);
        assert_eq!(waiting_card().gpu_busy(70).judge(&CAUSE).outcome, Outcome::CannotTell);
    }

    #[test]
    fn eager_mode_is_the_look_alike() {
        let j = waiting_card().flags("--enforce-eager").judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
        assert!(j.against[0].says.contains("graphs"), "{:?}", j.against);
    }

    #[test]
    fn one_request_at_a_time_leaves_it_open() {
        let j = waiting_card().gauge(RequestsRunning, 1.0).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
        assert!(j.missing[0].contains("want of work"), "{:?}", j.missing);
    }

    #[test]
    fn no_readings_no_verdict_and_no_card_no_cause() {
        let blind =
            Given::vllm("0.28.0").gauge(RequestsRunning, 8.0).observed(LatencyItl, &[(0.009, 100_000.0)]);
        let j = blind.judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
        assert!(j.missing[0].contains("nvidia-smi dmon"), "{:?}", j.missing);
        assert_eq!(blind.flags("--device cpu").judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn a_pace_inside_its_objective_needs_no_cure() {
        assert_eq!(waiting_card().objective("itl.mean=30ms").place_of(&CAUSE), Place::Note);
        assert_eq!(waiting_card().objective("itl.mean=5ms").place_of(&CAUSE), Place::First);
    }
}
