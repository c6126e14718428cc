//! Drafted tokens cost more than they save.

use intriage_case::{Ratio, Signal, Tokens};
use intriage_engines::{Engine, LogSeries, Setting, dialect};

use super::pace::pace_impact;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "speculation-ineffective",
    class: Class::Decode,
    layer: Layer::Configuration,
    hurts: &[Aspect::DecodeStep, Aspect::Stalls, Aspect::HostGap],
    summary: "Speculative decoding drafts tokens that are mostly thrown away, or checks them when the batch leaves no compute to spare.",
    symptoms: &["fewer tokens per second than without speculation, worst at high load", "acceptance fell after a new model, adapter, template or drafter"],
    confirmed_by: &[
        "a run without speculation is faster at the same number of requests",
        "fewer than 40 % of the drafted tokens are accepted at three or more a round",
        "the batch times the drafts is beyond what the card computes for free",
    ],
    refuted_by: &["nothing is drafted", "most drafts are accepted", "a run without speculation is slower"],
    look_alikes: &[
        LookAlike { cause: "batch-past-knee", tell: "there switching speculation off changes nothing" },
        LookAlike { cause: "benign-spec-itl", tell: "the gap counts steps of several tokens: it may grow while tokens per second grow too" },
        LookAlike { cause: "decode-bandwidth-roofline", tell: "there acceptance is fine and the batch small" },
    ],
    probe: Probe {
        name: "spec-off",
        steps: "Start one replica without speculation and compare tokens per second at 1, 8 and 64 streams.",
        if_so: "Without speculation it is as fast or faster at the production load.",
        if_not: "With speculation it is faster.",
    },
    remedies: &[
        Remedy::of(Engine::Vllm, "lower num_speculative_tokens in --speculative-config, choose another method (a drafter trained for this model), or take --speculative-config away", "a single user's tokens may come slower").since("0.8.0"),
        Remedy::of(Engine::Sglang, "lower --speculative-num-steps and --speculative-num-draft-tokens, or take --speculative-algorithm away", "a single user's tokens may come slower"),
        Remedy::of(Engine::Tgi, "lower --speculate, or set it to 0", "a single user's tokens may come slower"),
        Remedy::of(Engine::LlamaCpp, "lower --spec-draft-n-max, or take the draft model away", "a single user's tokens may come slower"),
        Remedy::of(Engine::TensorRtLlm, "lower max_draft_len in speculative_config, or take it away", "a single user's tokens may come slower"),
    ],
    effect: "Throughput returns to what the server does without speculation; a lone user may lose some pace.",
    confirm: "Output tokens per second rise at the same requests.running; judge by tokens per second or latency.tpot, not by latency.itl.",
    explains: &[],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    if let Some(told) = told_by_lines(e) {
        return told;
    }
    let drafts = Drafts::of(e);
    let w = Weighing::new()
        .requires(drafts_are_rejected(e, drafts.as_ref()))
        .supports(Test::Unknown(
            "whether it is slower than without speculation takes a run without it".into(),
        ))
        .explains(&["decode-host-overhead-bound", "batch-past-knee"])
        .at_most_likely(0.6);
    let Some(drafts) = drafts else {
        return w.conclude("", pace_impact(e, 0.0));
    };
    let says = format!(
        "only {} of the drafted tokens are accepted: of {:.1} tokens computed per round {:.1} are kept",
        drafts.accepted,
        drafts.each + 1.0,
        drafts.each * drafts.accepted.get() + 1.0
    );
    let wasted = drafts.each * (1.0 - drafts.accepted.get()) / (drafts.each + 1.0);
    // At worst every rejected token costs as much as a kept one.
    w.conclude(says, pace_impact(e, e.account.itl.unwrap_or(0.0) * wasted / 2.0))
}

/// How sure the statistics of a log make, where nobody scraped the server.
const LINES_ALONE: f64 = 0.6;

/// The statistics of a log tell which share of the drafts is accepted, where nobody scraped the server.
fn told_by_lines(e: &Evidence<'_>) -> Option<Judgement> {
    let o = e.observed;
    let ratios =
        o.log.signal(Signal::SpecAcceptRatio).filter(|_| o.times.is_empty() && o.failed.is_empty())?;
    let known: Vec<f64> = ratios.known().map(|(_, ratio)| ratio).collect();
    let accepted = Ratio::of(known.iter().sum::<f64>(), known.len() as f64)?;
    let says =
        format!("only {accepted} of the drafted tokens are accepted, by {} lines of the log", known.len());
    let mut fact = e.derived(says.clone(), accepted, "accepted / drafted tokens in the log");
    let told = o.log.series.iter().find(|one| one.signal == Signal::SpecAcceptRatio);
    fact.source = told.map_or(fact.source, LogSeries::source);
    let test = if (known.len() as f64) < e.limit(Limit::LogLines) && accepted.get() > 0.0 {
        Test::Unknown(format!("{} lines about drafted tokens are too few to judge", known.len()))
    } else {
        Test::when(accepted.get() < e.limit(Limit::SpecAccept), fact)
    };
    let mut impact = pace_impact(e, 0.0);
    impact.share = Ratio((1.0 - accepted.get()) * e.limit(Limit::WorthNaming));
    Some(Weighing::new().requires(test).at_most_likely(LINES_ALONE).conclude(says, impact))
}

/// What speculation did in the window.
struct Drafts {
    /// Tokens proposed per round.
    each: f64,
    /// Share of them that were accepted.
    accepted: Ratio,
    /// Rounds counted.
    rounds: f64,
}

impl Drafts {
    fn of(e: &Evidence<'_>) -> Option<Self> {
        let drafted = e.delta(Signal::SpecDraftTokens).filter(|d| *d > 0.0);
        let counted = drafted.zip(e.delta(Signal::SpecAcceptedTokens)).and_then(|(d, a)| Ratio::of(a, d));
        let accepted =
            counted.or_else(|| e.mean_busy(Signal::SpecAcceptRatio).filter(|r| *r > 0.0).map(Ratio))?;
        let configured = e.setting(Setting::SpeculativeTokens);
        let rounds = e.delta(Signal::SpecDrafts).or_else(|| Some(drafted? / configured?));
        let each = drafted.zip(rounds).map(|(d, r)| d / r).filter(|k| k.is_finite()).or(configured)?;
        Some(Self { each, accepted, rounds: rounds? })
    }
}

/// Most of what is drafted is thrown away.
fn drafts_are_rejected(e: &Evidence<'_>, drafts: Option<&Drafts>) -> Test {
    let Some(drafts) = drafts else { return nothing_is_drafted(e) };
    let says = format!(
        "{} of the drafted tokens are accepted, {:.1} drafted per round",
        drafts.accepted, drafts.each
    );
    let fact = e.derived(says, drafts.accepted, "accepted / drafted tokens");
    if drafts.rounds < e.limit(Limit::MeanSample) {
        return Test::Unknown(format!("{:.0} rounds of speculation are too few to judge", drafts.rounds));
    }
    if drafts.accepted.get() >= e.limit(Limit::SpecAccept) {
        return Test::Fails(fact);
    }
    let generated = e.delta(Signal::TokensGenerated).unwrap_or(0.0);
    // A round gives its accepted drafts and one token more.
    let spoken = drafts.rounds * (1.0 + drafts.each * drafts.accepted.get());
    if spoken < e.limit(Limit::DraftsOften) * generated {
        return Test::Unknown(format!(
            "{:.0} rounds of speculation for {} cost little even where their drafts are rejected",
            drafts.rounds,
            Tokens(generated)
        ));
    }
    if drafts.each < e.limit(Limit::SpecDepth) {
        return Test::Unknown(format!(
            "only {} are drafted per round, which costs little even where they are rejected",
            Tokens(drafts.each)
        ));
    }
    Test::Holds(fact)
}

/// No drafts were counted: speculation is off where the engine would show it.
fn nothing_is_drafted(e: &Evidence<'_>) -> Test {
    const COUNTED: [Signal; 4] =
        [Signal::SpecDrafts, Signal::SpecDraftTokens, Signal::SpecAcceptRatio, Signal::SpecAcceptLength];
    if e.observed.config.get(Setting::Speculation).is_some_and(|s| s.value.switch() != Some(false))
        || e.setting(Setting::SpeculativeTokens).is_some_and(|k| k > 0.0)
    {
        return Test::Unknown(
            "speculation is configured, but the window holds no drafted and accepted tokens".into(),
        );
    }
    let shown = COUNTED.into_iter().find(|s| e.observed.metric(*s).is_some());
    if let Some(signal) = shown {
        return Test::Fails(e.fact(signal, "nothing is drafted: speculation is off", 0.0));
    }
    let would_show = e.observed.identity.engine.is_some_and(|engine| {
        let release = e.observed.identity.release();
        let in_range = |row: &intriage_engines::MetricRow| release.is_some_and(|v| row.range.holds(v));
        dialect(engine).metrics.iter().any(|row| COUNTED.contains(&row.signal) && in_range(row))
    });
    if would_show {
        return Test::Fails(e.fact(
            Signal::SpecDrafts,
            format!("{} shows no draft counters and no speculation is configured", e.observed.engine_name()),
            0.0,
        ));
    }
    Test::Unknown(format!(
        "{} shows no drafts here, and whether speculation is configured is not stated",
        e.observed.engine_name()
    ))
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::CAUSE;
    use crate::diagnosis::Outcome;
    use crate::testing::{Given, Place};

    /// Scenario F24: five drafted per round, 22 % accepted, after a new adapter.
    fn mismatched() -> Given {
        Given::vllm("0.28.0")
            .flags("--speculative-config '{\"method\":\"eagle3\",\"num_speculative_tokens\":5}'")
            .gauge(RequestsRunning, 180.0)
            .counter(SpecDrafts, 10_000.0)
            .counter(SpecDraftTokens, 50_000.0)
            .counter(SpecAcceptedTokens, 11_000.0)
            .observed(LatencyItl, &[(0.06, 10_000.0)])
            .observed(LatencyDecode, &[(6.0, 100.0)])
    }

    #[test]
    fn rejected_drafts_with_a_missed_pace_are_likely_the_cause() {
        let missed = mismatched().objective("itl.p95=40ms");
        assert_eq!(missed.place_of(&CAUSE), Place::First);
        let j = missed.judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.confidence <= 0.6 && j.says.contains("only 22 %"), "{}", j.says);
    }

    #[test]
    fn rounds_that_speak_a_small_part_of_the_output_cost_little() {
        // N-gram drafts where a text repeats itself: 10,000 rounds of 2.1 tokens each.
        let rarely = mismatched().counter(TokensGenerated, 200_000.0).judge(&CAUSE);
        assert_eq!(rarely.outcome, Outcome::CannotTell, "{rarely:#?}");
        let always = mismatched().counter(TokensGenerated, 21_000.0).judge(&CAUSE);
        assert_eq!(always.outcome, Outcome::Likely, "{always:#?}");
    }

    #[test]
    fn on_a_cpu_every_draft_costs() {
        let j = mismatched().flags("--device cpu --speculative-config {}").judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
    }

    #[test]
    fn rejected_drafts_that_nobody_feels_are_a_note() {
        assert_eq!(mismatched().place_of(&CAUSE), Place::Note);
        assert_eq!(mismatched().objective("itl.p95=100ms").place_of(&CAUSE), Place::Note);
        let j = mismatched().judge(&CAUSE);
        assert!(j.missing[0].contains("a run without it"), "{:?}", j.missing);
    }

    #[test]
    fn a_longer_step_that_yields_more_tokens_is_benign() {
        // Scenario H11: the gap grew to 24 ms, but 2.3 tokens come per step.
        let j = mismatched()
            .counter(SpecAcceptedTokens, 31_000.0)
            .observed(LatencyItl, &[(0.024, 10_000.0)])
            .objective("itl.p95=40ms")
            .judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
    }

    #[test]
    fn no_speculation_rules_it_out() {
        let j = Given::vllm("0.28.0").gauge(RequestsRunning, 180.0).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
        assert!(j.against[0].says.contains("no draft counters"), "{:?}", j.against);
        let idle = Given::vllm("0.28.0")
            .gauge(RequestsRunning, 180.0)
            .counter(SpecDrafts, 0.0)
            .counter(SpecDraftTokens, 0.0)
            .judge(&CAUSE);
        assert_eq!(idle.outcome, Outcome::RuledOut);
    }

    #[test]
    fn a_log_alone_tells_that_no_draft_is_accepted() {
        let line = |second: u32, rate: f64| {
            format!(
                "(APIServer pid=9) INFO 11-15 02:47:{second:02} [metrics.py:120] SpecDecoding metrics: Mean acceptance length: 1.00, Accepted throughput: 0.00 tokens/s, Drafted throughput: 15.80 tokens/s, Accepted: 0 tokens, Drafted: 158 tokens, Per-position acceptance rate: 0.000, 0.000, Avg Draft acceptance rate: {rate}%\n"
            )
        };
        let alone = |rate: f64| {
            let log: String = (0..4).map(|i| line(i * 10, rate)).collect();
            Given::vllm("0.28.0").without_scrapes().log(&log)
        };
        let j = alone(0.0).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert_eq!(alone(0.0).place_of(&CAUSE), Place::First);
        assert_eq!(alone(71.0).judge(&CAUSE).outcome, Outcome::RuledOut);
    }
}
