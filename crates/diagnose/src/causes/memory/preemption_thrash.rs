//! Admitted requests outgrow the pool and are thrown back.

use intriage_case::{Quantity, Ratio, Seconds, Signal, Unit};
use intriage_engines::{Engine, LogEvent, Meaning, Setting, Told};

use crate::causes::shared::{mean_context, pool_for, unknown};
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::lately::is_of_now;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "preemption-thrash",
    class: Class::Memory,
    layer: Layer::Memory,
    hurts: &[Aspect::Queue, Aspect::Stalls, Aspect::Preemption],
    summary: "Admitted requests outgrow the KV pool while they decode, so some are thrown back and computed again.",
    symptoms: &[
        "single answers stand still for seconds in the middle",
        "tokens per second fall while the batch is full",
        "the preemption or retraction counter climbs",
    ],
    confirmed_by: &[
        "more than one preemption a minute and one per hundred requests",
        "the pool is full in most busy scrapes",
        "gaps between tokens many times the median",
    ],
    refuted_by: &["the counter stands still, whatever the pool's gauge says"],
    look_alikes: &[
        LookAlike {
            cause: "benign-high-kv-occupancy",
            tell: "there the gauge is as high and the counter stands still",
        },
        LookAlike {
            cause: "kv-capacity-limited-queue",
            tell: "there requests wait before they start instead of being thrown back",
        },
        LookAlike {
            cause: "host-memory-pressure",
            tell: "there the host swaps and the counter stands still",
        },
        LookAlike {
            cause: "workload-mix-shift",
            tell: "longer answers may be the driver: compare output lengths with a baseline",
        },
    ],
    probe: Probe {
        name: "output-cap",
        steps: "Run the same load with the output limit at the median output length for ten minutes.",
        if_so: "The counter stops.",
        if_not: "It goes on.",
    },
    remedies: &[
        Remedy::of(
            Engine::Vllm,
            "lower --max-num-seqs so that admitted requests fit to their end",
            "more wait before they start, fewer stall",
        ),
        Remedy::of(
            Engine::Vllm,
            "--watermark 0.02 to 0.05 keeps blocks free for growth",
            "slightly fewer admitted",
        )
        .since("0.24.0"),
        Remedy::of(
            Engine::Vllm,
            "raise --gpu-memory-utilization while about 1 GiB stays free",
            "too high and a prefill peak runs out of memory",
        )
        .on("cuda"),
        Remedy::of(
            Engine::Vllm,
            "--kv-cache-dtype fp8 (about twice the tokens in the pool)",
            "quality: calibrate the scales or gate on an evaluation",
        )
        .on("cuda"),
        Remedy::of(
            Engine::Vllm,
            "raise VLLM_CPU_KVCACHE_SPACE (GiB of host memory for the pool)",
            "host memory",
        )
        .on("cpu"),
        Remedy::of(
            Engine::Sglang,
            "--schedule-conservativeness 1.3, or lower --max-running-requests",
            "throughput",
        ),
        Remedy::of(Engine::TensorRtLlm, "capacity_scheduler_policy GUARANTEED_NO_EVICT", "throughput"),
        Remedy::any(
            "cap the output per route; do not schedule restarts: a paged pool does not fragment",
            "long answers are cut",
        ),
    ],
    effect: "Answers no longer stand still; total throughput usually rises although fewer run at once.",
    confirm: "requests.preempted stands still and the stalls segment goes to zero.",
    explains: &[],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let lost = lost_to_stalls(e);
    // Requests still thrown back are in no histogram: the waiting gauge shows their share.
    let unseen = if e.delta(Signal::RequestsPreempted) == Some(0.0) {
        e.account.waiting_share.unwrap_or(0.0)
    } else {
        0.0
    };
    let share = Ratio(e.account.share_of_life(lost).get().max(unseen));
    let mut w = Weighing::new().requires(thrown_back(e)).supports(gaps_are_long(e, lost));
    // Only want of room throws requests back: where the engine counts it, the gauge need not show it.
    w = if e.delta(Signal::RequestsPreempted).is_some_and(|n| n > 0.0) {
        let exhausted = pool_is_exhausted(e);
        // One prompt too many can throw others back while the pool is half empty: then it is not the pool's size.
        if matches!(exhausted, Test::Fails(_)) {
            w = w.at_most_likely(0.4);
        }
        w.supports(exhausted)
    } else {
        w.requires(pool_is_exhausted(e))
    };
    // Where stalls eat much of a request's life, the queue in front of them is their consequence:
    // computing the same tokens again takes the room and the time that would have served it.
    if share.get() >= e.limit(Limit::ThrashShare) {
        w = w.explains(&["kv-capacity-limited-queue"]);
    }
    if let Some(blocks) = e.setting(Setting::KvBlocksOverride) {
        w = w.advise(
            format!(
                "remove --num-gpu-blocks-override {blocks:.0}: it holds the pool below what the memory allows"
            ),
            "a restart",
        );
    }
    let told = || logged(e).map_or(0.0, |(n, _)| n);
    let count = e.delta(Signal::RequestsPreempted).unwrap_or_else(told).max(fell_back(e));
    // What only scrapes tell is left out where there are none.
    let meanwhile = e.finished().map_or(String::new(), |n| {
        format!(" while {:.0} finished, about {} of standing still each", n.get(), Seconds(lost))
    });
    let says = format!(
        "running requests outgrow the KV pool: {count:.0} were thrown back and recomputed{meanwhile}"
    );
    let impact = Impact {
        on: ImpactOn::Tpot,
        share,
        time: Some(Seconds(lost)),
        says: format!("{} of stalls per request, {share} of its life", Seconds(lost)),
    };
    w.conclude(says, impact)
}

/// Stall time per request: the stalls' part of a token times the tokens of an answer.
fn lost_to_stalls(e: &Evidence<'_>) -> f64 {
    let per_token = e.account.stalls.map_or(0.0, |s| s.value);
    per_token * e.mean(Signal::TokensOutputEach).unwrap_or(0.0)
}

/// Preemptions the log tells of: lines, or the total that V0 counts up to in them.
fn logged<'a>(e: &Evidence<'a>) -> Option<(f64, &'a LogEvent)> {
    let all = e.observed.log.events.iter().filter(|event| event.meaning == Meaning::Preempted);
    let told = all.filter(|event| is_of_now(e, event));
    let count = |event: &LogEvent| {
        let total = event.number.map_or(0.0, f64::from);
        let retracted = event.told(Told::Retracted).unwrap_or(0.0);
        total.max(retracted).max(f64::from(event.count))
    };
    told.map(|event| (count(event), event)).max_by(|a, b| a.0.total_cmp(&b.0))
}

fn thrown_back(e: &Evidence<'_>) -> Test {
    let Some(count) = e.delta(Signal::RequestsPreempted) else {
        if let Some((n, event)) = logged(e) {
            let mut fact = e.derived(
                format!("the log tells of {n:.0} preemptions"),
                Quantity::new(n, Unit::Events),
                "log",
            );
            fact.source = event.source();
            return Test::when(n >= e.limit(Limit::ThrashEvents), fact);
        }
        return unknown(e, Signal::RequestsPreempted);
    };
    let minutes = e.busy_time().get() / 60.0;
    // The counter moves when a thrown-back request gets its next token; until then only the gauges tell.
    let seen = fell_back(e);
    if count == 0.0
        && seen >= e.limit(Limit::ThrashEvents)
        && seen > minutes * e.limit(Limit::PreemptionsPerMinute)
    {
        let says = format!(
            "{seen:.0} went from running back to waiting while nothing finished; the counter lags until they run again"
        );
        return Test::Holds(e.fact(Signal::RequestsRunning, says, seen));
    }
    let per_minute = if minutes > 0.0 { count / minutes } else { 0.0 };
    let per_request = e.finished().and_then(|n| Ratio::of(count, n.get()));
    let often = per_minute > e.limit(Limit::PreemptionsPerMinute) && count >= e.limit(Limit::ThrashEvents);
    let of_many = per_request.is_none_or(|r| r.get() > e.limit(Limit::PreemptionsPerRequest));
    let each = per_request.map_or(String::new(), |r| format!(", {:.2} per finished request", r.get()));
    let says = format!("{count:.0} preemptions, {}{each}", Quantity::new(per_minute, Unit::EventsPerMinute));
    Test::when(often && of_many, e.fact(Signal::RequestsPreempted, says, count))
}

/// Requests that left the batch for the queue in intervals in which nothing finished.
fn fell_back(e: &Evidence<'_>) -> f64 {
    let (Some(running), Some(waiting)) = (e.gauge(Signal::RequestsRunning), e.gauge(Signal::RequestsWaiting))
    else {
        return 0.0;
    };
    let finished = e.observed.series(Signal::RequestsFinished, None, None);
    let moved = |i: usize| -> Option<f64> {
        let done = finished.as_ref().map_or(Some(0.0), |f| Some(f.at(i)? - f.at(i - 1)?))?;
        let (left, joined) = (running.at(i - 1)? - running.at(i)?, waiting.at(i)? - waiting.at(i - 1)?);
        (done == 0.0).then(|| left.min(joined).max(0.0))
    };
    (1..e.observed.times.len()).filter_map(moved).sum()
}

fn pool_is_exhausted(e: &Evidence<'_>) -> Test {
    let Some(pool) = pool_for(e, e.busy(), mean_context(e)) else {
        // Engines preempt for one reason only, and their line says so.
        return match logged(e) {
            Some((_, event)) => {
                let mut fact = e.derived(format!("the log says: {}", event.excerpt), Ratio(1.0), "log");
                fact.value = None;
                fact.source = event.source();
                Test::Holds(fact)
            }
            None => unknown(e, Signal::KvUsage),
        };
    };
    let says = format!(
        "KV pool {} full on average, without room for one more context in {} of the busy scrapes",
        Ratio(pool.usage),
        Ratio(pool.full_share)
    );
    Test::when(pool.full_share >= 0.5, e.fact(Signal::KvUsage, says, pool.usage))
}

fn gaps_are_long(e: &Evidence<'_>, lost: f64) -> Test {
    if e.account.stalls.is_none() {
        return unknown(e, Signal::LatencyItl);
    }
    let says = format!("gaps many times the median add {} to each answer", Seconds(lost));
    Test::when(lost > 0.0, e.fact(Signal::LatencyItl, says, lost))
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::CAUSE;
    use crate::diagnosis::Outcome;
    use crate::testing::Given;

    fn thrash() -> Given {
        Given::vllm("0.28.0")
            .pool(100_000.0)
            .gauge(RequestsRunning, 40.0)
            .gauge(RequestsWaiting, 3.0)
            .gauge(KvUsage, 0.99)
            .counter(RequestsPreempted, 60.0)
            .observed(LatencyItl, &[(0.02, 40_000.0), (4.0, 60.0)])
            .observed(TokensOutputEach, &[(400.0, 100.0)])
            .observed(TokensPromptEach, &[(1000.0, 100.0)])
            .finished("stop", 100.0)
    }

    #[test]
    fn a_climbing_counter_with_a_full_pool_is_the_cause() {
        let j = thrash().judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert!(j.explains.contains(&"kv-capacity-limited-queue"), "stalls take a fifth of each answer");
    }

    #[test]
    fn a_full_pool_with_a_still_counter_is_good_use_of_memory() {
        assert_eq!(thrash().counter(RequestsPreempted, 0.0).judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn requests_that_fall_back_while_the_counter_lags_are_seen_in_the_gauges() {
        let j = thrash()
            .counter(RequestsPreempted, 0.0)
            .finished("stop", 0.0)
            .gauges(RequestsRunning, &[8.0, 8.0, 5.0, 5.0, 4.0, 4.0, 3.0])
            .gauges(RequestsWaiting, &[0.0, 0.0, 3.0, 3.0, 4.0, 4.0, 5.0])
            .judge(&CAUSE);
        assert_ne!(j.outcome, Outcome::RuledOut, "{j:#?}");
    }

    #[test]
    fn one_preemption_in_a_busy_minute_is_no_thrash() {
        assert_eq!(thrash().counter(RequestsPreempted, 0.5).judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn a_queue_with_few_stalls_is_left_to_its_own_cause() {
        let j = thrash().observed(LatencyItl, &[(0.02, 40_000.0), (0.5, 5.0)]).judge(&CAUSE);
        assert!(j.explains.is_empty());
    }
}
