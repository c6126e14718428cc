//! The KV pool has no room for the next request.

use intriage_case::{Ratio, Requests, Signal, Tokens};
use intriage_engines::{Engine, Setting};

use super::by_lines::or_by_lines;
use crate::causes::shared::{at_stated_cap, pool, pool_is_full, queue_impact, requests_wait, steps_are_full};
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "kv-capacity-limited-queue",
    class: Class::Queueing,
    layer: Layer::Memory,
    hurts: &[Aspect::Queue, Aspect::Preemption, Aspect::Stalls],
    summary: "The running requests' contexts fill the KV pool, so the next request has to wait for one of them to end.",
    symptoms: &[
        "the first token is late for everyone, long prompt or short",
        "running levels off below the sequence cap",
        "the KV gauge stands near 1",
    ],
    confirmed_by: &[
        "the pool is full, or has less room than the next prompt needs, while requests wait",
        "running stays below the sequence cap",
    ],
    refuted_by: &[
        "the pool has room while requests wait",
        "nobody waits: a full pool alone is good use of memory",
    ],
    look_alikes: &[
        LookAlike {
            cause: "max-num-seqs-limited-queue",
            tell: "there running equals the cap and the pool has room",
        },
        LookAlike {
            cause: "token-budget-limited-queue",
            tell: "there steps are full of prompt tokens and the pool has room",
        },
        LookAlike {
            cause: "preemption-thrash",
            tell: "there admitted requests are thrown back and recomputed",
        },
        LookAlike { cause: "benign-high-kv-occupancy", tell: "there the pool is as full and nobody waits" },
    ],
    probe: Probe {
        name: "kv-shrink-test",
        steps: "Replay the same arrivals with the output limit halved for five minutes.",
        if_so: "Waiting falls about in proportion to the contexts.",
        if_not: "Waiting stays.",
    },
    remedies: &[
        Remedy::of(
            Engine::Vllm,
            "--kv-cache-dtype fp8 (about twice the tokens in the pool)",
            "quality: calibrate the scales or gate on an evaluation",
        ),
        Remedy::of(
            Engine::Vllm,
            "raise --gpu-memory-utilization while about 1 GiB stays free",
            "too high and a prefill peak runs out of memory",
        )
        .on("cuda"),
        Remedy::of(
            Engine::Vllm,
            "--kv-offloading-size N (GiB of host memory)",
            "loads from host cost first-token time",
        )
        .since("0.12.0"),
        Remedy::of(
            Engine::Vllm,
            "raise VLLM_CPU_KVCACHE_SPACE (GiB of host memory for the pool)",
            "host memory",
        )
        .on("cpu"),
        Remedy::of(
            Engine::Sglang,
            "raise --mem-fraction-static until 5 to 8 GB stay free; --kv-cache-dtype fp8_e5m2",
            "out-of-memory risk; quality",
        ),
        Remedy::of(
            Engine::Tgi,
            "--kv-cache-dtype fp8_e4m3fn; remove a hand-set --max-batch-total-tokens",
            "quality; out-of-memory risk",
        ),
        Remedy::of(
            Engine::TensorRtLlm,
            "kv_cache_config.free_gpu_memory_fraction 0.95, kv_cache_config.dtype fp8",
            "out-of-memory risk; quality",
        ),
        Remedy::of(Engine::LlamaCpp, "-ctk q8_0 -ctv q8_0, or a larger -c", "quality; memory"),
        Remedy::any(
            "cap the output per route, send long contexts to a pool of their own, add replicas",
            "work or hardware",
        ),
    ],
    effect: "Twice the pool admits about twice the requests; with nobody waiting the first token costs its prefill again.",
    confirm: "requests.waiting falls to 0 at the same load, whatever kv.usage shows.",
    explains: &[
        "preemption-thrash",
        "offered-load-exceeds-capacity",
        "head-of-line-blocking",
        "burst-arrival-transient",
        "weights-leave-no-kv",
    ],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    or_by_lines(e, weigh)
}

fn weigh(e: &Evidence<'_>, w: Weighing) -> Judgement {
    let mut w = w
        .requires(requests_wait(e))
        .requires(pool_is_full(e))
        .weakened_by(at_stated_cap(e))
        .weakened_by(steps_are_full(e))
        .refuted_by(batch_by_plan(e))
        .supports(contexts_fill_the_pool(e));
    if let Some(blocks) = e.setting(Setting::KvBlocksOverride) {
        w = w.advise(
            format!(
                "remove --num-gpu-blocks-override {blocks:.0}: it holds the pool below what the memory allows"
            ),
            "a restart",
        );
    }
    let waiting = e.mean_busy(Signal::RequestsWaiting).unwrap_or(0.0);
    let running = e.mean_busy(Signal::RequestsRunning).unwrap_or(0.0);
    let pool = e.setting(Setting::KvCapacity).map_or(String::new(), |c| format!(" of {}", Tokens(c)));
    let says = format!(
        "the KV pool{pool} is full with {} running, so {} wait on average",
        Requests(running),
        Requests(waiting)
    );
    w.conclude(says, queue_impact(e))
}

/// A batch job plans a standing queue in front of a full pool, as long as nothing is thrown back.
fn batch_by_plan(e: &Evidence<'_>) -> Test {
    if !e.wants_throughput() {
        return Test::Unknown("the profile is not batch".into());
    }
    let thrown_back = e.delta(Signal::RequestsPreempted).unwrap_or(0.0);
    let rarely = thrown_back <= e.limit(Limit::PreemptionsPerMinute) * e.busy_time().get() / 60.0
        || e.finished().is_some_and(|n| thrown_back <= e.limit(Limit::PreemptionsPerRequest) * n.get());
    let says = if rarely {
        "a batch job plans a standing queue, and hardly anything is thrown back"
    } else {
        "requests are thrown back, which costs a batch job too"
    };
    Test::when(rarely, e.fact(Signal::RequestsPreempted, says, thrown_back))
}

/// Running requests times their mean context comes to about the pool: the account of the memory closes.
fn contexts_fill_the_pool(e: &Evidence<'_>) -> Test {
    let parts = (
        e.setting(Setting::KvCapacity),
        e.mean(Signal::TokensPromptEach),
        e.mean(Signal::TokensOutputEach),
        e.gauge(Signal::RequestsRunning).and_then(|r| r.mean_at(&e.waiting_scrapes())),
    );
    let (Some(capacity), Some(prompt), Some(output), Some(running)) = parts else {
        return Test::Unknown(
            "pool size or request lengths are unknown, so the memory account cannot be closed".into(),
        );
    };
    let held = running * (prompt + output / 2.0);
    let usage = pool(e, &e.waiting_scrapes()).map_or(0.0, |p| p.usage);
    let ratio = held / (capacity * usage.max(0.01));
    let says = format!(
        "{} × about {} each hold {} of the pool's {}",
        Requests(running),
        Tokens(prompt + output / 2.0),
        Ratio(held / capacity),
        Tokens(capacity)
    );
    // Blocks round up and lengths vary: half to twice is closed.
    Test::when((0.5..2.0).contains(&ratio), e.derived(says, Tokens(held), "running × (prompt + output / 2)"))
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::CAUSE;
    use crate::causes::find;
    use crate::diagnosis::Outcome;
    use crate::testing::{Given, Place};

    /// Scenario F01: 86 requests of about 5,000 tokens fill 430,000; 25 wait.
    fn full() -> Given {
        Given::vllm("0.28.0")
            .flags("--max-num-seqs 256")
            .pool(430_000.0)
            .gauge(RequestsRunning, 86.0)
            .gauge(RequestsWaiting, 25.0)
            .gauge(KvUsage, 0.99)
            .observed(LatencyTtft, &[(16.5, 400.0)])
            .observed(LatencyQueue, &[(16.2, 400.0)])
            .observed(LatencyPrefill, &[(0.28, 400.0)])
            .observed(TokensPromptEach, &[(4000.0, 400.0)])
            .observed(TokensOutputEach, &[(2000.0, 400.0)])
            .finished("stop", 400.0)
    }

    #[test]
    fn a_full_pool_with_a_queue_is_the_cause() {
        let j = full().judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
    }

    #[test]
    fn a_small_pool_is_full_before_its_gauge_says_so() {
        // 12 of 13 blocks of 128 tokens: 92 %, but the next prompt of 181 tokens does not fit.
        let j = full()
            .pool(1664.0)
            .gauge(KvUsage, 0.923)
            .observed(TokensPromptEach, &[(181.0, 400.0)])
            .judge(&CAUSE);
        assert_ne!(j.outcome, Outcome::RuledOut, "{j:#?}");
    }

    #[test]
    fn a_full_pool_nobody_waits_for_is_good_use_of_memory() {
        let calm = full().gauge(RequestsWaiting, 0.0).observed(LatencyQueue, &[(0.001, 500.0)]);
        assert_eq!(calm.judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn running_at_its_stated_cap_is_the_look_alike() {
        let both = full().flags("--max-num-seqs 86");
        let j = both.judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.confidence < full().judge(&CAUSE).confidence, "{}", j.confidence);
        assert!(j.against.iter().any(|f| f.says.contains("a cap of 86")), "{:?}", j.against);
        // With room in the pool the cap alone is the answer.
        let capped = both.gauge(KvUsage, 0.3).observed(TokensPromptEach, &[(400.0, 400.0)]);
        let cap = find("max-num-seqs-limited-queue").expect("a cause of the catalogue");
        assert_eq!(capped.place_of(cap), Place::First);
        assert_eq!(capped.judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn a_batch_job_plans_its_queue() {
        assert_eq!(full().batch().judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn an_engine_without_the_gauge_cannot_tell() {
        let j = full().without(KvUsage).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
        assert!(j.missing[0].contains("kv_cache_usage_perc"), "{:?}", j.missing);
    }
}
