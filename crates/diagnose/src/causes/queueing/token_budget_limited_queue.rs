//! Prompts fill every step to its token budget, and new ones wait for their turn.

use intriage_case::{PerSecond, Quantity, Ratio, Signal, Tokens};
use intriage_engines::{Engine, Setting};

use crate::account::prompt_share_of_steps;
use crate::causes::shared::{
    at_stated_cap, pool_has_room, pool_is_full, queue_impact, requests_wait, steps_are_full, token_budget,
};
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "token-budget-limited-queue",
    class: Class::Queueing,
    layer: Layer::Gpu,
    hurts: &[Aspect::Queue, Aspect::Prefill, Aspect::Interference],
    summary: "Prompts arrive faster than they can be computed: every step is filled to its token budget and the rest wait.",
    symptoms: &[
        "the first token gets later with load although memory and slots are free",
        "tokens of running answers come at the pace of full steps",
        "traffic is heavy in prompt tokens: retrieval, long documents",
    ],
    confirmed_by: &[
        "steps carry about as many tokens as the budget allows while requests wait",
        "the KV pool has room and running is below the sequence cap",
        "nearly all tokens in a step are prompt tokens",
    ],
    refuted_by: &["steps are far from full", "nobody waits"],
    look_alikes: &[
        LookAlike {
            cause: "long-prompt-compute-bound",
            tell: "there one request on an idle server is already slow",
        },
        LookAlike {
            cause: "prefill-chunk-budget-too-small",
            tell: "there a larger budget raises the prompt rate; here compute is the limit",
        },
        LookAlike {
            cause: "prefix-cache-ineffective",
            tell: "there the prompts repeat and are computed again",
        },
        LookAlike { cause: "kv-capacity-limited-queue", tell: "there the pool is full" },
    ],
    probe: Probe {
        name: "budget-sweep",
        steps: "Run the same load on a canary with half, once and twice the token budget.",
        if_so: "The prompt rate stays the same: compute is the limit.",
        if_not: "The prompt rate follows the budget: the budget itself was too small.",
    },
    remedies: &[
        Remedy::any(
            "send fewer prompt tokens: shorten retrieved context, put what repeats first so that the prefix cache finds it",
            "work in the application",
        ),
        Remedy::any("add replicas, or send long prompts to a pool of their own", "hardware"),
        Remedy::of(
            Engine::Vllm,
            "FP8 weights on Ada, Hopper or newer; disaggregated prefill (--kv-transfer-config) to protect running answers",
            "quality gate; a transfer network; disaggregation adds no throughput",
        ),
        Remedy::of(
            Engine::Sglang,
            "--enable-mixed-chunk, --chunked-prefill-size, or prefill/decode disaggregation",
            "as above",
        ),
        Remedy::of(
            Engine::TensorRtLlm,
            "raise --max_num_tokens with enable_chunked_prefill",
            "activation memory",
        ),
    ],
    effect: "The queue shrinks with every prompt token not computed; more compute raises the limit in proportion.",
    confirm: "tokens.per_step falls below the budget and latency.queue to near zero.",
    explains: &[
        "prefill-decode-interference",
        "offered-load-exceeds-capacity",
        "long-prompt-compute-bound",
        "batch-past-knee",
        "head-of-line-blocking",
        "burst-arrival-transient",
    ],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let mut w = Weighing::new()
        .requires(requests_wait(e))
        .requires(steps_are_full(e))
        .weakened_by(pool_is_full(e))
        .weakened_by(at_stated_cap(e))
        .supports(steps_are_prompts(e))
        .supports(pool_has_room(e));
    let rate = e.delta(Signal::TokensPromptComputed).or_else(|| e.delta(Signal::TokensPrompt)).unwrap_or(0.0)
        / e.busy_time().get().max(1.0);
    let step = e.mean(Signal::TokensPerStep).unwrap_or(0.0);
    let budget = e.setting(Setting::TokenBudget).or_else(|| token_budget(e, step)).unwrap_or(step);
    if e.setting(Setting::TokenBudget).is_none() {
        w = w.supports(Test::Unknown(
            "the token budget is not stated; the steps come up to one of the engine's defaults".into(),
        ));
    }
    let says = format!(
        "prompts fill every step to its budget of {} ({} computed) and the rest wait",
        Tokens(budget),
        Quantity::from(PerSecond(Tokens(rate)))
    );
    w.conclude(says, queue_impact(e))
}

fn steps_are_prompts(e: &Evidence<'_>) -> Test {
    let Some(share) = prompt_share_of_steps(e) else {
        return Test::Unknown("prompt and output tokens are not both counted".into());
    };
    let says = format!("{} of all computed tokens are prompt tokens", Ratio(share));
    Test::when(share > 0.5, e.derived(says, Ratio(share), "prompt / (prompt + output)"))
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::CAUSE;
    use crate::causes::find;
    use crate::diagnosis::Outcome;
    use crate::testing::{Given, Place};

    /// Scenario F03: prompts of 7,000 tokens at 4.2 requests a second.
    fn saturated() -> Given {
        Given::vllm("0.28.0")
            .flags("--max-num-seqs 256 --max-num-batched-tokens 8192")
            .gauge(RequestsRunning, 14.0)
            .gauge(RequestsWaiting, 14.0)
            .gauge(KvUsage, 0.23)
            .observed(TokensPerStep, &[(7900.0, 210.0)])
            .observed(LatencyTtft, &[(4.1, 230.0)])
            .observed(LatencyQueue, &[(3.3, 230.0)])
            .observed(LatencyPrefill, &[(0.8, 230.0)])
            .counter(TokensPrompt, 1_610_000.0)
            .counter(TokensGenerated, 2300.0)
            .finished("stop", 230.0)
    }

    #[test]
    fn steps_full_of_prompts_with_a_queue_are_the_cause() {
        let j = saturated().judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
    }

    #[test]
    fn steps_far_from_full_rule_it_out() {
        assert_eq!(
            saturated().observed(TokensPerStep, &[(260.0, 6000.0)]).judge(&CAUSE).outcome,
            Outcome::RuledOut
        );
    }

    #[test]
    fn a_full_pool_is_the_look_alike() {
        let full = saturated().gauge(KvUsage, 0.99);
        let j = full.judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.confidence < saturated().judge(&CAUSE).confidence, "{}", j.confidence);
        let pool = find("kv-capacity-limited-queue").expect("a cause of the catalogue");
        assert_ne!(full.place_of(pool), Place::Nowhere, "both limits bind and both are told");
    }

    #[test]
    fn steps_as_large_as_a_default_budget_show_it_where_nothing_states_it() {
        let j = saturated().flags("").judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert!(j.missing.iter().any(|m| m.contains("not stated")), "{:?}", j.missing);
    }

    #[test]
    fn without_the_budget_nobody_can_tell() {
        let odd = saturated().observed(TokensPerStep, &[(5000.0, 210.0)]);
        let j = odd.flags("--max-num-seqs 256").judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
        assert!(j.missing[0].contains("token budget"), "{:?}", j.missing);
    }
}
