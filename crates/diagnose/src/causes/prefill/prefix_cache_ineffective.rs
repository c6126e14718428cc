//! Prompts are computed again although their beginnings repeat.

use intriage_case::{Ratio, Seconds, Signal, Tokens};
use intriage_engines::{Engine, Meaning, Setting};

use crate::causes::shared::{prompt_work_is_large, prompts_are_long, unknown};
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "prefix-cache-ineffective",
    class: Class::Prefill,
    layer: Layer::Application,
    hurts: &[Aspect::Queue, Aspect::Prefill, Aspect::Interference, Aspect::Stalls],
    summary: "Prompts share long beginnings, but they are computed anew each time: the cache is off, the shared part does not come first, or it is evicted before it is used again.",
    symptoms: &[
        "the second identical prompt is as slow as the first",
        "the hit rate is low although the traffic repeats itself",
        "conversations get slower turn by turn",
    ],
    confirmed_by: &[
        "prefix caching is off while long prompts take the larger half of the first-token time, or of a token's gap",
        "the same prompt twice, seconds apart, is not faster the second time",
    ],
    refuted_by: &[
        "the cache serves a good part of the prompt tokens",
        "computing prompts is the smaller part of the first token and of the gaps",
        "a second identical prompt is fast",
    ],
    look_alikes: &[
        LookAlike { cause: "long-prompt-compute-bound", tell: "there the prompts really are all different" },
        LookAlike {
            cause: "token-budget-limited-queue",
            tell: "the queue this causes: full steps of prompt tokens",
        },
        LookAlike {
            cause: "prefix-affinity-lost",
            tell: "there one replica's cache works and the router spreads the repeats",
        },
        LookAlike {
            cause: "benign-low-prefix-hit",
            tell: "there nothing is shared, so nothing can be found",
        },
    ],
    probe: Probe {
        name: "same-prompt-twice",
        steps: "On a quiet replica send a unique prompt of 4,000 tokens, the same again at once, then once more after the usual pause between turns.",
        if_so: "The second is as slow as the first (off or broken), or only the third is slow (evicted).",
        if_not: "The second and third are fast.",
    },
    remedies: &[
        Remedy::of(
            Engine::Vllm,
            "remove --no-enable-prefix-caching (caching is on by default from 0.8)",
            "none beyond a restart; blocks are only kept while nobody needs them",
        ),
        Remedy::of(
            Engine::Sglang,
            "remove --disable-radix-cache; --schedule-policy lpm",
            "scheduling overhead",
        ),
        Remedy::of(Engine::LlamaCpp, "remove --no-cache-prompt; --cache-reuse N, --cache-ram", "host memory"),
        Remedy::of(Engine::TensorRtLlm, "kv_cache_config.enable_block_reuse true", "memory"),
        Remedy::of(Engine::Lmdeploy, "--enable-prefix-caching (off by default)", "memory"),
        Remedy::any(
            "put what never changes first (system prompt, tools, documents) and timestamps, ids and names last; no per-request salt unless tenants must be kept apart",
            "work in the application",
        ),
        Remedy::of(
            Engine::Vllm,
            "--kv-offloading-size N keeps evicted prefixes in host memory",
            "host memory; loads cost time",
        )
        .since("0.12.0"),
    ],
    effect: "The first token of a repeat falls by the cached share of its prompt, and the compute it saves shortens everyone's queue.",
    confirm: "kv.prefix_hits grow and tokens.prompt_computed fall at the same traffic.",
    explains: &[
        "token-budget-limited-queue",
        "long-prompt-compute-bound",
        "prefill-decode-interference",
        "offered-load-exceeds-capacity",
        "prefill-chunk-budget-too-small",
        "batch-past-knee",
    ],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let work = prompt_work(e);
    let share = e.account.share_of_life(work);
    let mut w = Weighing::new().requires(caching_is_off(e));
    for test in [prompts_are_long(e), prompts_are_felt(e)] {
        // An engine that says again and again that it computes whole prompts need not show how long they are.
        w = match test {
            Test::Unknown(why) if is_lost_again_and_again(e) => w.supports(Test::Unknown(why)),
            known => w.requires(known),
        };
    }
    let w = w
        .refuted_by(cache_serves(e))
        .refuted_by(most_are_short(e))
        .supports(prompts_are_alike(e))
        // Whether prompts share a beginning shows in no counter while the cache is off.
        .at_most_likely(0.7)
        .explains(CAUSE.explains)
        .explains(if matches!(prompts_are_alike(e), Test::Holds(_)) { IN_COPIES } else { &[] });
    let prompt = Tokens(e.mean(Signal::TokensPromptEach).unwrap_or(0.0));
    let why = if is_switched_off(e) { "prefix caching is off" } else { "cached prompts are lost" };
    let prompt = if prompt.get() > 0.0 { format!(" of about {prompt}") } else { String::new() };
    let says = format!("{why}, so every prompt{prompt} is computed from its first token");
    let impact = Impact {
        on: ImpactOn::Ttft,
        share,
        time: Some(Seconds(work)),
        says: format!("up to {} per request goes into prompts, computing or waiting for it", Seconds(work)),
    };
    w.conclude(says, impact)
}

/// A common beginning is no longer than the shorter half of the prompts.
fn most_are_short(e: &Evidence<'_>) -> Test {
    let half = e.histogram(Signal::TokensPromptEach).and_then(|h| h.quantile(0.5));
    let Some(half) = half else { return unknown(e, Signal::TokensPromptEach) };
    let says =
        format!("half of the prompts have {} or fewer: they can share no long beginning", Tokens(half.high));
    Test::when(half.high < e.limit(Limit::LongPrompt), e.fact(Signal::TokensPromptEach, says, half.high))
}

/// Prompts with one beginning fill the pool with copies of it.
const IN_COPIES: &[&str] =
    &["kv-capacity-limited-queue", "preemption-thrash", "offered-load-exceeds-capacity"];

/// Whether a setting or the log says that no prompt is kept.
pub(crate) fn is_switched_off(e: &Evidence<'_>) -> bool {
    e.observed.log.first(Meaning::PrefixCachingOff).is_some()
        || e.observed.config.switch(Setting::PrefixCaching) == Some(false)
}

fn is_lost_again_and_again(e: &Evidence<'_>) -> bool {
    let lost = e.observed.log.of_running(Meaning::PrefixLost);
    lost.is_some_and(|event| f64::from(event.count) >= e.limit(Limit::PrefixLost))
}

/// First-token time that prompt work explains: prefill, the wait for a running step, the queue behind.
fn prompt_work(e: &Evidence<'_>) -> f64 {
    let a = &e.account;
    [a.queue, a.prefill, a.input].into_iter().flatten().map(|p| p.value).sum()
}

/// In the first token, or in the gaps between the tokens of others.
fn prompts_are_felt(e: &Evidence<'_>) -> Test {
    let first = prompt_work_is_large(e);
    if matches!(first, Test::Holds(_)) {
        return first;
    }
    let stutter = [e.account.interference, e.account.stalls].into_iter().flatten().map(|p| p.value).sum();
    let share = e.account.itl.and_then(|itl| Ratio::of(stutter, itl));
    match share {
        Some(share) if share.get() >= e.limit(Limit::PrefillShare) => {
            let says =
                format!("{} of every token gap, {share} of it, is prompts being read", Seconds(stutter));
            Test::Holds(e.fact(Signal::LatencyItl, says, stutter))
        }
        _ => first,
    }
}

fn caching_is_off(e: &Evidence<'_>) -> Test {
    if let Some(event) = e.observed.log.of_running(Meaning::PrefixLost) {
        let mut fact = e.setting_fact(Setting::PrefixCaching, format!("the log says: {}", event.excerpt));
        fact.source = event.source();
        return Test::Holds(fact);
    }
    if let Some(event) = e.observed.log.first(Meaning::PrefixCachingOff) {
        let mut fact = e.setting_fact(Setting::PrefixCaching, format!("the log says: {}", event.excerpt));
        fact.source = event.source();
        return Test::Holds(fact);
    }
    match e.observed.config.switch(Setting::PrefixCaching) {
        Some(false) => Test::Holds(e.setting_fact(Setting::PrefixCaching, "prefix caching is switched off")),
        Some(true) | None => match hit_ratio(e) {
            Some(Ratio(hits)) => Test::Unknown(format!(
                "the cache found {} of the prompt tokens; whether more could be found depends on how much prompts share, which no counter tells",
                Ratio(hits)
            )),
            None => unknown(e, Signal::KvPrefixQueries),
        },
    }
}

fn hit_ratio(e: &Evidence<'_>) -> Option<Ratio> {
    Ratio::of(e.delta(Signal::KvPrefixHits)?, e.delta(Signal::KvPrefixQueries)?)
        .or_else(|| Ratio::of(e.delta(Signal::TokensPromptCached)?, e.delta(Signal::TokensPrompt)?))
}

fn cache_serves(e: &Evidence<'_>) -> Test {
    let on = e.observed.config.switch(Setting::PrefixCaching) != Some(false);
    let Some(hits) = hit_ratio(e).filter(|_| on) else {
        return Test::Unknown("no lookups were counted".into());
    };
    let says = format!("the prefix cache finds {hits} of the prompt tokens");
    Test::when(
        hits.get() >= 0.5,
        e.fact(Signal::KvPrefixHits, says, e.delta(Signal::KvPrefixHits).unwrap_or(0.0)),
    )
}

/// Prompts of one length usually come from one template, whose beginning repeats.
fn prompts_are_alike(e: &Evidence<'_>) -> Test {
    let Some(lengths) = e.histogram(Signal::TokensPromptEach).filter(|h| h.count() > 0.0 && h.has_buckets())
    else {
        return unknown(e, Signal::TokensPromptEach);
    };
    let fullest = lengths.buckets().map(|b| b.2).fold(0.0, f64::max) / lengths.count();
    let says = format!(
        "{} of the prompts are of about one length, as a common beginning makes them",
        Ratio(fullest)
    );
    Test::when(
        fullest >= e.limit(Limit::Sustained),
        e.fact(Signal::TokensPromptEach, says, lengths.mean().unwrap_or(0.0)),
    )
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::CAUSE;
    use crate::diagnosis::Outcome;
    use crate::testing::{Given, Place};

    fn off() -> Given {
        Given::vllm("0.32.0")
            .flags("--no-enable-prefix-caching")
            .gauge(RequestsRunning, 3.0)
            .gauge(RequestsWaiting, 0.0)
            .observed(TokensPromptEach, &[(5000.0, 100.0)])
            .observed(LatencyTtft, &[(3.0, 100.0)])
            .observed(LatencyQueue, &[(0.0, 100.0)])
            .observed(LatencyPrefill, &[(2.5, 100.0)])
            .observed(LatencyDecode, &[(2.0, 100.0)])
            .counter(KvPrefixQueries, 0.0)
            .counter(KvPrefixHits, 0.0)
            .finished("stop", 100.0)
    }

    #[test]
    fn a_cache_switched_off_under_long_prompts_is_likely_the_cause() {
        let j = off().judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.confidence <= 0.7, "only the probe can tell whether prompts repeat");
    }

    #[test]
    fn prompts_an_earlier_process_lost_are_not_the_running_ones() {
        use intriage_engines::Engine;
        let start = "load_model: loading model 'm.gguf'\n";
        let lost =
            "slot update_slots: forcing full prompt re-processing due to lack of cache data\n".repeat(20);
        let given = Given::engine(Engine::LlamaCpp, "b10500").gauge(RequestsRunning, 1.0);
        let told = |log: String| given.clone().log(&log).judge(&CAUSE).facts_for.len();
        assert!(told(format!("{start}{start}{lost}")) > told(format!("{start}{lost}{start}")));
    }

    #[test]
    fn a_cache_that_serves_is_ruled_out() {
        let j = off()
            .flags("")
            .counter(KvPrefixQueries, 500_000.0)
            .counter(KvPrefixHits, 400_000.0)
            .judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
    }

    #[test]
    fn a_low_hit_rate_alone_tells_nothing() {
        let j =
            off().flags("").counter(KvPrefixQueries, 500_000.0).counter(KvPrefixHits, 5000.0).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
        assert!(j.missing[0].contains("no counter tells"), "{:?}", j.missing);
    }

    #[test]
    fn a_cache_switched_off_that_nobody_misses_is_no_fault() {
        let quick = off().observed(LatencyTtft, &[(0.06, 100.0)]).observed(LatencyPrefill, &[(0.04, 100.0)]);
        assert_eq!(quick.place_of(&CAUSE), Place::Note);
        assert_eq!(off().place_of(&CAUSE), Place::First);
        let short = off().observed(TokensPromptEach, &[(40.0, 100.0)]);
        assert_eq!(short.judge(&CAUSE).outcome, Outcome::RuledOut);
    }
}
