//! A stated objective comes first, and speaks for its own metric alone.

use intriage_case::Signal::*;
use intriage_engines::Engine;

use super::{symptom, well};
use crate::diagnosis::Status;
use crate::symptoms::{Aspect, Harm, Yardstick};
use crate::testing::Given;

/// The queue grows from 56 to 278 while the tokens of those who run come as fast as ever.
fn outgrown() -> Given {
    let waiting: Vec<f64> = (0..12).map(|i| 56.0 + 20.2 * f64::from(i)).collect();
    well()
        .gauges(RequestsWaiting, &waiting)
        .observed(LatencyTtft, &[(9.05, 500.0)])
        .observed(LatencyQueue, &[(9.0, 500.0)])
}

#[test]
fn an_objective_on_the_pace_says_nothing_of_a_queue() {
    let d = outgrown().objective("itl.p95=20ms").verdict();
    assert_eq!(d.objectives[0].met, Some(true), "{:?}", d.objectives);
    assert_eq!(d.verdict.status, Status::Finding, "{}", d.verdict.answer);
    assert_eq!(d.verdict.primary.segment, Some(Aspect::Queue));
}

#[test]
fn an_objective_on_the_first_token_says_nothing_of_the_pace() {
    let slow = well().observed(LatencyItl, &[(0.05, 100_000.0)]).objective("ttft.p95=500ms");
    let d = slow.verdict();
    assert_eq!(d.objectives[0].met, Some(true), "{:?}", d.objectives);
    assert_eq!(d.verdict.primary.segment, Some(Aspect::DecodeStep), "{}", d.verdict.answer);
}

#[test]
fn a_step_at_its_floor_is_what_misses_an_objective_below_the_floor() {
    // Reading the weights of an 8B model takes an L4 54 ms; a few prompts come on top.
    let slow =
        well().on_card("NVIDIA L4", "meta-llama/Llama-3.1-8B").observed(LatencyItl, &[(0.062, 100_000.0)]);
    let d = slow.objective("itl.p95=25ms").verdict();
    assert_eq!(d.verdict.primary.segment, Some(Aspect::DecodeStep), "{}", d.verdict.answer);
    assert_eq!(d.verdict.primary.cause.as_deref(), Some("decode-bandwidth-roofline"), "{}", d.verdict.answer);
}

#[test]
fn a_bound_a_little_above_the_measured_step_is_met() {
    let read = well().on_card("NVIDIA L4", "meta-llama/Llama-3.1-8B");
    let floor =
        |itl: f64| read.clone().observed(LatencyItl, &[(itl, 100_000.0)]).with_evidence(|e| e.floor.is_ok());
    assert!(floor(0.060), "above it");
    assert!(floor(0.052), "the live context is an estimate");
    assert!(!floor(0.030), "half of it: the model or the card is another");
}

#[test]
fn a_met_objective_on_the_first_token_keeps_a_queue_quiet() {
    // Two wait for 0.2 s on average, a quarter of the first token.
    let queued = well()
        .gauge(RequestsWaiting, 2.0)
        .observed(LatencyTtft, &[(0.24, 500.0)])
        .observed(LatencyQueue, &[(0.2, 500.0)]);
    assert_eq!(queued.verdict().verdict.status, Status::Finding, "nobody said that it may");
    let met = queued.objective("ttft.p95=500ms");
    assert_eq!(symptom(&met, Aspect::Queue).harm, Harm::Fine);
    assert_eq!(met.verdict().verdict.status, Status::Healthy, "{}", met.verdict().verdict.answer);
}

#[test]
fn an_objective_that_cannot_be_judged_is_not_met() {
    // The bucket of 5 to 10 ms holds the objective.
    let d = well().objective("itl.p95=9.5ms").verdict();
    assert_eq!(d.objectives[0].met, None, "{:?}", d.objectives);
    assert_eq!(d.verdict.status, Status::CannotTell, "{}", d.verdict.answer);
    let d = well().without(LatencyE2e).objective("e2e.p95=5s").verdict();
    assert_eq!(d.objectives[0].met, None, "{:?}", d.objectives);
    assert_eq!(d.verdict.status, Status::CannotTell, "{}", d.verdict.answer);
    assert!(d.verdict.answer.contains("e2e.p95"), "{}", d.verdict.answer);
}

/// A job that keeps the server full and a queue in front of it.
fn full_job() -> Given {
    outgrown().gauge(RequestsRunning, 200.0).observed(LatencyE2e, &[(40.0, 500.0)]).batch()
}

#[test]
fn a_batch_job_has_no_queue_to_be_judged() {
    for waiting in [0.0, 20.0, 500.0] {
        let job = full_job().gauge(RequestsWaiting, waiting).without(LatencyE2e);
        let queue = symptom(&job, Aspect::Queue);
        assert_eq!((queue.harm, queue.yardstick), (Harm::Fine, Some(Yardstick::Profile)), "{queue:#?}");
        let d = job.verdict();
        assert_ne!(d.verdict.status, Status::Finding, "{}", d.verdict.answer);
    }
}

#[test]
fn a_missed_objective_is_never_healthy() {
    let tpot = Given::engine(Engine::TensorRtLlm, "1.2.0")
        .gauge(RequestsRunning, 4.0)
        .observed(LatencyTpot, &[(0.2, 400.0)]);
    for (given, objective, segment) in [
        (well(), "ttft.p95=20ms", Aspect::Prefill),
        (well(), "queue.mean=500us", Aspect::Queue),
        (well(), "itl.mean=2ms", Aspect::DecodeStep),
        (well(), "e2e.p95=1s", Aspect::DecodeStep),
        (well().answered("5xx", 1.0), "errors=0.1%", Aspect::Errors),
        // Figures that no part of the account stands for.
        (tpot, "tpot.mean=50ms", Aspect::DecodeStep),
        (full_job(), "ttft.p95=500ms", Aspect::Queue),
        (full_job(), "e2e.p95=1s", Aspect::Queue),
    ] {
        let d = given.objective(objective).verdict();
        assert_eq!(d.objectives[0].met, Some(false), "{:?}", d.objectives);
        assert_eq!(d.verdict.status, Status::Finding, "{objective}: {}", d.verdict.answer);
        assert_eq!(d.verdict.primary.segment, Some(segment), "{objective}: {}", d.verdict.answer);
    }
}

#[test]
fn an_objective_missed_on_the_way_is_not_the_servers_fault() {
    let far = well().client(100, 0.9, 0.85, 0.009).objective("ttft.p95=500ms");
    let d = far.verdict();
    assert_eq!(d.objectives[0].met, Some(false), "{:?}", d.objectives);
    assert_eq!(d.verdict.primary.segment, Some(Aspect::Network), "{}", d.verdict.answer);
    for part in Aspect::FIRST_TOKEN {
        assert_ne!(symptom(&far, *part).harm, Harm::Hurts, "{part}");
    }
}
