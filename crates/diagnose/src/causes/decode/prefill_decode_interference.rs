//! Prompts share the steps of running streams and make them stutter.

use intriage_case::{Ratio, Seconds, Signal, Tokens};
use intriage_engines::{Behaviour, Engine, Setting};

use super::pace::{pace_impact, pace_limit, thrown_back};
use crate::account::prompt_share_of_steps;
use crate::causes::shared::unknown;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "prefill-decode-interference",
    class: Class::Decode,
    layer: Layer::Configuration,
    hurts: &[Aspect::Interference, Aspect::Stalls],
    summary: "Pieces of other requests' prompts share the steps of running streams, which stall for as long as such a step takes.",
    symptoms: &[
        "most tokens come fast, some come many times later",
        "streams stutter when a long prompt arrives",
        "the spikes are about as long as one full prompt step",
    ],
    confirmed_by: &[
        "the 99th percentile of the gaps is at least three times the median",
        "the spikes coincide with prompt work and last as long as a step of the whole token budget",
    ],
    refuted_by: &["the gaps are even", "no prompt is computed in the window"],
    look_alikes: &[
        LookAlike {
            cause: "benign-chunked-prefill-itl-spikes",
            tell: "the same shape, but the objective is kept",
        },
        LookAlike {
            cause: "preemption-thrash",
            tell: "there single requests pause for seconds and the preemption counter rises",
        },
        LookAlike { cause: "batch-past-knee", tell: "there every gap is long, not some" },
        LookAlike {
            cause: "cpu-starvation-cgroup-throttle",
            tell: "there the spikes come at 100 ms periods, with or without prompts",
        },
        LookAlike { cause: "proxy-response-buffering", tell: "there the server's own gaps are even" },
    ],
    probe: Probe {
        name: "inject-prefill",
        steps: "Keep a few streams decoding, send one long prompt, note the gap it tears; repeat with half the token budget.",
        if_so: "The gap is about the token budget over the prefill rate, and halves with the budget.",
        if_not: "The gaps have nothing to do with the prompt.",
    },
    remedies: &[
        Remedy::of(
            Engine::Vllm,
            "lower --max-num-batched-tokens (2048, say), or set --long-prefill-token-threshold",
            "long prompts get their first token later",
        ),
        Remedy::of(
            Engine::Vllm,
            "prefill on engines of their own (--kv-transfer-config)",
            "more engines; throughput does not rise",
        ),
        Remedy::of(
            Engine::Sglang,
            "lower --chunked-prefill-size, add --enable-mixed-chunk, or split prefill and decode (--disaggregation-mode)",
            "long prompts get their first token later",
        ),
        Remedy::of(
            Engine::Tgi,
            "lower --max-batch-prefill-tokens, raise --max-waiting-tokens",
            "new requests wait longer",
        ),
        Remedy::of(
            Engine::TensorRtLlm,
            "lower --max_num_tokens, with enable_chunked_prefill: true",
            "long prompts get their first token later",
        ),
        Remedy::of(Engine::LlamaCpp, "lower -ub and -b", "long prompts get their first token later"),
    ],
    effect: "The longest gaps fall to the time of the smaller step; the first token of long prompts comes later.",
    confirm: "The 99th percentile of latency.itl falls below its objective at the same prompt load.",
    explains: &[],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    if let Some(judgement) = silent_for_prompts(e) {
        return judgement;
    }
    let mut w = Weighing::new()
        .requires(gaps_are_uneven(e))
        .requires(prompts_fill_steps(e))
        .weakened_by(thrown_back(e))
        .supports(Test::Unknown(
            "whether the slow steps are the ones with prompts: only a log of single steps shows it".into(),
        ))
        .at_most_likely(0.6);
    let halves = e.observed.identity.works_by(Behaviour::BudgetBoundsStep);
    if let (Some(_), Some(budget)) = (halves, e.setting(Setting::TokenBudget)) {
        w = w.advise(
            format!(
                "--max-num-batched-tokens {budget:.0} → {:.0}: a full step takes about half as long",
                budget / 2.0
            ),
            "long prompts take more steps, so their first token comes later",
        );
    }
    let slowed = e.account.interference.map_or(0.0, |p| p.value) + e.account.stalls.map_or(0.0, |p| p.value);
    let says = format!(
        "running streams stutter while prompts are read: {} of the tokens in a step are prompt, and one gap in a hundred is longer than {}",
        Ratio(prompt_share_of_steps(e).unwrap_or(0.0)),
        Seconds(e.histogram(Signal::LatencyItl).and_then(|h| h.quantile(0.99)).map_or(0.0, |q| q.low))
    );
    w.conclude(says, pace_impact(e, slowed))
}

/// An engine without a distribution of gaps that makes no step for seconds, and then has read prompts.
fn silent_for_prompts(e: &Evidence<'_>) -> Option<Judgement> {
    let silent = &e.timeline.readings;
    let longest = silent.iter().max_by(|a, b| a.seconds.total_cmp(&b.seconds))?;
    let seconds: f64 = silent.iter().map(|r| r.seconds).sum();
    let share = Ratio::of(seconds, e.busy_time().get())?;
    let says = format!(
        "{} produces no token for up to {} while prompts of {} are read, {share} of the time, and others wait",
        e.observed.engine_name(),
        Seconds(longest.seconds),
        Tokens(longest.tokens)
    );
    let fact = e.derived(says.clone(), Seconds(seconds), "time without a step before prompts are counted");
    let impact =
        Impact { on: ImpactOn::E2e, share, time: None, says: format!("{share} of the time no token comes") };
    // While a prompt is read no request ends, so none of the slots gets free.
    let w = Weighing::new().requires(Test::Holds(fact)).explains(&["max-num-seqs-limited-queue"]);
    Some(w.at_most_likely(0.6).conclude(says, impact))
}

/// Some gaps are many times the median, beyond what the buckets blur.
fn gaps_are_uneven(e: &Evidence<'_>) -> Test {
    let Some(gaps) = e.histogram(Signal::LatencyItl) else { return unknown(e, Signal::LatencyItl) };
    let part = |p: Option<crate::account::Part>| p.map_or(0.0, |p| p.value);
    let slowed = part(e.account.interference) + part(e.account.stalls);
    if let Some(share) = e.account.itl.and_then(|itl| Ratio::of(slowed, itl))
        && share.get() >= e.limit(Limit::StallShare)
    {
        let says = format!("{share} of a token's time is prompts in its steps and stalls");
        return Test::Holds(e.fact(Signal::LatencyItl, says, slowed));
    }
    let (Some(median), Some(tail)) = (gaps.quantile(0.5), gaps.quantile(0.99)) else {
        return Test::Unknown(format!(
            "{} keeps no distribution of the gaps between tokens",
            e.observed.engine_name()
        ));
    };
    if gaps.count() < e.limit(Limit::P99Sample) {
        return Test::Unknown(format!("{:.0} gaps are too few for a 99th percentile", gaps.count()));
    }
    if let Some(limit) = pace_limit(e).filter(|l| median.low >= l.get()) {
        return Test::Unknown(format!(
            "even the median gap of over {} misses {limit}: whether steps without prompts would keep it takes a log of single steps",
            Seconds(median.low)
        ));
    }
    let factor = e.limit(Limit::ItlSpread);
    let fact = |says: String| e.fact(Signal::LatencyItl, says, tail.estimate);
    if tail.low >= factor * median.high {
        return Test::Holds(fact(format!(
            "half the gaps are within {}, one in a hundred is over {}",
            Seconds(median.high),
            Seconds(tail.low)
        )));
    }
    if tail.high < factor * median.low {
        return Test::Fails(fact(format!(
            "the gaps are even: half over {}, 99 in a hundred within {}",
            Seconds(median.low),
            Seconds(tail.high)
        )));
    }
    Test::Unknown("the histogram's buckets are too wide to tell even gaps from uneven ones".into())
}

/// Prompt tokens are the larger part of the steps.
fn prompts_fill_steps(e: &Evidence<'_>) -> Test {
    let Some(share) = prompt_share_of_steps(e) else { return unknown(e, Signal::TokensPrompt) };
    let fact = |says: String| e.derived(says, Ratio(share), "prompt tokens / (prompt + output tokens)");
    if share == 0.0 {
        return Test::Fails(fact("no prompt was computed in the window".into()));
    }
    if share >= 0.5 {
        return Test::Holds(fact(format!("{} of the tokens computed are prompt tokens", Ratio(share))));
    }
    Test::Unknown(format!(
        "only {} of the tokens computed are prompt tokens; whether they make the slow steps takes a log of single steps",
        Ratio(share)
    ))
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::CAUSE;
    use crate::causes::find;
    use crate::diagnosis::{Outcome, Status};
    use crate::testing::{Given, Place};

    /// Two in a hundred gaps last 240 ms, the others 9 ms; nine tokens in ten are prompt.
    fn stuttering() -> Given {
        Given::vllm("0.28.0")
            .flags("--max-num-batched-tokens 8192")
            .gauge(RequestsRunning, 40.0)
            .gauge(RequestsWaiting, 0.0)
            .observed(LatencyItl, &[(0.009, 49_000.0), (0.24, 1000.0)])
            .observed(LatencyDecode, &[(2.0, 400.0)])
            .counter(TokensPrompt, 450_000.0)
            .counter(TokensGenerated, 50_000.0)
            .counter(RequestsPreempted, 0.0)
            .objective("itl.p99=30ms")
    }

    #[test]
    fn a_stutter_beyond_the_objective_under_prompt_load_is_likely() {
        assert_eq!(stuttering().place_of(&CAUSE), Place::First);
        let j = stuttering().judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.advice[0].change.contains("8192 → 4096"), "{:?}", j.advice);
    }

    #[test]
    fn spikes_inside_the_objective_are_chunked_prefill_at_work() {
        // Scenario H02: p50 9 ms, p99 26 ms, objective 30 ms at p95.
        let calm = Given::vllm("0.28.0")
            .gauge(RequestsRunning, 40.0)
            .observed(LatencyItl, &[(0.009, 49_000.0), (0.026, 1000.0)])
            .counter(TokensPrompt, 450_000.0)
            .counter(TokensGenerated, 50_000.0)
            .objective("itl.p95=30ms")
            .verdict();
        assert_ne!(calm.verdict.status, Status::Finding, "{}", calm.verdict.answer);
        assert!(calm.findings.is_empty(), "{:?}", calm.findings);
        // Spikes of 240 ms, one in fifty, keep p95 too: the mechanism is told and nothing more.
        assert_eq!(without_objective(1000.0).objective("itl.p95=30ms").place_of(&CAUSE), Place::Note);
    }

    /// The same stutter, and nobody stated how fast tokens must come.
    fn without_objective(slow_gaps: f64) -> Given {
        Given::vllm("0.28.0")
            .gauge(RequestsRunning, 40.0)
            .gauge(RequestsWaiting, 0.0)
            .observed(LatencyItl, &[(0.009, 50_000.0 - slow_gaps), (0.24, slow_gaps)])
            .observed(LatencyDecode, &[(2.0, 400.0)])
            .counter(TokensPrompt, 450_000.0)
            .counter(TokensGenerated, 50_000.0)
    }

    #[test]
    fn without_an_objective_a_stutter_is_a_finding_once_it_is_much_of_the_time() {
        assert_eq!(without_objective(1000.0).place_of(&CAUSE), Place::Note, "a third of the time");
        assert_eq!(without_objective(3000.0).place_of(&CAUSE), Place::First, "two thirds of the time");
    }

    #[test]
    fn requests_thrown_back_are_the_look_alike() {
        let thrown_back = stuttering()
            .gauge(KvUsage, 0.99)
            .observed(TokensOutputEach, &[(125.0, 400.0)])
            .finished("stop", 400.0)
            .counter(RequestsPreempted, 30.0);
        let thrash = find("preemption-thrash").expect("a cause of the catalogue");
        assert_eq!(thrown_back.place_of(thrash), Place::First);
        let (this, other) = (thrown_back.judge(&CAUSE), thrown_back.judge(thrash));
        assert_eq!(this.outcome, Outcome::Likely);
        assert!(this.confidence < other.confidence, "{} {}", this.confidence, other.confidence);
    }

    #[test]
    fn a_median_that_misses_the_objective_is_more_than_a_stutter() {
        let j = stuttering().observed(LatencyItl, &[(0.06, 49_000.0), (2.0, 1000.0)]).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
        assert!(j.missing[0].contains("median"), "{:?}", j.missing);
    }

    #[test]
    fn even_gaps_rule_it_out() {
        let j = Given::vllm("0.28.0").observed(LatencyItl, &[(0.06, 50_000.0)]).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
        assert!(j.against[0].says.contains("even"), "{:?}", j.against);
    }
}
