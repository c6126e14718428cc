//! Demand changed: longer prompts, longer answers or more of them.

use intriage_case::{Ratio, Seconds, Signal, Unit};

use super::halves::{Change, Halves};
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "workload-mix-shift",
    class: Class::Client,
    layer: Layer::Application,
    hurts: Aspect::LATENCY,
    summary: "Prompts or answers became longer, or requests more frequent, so the same server rightly takes longer.",
    symptoms: &["answers became slower without any release", "the counters of tokens changed their shape"],
    confirmed_by: &[
        "the mean length or rate rose by more than a fourth, beyond chance, and waiting or tokens became slower after it",
        "last week's lengths at today's rate give last week's times",
    ],
    refuted_by: &["lengths and rate are the same in both halves of the window"],
    look_alikes: &[
        LookAlike {
            cause: "engine-upgrade-regression",
            tell: "there the change follows a release, at the same traffic",
        },
        LookAlike {
            cause: "missing-stop-token-runaway",
            tell: "there answers are longer because they no longer stop: look at the finish reasons",
        },
        LookAlike { cause: "retry-storm", tell: "there the same requests come again" },
    ],
    probe: Probe {
        name: "mix-replay",
        steps: "Replay the lengths recorded before the change at today's rate on one replica.",
        if_so: "The old times come back.",
        if_not: "They do not.",
    },
    remedies: &[
        Remedy::any(
            "plan capacity for the new lengths and rate (intriage plan --from FILE), send long requests to replicas of their own, cap the output per route",
            "hardware, or cut answers",
        ),
        Remedy::any("set objectives and alerts for the new mix", "none"),
    ],
    effect: "Expectations fit the traffic again, and capacity keeps the objective.",
    confirm: "tokens.output_each and tokens.prompt_each keep their shape, and latency.ttft keeps its objective.",
    explains: &[],
    judge,
};

/// What may shift, and what to call it.
const LENGTHS: [(Signal, &str); 2] =
    [(Signal::TokensPromptEach, "prompts"), (Signal::TokensOutputEach, "answers")];

fn judge(e: &Evidence<'_>) -> Judgement {
    let halves = Halves::of(e);
    let slower = halves.as_ref().and_then(|h| slower(e, h));
    let on = match &slower {
        Some((Signal::LatencyItl, _)) => ImpactOn::Tpot,
        _ => ImpactOn::Ttft,
    };
    let more = slower.as_ref().map_or(0.0, |(signal, change)| more_than_before(e, *signal, change));
    let share = e.account.share_of_life(more);
    let impact = Impact {
        on,
        share,
        time: Some(Seconds(more)),
        says: format!("{} per request over the window more than before, {share} of its life", Seconds(more)),
    };
    let moved = halves.as_ref().and_then(|h| moved(e, h));
    let text =
        moved.as_ref().map_or(String::new(), |(what, _)| format!("demand changed inside the window: {what}"));
    Weighing::new()
        .requires(mix_moved(e, halves.as_ref(), moved))
        .requires(answers_are_slower(e, halves.as_ref(), slower))
        // That the mix explains all of it takes a replay.
        .at_most_likely(0.6)
        .conclude(text, impact)
}

/// What a request of the window took longer than one of its first half.
fn more_than_before(e: &Evidence<'_>, signal: Signal, change: &Change) -> f64 {
    let each = (e.mean(signal).unwrap_or(change.before) - change.before).max(0.0);
    match signal {
        Signal::LatencyItl => each * e.mean(Signal::TokensOutputEach).unwrap_or(1.0),
        _ => each,
    }
}

/// The first thing that grew, in words, with its figure.
fn moved(e: &Evidence<'_>, halves: &Halves) -> Option<(String, intriage_case::Fact)> {
    let grown = |change: Option<Change>| change.filter(|c| c.grew(e));
    for (signal, what) in LENGTHS {
        if let Some(change) = grown(halves.of_histogram(e, signal)) {
            let says = format!("{what} grew from {:.0} to {:.0} tokens", change.before, change.after);
            return Some((says.clone(), e.fact(signal, says, change.after)));
        }
    }
    let change = grown(halves.of_arrivals(e))?;
    let says = format!("requests came {:.2} times a second, then {:.2}", change.before, change.after);
    let rate = intriage_case::Quantity::new(change.after, Unit::RequestsPerSecond);
    Some((says.clone(), e.derived(says, rate, "first tokens + growth of the queue, per half")))
}

fn mix_moved(
    e: &Evidence<'_>,
    halves: Option<&Halves>,
    moved: Option<(String, intriage_case::Fact)>,
) -> Test {
    let Some(halves) = halves else {
        return Test::Unknown(
            "the window is too short to compare its halves; baselines reach further back".into(),
        );
    };
    if let Some((_, fact)) = moved {
        return Test::Holds(fact);
    }
    let known: Vec<String> = LENGTHS
        .into_iter()
        .filter_map(|(signal, what)| {
            let c = halves.of_histogram(e, signal)?;
            Some(format!("{what} {:.0} then {:.0} tokens", c.before, c.after))
        })
        .collect();
    if known.is_empty() {
        return Test::Unknown(
            "too few requests finished in either half of the window to compare their lengths".into(),
        );
    }
    let says = format!("the mix is the same in both halves of the window: {}", known.join(", "));
    Test::Fails(e.derived(says, Ratio(1.0), "length histograms of both halves"))
}

/// What became slower: the first token, else the gap between tokens.
fn slower(e: &Evidence<'_>, halves: &Halves) -> Option<(Signal, Change)> {
    let first = halves.of_histogram(e, Signal::LatencyTtft);
    let felt = |c: &Change| c.grew(e) && c.after - c.before >= e.limit(Limit::QueueTime);
    if let Some(change) = first.filter(felt) {
        return Some((Signal::LatencyTtft, change));
    }
    let gap = halves.of_histogram(e, Signal::LatencyItl)?;
    gap.grew(e).then_some((Signal::LatencyItl, gap))
}

fn answers_are_slower(e: &Evidence<'_>, halves: Option<&Halves>, slower: Option<(Signal, Change)>) -> Test {
    if let Some((signal, change)) = slower {
        let what = if signal == Signal::LatencyTtft { "the first token" } else { "a token" };
        let says = format!("{what} took {}, then {}", Seconds(change.before), Seconds(change.after));
        return Test::Holds(e.fact(signal, says, change.after));
    }
    let known = halves.and_then(|h| h.of_histogram(e, Signal::LatencyTtft));
    match known {
        Some(c) => {
            let says =
                format!("first tokens took {}, then {}: no slower", Seconds(c.before), Seconds(c.after));
            Test::Fails(e.fact(Signal::LatencyTtft, says, c.after))
        }
        None => Test::Unknown("too few first tokens to compare the halves of the window".into()),
    }
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::CAUSE;
    use crate::diagnosis::Outcome;
    use crate::testing::{Given, Place};

    /// A window in which answers of these lengths end, first half and second; first tokens take 0.2 s, then `later`.
    fn answers(first: f64, second: f64, later: f64) -> Given {
        Given::vllm("0.28.0")
            .gauge(RequestsRunning, 20.0)
            .gauge(RequestsWaiting, 0.0)
            .counter(TokensGenerated, 100_000.0)
            .observed(TokensPromptEach, &[(400.0, 400.0)])
            .observed_in_halves(TokensOutputEach, &[(first, 200.0)], &[(second, 200.0)])
            .observed_in_halves(LatencyTtft, &[(0.2, 200.0)], &[(later, 200.0)])
            .observed(LatencyItl, &[(0.02, 100_000.0)])
    }

    #[test]
    fn longer_answers_and_then_longer_waits_are_a_changed_mix() {
        // The interval in the middle belongs to the second half, and half of it is like the first.
        let j = answers(300.0, 900.0, 0.9).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.says.contains("answers grew from 300 to 850 tokens"), "{}", j.says);
    }

    #[test]
    fn slower_answers_at_the_same_mix_are_something_else() {
        let j = answers(300.0, 300.0, 0.9).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut, "{j:#?}");
        assert!(j.against[0].says.contains("the mix is the same"), "{:?}", j.against);
    }

    #[test]
    fn longer_answers_nobody_waits_for_are_no_finding() {
        assert_eq!(answers(300.0, 900.0, 0.2).judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn a_shift_hardly_felt_is_a_note_unless_an_objective_is_missed() {
        // 0.15 s more until the first token of an answer that takes 12 s.
        let given = || answers(300.0, 900.0, 0.35).observed(LatencyE2e, &[(12.0, 400.0)]);
        assert_eq!(given().place_of(&CAUSE), Place::Note);
        assert_eq!(given().objective("ttft.mean=210ms").place_of(&CAUSE), Place::First);
        assert_eq!(given().objective("ttft.mean=400ms").place_of(&CAUSE), Place::Note);
    }

    #[test]
    fn the_limit_that_growing_answers_ran_into_is_the_answer_and_they_stand_behind_it() {
        let d = answers(300.0, 900.0, 0.9)
            .flags("--max-num-seqs 20")
            .gauge(RequestsWaiting, 8.0)
            .gauge(KvUsage, 0.4)
            .observed(LatencyQueue, &[(0.4, 400.0)])
            .verdict();
        let limit = "max-num-seqs-limited-queue";
        assert_eq!(d.verdict.primary.cause.as_deref(), Some(limit), "{:#?}", d.findings);
        let shift = d.findings.iter().find(|f| f.cause == CAUSE.id);
        assert_eq!(shift.and_then(|f| f.drives.as_deref()), Some(limit), "{shift:#?}");
        assert!(d.verdict.runner_up.is_none_or(|r| r.cause != CAUSE.id), "no rival of its own effect");
    }

    #[test]
    fn a_difference_that_chance_explains_is_no_shift() {
        // Long and short answers in both halves, a few more long ones in the second.
        let j = answers(300.0, 300.0, 0.9)
            .observed_in_halves(
                TokensOutputEach,
                &[(20.0, 28.0), (4000.0, 4.0)],
                &[(20.0, 26.0), (4000.0, 6.0)],
            )
            .judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut, "{j:#?}");
    }

    #[test]
    fn a_handful_of_requests_cannot_tell() {
        let few = answers(300.0, 900.0, 0.9)
            .observed_in_halves(TokensOutputEach, &[(300.0, 5.0)], &[(900.0, 5.0)])
            .without(TokensPromptEach);
        assert_eq!(few.judge(&CAUSE).outcome, Outcome::CannotTell);
    }
}
