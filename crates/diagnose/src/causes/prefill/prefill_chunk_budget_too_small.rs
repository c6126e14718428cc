//! Long prompts take many steps because each step may carry few of their tokens.

use intriage_case::{Quantity, Ratio, Seconds, Signal, Tokens, Unit};
use intriage_engines::{Engine, Setting};

use crate::causes::shared::{runs_on_gpu, unknown};
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::symptoms::{Aspect, HeldUp, held_up};
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "prefill-chunk-budget-too-small",
    class: Class::Prefill,
    layer: Layer::Configuration,
    hurts: &[Aspect::Queue, Aspect::Prefill],
    summary: "A step may carry so few tokens that a long prompt takes many steps, each as long as a whole decode step.",
    symptoms: &[
        "long prompts answer late although nobody waits",
        "tokens come fast once they come",
        "the GPU has work to spare",
    ],
    confirmed_by: &[
        "steps of a prompt times the length of a step come to the prefill time",
        "the token budget is small for a GPU",
        "the token pace is even",
    ],
    refuted_by: &[
        "the prompt fits into one or two steps",
        "steps grow long with prompts in them: compute is the limit",
        "it runs on CPUs, and no short prompt waits for a long one",
    ],
    look_alikes: &[
        LookAlike {
            cause: "token-budget-limited-queue",
            tell: "there requests wait and a larger budget brings no more tokens per second",
        },
        LookAlike {
            cause: "long-prompt-compute-bound",
            tell: "there a single prompt on an idle server is as slow",
        },
        LookAlike {
            cause: "prefill-decode-interference",
            tell: "that is the opposite: chunks so large that the token pace suffers",
        },
    ],
    probe: Probe {
        name: "budget-sweep",
        steps: "Double the token budget twice on a spare replica at the same load.",
        if_so: "The first token of long prompts comes earlier each time, and the token gap grows a little.",
        if_not: "The first token does not move.",
    },
    remedies: &[
        Remedy::of(
            Engine::Vllm,
            "raise --max-num-batched-tokens towards 8192, and lift --long-prefill-token-threshold if it is set",
            "longer gaps between tokens while a prompt is read, and a slightly smaller KV pool",
        ),
        Remedy::of(
            Engine::Sglang,
            "raise --chunked-prefill-size (and --max-prefill-tokens with it)",
            "memory during prefill",
        ),
        Remedy::of(Engine::TensorRtLlm, "raise --max_num_tokens", "memory"),
        Remedy::of(Engine::Tgi, "raise --max-batch-prefill-tokens", "decode pauses while a prompt is read"),
        Remedy::of(Engine::LlamaCpp, "-ub 1024 or 2048", "GPU memory"),
    ],
    effect: "The first token of long prompts comes about as early as on an idle server; the gap between tokens grows a little.",
    confirm: "latency.prefill falls at the same prompt length while latency.itl keeps its objective.",
    explains: &["long-prompt-compute-bound"],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    if let Some(found) = held_up(e).filter(|_| !matches!(pieces_of_the_longest(e), Test::Fails(_))) {
        return ordinary_prompts_wait(e, found);
    }
    let steps = steps(e);
    // How fast the idle card reads a prompt is not in this evidence.
    let mut w = Weighing::new()
        .requires(runs_on_gpu(e))
        .requires(budget_is_small(e))
        .requires(prefill_is_large(e))
        .requires(steps_explain_it(e, steps.as_ref()))
        .requires(pace_is_even(e))
        .supports(gpu_has_room(e))
        .explains(CAUSE.explains)
        .at_most_likely(0.65);
    let Some(steps) = steps else { return w.conclude("", impact(e)) };
    if let Some(budget) = e.setting(Setting::TokenBudget) {
        let goal = budget * RAISE;
        let fewer = (steps.prompt / (goal - steps.running).max(1.0)).ceil();
        let change = format!(
            "token budget {budget:.0} → {goal:.0}: about {fewer:.0} steps instead of {:.0} for {}",
            steps.count,
            Tokens(steps.prompt)
        );
        w = w.advise(change, "longer gaps between tokens while a prompt is read");
    }
    let says = format!(
        "a prompt of {} needs {:.0} steps of {} because a step has room for {} of it",
        Tokens(steps.prompt),
        steps.count,
        Seconds(steps.step),
        Tokens(steps.chunk)
    );
    w.conclude(says, impact(e))
}

/// Ordinary prompts come late because the steps are full of pieces of a longer one.
fn ordinary_prompts_wait(e: &Evidence<'_>, found: HeldUp) -> Judgement {
    let mut w = Weighing::new()
        .requires(budget_is_small(e))
        .requires(pieces_of_the_longest(e))
        .supports(Test::Unknown(
            "whether the late ones came while a long prompt was read: only single requests show it".into(),
        ))
        .explains(CAUSE.explains)
        .at_most_likely(0.6);
    let budget = e.setting(Setting::TokenBudget).unwrap_or(0.0);
    if budget > 0.0 {
        w = w.advise(
            format!(
                "token budget {budget:.0} → {:.0}: short prompts find room beside a long one",
                budget * RAISE
            ),
            "longer gaps between tokens while a prompt is read",
        );
    }
    let says = format!(
        "a step has room for {}, which pieces of long prompts fill: half of the first tokens took {} or longer, a tenth {} at most",
        Tokens(budget),
        found.slow,
        found.fastest
    );
    w.conclude(says, impact(e))
}

/// The longest prompts are cut into several pieces.
fn pieces_of_the_longest(e: &Evidence<'_>) -> Test {
    let (Some(budget), Some(prompts)) =
        (e.setting(Setting::TokenBudget), e.histogram(Signal::TokensPromptEach))
    else {
        return Test::Unknown("the token budget or the prompt lengths are not known".into());
    };
    let Some(long) = prompts.quantile(0.95) else { return unknown(e, Signal::TokensPromptEach) };
    let says = format!("one prompt in twenty has {} or more, a step {}", Tokens(long.low), Tokens(budget));
    Test::when(
        long.low >= e.limit(Limit::OrdinaryPrompt) * budget,
        e.fact(Signal::TokensPromptEach, says, long.low),
    )
}

/// The probe doubles the budget twice; so does the advice.
const RAISE: f64 = 4.0;

fn impact(e: &Evidence<'_>) -> Impact {
    let prefill = e.account.prefill.map_or(0.0, |p| p.value);
    let share = e.account.share_of_life(prefill);
    Impact {
        on: ImpactOn::Ttft,
        share,
        time: Some(Seconds(prefill)),
        says: format!("{} of prefill per request, {share} of its life", Seconds(prefill)),
    }
}

/// How many steps an average prompt is cut into by a small budget on a GPU whose steps have room for more; `None` where they
/// have none, or where that cannot be told.
pub(crate) fn cut_into_steps(e: &Evidence<'_>) -> Option<f64> {
    let steps = steps(e)?;
    let tests = [runs_on_gpu(e), budget_is_small(e), steps_explain_it(e, Some(&steps)), pace_is_even(e)];
    tests.iter().all(|test| matches!(test, Test::Holds(_))).then_some(steps.count)
}

/// The arithmetic of chunking, with this case's means.
struct Steps {
    prompt: f64,
    running: f64,
    chunk: f64,
    count: f64,
    step: f64,
}

fn steps(e: &Evidence<'_>) -> Option<Steps> {
    let prompt = e.mean(Signal::TokensUncachedEach).or_else(|| e.mean(Signal::TokensPromptEach))?;
    let running = e.mean_busy(Signal::RequestsRunning)?;
    let step = e.account.itl?;
    let left = (e.setting(Setting::TokenBudget)? - running).max(1.0);
    let chunk = e.setting(Setting::LongPrefillThreshold).filter(|t| *t > 0.0).map_or(left, |t| t.min(left));
    Some(Steps { prompt, running, chunk, count: (prompt / chunk).ceil(), step })
}

fn budget_is_small(e: &Evidence<'_>) -> Test {
    let Some(budget) = e.setting(Setting::TokenBudget) else {
        return Test::Unknown(format!(
            "the token budget of {} is not stated anywhere: give --engine-args or --log",
            e.observed.engine_name()
        ));
    };
    let mut fact = e.setting_fact(Setting::TokenBudget, format!("a step carries at most {}", Tokens(budget)));
    let mut small = budget <= e.limit(Limit::SmallBudget);
    if let Some(threshold) = e.setting(Setting::LongPrefillThreshold).filter(|t| *t > 0.0) {
        small |= threshold <= e.limit(Limit::SmallBudget);
        fact = e.setting_fact(
            Setting::LongPrefillThreshold,
            format!("a step takes at most {} of one long prompt", Tokens(threshold)),
        );
    }
    fact.limit = Some(Quantity::new(e.limit(Limit::SmallBudget), Unit::Tokens));
    Test::when(small, fact)
}

/// Prefill, and the wait behind others' prefill, is the larger half of the first-token time.
fn prefill_is_large(e: &Evidence<'_>) -> Test {
    let Some(prefill) = e.account.prefill else { return unknown(e, Signal::LatencyPrefill) };
    // A prompt that takes the whole budget of step after step holds up the next: that wait is its doing.
    let behind = e.account.queue.map_or(0.0, |q| q.value.min(2.0 * prefill.value));
    let work = prefill.value + behind;
    let share = e.account.ttft.and_then(|ttft| Ratio::of(work, ttft.max(work)));
    let of_ttft = share.map_or(String::new(), |s| format!(", {s} of the time to first token"));
    let holds = share.is_none_or(|s| s.get() >= e.limit(Limit::PrefillShare));
    Test::when(
        holds,
        e.fact(
            Signal::LatencyPrefill,
            format!("prefill and the wait behind it {}{of_ttft}", Seconds(work)),
            prefill.value,
        ),
    )
}

/// Several steps, and their time comes to the prefill time.
fn steps_explain_it(e: &Evidence<'_>, steps: Option<&Steps>) -> Test {
    let (Some(s), Some(prefill)) = (steps, e.account.prefill) else {
        return Test::Unknown("prompt length, running requests or the token gap are unknown, so the steps of a prompt cannot be counted".into());
    };
    let Some((median, slow)) =
        e.histogram(Signal::LatencyItl).and_then(|gaps| gaps.quantile(0.5).zip(gaps.quantile(0.99)))
    else {
        return unknown(e, Signal::LatencyItl);
    };
    // Steps that carry a piece of a prompt are longer than the mean step, never than the slowest.
    let each = prefill.value / s.count;
    let says = format!(
        "{} / {} per step = {:.0} steps; a prefill of {} makes {} a step, and token gaps lie between {} and {}",
        Tokens(s.prompt),
        Tokens(s.chunk),
        s.count,
        Seconds(prefill.value),
        Seconds(each),
        Seconds(median.estimate),
        Seconds(slow.high)
    );
    let slack = 1.0 + e.limit(Limit::ResidualShare);
    let closes = each * slack >= median.estimate && each <= slow.high * slack;
    // One or two steps are not many.
    Test::when(
        closes && s.count > 2.0,
        e.derived(says, Seconds(each), "prefill time / (prompt / (budget - running))"),
    )
}

/// Steps with a piece of prompt in them are not much longer than the others: compute has room.
fn pace_is_even(e: &Evidence<'_>) -> Test {
    let Some(gaps) = e.histogram(Signal::LatencyItl) else { return unknown(e, Signal::LatencyItl) };
    let (Some(median), Some(slow)) = (gaps.quantile(0.5), gaps.quantile(0.99)) else {
        return Test::Unknown("the gaps between tokens are too coarse to compare".into());
    };
    // Buckets are coarse: only what lies surely above the median counts.
    let spread = slow.low / median.estimate.max(f64::MIN_POSITIVE);
    let says = format!("the slowest token gaps are at least {spread:.1} times the median");
    Test::when(spread < e.limit(Limit::ItlSpread), e.fact(Signal::LatencyItl, says, slow.estimate))
}

fn gpu_has_room(e: &Evidence<'_>) -> Test {
    match e.observed.gpu.busy_share() {
        Some(busy) if busy.get() < e.limit(Limit::GpuBusyLow) => Test::Holds(e.derived(
            format!("some kernel ran in {busy} of the busy time only"),
            busy,
            "nvidia-smi dmon",
        )),
        // A high figure only says that some kernel ran, not that the card was full.
        _ => Test::Unknown("how fast the idle card reads such a prompt would show the room it has".into()),
    }
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::CAUSE;
    use crate::causes::find;
    use crate::diagnosis::Outcome;
    use crate::testing::{Given, Place};

    /// Scenario F14: a budget of 256 with 180 decoding leaves 76 for a prompt of 8,000.
    fn chopped() -> Given {
        chopped_on(
            "Initializing a V1 LLM engine (v0.28.0) with config: device_config=cuda, load_format=auto\n",
        )
    }

    fn chopped_on(log: &str) -> Given {
        Given::vllm("0.28.0")
            .flags("--max-num-batched-tokens 256")
            .log(log)
            .gauge(RequestsRunning, 180.0)
            .gauge(RequestsWaiting, 0.0)
            .observed(LatencyTtft, &[(1.62, 400.0)])
            .observed(LatencyQueue, &[(0.01, 400.0)])
            .observed(LatencyPrefill, &[(1.6, 400.0)])
            .observed(LatencyItl, &[(0.015, 80_000.0)])
            .observed(TokensPromptEach, &[(8000.0, 400.0)])
            .observed(TokensOutputEach, &[(200.0, 400.0)])
            .finished("stop", 400.0)
    }

    #[test]
    fn steps_that_have_room_for_more_hurt_without_an_objective() {
        // 20 steps of 15 ms where computing the prompt takes a fraction: too little for a published default.
        let cut = |prompt: f64| {
            let steps = prompt / 200.0;
            chopped()
                .gauge(RequestsRunning, 56.0)
                .observed(LatencyTtft, &[(0.016 * steps, 400.0)])
                .observed(LatencyPrefill, &[(0.015 * steps, 400.0)])
                .observed(TokensPromptEach, &[(prompt, 400.0)])
        };
        assert_eq!(cut(4000.0).place_of(&CAUSE), Place::First);
        assert_ne!(cut(1000.0).place_of(&CAUSE), Place::First, "five steps");
    }

    #[test]
    fn a_hundred_steps_for_one_prompt_are_the_cause() {
        let j = chopped().judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.says.contains("106 steps of 15.0 ms"), "{}", j.says);
        assert!(j.advice[0].change.contains("256 → 1024: about 10 steps instead of 106"), "{:?}", j.advice);
    }

    /// Chats of 75 tokens beside prompts of 1,800 with a budget of 256, on the lab's CPU.
    #[test]
    fn chats_that_wait_for_the_pieces_of_long_prompts_are_held_up_by_the_budget() {
        let held = |budget: &str| {
            Given::vllm("0.32.0")
                .flags(budget)
                .gauge(RequestsRunning, 2.0)
                .gauge(RequestsWaiting, 0.0)
                .observed(LatencyTtft, &[(0.11, 10.0), (1.6, 20.0)])
                .observed(LatencyQueue, &[(0.01, 30.0)])
                .observed(LatencyPrefill, &[(1.0, 30.0)])
                .observed(LatencyItl, &[(0.04, 700.0)])
                .observed(TokensPromptEach, &[(75.0, 25.0), (1800.0, 5.0)])
                .finished("stop", 30.0)
        };
        let j = held("--max-num-batched-tokens 256").judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.advice[0].change.contains("256 → 1024"), "{:?}", j.advice);
        assert_eq!(held("--max-num-batched-tokens 8192").judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn a_full_sized_budget_is_not_it() {
        assert_eq!(chopped().flags("--max-num-batched-tokens 8192").judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn a_threshold_on_long_prompts_cuts_them_as_well() {
        let j =
            chopped().flags("--max-num-batched-tokens 8192 --long-prefill-token-threshold 76").judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
    }

    #[test]
    fn steps_that_do_not_add_up_to_the_prefill_rule_it_out() {
        let j = chopped()
            .observed(LatencyPrefill, &[(6.0, 400.0)])
            .observed(LatencyTtft, &[(6.1, 400.0)])
            .judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
    }

    #[test]
    fn with_a_queue_the_look_alike_is_to_be_asked_first() {
        let queued = chopped()
            .gauge(RequestsWaiting, 12.0)
            .gauge(KvUsage, 0.3)
            .observed(TokensPerStep, &[(254.0, 4000.0)])
            .observed(LatencyTtft, &[(9.62, 400.0)])
            .observed(LatencyQueue, &[(8.0, 400.0)])
            .counter(TokensPrompt, 3_200_000.0)
            .counter(TokensGenerated, 80_000.0);
        let full_steps = find("token-budget-limited-queue").expect("a cause of the catalogue");
        let (this, other) = (queued.judge(&CAUSE), queued.judge(full_steps));
        assert_eq!(other.outcome, Outcome::Confirmed, "{other:#?}");
        assert_eq!(queued.place_of(full_steps), Place::First);
        assert!(this.confidence < other.confidence, "{this:#?}");
    }

    #[test]
    fn steps_stretched_by_prompts_are_compute_not_budget() {
        let j = chopped().observed(LatencyItl, &[(0.006, 70_000.0), (0.078, 10_000.0)]).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut, "{j:#?}");
    }

    #[test]
    fn on_cpus_a_small_budget_is_right() {
        let cpu = "Initializing a V1 LLM engine (v0.28.0) with config: device_config=cpu, load_format=auto\n";
        assert_eq!(chopped_on(cpu).judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn without_the_budget_nobody_can_tell() {
        let j = chopped().flags("").judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
        assert!(j.missing[0].contains("token budget"), "{:?}", j.missing);
    }
}
