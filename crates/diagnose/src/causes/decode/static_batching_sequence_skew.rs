//! A batch is held together until its longest answer is done.

use intriage_case::{Ratio, Requests, Signal, Source};
use intriage_engines::{Behaviour, Engine, Setting};

use crate::causes::shared::unknown;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "static-batching-sequence-skew",
    class: Class::Decode,
    layer: Layer::Application,
    hurts: &[Aspect::Queue, Aspect::Throughput],
    summary: "Batches are formed once and held together, so finished places stay empty and newcomers wait until the longest answer is done.",
    symptoms: &[
        "short answers take as long as the longest one beside them",
        "the GPU works while fewer and fewer tokens come per step",
    ],
    confirmed_by: &[
        "the engine does not batch continuously (STATIC_BATCH, -nocb, a batching layer in front)",
        "requests count as running and take no part in the steps",
        "most requests that ran together end together although their lengths differ by more than three",
    ],
    refuted_by: &[
        "the engine batches continuously",
        "every running request takes part in the steps",
        "short requests end early and their places are refilled",
    ],
    look_alikes: &[
        LookAlike {
            cause: "head-of-line-blocking",
            tell: "there the order of the queue holds requests back, not the batch",
        },
        LookAlike { cause: "underbatched-low-throughput", tell: "there too few requests are at hand" },
    ],
    probe: Probe {
        name: "mixed-lengths",
        steps: "Send eight requests at once, seven limited to 16 tokens and one to 512.",
        if_so: "All eight come back together.",
        if_not: "Seven come back early.",
    },
    remedies: &[
        Remedy::of(
            Engine::LlamaCpp,
            "take -nocb (--no-cont-batching) away: continuous batching is the default",
            "none",
        ),
        Remedy::of(
            Engine::TensorRtLlm,
            "scheduler_config.capacity_scheduler_policy GUARANTEED_NO_EVICT or MAX_UTILIZATION instead of STATIC_BATCH",
            "none; MAX_UTILIZATION may pause requests",
        ),
        Remedy::any(
            "remove the batching layer in front, or move to an engine that batches continuously",
            "migration",
        ),
    ],
    effect: "Short answers come back as soon as they are done; with uneven lengths throughput grows two to ten times.",
    confirm: "With mixed lengths short requests end long before the longest one.",
    explains: &["underbatched-low-throughput"],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let w = Weighing::new().requires(batches_are_held(e)).requires(some_sit_out(e)).at_most_likely(0.6);
    let (running, stepping) =
        (e.mean_busy(Signal::RequestsRunning).unwrap_or(0.0), slots_per_step(e).unwrap_or(0.0));
    let idle = Ratio::of(running - stepping, running).map_or(Ratio(0.0), |r| Ratio(r.get().clamp(0.0, 1.0)));
    let says = format!(
        "continuous batching is off: of {} in the server {stepping:.1} take part in a step, the others wait for the batch to end",
        Requests(running)
    );
    let impact = Impact {
        on: ImpactOn::E2e,
        share: idle,
        time: None,
        says: format!("{idle} of the requests in the server stand still"),
    };
    w.conclude(says, impact)
}

/// The engine was told not to batch continuously; most cannot be.
fn batches_are_held(e: &Evidence<'_>) -> Test {
    let config = &e.observed.config;
    if let Some(on) = config.switch(Setting::ContinuousBatching) {
        let says = if on { "continuous batching is on" } else { "continuous batching is switched off" };
        return Test::when(!on, e.setting_fact(Setting::ContinuousBatching, says));
    }
    if let Some(policy) = config.text(Setting::CapacityPolicy) {
        let says = format!("the scheduler's policy is {policy}");
        return Test::when(
            policy.to_ascii_uppercase().contains("STATIC"),
            e.setting_fact(Setting::CapacityPolicy, says),
        );
    }
    let identity = &e.observed.identity;
    let told = identity.works_by(Behaviour::BatchesContinuouslyUnlessTold).filter(|_| command_line_known(e));
    match identity.works_by(Behaviour::BatchesContinuously).or(told) {
        Some(says) => {
            let running = Requests(e.mean_busy(Signal::RequestsRunning).unwrap_or(0.0));
            Test::Fails(e.derived(says, running, "how the engine works"))
        }
        None => Test::Unknown(format!(
            "whether {} batches continuously is not stated anywhere: give --engine-args or --log",
            e.observed.engine_name()
        )),
    }
}

/// Requests count as running and take no part in the steps.
fn some_sit_out(e: &Evidence<'_>) -> Test {
    let Some(running) = e.mean_busy(Signal::RequestsRunning) else {
        return unknown(e, Signal::RequestsRunning);
    };
    let Some(stepping) = slots_per_step(e) else {
        return Test::Unknown(format!(
            "{} does not show how many requests take part in a step: the mixed-lengths probe would",
            e.observed.engine_name()
        ));
    };
    let says = format!("{} in the server, {stepping:.1} in a step", Requests(running));
    // A place that is refilled a step later is no hold-up.
    let most = e.limit(Limit::Sustained) * running;
    Test::when(
        running >= e.limit(Limit::Several) && stepping < most,
        e.fact(Signal::SchedulerBusySlots, says, stepping),
    )
}

/// Busy places per step in the window; the engine shows an average since it started.
fn slots_per_step(e: &Evidence<'_>) -> Option<f64> {
    let (average, steps) = (e.gauge(Signal::SchedulerBusySlots)?, e.gauge(Signal::SchedulerSteps)?);
    let both: Vec<(f64, f64)> = average.known().filter_map(|(i, a)| Some((a, steps.at(i)?))).collect();
    let (first, last) = (both.first()?, both.last()?);
    Ratio::of(last.0 * last.1 - first.0 * first.1, last.1 - first.1).map(Ratio::get).filter(|s| *s >= 0.0)
}

fn command_line_known(e: &Evidence<'_>) -> bool {
    e.observed.config.iter().any(|(_, stated)| stated.source == Source::CommandLine)
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;
    use intriage_engines::Engine;

    use super::CAUSE;
    use crate::diagnosis::Outcome;
    use crate::testing::Given;

    /// Eight requests in the server, two of them in a step.
    fn held() -> Given {
        Given::engine(Engine::LlamaCpp, "b10586")
            .flags("llama-server -m m.gguf -np 8 -nocb")
            .gauge(RequestsRunning, 8.0)
            .gauge(SchedulerBusySlots, 2.0)
            .counter(SchedulerSteps, 5000.0)
    }

    #[test]
    fn a_batch_held_together_on_purpose_is_likely_the_cause() {
        let j = held().judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.says.contains("2.0 take part"), "{}", j.says);
    }

    #[test]
    fn everyone_in_the_step_rules_it_out() {
        assert_eq!(held().gauge(SchedulerBusySlots, 7.8).judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn continuous_batching_is_the_look_alike() {
        let j = held().flags("llama-server -m m.gguf -np 8").judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
        assert!(j.against[0].says.contains("unless -nocb"), "{:?}", j.against);
        let j = Given::vllm("0.28.0").gauge(RequestsRunning, 8.0).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
        assert!(j.against[0].says.contains("vLLM batches continuously"), "{:?}", j.against);
    }

    #[test]
    fn an_unknown_command_line_leaves_it_open() {
        let j = held().flags("").judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
        assert!(j.missing[0].contains("not stated"), "{:?}", j.missing);
    }
}
