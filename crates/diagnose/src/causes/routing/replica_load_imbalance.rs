//! One engine is overloaded while another has room.

use intriage_case::{Quantity, Ratio, Requests, Signal, Tokens, Unit};
use intriage_engines::{Engine, Setting};

use super::engines::{EngineView, engines, only_one};
use crate::causes::shared::queue_impact;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "replica-load-imbalance",
    class: Class::Routing,
    layer: Layer::Network,
    hurts: &[Aspect::Queue],
    summary: "Some engines have more work than they can do while others have room: turns taken with unequal requests, sticky sessions, stale load figures.",
    symptoms: &[
        "the average over all engines is fine and the slowest requests are not",
        "requests wait at one engine and at no other",
    ],
    confirmed_by: &[
        "the fullest engine holds far more than the mean while another has nobody waiting and room",
        "it also gets more prompts than the others",
    ],
    refuted_by: &[
        "every engine is full: capacity",
        "prompts are shared evenly: then one engine is slower",
        "there is only one engine",
    ],
    look_alikes: &[
        LookAlike { cause: "unready-replica-in-rotation", tell: "there one engine gives no tokens at all" },
        LookAlike { cause: "max-num-seqs-limited-queue", tell: "there every engine is at its cap" },
        LookAlike { cause: "offered-load-exceeds-capacity", tell: "there no engine has room" },
    ],
    probe: Probe {
        name: "ask-each",
        steps: "Send the same short request to each engine directly.",
        if_so: "The idle ones answer at once.",
        if_not: "All are slow.",
    },
    remedies: &[
        Remedy::any(
            "route by outstanding tokens or by queue and KV use, not in turn; two random choices are better than one",
            "the router has to read the engines' metrics",
        ),
        Remedy::of(
            Engine::Vllm,
            "--data-parallel-size with the internal balancer, or an external one that reads vllm:num_requests_waiting",
            "none",
        ),
        Remedy::of(
            Engine::Sglang,
            "the model gateway's cache-aware policy with its balance thresholds",
            "none",
        ),
    ],
    effect: "The slowest requests come near the median of all engines.",
    confirm: "requests.waiting is alike on all engines.",
    explains: &[
        "max-num-seqs-limited-queue",
        "kv-capacity-limited-queue",
        "token-budget-limited-queue",
        "offered-load-exceeds-capacity",
        "batch-past-knee",
        "preemption-thrash",
    ],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let all = engines(e);
    let fullest = all.iter().max_by(|a, b| load(a).total_cmp(&load(b)));
    let says = fullest.map_or(String::new(), |f| {
        let others =
            all.iter().filter(|o| o.name != f.name).map(load).sum::<f64>() / (all.len() - 1).max(1) as f64;
        format!(
            "engine {} of {} has {} while the others have {} each: the work is badly shared",
            f.name,
            all.len(),
            Requests(load(f)),
            Requests(others)
        )
    });
    Weighing::new()
        .requires(one_is_overloaded(e, &all))
        .requires(another_has_room(e, &all))
        .requires(it_gets_more_prompts(e, &all))
        .explains(CAUSE.explains)
        .conclude(says, queue_impact(e))
}

fn load(engine: &EngineView) -> f64 {
    engine.running + engine.waiting
}

/// The fullest over the mean.
fn skew(all: &[EngineView], of: impl Fn(&EngineView) -> f64) -> Option<Ratio> {
    let mean = all.iter().map(&of).sum::<f64>() / all.len().max(1) as f64;
    Ratio::of(all.iter().map(of).fold(0.0, f64::max), mean)
}

fn one_is_overloaded(e: &Evidence<'_>, all: &[EngineView]) -> Test {
    let Some(skew) = skew(all, load) else { return only_one(e) };
    let most = all.iter().map(|a| a.waiting).fold(0.0, f64::max);
    let says = format!(
        "the fullest engine holds {:.1} times the mean, {} of them waiting",
        skew.get(),
        Requests(most)
    );
    let mut fact = e.fact(Signal::RequestsWaiting, says, most);
    fact.limit = Some(Quantity::new(e.limit(Limit::Skew), Unit::Ratio));
    // How long they wait is a symptom's business.
    Test::when(skew.get() >= e.limit(Limit::Skew) && most >= e.limit(Limit::FlickerWaits), fact)
}

fn another_has_room(e: &Evidence<'_>, all: &[EngineView]) -> Test {
    if all.is_empty() {
        return only_one(e);
    }
    let cap = e.setting(Setting::MaxSequences).unwrap_or(f64::MAX);
    let room = all
        .iter()
        .filter(|a| a.waiting < e.limit(Limit::NobodyWaits) && a.running < cap * e.limit(Limit::ReplicaRoom))
        .count();
    let says = format!("{room} of {} engines have nobody waiting and room for more", all.len());
    Test::when(room > 0, e.fact(Signal::RequestsRunning, says, room as f64))
}

fn it_gets_more_prompts(e: &Evidence<'_>, all: &[EngineView]) -> Test {
    let Some(skew) = skew(all, |a| a.prompts) else { return only_one(e) };
    let most = all.iter().map(|a| a.prompts).fold(0.0, f64::max);
    let says = format!("one engine was given {} of prompts, {:.1} times the mean", Tokens(most), skew.get());
    Test::when(skew.get() >= e.limit(Limit::EqualArrivals), e.fact(Signal::TokensPrompt, says, most))
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::CAUSE;
    use crate::causes::routing::engines::two_engines;
    use crate::diagnosis::Outcome;
    use crate::testing::Given;

    #[test]
    fn one_full_engine_beside_an_idle_one_is_bad_sharing() {
        let j = two_engines([(16.0, 40.0, 900_000.0), (3.0, 0.0, 90_000.0)]).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert!(j.says.contains("engine 0 of 2 has 56 requests"), "{}", j.says);
    }

    #[test]
    fn two_full_engines_are_a_matter_of_capacity() {
        let j = two_engines([(16.0, 40.0, 500_000.0), (16.0, 38.0, 490_000.0)]).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
    }

    #[test]
    fn equal_prompts_and_unequal_queues_mean_a_slower_engine() {
        let j = two_engines([(16.0, 40.0, 500_000.0), (3.0, 0.0, 500_000.0)]).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
        assert!(j.against[0].says.contains("1.0 times the mean"), "{:?}", j.against);
    }

    #[test]
    fn one_engine_has_nobody_to_share_with() {
        let j = Given::vllm("0.28.0").gauge(RequestsRunning, 4.0).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
    }
}
