//! The first token costs what its prompt costs.

use intriage_case::{Seconds, Signal, Tokens};
use intriage_engines::Engine;

use crate::causes::shared::{on_cpu, prompt_work_is_large, prompts_are_long, requests_wait, unknown};
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::few_long::FewLong;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "long-prompt-compute-bound",
    class: Class::Prefill,
    layer: Layer::Gpu,
    hurts: &[Aspect::Prefill, Aspect::Interference, Aspect::Stalls],
    summary: "The first token is late because the prompt is long: the wait is the honest price of computing it.",
    symptoms: &[
        "first-token time grows with the prompt, on an idle server too",
        "tokens come fast once they come and nobody waits",
    ],
    confirmed_by: &[
        "prefill is the larger half of the first-token time, with nobody waiting",
        "one request on an idle server takes at most about three times the compute bound",
    ],
    refuted_by: &["prefill is the smaller half", "prompts are short"],
    look_alikes: &[
        LookAlike {
            cause: "token-budget-limited-queue",
            tell: "there one request alone is fast and many together are not",
        },
        LookAlike { cause: "prefix-cache-ineffective", tell: "there most of the prompt was computed before" },
        LookAlike {
            cause: "kernel-fallback-slow-path",
            tell: "there the same prompt takes many times the compute bound",
        },
        LookAlike { cause: "cold-start-warmup", tell: "there only the first requests are slow" },
    ],
    probe: Probe {
        name: "length-slope",
        steps: "On an idle replica send unique prompts of 256, 1,000, 4,000 and 16,000 tokens, five each, with one output token.",
        if_so: "First-token time grows in a straight line with the prompt, then faster.",
        if_not: "A fixed part dominates, or the slope is many times the compute bound.",
    },
    remedies: &[
        Remedy::any(
            "send fewer prompt tokens, reuse prefixes, send long prompts to a pool of their own, or use more compute (FP8 on Ada, Hopper or newer; more GPUs)",
            "work in the application, or hardware",
        ),
        Remedy::of(
            Engine::Vllm,
            "raise --max-num-batched-tokens: long prompts take fewer steps",
            "gaps between other answers' tokens grow",
        ),
        Remedy::of(Engine::Sglang, "raise --chunked-prefill-size", "gaps between other answers' tokens grow"),
        Remedy::of(
            Engine::LlamaCpp,
            "raise -ub and -b (512 and 2048 by default), -fa on, all layers on the GPU",
            "memory",
        ),
    ],
    effect: "First-token time falls in proportion to the tokens not computed or the compute gained.",
    confirm: "latency.prefill falls and the first-token objective is met.",
    explains: &[],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let prefill = e.account.prefill.map_or(0.0, |p| p.value);
    let w = Weighing::new()
        .requires(prompts_are_costly(e))
        .requires(prompt_work_is_large(e))
        .weakened_by(requests_wait(e))
        .supports(card_is_the_limit(e))
        .explains(effects(e))
        .at_most_likely(0.55);
    let mean = e.mean(Signal::TokensPromptEach).unwrap_or(0.0);
    let says = match few_are_costly(e, mean) {
        Some(few) => format!(
            "one prompt in twenty has {} or more, the usual one {}: its first token waits until they are computed",
            few.long, few.usual
        ),
        None => format!(
            "the first token waits {} for a prompt of about {} to be computed",
            Seconds(prefill),
            Tokens(mean)
        ),
    };
    let share = e.account.share_of_life(prefill);
    let impact = Impact {
        on: ImpactOn::Ttft,
        share,
        time: Some(Seconds(prefill)),
        says: format!("{} of prefill per request, {share} of its life", Seconds(prefill)),
    };
    w.conclude(says, impact)
}

/// Long enough for computing one to be felt: on a CPU a few hundred tokens, on a GPU a thousand.
fn prompts_are_costly(e: &Evidence<'_>) -> Test {
    if matches!(on_cpu(e), Test::Holds(_)) {
        return prompts_are_long(e);
    }
    let Some(mean) = e.mean(Signal::TokensUncachedEach).or_else(|| e.mean(Signal::TokensPromptEach)) else {
        return unknown(e, Signal::TokensPromptEach);
    };
    if let Some(few) = few_are_costly(e, mean) {
        let says = format!("one prompt in twenty has {} or more", few.long);
        return Test::Holds(e.fact(Signal::TokensPromptEach, says, few.long.get()));
    }
    let says = format!("{} of a prompt are computed on average", Tokens(mean));
    Test::when(mean >= e.limit(Limit::CostlyPrompt), e.fact(Signal::TokensPromptEach, says, mean))
}

/// Prompts are short on average, and one in twenty is costly.
fn few_are_costly(e: &Evidence<'_>, mean: f64) -> Option<FewLong> {
    let costly = e.limit(Limit::CostlyPrompt);
    FewLong::of(e).filter(|few| mean < costly && few.long.get() >= costly)
}

/// Where ordinary prompts are long, the tokens of others stutter because of them.
fn effects(e: &Evidence<'_>) -> &'static [&'static str] {
    let median = e.histogram(Signal::TokensPromptEach).and_then(|h| h.quantile(0.5));
    let long = median.is_some_and(|q| q.low >= e.limit(Limit::CostlyPrompt));
    if long { &["prefill-decode-interference"] } else { &[] }
}

/// The card computes prompts about as fast as it can.
fn card_is_the_limit(e: &Evidence<'_>) -> Test {
    let floor = e.floor.as_ref().ok().and_then(|f| Some((f.prefill?, f)));
    let (Some((least, floor)), Some(prefill)) = (floor, e.account.prefill) else {
        return Test::Unknown(
            "the hardware's compute bound is not known here, so 'as fast as it can be' is not proven".into(),
        );
    };
    let times = prefill.value / least.max(f64::MIN_POSITIVE);
    let says = format!(
        "prefill takes {}, {times:.1} times the {} that {} needs at its peak",
        Seconds(prefill.value),
        Seconds(least),
        floor.gpu
    );
    if times <= e.limit(Limit::RoofBad) {
        Test::Holds(e.derived(says, Seconds(least), "2 × parameters × prompt / peak FLOP/s"))
    } else {
        Test::Fails(e.derived(says, Seconds(least), "2 × parameters × prompt / peak FLOP/s"))
    }
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::CAUSE;
    use crate::causes::find;
    use crate::diagnosis::Outcome;
    use crate::testing::{Given, Place};

    fn long() -> Given {
        Given::vllm("0.28.0")
            .gauge(RequestsRunning, 2.0)
            .gauge(RequestsWaiting, 0.0)
            .observed(TokensPromptEach, &[(16_000.0, 60.0)])
            .observed(LatencyTtft, &[(1.2, 60.0)])
            .observed(LatencyQueue, &[(0.0, 60.0)])
            .observed(LatencyPrefill, &[(1.1, 60.0)])
            .finished("stop", 60.0)
    }

    #[test]
    fn a_missed_objective_under_long_prompts_is_likely_their_price() {
        let missed = long().objective("ttft.p95=500ms");
        assert_eq!(missed.judge(&CAUSE).outcome, Outcome::Likely);
        assert_eq!(missed.place_of(&CAUSE), Place::First);
    }

    #[test]
    fn without_an_objective_the_price_is_not_a_fault() {
        assert_eq!(long().place_of(&CAUSE), Place::Note);
        assert_eq!(long().on_gpu().place_of(&CAUSE), Place::Note, "within the two seconds of a chat service");
        assert_eq!(long().objective("ttft.p95=5s").place_of(&CAUSE), Place::Note);
    }

    #[test]
    fn short_prompts_rule_it_out() {
        let j = long().objective("ttft.p95=500ms").observed(TokensPromptEach, &[(60.0, 60.0)]).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
    }

    #[test]
    fn a_queue_is_the_look_alike() {
        let queued = long()
            .objective("ttft.p95=500ms")
            .flags("--max-num-seqs 2")
            .gauge(RequestsWaiting, 9.0)
            .gauge(KvUsage, 0.3)
            .observed(LatencyTtft, &[(9.2, 60.0)])
            .observed(LatencyQueue, &[(8.0, 60.0)]);
        let cap = find("max-num-seqs-limited-queue").expect("a cause of the catalogue");
        assert_eq!(queued.place_of(cap), Place::First);
        // Where prompt work is still the larger half, a queue beside it makes this one less sure.
        let beside = long().objective("ttft.p95=500ms").gauge(RequestsWaiting, 9.0).judge(&CAUSE);
        assert_eq!(beside.outcome, Outcome::Likely);
        assert!(beside.confidence < long().judge(&CAUSE).confidence, "{}", beside.confidence);
    }
}
