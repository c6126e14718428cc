//! Reading the contexts takes more of each step than the weights do.

use intriage_case::{Fact, Ratio, Requests, Seconds, Signal, Tokens};
use intriage_engines::{Engine, Setting};

use super::pace::{Fit, fit_gaps, live_tokens, move_together, pace_impact, running, thrown_back};
use super::roof::{context_is_the_larger_part, step_is_most_of_the_gap, step_is_near_floor};
use crate::causes::shared::unknown;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "long-context-kv-read-bound",
    class: Class::Decode,
    layer: Layer::Gpu,
    hurts: &[Aspect::DecodeStep],
    summary: "Each step reads the KV of every running context, and long contexts make that the larger part of the step.",
    symptoms: &[
        "tokens slow down as conversations grow",
        "short requests in the same batch slow down too",
        "few requests fill much of the KV pool",
    ],
    confirmed_by: &[
        "the mean gap follows the live tokens (KV usage × capacity) at an equal number running, r² of at least 0.7",
        "the slope is KV bytes per token / memory bandwidth, within a factor of two",
        "a single stream slows down by that slope from 1,000 to 64,000 tokens of context",
    ],
    refuted_by: &["the gap does not follow the live tokens", "prompts and answers are short"],
    look_alikes: &[
        LookAlike {
            cause: "batch-past-knee",
            tell: "there the gap follows the number of requests, not their tokens",
        },
        LookAlike {
            cause: "kernel-fallback-slow-path",
            tell: "there the gap grows much more steeply than KV bytes / bandwidth",
        },
        LookAlike {
            cause: "preemption-thrash",
            tell: "there requests are thrown back and single gaps last seconds",
        },
    ],
    probe: Probe {
        name: "context-sweep",
        steps: "On an idle server decode 128 tokens after contexts of 1,000, 8,000 and 32,000 tokens and fit gap = a + b × context.",
        if_so: "b is about KV bytes per token / memory bandwidth.",
        if_not: "b is near zero, or many times that.",
    },
    remedies: &[
        Remedy::of(
            Engine::Vllm,
            "--kv-cache-dtype fp8 (half the bytes to read)",
            "quality: calibrate the scales or gate on an evaluation",
        ),
        Remedy::of(
            Engine::Vllm,
            "cap requests with --max-model-len, and send long contexts to a pool of their own",
            "long requests are refused here",
        ),
        Remedy::of(Engine::Sglang, "--kv-cache-dtype fp8_e5m2", "quality"),
        Remedy::of(Engine::LlamaCpp, "-fa on -ctk q8_0 -ctv q8_0", "quality"),
        Remedy::of(Engine::TensorRtLlm, "kv_cache_config.dtype fp8", "quality"),
        Remedy::any(
            "shorten or summarise the history, or choose a model with fewer KV bytes per token (GQA, MLA, sliding window)",
            "quality",
        ),
    ],
    effect: "With 8-bit KV the part of the gap that grows with the context halves.",
    confirm: "latency.itl at the same kv.usage and requests.running falls below its objective.",
    explains: &[],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let fit = fit_gaps(e, live_tokens(e), "the number of live tokens");
    let by_physics = physics_explains(e);
    let w = Weighing::new().weakened_by(thrown_back(e));
    if let Some((fact, says, time)) = by_physics {
        return w
            .requires(Test::Holds(fact))
            .requires(step_is_near_floor(e))
            .requires(step_is_most_of_the_gap(e))
            .supports(gaps_follow_tokens(e, fit.as_ref()))
            .conclude(says, pace_impact(e, time));
    }
    let w = w
        .requires(gaps_follow_tokens(e, fit.as_ref()))
        .requires(not_the_batch(e))
        .refuted_by(contexts_are_short(e))
        .supports(context_is_the_larger_part(e))
        .at_most_likely(0.6);
    let Ok(fit) = fit else {
        return w.conclude("", pace_impact(e, 0.0));
    };
    let live = live_mean(e).unwrap_or(0.0);
    let says = format!(
        "about {} of context are read in every step by {}, {} of each token's {}",
        Tokens(live.round()),
        Requests(e.mean_busy(Signal::RequestsRunning).unwrap_or(0.0)),
        Seconds(fit.slope * live),
        Seconds(e.account.itl.unwrap_or(0.0))
    );
    w.conclude(says, pace_impact(e, fit.slope * live))
}

/// Reading the contexts takes most of the least a step could take, and that least explains the step:
/// the fact, the sentence, and the time.
fn physics_explains(e: &Evidence<'_>) -> Option<(Fact, String, f64)> {
    let (Ok(floor), Test::Holds(fact)) = (&e.floor, context_is_the_larger_part(e)) else { return None };
    let step = e.account.ordinary_step().filter(|s| *s > 0.0)?;
    let time = step * floor.context / floor.decode;
    let says = format!(
        "about {} of context are read in every step by {}, {} of each token's {}",
        Tokens(floor.live.round()),
        Requests(e.mean_busy(Signal::RequestsRunning).unwrap_or(0.0)),
        Seconds(time),
        Seconds(e.account.itl.unwrap_or(0.0))
    );
    Some((fact, says, time))
}

/// The mean gap rises with the tokens in the pool.
fn gaps_follow_tokens(e: &Evidence<'_>, fit: Result<&Fit, &String>) -> Test {
    if e.gauge(Signal::KvUsage).is_none() {
        return unknown(e, Signal::KvUsage);
    }
    if e.setting(Setting::KvCapacity).is_none() {
        return unknown(e, Signal::KvCapacity);
    }
    let fit = match fit {
        Ok(fit) => fit,
        Err(why) => return Test::Unknown(why.clone()),
    };
    let fact = |says: String| {
        e.derived(says, Ratio(fit.quality), "line through the mean gap per interval over kv.usage × capacity")
    };
    let (slope, quality) = (Seconds(fit.slope * 1000.0), fit.quality);
    match fit.follows(e) {
        Some(true) => Test::Holds(fact(format!(
            "{slope} more on every token for each 1,000 live tokens (r² {quality:.2})"
        ))),
        Some(false) => Test::Fails(fact(format!(
            "the gaps between tokens do not follow the number of live tokens (r² {quality:.2})"
        ))),
        None => Test::Unknown(format!(
            "the gaps between tokens follow the number of live tokens only loosely (r² {quality:.2})"
        )),
    }
}

/// The number running does not rise and fall with the tokens.
fn not_the_batch(e: &Evidence<'_>) -> Test {
    if e.gauge(Signal::RequestsRunning).is_none() {
        return unknown(e, Signal::RequestsRunning);
    }
    if move_together(e, running(e), live_tokens(e)) {
        return Test::Unknown("the batch and its live tokens rise and fall together, so they cannot be told apart: the context-sweep probe would".into());
    }
    let mean = e.mean_busy(Signal::RequestsRunning).unwrap_or(0.0);
    Test::Holds(e.fact(
        Signal::RequestsRunning,
        "the live tokens change without the number of running requests",
        mean,
    ))
}

/// Requests of this length hold next to nothing in the pool.
fn contexts_are_short(e: &Evidence<'_>) -> Test {
    let (Some(prompt), Some(output)) = (e.mean(Signal::TokensPromptEach), e.mean(Signal::TokensOutputEach))
    else {
        return unknown(e, Signal::TokensPromptEach);
    };
    let says = format!("prompt and answer come to {} on average", Tokens((prompt + output).round()));
    Test::when(
        prompt + output < e.limit(Limit::LongPrompt),
        e.derived(says, Tokens(prompt + output), "mean prompt + mean output"),
    )
}

fn live_mean(e: &Evidence<'_>) -> Option<f64> {
    Some(e.mean_busy(Signal::KvUsage)? * e.setting(Setting::KvCapacity)?)
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::CAUSE;
    use crate::diagnosis::Outcome;
    use crate::testing::Given;

    const USAGE: [f64; 12] = [0.05, 0.1, 0.2, 0.28, 0.35, 0.42, 0.5, 0.58, 0.66, 0.74, 0.8, 0.84];

    /// Scenario F19: six conversations grow to 60,000 tokens each; 7.5 ms a token become 28 ms.
    fn growing() -> Given {
        Given::vllm("0.28.0")
            .pool(430_000.0)
            .gauge(RequestsRunning, 6.0)
            .gauges(KvUsage, &USAGE)
            .objective("itl.p95=15ms")
    }

    fn gaps() -> Vec<f64> {
        USAGE.windows(2).map(|w| 0.0065 + 0.0256 * f64::midpoint(w[0], w[1])).collect()
    }

    #[test]
    fn gaps_that_grow_with_the_contexts_of_six_requests_are_likely_kv_reads() {
        let j = growing().gaps(&gaps()).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.says.contains("6 requests") && j.confidence <= 0.6, "{} {}", j.says, j.confidence);
    }

    #[test]
    fn on_a_known_card_the_arithmetic_confirms_it() {
        let steady = growing()
            .gauge(KvUsage, 0.84)
            .observed(LatencyItl, &[(0.026, 20_000.0)])
            .on_card("NVIDIA H100 80GB HBM3", "meta-llama/Llama-3.1-8B");
        let j = steady.judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert!(j.facts_for.iter().any(|f| f.says.contains("361,200 tokens of live context")), "{j:#?}");
        // A twentieth of the context is read in a moment: the same pace then has another reason.
        let j = steady.gauge(KvUsage, 0.04).judge(&CAUSE);
        assert_ne!(j.outcome, Outcome::Confirmed);
    }

    #[test]
    fn a_batch_that_grows_with_its_tokens_cannot_be_told_apart() {
        let running: Vec<f64> = USAGE.iter().map(|u| (u * 100.0_f64).round()).collect();
        let j = growing().gauges(RequestsRunning, &running).gaps(&gaps()).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
        assert!(j.missing[0].contains("rise and fall together"), "{:?}", j.missing);
    }

    #[test]
    fn a_steady_pace_over_growing_contexts_rules_it_out() {
        let uneven: Vec<f64> = (0..11).map(|i| if i % 2 == 0 { 0.02 } else { 0.03 }).collect();
        assert_eq!(growing().gaps(&uneven).judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn short_requests_have_no_long_context() {
        let short = growing()
            .observed(TokensPromptEach, &[(100.0, 400.0)])
            .observed(TokensOutputEach, &[(50.0, 400.0)]);
        let j = short.gaps(&gaps()).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
        assert!(j.against[0].says.contains("150 tokens"), "{:?}", j.against);
    }

    #[test]
    fn preemptions_are_the_look_alike() {
        let calm = growing().gaps(&gaps());
        let torn = calm.clone().counter(RequestsPreempted, 9.0).judge(&CAUSE);
        assert_eq!(torn.outcome, Outcome::Likely, "{torn:#?}");
        assert!(torn.against[0].says.contains("thrown back"), "{:?}", torn.against);
        assert!(torn.confidence < calm.judge(&CAUSE).confidence, "{}", torn.confidence);
    }
}
