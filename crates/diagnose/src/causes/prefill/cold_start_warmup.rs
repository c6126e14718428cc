//! The first requests pay for loading, compiling and tuning.

use intriage_case::{Ratio, Seconds, Signal};
use intriage_engines::{Engine, Meaning};

use crate::causes::shared::unknown;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::symptoms::warm_up_cost as cost_of;
use crate::thresholds::Limit;
use crate::timeline::{Event, EventKind};
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "cold-start-warmup",
    class: Class::Prefill,
    layer: Layer::Configuration,
    hurts: &[Aspect::Availability, Aspect::Queue, Aspect::Prefill, Aspect::FrontEnd],
    summary: "The first requests after a start, or the first of a new kind, pay for compiling, tuning or capturing that later ones get for free.",
    symptoms: &[
        "the first answers take seconds, later ones are normal",
        "spikes follow deployments and scale-ups",
    ],
    confirmed_by: &[
        "first answers several times slower than later ones at the same load, in a young process",
        "compile or tuning lines in the log at that time",
    ],
    refuted_by: &["later answers are as slow as the first", "the process is old"],
    look_alikes: &[
        LookAlike { cause: "slow-model-storage", tell: "there the delay comes before the server is ready" },
        LookAlike { cause: "burst-arrival-transient", tell: "there old replicas are hit too" },
        LookAlike {
            cause: "deferred-admission-stall",
            tell: "there the first use of each schema or adapter is slow, at any age",
        },
    ],
    probe: Probe {
        name: "restart-curve",
        steps: "Restart a canary, send twenty identical requests one after another, and again with a warm compile cache.",
        if_so: "First-token time falls steeply over the first requests.",
        if_not: "It is flat.",
    },
    remedies: &[
        Remedy::of(
            Engine::Vllm,
            "keep VLLM_CACHE_ROOT (the compile cache) across restarts and send warm-up requests of the usual shapes before reporting ready",
            "longer start-up",
        ),
        Remedy::of(
            Engine::Sglang,
            "keep the server's own warm-up (no --skip-server-warmup)",
            "longer start-up",
        ),
        Remedy::of(Engine::LlamaCpp, "keep --warmup (the default)", "longer start-up"),
        Remedy::any(
            "report ready only after a real token was generated; keep a spare replica warm",
            "idle capacity",
        ),
    ],
    effect: "The first answers take as long as any other.",
    confirm: "latency.ttft of the first minute equals that of later ones after the next start.",
    explains: &[
        "frontend-input-processing-bound",
        "long-prompt-compute-bound",
        "prefill-decode-interference",
    ],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    if let Some(event) = e.timeline.of_kind(EventKind::WarmUp).next() {
        return warmed_up(e, event);
    }
    let Some(curve) = Curve::of(e) else {
        let why = match e.observed.metric(Signal::LatencyTtft) {
            None => unknown(e, Signal::LatencyTtft),
            Some(_) => Test::Unknown(
                "too few first tokens to compare the beginning of the window with its end".into(),
            ),
        };
        // The engine's own word is enough to name it where first tokens are too few to compare.
        if let told @ Test::Holds(_) = log_tells(e) {
            let says = "kernels were compiled while requests waited, as after a start";
            return Weighing::new()
                .requires(told)
                .supports(why)
                .at_most_likely(0.55)
                .conclude(says, nothing());
        }
        return Weighing::new().requires(why).conclude("", nothing());
    };
    let lost = (curve.overall - curve.later).max(0.0);
    let share = e.account.share_of_life(lost);
    // Streams that stuttered only while the engine was cold stuttered because of it.
    let also: &[&str] = if pace_recovers(e) { &["prefill-decode-interference"] } else { &[] };
    let w = Weighing::new()
        .explains(also)
        .requires(curve.falls(e))
        .requires(is_young(e))
        .supports(log_tells(e))
        .at_most_likely(0.7);
    let says = format!(
        "the first answers after the start took {} to their first token, later ones {}",
        Seconds(curve.first),
        Seconds(curve.later)
    );
    let impact = Impact {
        on: ImpactOn::Ttft,
        share,
        time: Some(Seconds(lost)),
        says: format!(
            "{} per request on average over the window, {share} of its life; it is over",
            Seconds(lost)
        ),
    };
    w.conclude(says, impact)
}

/// The first answers were slow and later ones were not.
fn warmed_up(e: &Evidence<'_>, event: &Event) -> Judgement {
    let lost = cost_of(e, event);
    let share = e.account.share_of_life(lost);
    let fact = e.derived(
        event.says.clone(),
        event.size.unwrap_or_else(|| Seconds(0.0).into()),
        "first-token time per interval",
    );
    let mut also = vec![
        "engine-stalled-not-admitting",
        "workload-mix-shift",
        "burst-arrival-transient",
        "token-budget-limited-queue",
        "max-num-seqs-limited-queue",
        "offered-load-exceeds-capacity",
        "decode-host-overhead-bound",
        "batch-past-knee",
    ];
    if pace_recovers(e) {
        also.push("prefill-decode-interference");
    }
    let young = match (is_young(e), log_tells(e)) {
        (_, told @ Test::Holds(_)) => told,
        (young, _) => young,
    };
    let impact = Impact {
        on: ImpactOn::Ttft,
        share,
        time: Some(Seconds(lost)),
        says: format!(
            "{} per request on average over the window, {share} of its life; it is over",
            Seconds(lost)
        ),
    };
    // Slow first answers of an old process have another reason; an unknown age leaves it open.
    let w = match young {
        old @ Test::Fails(_) => Weighing::new().requires(old),
        known => Weighing::new().supports(known),
    };
    w.requires(Test::Holds(fact)).explains(&also).at_most_likely(0.7).conclude(event.says.clone(), impact)
}

/// In the second half of the window the mean gap between tokens is far below that of the first.
fn pace_recovers(e: &Evidence<'_>) -> bool {
    let half = e.observed.times.len() / 2;
    let mean = |late: bool| e.histogram_where(Signal::LatencyItl, |i| (i > half) == late)?.mean();
    let (Some(first), Some(later)) = (mean(false), mean(true)) else { return false };
    first >= later * e.limit(Limit::ColdFactor)
}

fn nothing() -> Impact {
    Impact { on: ImpactOn::Ttft, share: Ratio(0.0), time: None, says: String::new() }
}

/// First-token time at the beginning of the load and afterwards.
struct Curve {
    first: f64,
    later: f64,
    overall: f64,
}

impl Curve {
    fn of(e: &Evidence<'_>) -> Option<Self> {
        let intervals: Vec<usize> = (1..e.observed.times.len())
            .filter(|&i| {
                e.histogram_where(Signal::LatencyTtft, |at| at == i).is_some_and(|h| h.count() > 0.0)
            })
            .collect();
        let (&first, rest) = intervals.split_first()?;
        let mean = |wanted: &dyn Fn(usize) -> bool| e.histogram_where(Signal::LatencyTtft, wanted)?.mean();
        let later_half = &rest[rest.len() / 2..];
        Some(Self {
            first: mean(&|i| i == first)?,
            later: mean(&|i| later_half.contains(&i))?,
            overall: e.mean(Signal::LatencyTtft)?,
        })
    }

    fn falls(&self, e: &Evidence<'_>) -> Test {
        let factor = self.first / self.later.max(1e-6);
        let says = format!(
            "first token after {} at the beginning, after {} later",
            Seconds(self.first),
            Seconds(self.later)
        );
        let slow = self.first >= 1.0 && factor >= e.limit(Limit::ColdFactor);
        Test::when(slow, e.fact(Signal::LatencyTtft, says, self.first))
    }
}

fn is_young(e: &Evidence<'_>) -> Test {
    let start = e.observed.series(Signal::ProcessStart, None, None).and_then(|s| s.last());
    let (Some(start), Some(first)) = (start, e.observed.times.first()) else {
        return unknown(e, Signal::ProcessStart);
    };
    let age = first.unix().get() - start;
    let says = format!("the process was {} old when the window began", Seconds(age.max(0.0)));
    Test::when(age < e.limit(Limit::ColdSeconds), e.fact(Signal::ProcessStart, says, age.max(0.0)))
}

fn log_tells(e: &Evidence<'_>) -> Test {
    match e.observed.log.of_running(Meaning::Compiling) {
        Some(event) => {
            let mut fact = e.derived(format!("the log says: {}", event.excerpt), Ratio(1.0), "log");
            fact.value = None;
            fact.source = event.source();
            Test::Holds(fact)
        }
        None if e.observed.log.present => {
            Test::Unknown("the log names nothing that was compiled while requests waited".into())
        }
        None => Test::Unknown("no log was given; it would name what was compiled".into()),
    }
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::CAUSE;
    use crate::diagnosis::Outcome;
    use crate::testing::Given;

    /// First tokens scrape by scrape: count and sum.
    fn first_tokens(started: f64, sums: [f64; 12]) -> Given {
        let mut given = Given::vllm("0.32.0")
            .gauge(RequestsRunning, 3.0)
            .gauge(RequestsWaiting, 0.0)
            .gauge(ProcessStart, started);
        given = given.ttft_sums(&sums);
        given
    }

    const YOUNG: f64 = 1_699_999_970.0;

    #[test]
    fn slow_first_answers_of_a_young_process_are_a_cold_start() {
        let sums = [0.0, 100.0, 101.0, 102.0, 103.0, 104.0, 105.0, 106.0, 107.0, 108.0, 109.0, 110.0];
        let j = first_tokens(YOUNG, sums).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
    }

    #[test]
    fn the_engine_that_says_it_compiles_is_believed_where_first_tokens_are_too_few() {
        let line = "WARNING jit_monitor: This causes a latency spike; consider extending warmup\n";
        let few = Given::vllm("0.28.0").gauge(RequestsRunning, 1.0).gauge(ProcessStart, YOUNG);
        assert_eq!(few.clone().log(line).judge(&CAUSE).outcome, Outcome::Likely);
        assert_eq!(few.log("INFO ready\n").judge(&CAUSE).outcome, Outcome::CannotTell);
    }

    #[test]
    fn a_steady_server_is_not_cold() {
        let sums = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0];
        assert_eq!(first_tokens(YOUNG, sums).judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn a_spike_in_an_old_process_is_something_else() {
        let sums = [0.0, 100.0, 101.0, 102.0, 103.0, 104.0, 105.0, 106.0, 107.0, 108.0, 109.0, 110.0];
        assert_eq!(first_tokens(1_600_000_000.0, sums).judge(&CAUSE).outcome, Outcome::RuledOut);
    }
}
