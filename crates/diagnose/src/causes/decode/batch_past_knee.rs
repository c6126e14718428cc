//! The batch is larger than the token pace allows.

use intriage_case::{Ratio, Requests, Seconds, Signal};
use intriage_engines::Engine;

use super::pace::{
    Fit, fit_gaps, live_tokens, move_together, pace_impact, pace_limit, running, stated_pace, thrown_back,
};
use crate::causes::shared::cap_flag;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "batch-past-knee",
    class: Class::Decode,
    layer: Layer::Configuration,
    hurts: &[Aspect::DecodeStep],
    summary: "So many requests share each step that every one of them gets its tokens later than wanted, while the server gains little.",
    symptoms: &[
        "tokens slow down as more requests run",
        "a single user is served fast",
        "throughput hardly grows any more",
    ],
    confirmed_by: &[
        "the mean gap between tokens follows the number running (r² of at least 0.7)",
        "a smaller batch would keep the objective, or what the card's memory allows",
        "in a sweep the last requests add less than a tenth of what the first ones added",
    ],
    refuted_by: &[
        "the gap does not follow the number running",
        "a single request would be too slow as well",
        "even the largest batch seen is fast enough on average: the tail comes from elsewhere",
        "requests are thrown back, which tears the gaps",
        "a batch job without a pace objective wants exactly this",
    ],
    look_alikes: &[
        LookAlike { cause: "decode-bandwidth-roofline", tell: "there a single stream is already too slow" },
        LookAlike {
            cause: "long-context-kv-read-bound",
            tell: "there the gap follows the live tokens at an equal number running",
        },
        LookAlike {
            cause: "prefill-decode-interference",
            tell: "there most gaps are short and a few are as long as a prompt's step",
        },
        LookAlike {
            cause: "cuda-graph-miss",
            tell: "there the gap jumps at one batch size instead of growing evenly",
        },
        LookAlike {
            cause: "max-num-seqs-limited-queue",
            tell: "the mirror image: there the batch is held too small",
        },
    ],
    probe: Probe {
        name: "concurrency-sweep",
        steps: "Run 1, 2, 4 … 512 streams of the production mix for two minutes each and note throughput and gap.",
        if_so: "The production load lies beyond the point where the gap crosses its objective.",
        if_not: "The production load lies before it.",
    },
    remedies: &[
        Remedy::of(
            Engine::Vllm,
            "lower --max-num-seqs to the batch that keeps the pace, and add replicas for the rest",
            "the excess waits in the queue until replicas take it",
        ),
        Remedy::of(
            Engine::Sglang,
            "lower --max-running-requests, and add replicas",
            "the excess waits in the queue until replicas take it",
        ),
        Remedy::of(
            Engine::Tgi,
            "lower --max-batch-size (or --max-batch-total-tokens), and add replicas",
            "the excess waits in the queue until replicas take it",
        ),
        Remedy::of(
            Engine::LlamaCpp,
            "lower -np, and add replicas",
            "the excess waits in the queue until replicas take it",
        ),
        Remedy::of(
            Engine::TensorRtLlm,
            "lower --max_batch_size, and add replicas",
            "the excess waits in the queue until replicas take it",
        ),
        Remedy::of(
            Engine::Lmdeploy,
            "lower --max-batch-size, and add replicas",
            "the excess waits in the queue until replicas take it",
        ),
    ],
    effect: "Tokens come at the wanted pace again; what the batch no longer holds waits or goes to new replicas.",
    confirm: "latency.itl meets its objective while requests.running stays at the new cap.",
    explains: &[],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let fit = fit_gaps(e, running(e), "the number of running requests");
    let mut w = Weighing::new()
        .requires(smaller_batch_would_do(e, fit.as_ref()))
        .refuted_by(batch_by_plan(e))
        .refuted_by(thrown_back(e))
        .supports(told_from_contexts(e))
        // A gap that grows with the batch is the batch's before it is the host's.
        .explains(&["decode-host-overhead-bound"])
        .at_most_likely(0.7);
    let Ok(fit) = fit else {
        return w.conclude("", pace_impact(e, 0.0));
    };
    let itl = e.account.itl.unwrap_or(0.0);
    let batch = Requests(e.mean_busy(Signal::RequestsRunning).unwrap_or(0.0).round());
    let Some(limit) = pace_limit(e) else {
        let alone = fit.at(1.0).max(0.0);
        let says = format!(
            "tokens come every {} with {batch} in the batch; one alone would get one every {}",
            Seconds(itl),
            Seconds(alone)
        );
        return w.conclude(says, pace_impact(e, itl - alone));
    };
    let knee = knee(&fit, limit).floor();
    if let Some(flag) = cap_flag(e) {
        w = w.advise(
            format!("{flag} {knee:.0}: by the line through this window that many keep {limit} a token"),
            "the rest waits, or goes to another replica",
        );
    }
    let says = format!(
        "tokens come every {} with {batch} in the batch; about {knee:.0} would keep {limit}",
        Seconds(itl)
    );
    w.conclude(says, pace_impact(e, itl - limit.get()))
}

/// The mean gap rises with the number running, and some batch between one request and the largest
/// seen would be fast enough.
fn smaller_batch_would_do(e: &Evidence<'_>, fit: Result<&Fit, &String>) -> Test {
    let fit = match fit {
        Ok(fit) => fit,
        Err(why) => return Test::Unknown(why.clone()),
    };
    let fact = |says: String| {
        e.derived(says, Ratio(fit.quality), "line through the mean gap per interval over requests.running")
    };
    match fit.follows(e) {
        Some(false) => {
            return Test::Fails(fact(format!(
                "the gaps between tokens do not follow the number of running requests (r² {:.2})",
                fit.quality
            )));
        }
        None => {
            return Test::Unknown(format!(
                "the gaps between tokens follow the number of running requests only loosely (r² {:.2})",
                fit.quality
            ));
        }
        Some(true) => {}
    }
    let slope = format!(
        "{} more on every token for each request in the batch (r² {:.2})",
        Seconds(fit.slope),
        fit.quality
    );
    let alone = Seconds(fit.at(1.0).max(0.0));
    match pace_limit(e) {
        None => Test::Holds(fact(slope)),
        Some(limit) if missed_by_few(e, fit, limit) => Test::Unknown(format!(
            "even {:.0} would not keep {limit} a token: something else slows the step",
            knee(fit, limit).max(0.0).floor()
        )),
        Some(limit) if knee(fit, limit) < 1.0 => {
            Test::Fails(fact(format!("a single request would get a token every {alone}, beyond {limit}")))
        }
        Some(limit) if fit.at(fit.most) <= limit.get() => {
            let most = Seconds(fit.at(fit.most));
            Test::Fails(fact(format!(
                "even {:.0} running get a token every {most} on average, within {limit}: the tail comes from elsewhere",
                fit.most
            )))
        }
        Some(_) => Test::Holds(fact(format!("{slope}; a single request would get one every {alone}"))),
    }
}

/// Without an objective, a pace that only a small part of the batch would keep is not the batch's doing.
fn missed_by_few(e: &Evidence<'_>, fit: &Fit, limit: Seconds) -> bool {
    stated_pace(e).is_none() && knee(fit, limit) < e.limit(Limit::SegmentShare) * fit.most
}

/// The largest batch whose mean gap keeps the limit.
fn knee(fit: &Fit, limit: Seconds) -> f64 {
    (limit.get() - fit.intercept) / fit.slope
}

/// A batch job trades pace for throughput on purpose.
fn batch_by_plan(e: &Evidence<'_>) -> Test {
    if !e.wants_throughput() || stated_pace(e).is_some() {
        return Test::Unknown("the pace of tokens matters here".into());
    }
    let running = e.mean_busy(Signal::RequestsRunning).unwrap_or(0.0);
    Test::Holds(e.fact(
        Signal::RequestsRunning,
        "a batch job without a pace objective wants a large batch",
        running,
    ))
}

/// Live tokens may rise with the batch; then both slow the step, and a smaller batch cures both.
fn told_from_contexts(e: &Evidence<'_>) -> Test {
    if move_together(e, running(e), live_tokens(e)) {
        return Test::Unknown(
            "the live tokens rise and fall with the batch, so part of it may be their contexts".into(),
        );
    }
    match fit_gaps(e, live_tokens(e), "the number of live tokens") {
        Err(why) => Test::Unknown(why),
        Ok(fit) => {
            let says = format!("the gaps follow the live tokens with r² {:.2}", fit.quality);
            Test::when(
                fit.quality < e.limit(Limit::FitQuality),
                e.derived(says, Ratio(fit.quality), "mean gap per interval over kv.usage × capacity"),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::CAUSE;
    use crate::diagnosis::Outcome;
    use crate::testing::{Given, Place};

    const RUNNING: [f64; 12] =
        [120.0, 150.0, 180.0, 220.0, 260.0, 300.0, 330.0, 360.0, 400.0, 440.0, 470.0, 480.0];

    /// Scenario F18: 20 ms at 120 running, 40 ms at 300, 62 ms at 480.
    fn crowded() -> Given {
        Given::vllm("0.28.0")
            .flags("--max-num-seqs 512")
            .gauges(RequestsRunning, &RUNNING)
            .gauge(RequestsWaiting, 0.0)
            .objective("itl.p95=30ms")
    }

    fn gaps(of: impl Fn(f64) -> f64) -> Vec<f64> {
        RUNNING.windows(2).map(|w| of(f64::midpoint(w[0], w[1]))).collect()
    }

    #[test]
    fn gaps_that_grow_with_the_batch_beyond_the_objective_are_the_knee() {
        let j = crowded().gaps(&gaps(|r| 0.006 + 0.000_117 * r)).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.advice[0].change.starts_with("--max-num-seqs 205"), "{:?}", j.advice);
    }

    #[test]
    fn a_server_slow_for_one_user_is_the_look_alike() {
        let j = crowded().gaps(&gaps(|r| 0.040 + 0.000_05 * r)).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
        assert!(j.against[0].says.contains("single request"), "{:?}", j.against);
    }

    #[test]
    fn gaps_that_do_not_follow_the_batch_rule_it_out() {
        let uneven: Vec<f64> = (0..11).map(|i| if i % 2 == 0 { 0.03 } else { 0.06 }).collect();
        assert_eq!(crowded().gaps(&uneven).judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn a_batch_that_never_changes_shows_no_slope() {
        let j = crowded().gauge(RequestsRunning, 300.0).gaps(&gaps(|_| 0.04)).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
        assert!(j.missing[0].contains("hardly changed"), "{:?}", j.missing);
    }

    #[test]
    fn a_batch_whose_pace_hurts_nobody_is_a_note() {
        let given = Given::vllm("0.28.0").gauges(RequestsRunning, &RUNNING).gaps(&gaps(|r| 0.000_1 * r));
        assert_eq!(given.place_of(&CAUSE), Place::Note);
        let j = given.judge(&CAUSE);
        assert!(j.says.contains("one alone would get one every"), "{}", j.says);
        // Gaps of 120 ms and more are what nobody calls fast.
        let slow = given.on_gpu().gaps(&gaps(|r| 0.001 * r));
        assert_eq!(slow.place_of(&CAUSE), Place::First);
    }

    #[test]
    fn a_batch_job_wants_a_large_batch_on_any_card() {
        let job = Given::vllm("0.28.0").gauges(RequestsRunning, &RUNNING).batch();
        let job = job.gaps(&gaps(|r| 0.000_1 * r));
        assert_eq!(job.judge(&CAUSE).outcome, Outcome::RuledOut);
        let known = job.on_card("NVIDIA H100 80GB HBM3", "meta-llama/Llama-3.1-8B");
        assert_eq!(known.judge(&CAUSE).outcome, Outcome::RuledOut);
    }
}
