//! An engine that cannot serve still gets requests.

use intriage_case::{Ratio, Requests, Signal};
use intriage_engines::Engine;

use super::engines::{EngineView, engines, only_one};
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "unready-replica-in-rotation",
    class: Class::Routing,
    layer: Layer::Application,
    hurts: &[Aspect::Availability, Aspect::Errors],
    summary: "An engine gets traffic although it cannot serve: hung, still loading, or with the wrong model, behind a health check that asks too little.",
    symptoms: &[
        "a fixed share of the requests fails or hangs",
        "the share is one over the number of engines",
        "the others are fine",
    ],
    confirmed_by: &[
        "one engine holds requests and gives no token while the others do",
        "a request of one token to each engine fails at one only",
    ],
    refuted_by: &["every engine gives tokens", "none gives tokens", "there is only one engine"],
    look_alikes: &[
        LookAlike {
            cause: "engine-stalled-not-admitting",
            tell: "that is the engine itself; here the others serve and the router keeps sending",
        },
        LookAlike { cause: "replica-load-imbalance", tell: "there the full engine is slow but gives tokens" },
    ],
    probe: Probe {
        name: "one-token-each",
        steps: "Ask every engine directly for one token.",
        if_so: "One fails or hangs.",
        if_not: "All answer.",
    },
    remedies: &[
        Remedy::any(
            "take it out of rotation and restart it, after a dump of its stacks",
            "its open requests are lost",
        ),
        Remedy::any(
            "let readiness ask for one token of the expected model, and eject an engine that fails",
            "a token for every check",
        ),
        Remedy::of(Engine::Sglang, "probe /health_generate instead of /health", "a token for every check"),
    ],
    effect: "No request hangs any more; the others carry its share.",
    confirm: "tokens.generated rises on every engine that holds requests.",
    explains: &[
        "engine-stalled-not-admitting",
        "replica-load-imbalance",
        "max-num-seqs-limited-queue",
        "kv-capacity-limited-queue",
        "token-budget-limited-queue",
        "head-of-line-blocking",
        "offered-load-exceeds-capacity",
    ],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let all = engines(e);
    let hung: Vec<&EngineView> = all.iter().filter(|a| is_hung(e, a)).collect();
    let share = Ratio::of(hung.len() as f64, all.len() as f64).unwrap_or(Ratio(0.0));
    let says = hung.first().map_or(String::new(), |h| {
        format!(
            "engine {} of {} has given no token for {} while the others serve: at least {} hang in it",
            h.name,
            all.len(),
            h.still,
            Requests(h.holds)
        )
    });
    let impact = Impact {
        on: ImpactOn::Availability,
        share,
        time: None,
        says: format!("about {share} of the requests go where no token comes back"),
    };
    Weighing::new()
        .requires(one_stands_still(e, &all, &hung))
        .requires(the_others_serve(e, &all, &hung))
        .explains(CAUSE.explains)
        .explains(&["engine-stalled-not-admitting"])
        .conclude(says, impact)
}

fn is_hung(e: &Evidence<'_>, engine: &EngineView) -> bool {
    engine.holds >= 1.0 && engine.still.get() >= shortest_hang(e)
}

/// Beside others that go on, an engine hangs as soon as its silence is told as a standstill.
fn shortest_hang(e: &Evidence<'_>) -> f64 {
    let told = e.timeline.standstills().filter(|s| s.open).map(|s| s.seconds.get());
    told.fold(e.limit(Limit::StallSeconds), f64::min)
}

fn one_stands_still(e: &Evidence<'_>, all: &[EngineView], hung: &[&EngineView]) -> Test {
    if all.is_empty() {
        return only_one(e);
    }
    let says = match hung.first() {
        Some(h) => {
            format!("engine {} holds {} and has given no token for {}", h.name, Requests(h.holds), h.still)
        }
        None => format!("all {} engines give tokens or hold no request", all.len()),
    };
    Test::when(!hung.is_empty(), e.fact(Signal::TokensGenerated, says, hung.len() as f64))
}

fn the_others_serve(e: &Evidence<'_>, all: &[EngineView], hung: &[&EngineView]) -> Test {
    if all.is_empty() {
        return only_one(e);
    }
    let serving = all.iter().filter(|a| a.still.get() < shortest_hang(e) && a.prompts > 0.0).count();
    let says = format!("{serving} of {} engines go on giving tokens", all.len());
    Test::when(
        serving > 0 && serving + hung.len() <= all.len(),
        e.fact(Signal::TokensGenerated, says, serving as f64),
    )
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::CAUSE;
    use crate::causes::routing::engines::two_engines;
    use crate::diagnosis::Outcome;
    use crate::testing::Given;

    #[test]
    fn an_engine_that_holds_requests_and_gives_nothing_is_not_ready() {
        // No prompt gets through engine 1 any more: its counters stand still.
        let j = two_engines([(8.0, 0.0, 900_000.0), (12.0, 30.0, 0.0)]).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert!(j.says.contains("engine 1 of 2"), "{}", j.says);
    }

    #[test]
    fn a_full_engine_that_gives_tokens_is_the_look_alike() {
        let j = two_engines([(8.0, 0.0, 500_000.0), (16.0, 30.0, 900_000.0)]).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
    }

    #[test]
    fn two_silent_engines_are_another_matter() {
        let j = two_engines([(8.0, 0.0, 0.0), (12.0, 30.0, 0.0)]).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
    }

    #[test]
    fn one_engine_is_judged_by_itself() {
        let j = Given::vllm("0.28.0").gauge(RequestsRunning, 4.0).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
    }
}
