//! More arrives than leaves: the queue grows for as long as the load lasts.

use intriage_case::{Quantity, Ratio, Requests, Signal, Unit};
use intriage_engines::Engine;

use super::burst_arrival_transient::arrivals;
use crate::causes::shared::{
    at_sequence_cap, pool_is_full, queue_impact, requests_wait, steps_are_full, unknown,
};
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::symptoms::{Aspect, Backlog, backlog};
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "offered-load-exceeds-capacity",
    class: Class::Queueing,
    layer: Layer::Application,
    hurts: &[Aspect::Queue, Aspect::Throughput],
    summary: "Requests arrive faster than the server finishes them, so the queue grows without end.",
    symptoms: &[
        "waiting and the first-token time rise steadily",
        "throughput stays at its maximum",
        "time-outs and retries follow",
    ],
    confirmed_by: &[
        "waiting grows by more than a twentieth of the arrivals",
        "a limit binds: the sequence cap, the KV pool or the token budget; without one it is less sure",
        "throughput equals the recorded maximum for this mix: that needs a baseline",
    ],
    refuted_by: &[
        "waiting is level or falls: as many leave as arrive",
        "another engine behind the address has nobody waiting: that is routing",
        "a batch job plans its queue",
    ],
    look_alikes: &[
        LookAlike { cause: "burst-arrival-transient", tell: "there the queue drains while traffic goes on" },
        LookAlike {
            cause: "max-num-seqs-limited-queue",
            tell: "there a setting, not the hardware, is the limit",
        },
        LookAlike { cause: "replica-load-imbalance", tell: "there other replicas have room" },
        LookAlike { cause: "engine-upgrade-regression", tell: "there the maximum itself fell" },
    ],
    probe: Probe {
        name: "knee-sweep",
        steps: "On one replica with the production mix, raise the concurrency step by step; note the last step at which neither the first-token time nor the requests in the server keep growing.",
        if_so: "The present load per replica lies beyond that step.",
        if_not: "It lies below: something made the server slower.",
    },
    remedies: &[
        Remedy::any(
            "add replicas: peak requests per second / (requests per second one replica does within the objective × (1 - headroom)), rounded up",
            "hardware",
        ),
        Remedy::any(
            "limit admission in the gateway (429 or 503 with Retry-After), low priority first",
            "refused requests",
        ),
        Remedy::of(Engine::Vllm, "--max-num-queued-reqs N bounds the queue", "HTTP 503 beyond it")
            .since("0.29.0"),
        Remedy::of(Engine::Sglang, "--max-queued-requests N bounds the queue", "refused requests beyond it"),
        Remedy::of(Engine::Tgi, "--max-concurrent-requests N bounds the queue", "HTTP 429 beyond it"),
        Remedy::of(
            Engine::Dynamo,
            "--active-decode-blocks-threshold and --active-prefill-tokens-threshold",
            "HTTP 529 beyond them",
        ),
    ],
    effect: "The queue stays bounded and the first-token time returns to what it is at the knee.",
    confirm: "requests.waiting no longer grows at the peak.",
    explains: &[],
    judge,
};

/// Two scrapes in each third: fewer show jitter, not growth.
const FEWEST_SCRAPES: usize = 6;

fn judge(e: &Evidence<'_>) -> Judgement {
    if let Some(grows) = backlog(e) {
        return piles_up(e, &grows);
    }
    let waiting = e.gauge(Signal::RequestsWaiting);
    let (first, last) = (
        waiting.as_ref().and_then(|w| w.mean_at(third(e, 0))).unwrap_or(0.0),
        waiting.as_ref().and_then(|w| w.mean_at(third(e, 2))).unwrap_or(0.0),
    );
    let says = format!(
        "more requests arrive than {} finishes: from {} waiting to {} within the window",
        e.observed.engine_name(),
        Requests(first),
        Requests(last)
    );
    Weighing::new()
        .requires(requests_wait(e))
        .requires(queue_grows(e))
        .requires(a_limit_binds(e))
        .refuted_by(another_engine_has_room(e))
        .refuted_by(batch_by_plan(e))
        .supports(output_is_level(e))
        .supports(Test::Unknown(
            "whether the server could do more than this is not known without a baseline of its maximum"
                .into(),
        ))
        // Whatever binds is the better answer as long as nobody knows the maximum.
        .at_most_likely(0.5)
        .conclude(says, queue_impact(e))
}

/// The batch takes all that comes, so nobody waits and every step is longer than the one before.
fn piles_up(e: &Evidence<'_>, grows: &Backlog) -> Judgement {
    let says = format!(
        "more requests arrive than {} finishes: from {} in the server to {} within the window",
        e.observed.engine_name(),
        grows.first,
        grows.last
    );
    let fact = e.fact(Signal::RequestsRunning, format!("{says}; {}", grows.felt), grows.last.get());
    let impact = Impact {
        on: ImpactOn::E2e,
        share: grows.share,
        time: None,
        says: format!("{}: {} of a request's life", grows.felt, grows.share),
    };
    Weighing::new()
        .requires(Test::Holds(fact))
        .at_most_likely(0.7)
        // What makes tokens slow here is that so many share a step.
        .explains(&["batch-past-knee"])
        .conclude(says, impact)
}

/// The busy scrapes in thirds: 0 the first, 2 the last.
fn third<'a>(e: &'a Evidence<'_>, which: usize) -> &'a [usize] {
    let n = e.busy().len();
    &e.busy()[n * which / 3..n * (which + 1) / 3]
}

/// The queue grows from third to third, by a fair part of the arrivals and by more than chance.
///
/// Requests thrown back into the queue make it grow too, but not the number in the server.
fn queue_grows(e: &Evidence<'_>) -> Test {
    let Some(waiting) = e.observed.series(Signal::RequestsWaiting, None, None) else {
        return unknown(e, Signal::RequestsWaiting);
    };
    if !e.busy().is_empty() && e.busy().len() < FEWEST_SCRAPES {
        return Test::Unknown("too few busy scrapes to see whether the queue grows".into());
    }
    let means = [0, 1, 2].map(|i| waiting.mean_at(third(e, i)));
    let [Some(first), Some(middle), Some(last)] = means else {
        return Test::Unknown("nothing was running in the window".into());
    };
    let says = format!(
        "{}, then {}, then {} waiting in the thirds of the window",
        Requests(first),
        Requests(middle),
        Requests(last)
    );
    let fact = e.fact(Signal::RequestsWaiting, says, last - first);
    if last < middle || last <= first {
        return Test::Fails(fact);
    }
    let Some(arrivals) = arrivals(e) else { return unknown(e, Signal::LatencyTtft) };
    let arrived: f64 = arrivals.iter().sum();
    let Some(running) = e.observed.series(Signal::RequestsRunning, None, None) else {
        return unknown(e, Signal::RequestsRunning);
    };
    let inside = waiting.combine(&running, |a, b| a + b);
    let more_inside = inside.mean_at(third(e, 2)).unwrap_or(0.0) - inside.mean_at(third(e, 0)).unwrap_or(0.0);
    let growth = (last - first).min(more_inside);
    Test::when(growth >= e.limit(Limit::Growth) * arrived && growth > arrived.sqrt(), fact)
}

/// One of the limits is reached; which one is another cause's business.
fn a_limit_binds(e: &Evidence<'_>) -> Test {
    let mut unknown = None;
    let mut fails = None;
    for test in [pool_is_full(e), at_sequence_cap(e), steps_are_full(e)] {
        match test {
            Test::Holds(_) => return test,
            Test::Fails(fact) => fails = fails.or(Some(Test::Fails(fact))),
            Test::Unknown(why) => unknown = unknown.or(Some(Test::Unknown(why))),
        }
    }
    unknown.or(fails).unwrap_or(Test::Unknown("no limit is known".into()))
}

/// An engine with nobody waiting next to one with a queue.
fn another_engine_has_room(e: &Evidence<'_>) -> Test {
    let of = |i: &_| e.observed.series(Signal::RequestsWaiting, Some(i), None)?.mean_at(e.busy());
    let means: Vec<f64> = e.observed.instances().iter().filter_map(of).collect();
    if means.len() < 2 {
        return Test::Unknown("one engine answers here".into());
    }
    let least = means.iter().copied().fold(f64::INFINITY, f64::min);
    let says = format!("the emptiest engine behind the address has {} waiting", Requests(least));
    Test::when(least < 1.0, e.fact(Signal::RequestsWaiting, says, least))
}

fn batch_by_plan(e: &Evidence<'_>) -> Test {
    if e.wants_throughput() {
        Test::Holds(e.derived("a batch job plans its queue", Ratio(1.0), "profile"))
    } else {
        Test::Unknown("the profile is not batch".into())
    }
}

/// Output tokens per second no longer rise: the second half of the busy time against the first.
fn output_is_level(e: &Evidence<'_>) -> Test {
    let Some(tokens) = e.observed.series(Signal::TokensGenerated, None, None) else {
        return unknown(e, Signal::TokensGenerated);
    };
    let rate = |from: usize, to: usize| {
        let seconds = e.observed.times[to].since(e.observed.times[from]).get();
        (seconds > 0.0).then_some((tokens.at(to)? - tokens.at(from)?) / seconds)
    };
    let busy = e.busy();
    let (Some(&first), Some(&middle), Some(&last)) = (busy.first(), busy.get(busy.len() / 2), busy.last())
    else {
        return Test::Unknown("nothing was running in the window".into());
    };
    let (Some(before), Some(after)) = (rate(first, middle), rate(middle, last)) else {
        return Test::Unknown("too few busy scrapes to compare the halves of the window".into());
    };
    let per_second = |rate| Quantity::new(rate, Unit::TokensPerSecond);
    let says =
        format!("{} of output in the first half, {} in the second", per_second(before), per_second(after));
    let holds = after <= before * (1.0 + e.limit(Limit::Growth));
    Test::when(holds, e.derived(says, per_second(after), "tokens.generated per second, by halves"))
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::CAUSE;
    use crate::diagnosis::{Outcome, Status};
    use crate::testing::Given;

    /// Scenario F05, one replica: 12 more wait every minute, the pool is full.
    fn growing() -> Given {
        let waiting: Vec<f64> = (0..12).map(|i| 20.0 + 2.0 * f64::from(i)).collect();
        Given::vllm("0.28.0")
            .flags("--max-num-seqs 256")
            .pool(430_000.0)
            .gauge(RequestsRunning, 120.0)
            .gauges(RequestsWaiting, &waiting)
            .gauge(KvUsage, 0.99)
            .observed(LatencyTtft, &[(6.0, 200.0)])
            .observed(LatencyQueue, &[(5.8, 200.0)])
            .observed(LatencyPrefill, &[(0.2, 200.0)])
            .observed(TokensPromptEach, &[(3000.0, 200.0)])
            .counter(TokensGenerated, 80_000.0)
            .finished("stop", 200.0)
    }

    #[test]
    fn a_growing_queue_at_a_limit_is_likely_at_most() {
        let j = growing().judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.confidence <= 0.5);
        assert!(j.missing.iter().any(|m| m.contains("baseline")));
    }

    #[test]
    fn the_limit_that_binds_comes_first() {
        let d = growing().verdict();
        assert_eq!(d.verdict.primary.cause.as_deref(), Some("kv-capacity-limited-queue"));
        let this = d.findings.iter().find(|f| f.cause == CAUSE.id).expect("it holds too");
        assert_eq!(this.effect_of.as_deref(), Some("kv-capacity-limited-queue"));
    }

    #[test]
    fn a_level_queue_is_a_limit_not_an_overload() {
        let j = growing().gauge(RequestsWaiting, 30.0).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
        assert!(j.against[0].says.contains("thirds"), "{:?}", j.against);
    }

    #[test]
    fn requests_thrown_back_are_no_arrivals() {
        let running: Vec<f64> = (0..12).map(|i| 120.0 - 2.0 * f64::from(i)).collect();
        assert_eq!(growing().gauges(RequestsRunning, &running).judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn a_queue_that_drains_is_the_look_alike() {
        let falling: Vec<f64> = (0..12).map(|i| 48.0 - 4.0 * f64::from(i)).collect();
        assert_eq!(growing().gauges(RequestsWaiting, &falling).judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn without_a_limit_that_binds_something_else_makes_the_queue() {
        let free = growing()
            .gauge(KvUsage, 0.3)
            .flags("--max-num-seqs 256 --max-num-batched-tokens 8192")
            .observed(TokensPromptEach, &[(300.0, 200.0)])
            .observed(TokensPerStep, &[(130.0, 1000.0)]);
        let j = free.judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut, "{j:#?}");
        assert!(j.against.iter().any(|f| f.says.contains("KV pool 30 % full")), "{:?}", j.against);
        // A queue that grows from 20 to 42 hurts, whatever fills it.
        assert_eq!(free.verdict().verdict.status, Status::Finding);
    }

    #[test]
    fn a_batch_job_plans_its_queue() {
        assert_eq!(growing().batch().judge(&CAUSE).outcome, Outcome::RuledOut);
    }
}
