//! One huge request at the head of the queue holds up the small ones behind it.

use intriage_case::{Histogram, Ratio, Requests, Signal, Tokens};
use intriage_engines::{Behaviour, Engine, Setting};

use super::deferred_admission_stall::mostly_deferred;
use crate::causes::shared::{
    at_stated_cap, no_request_waits, pool, pool_is_full, queue_impact, requests_wait, steps_are_full, unknown,
};
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "head-of-line-blocking",
    class: Class::Queueing,
    layer: Layer::Application,
    hurts: &[Aspect::Queue],
    summary: "A request too large for the free KV stands at the head of the queue, and small ones that would fit wait behind it.",
    symptoms: &[
        "the first token of short prompts is sometimes seconds late",
        "requests wait while the KV pool has room for ordinary ones",
        "p99 of the first-token time is far above its median",
    ],
    confirmed_by: &[
        "the free KV holds an ordinary prompt and not the longest ones seen, while requests wait",
        "running is below the cap and steps are not full",
        "small requests wait as long as large ones, at the same moments: that needs records per request",
    ],
    refuted_by: &[
        "prompts are all of about the same length",
        "the pool is full for everyone: a plain limit",
        "the engine calls most of the waiting requests deferred",
        "the release admits long prompts chunk by chunk",
    ],
    look_alikes: &[
        LookAlike { cause: "kv-capacity-limited-queue", tell: "there not even an ordinary prompt fits" },
        LookAlike {
            cause: "burst-arrival-transient",
            tell: "there the wait comes with an arrival peak, not with a large request",
        },
        LookAlike {
            cause: "prefill-decode-interference",
            tell: "there running streams stutter and nobody waits",
        },
        LookAlike {
            cause: "deferred-admission-stall",
            tell: "there the engine calls the waiting requests deferred",
        },
    ],
    probe: Probe {
        name: "elephant",
        steps: "Send one request of the greatest length among steady small probes; note the probes' first-token time before and after.",
        if_so: "The probes wait for as long as the large one does.",
        if_not: "The probes do not notice.",
    },
    remedies: &[
        Remedy::any(
            "send long requests to a pool of their own: count tokens before choosing the replica",
            "work in the gateway",
        ),
        Remedy::of(
            Engine::Vllm,
            "--scheduling-policy priority, with a priority on each request",
            "long requests wait longer",
        ),
        Remedy::of(Engine::Vllm, "--long-prefill-token-threshold N", "long prompts are read more slowly"),
        Remedy::of(
            Engine::Vllm,
            "--no-scheduler-reserve-full-isl: admit long prompts chunk by chunk",
            "preemptions when the rest does not fit",
        )
        .since("0.19.0"),
        Remedy::of(
            Engine::Sglang,
            "--schedule-policy lpm, or priority scheduling; a smaller --chunked-prefill-size",
            "order by cache is not fair",
        ),
        Remedy::of(
            Engine::TensorRtLlm,
            "scheduler_config.context_chunking_policy EQUAL_PROGRESS",
            "throughput",
        ),
    ],
    effect: "Small requests get their first token near the median again; long ones take longer.",
    confirm: "latency.ttft p99 falls towards its median with the same mix.",
    explains: &[],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let longest = prompts(e).and_then(|p| p.quantile(1.0)).map_or(0.0, |q| q.low);
    let says = format!(
        "{} wait on average although an ordinary prompt fits: one of {} or more does not, and holds up the rest",
        Requests(e.mean_busy(Signal::RequestsWaiting).unwrap_or(0.0)),
        Tokens(longest)
    );
    Weighing::new()
        .requires(requests_wait(e))
        .requires(only_small_ones_fit(e))
        .refuted_by(prompts_are_alike(e))
        .refuted_by(pool_is_full(e))
        .weakened_by(at_stated_cap(e))
        .weakened_by(steps_are_full(e))
        .refuted_by(mostly_deferred(e))
        .refuted_by(admits_by_chunk(e))
        .supports(Test::Unknown(
            "whether small requests wait with the large one needs records per request".into(),
        ))
        .at_most_likely(0.6)
        .conclude(says, queue_impact(e))
}

/// Prompt lengths of the window, or of the process's life where nothing finished in it.
fn prompts(e: &Evidence<'_>) -> Option<Histogram> {
    let window = e.histogram(Signal::TokensPromptEach)?;
    if window.count() > 0.0 {
        return Some(window);
    }
    e.observed
        .histograms(Signal::TokensPromptEach, None)?
        .into_iter()
        .flatten()
        .next_back()
        .filter(|h| h.count() > 0.0)
}

/// The free KV holds an ordinary prompt and not the longest.
fn only_small_ones_fit(e: &Evidence<'_>) -> Test {
    if e.gauge(Signal::KvUsage).is_none() {
        return unknown(e, Signal::KvUsage);
    }
    let Some(pool) = pool(e, &e.waiting_scrapes()) else { return no_request_waits(e) };
    let Some(capacity) = e.setting(Setting::KvCapacity) else {
        return Test::Unknown(
            "the size of the KV pool is not stated anywhere: give --engine-args or --log".into(),
        );
    };
    let Some(prompts) = prompts(e) else { return unknown(e, Signal::TokensPromptEach) };
    let (Some(ordinary), Some(longest)) = (prompts.quantile(0.5), prompts.quantile(1.0)) else {
        return Test::Unknown("no prompt lengths were recorded".into());
    };
    let free = (1.0 - pool.usage) * capacity;
    let says = format!(
        "{} of KV free while requests wait; the median prompt has up to {}, the longest {} or more",
        Tokens(free),
        Tokens(ordinary.high),
        Tokens(longest.low)
    );
    let fact = e.derived(says, Tokens(free), "(1 - kv.usage) × pool");
    if longest.surely_above(free) && ordinary.surely_within(free) {
        Test::Holds(fact)
    } else if longest.surely_within(free) {
        Test::Fails(fact)
    } else {
        Test::Unknown(format!(
            "{} of KV are free and the longest prompt has more than {}: whether it fits is not known",
            Tokens(free),
            Tokens(longest.low)
        ))
    }
}

/// No prompt is much longer than the others.
fn prompts_are_alike(e: &Evidence<'_>) -> Test {
    let bounds = prompts(e).and_then(|p| Some((p.quantile(0.5)?, p.quantile(1.0)?)));
    let Some((ordinary, longest)) = bounds else { return unknown(e, Signal::TokensPromptEach) };
    let limit = e.limit(Limit::LongestPrompt);
    let fact = |ratio: f64, how: &str| {
        let says = format!("the longest prompt is {how} {ratio:.1} times the median");
        e.derived(says, Ratio(ratio), "prompt length histogram")
    };
    if ordinary.low > 0.0 && longest.high < limit * ordinary.low {
        Test::Holds(fact(longest.high / ordinary.low, "at most"))
    } else if longest.low >= limit * ordinary.high {
        Test::Fails(fact(longest.low / ordinary.high, "at least"))
    } else {
        Test::Unknown("the buckets of the prompt lengths are too wide to compare them".into())
    }
}

/// Some releases need room for the first chunk only, so a long prompt does not hold up those behind it.
fn admits_by_chunk(e: &Evidence<'_>) -> Test {
    let identity = &e.observed.identity;
    let fact = |says| e.derived(says, Ratio(1.0), "release");
    match (identity.works_by(Behaviour::AdmitsFirstChunk), identity.works_by(Behaviour::AdmitsWholePrompt)) {
        _ if e.observed.config.switch(Setting::ChunkedPrefill) != Some(true) => {
            Test::Unknown("whether prompts are read in chunks is not known".into())
        }
        (Some(says), _) => Test::Holds(fact(says)),
        (_, Some(says)) => Test::Fails(fact(says)),
        _ => Test::Unknown("how this release admits long prompts is not known".into()),
    }
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::CAUSE;
    use crate::causes::find;
    use crate::diagnosis::Outcome;
    use crate::testing::{Given, Place};

    /// Scenario F04: 86,000 tokens free, 40 wait behind a prompt of 110,000; the others have 500.
    fn elephant() -> Given {
        Given::vllm("0.28.0")
            .flags("--max-num-seqs 256")
            .pool(430_000.0)
            .gauge(RequestsRunning, 120.0)
            .gauge(RequestsWaiting, 40.0)
            .gauge(KvUsage, 0.8)
            .observed(LatencyTtft, &[(0.06, 700.0), (9.0, 300.0)])
            .observed(LatencyQueue, &[(0.01, 700.0), (8.9, 300.0)])
            .observed(LatencyPrefill, &[(0.05, 1000.0)])
            .observed(TokensPromptEach, &[(500.0, 990.0), (110_000.0, 10.0)])
            .finished("stop", 1000.0)
    }

    #[test]
    fn room_for_all_but_the_longest_is_likely_a_blocked_head() {
        let j = elephant().judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.confidence <= 0.6);
        assert!(j.says.contains("100,000 tokens"), "{}", j.says);
    }

    #[test]
    fn prompts_of_one_length_have_no_elephant() {
        let j = elephant().observed(TokensPromptEach, &[(500.0, 1000.0)]).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
    }

    #[test]
    fn a_pool_full_for_everyone_is_the_look_alike() {
        assert_eq!(elephant().gauge(KvUsage, 0.99).judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn running_at_the_cap_is_the_look_alike() {
        let capped = elephant().flags("--max-num-seqs 120");
        let cap = find("max-num-seqs-limited-queue").expect("a cause of the catalogue");
        assert_eq!(capped.place_of(cap), Place::First);
        let j = capped.judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely);
        assert!(j.confidence < capped.judge(cap).confidence, "{}", j.confidence);
    }

    #[test]
    fn an_engine_without_prompt_lengths_leaves_it_open() {
        let j = elephant().without(TokensPromptEach).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
        assert!(j.missing[0].contains("request_prompt_tokens"), "{:?}", j.missing);
    }
}
