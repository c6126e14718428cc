//! One GPU of a group is slower, and the others wait for it.

use intriage_case::gpu::ClockReasons;
use intriage_case::{Hertz, Ratio};
use intriage_engines::Engine;

use super::cards::{Working, read, slower_impact, working};
use crate::causes::gpus::serves_in_a_group;
use crate::causes::shared::on_cpu;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "straggler-gpu-or-rank",
    class: Class::Hardware,
    layer: Layer::Gpu,
    hurts: Aspect::OF_THE_CARD,
    summary: "One GPU of a group that shares a model is slower than the others, and every exchange waits for it.",
    symptoms: &[
        "a group of GPUs is slow while most of them show 100 % utilisation at little power",
        "without one certain card the group is fast again",
    ],
    confirmed_by: &[
        "under load the SM clock of one card is more than 10 % below the middle of its group",
        "with that card left out or swapped the group is as fast as it should be",
    ],
    refuted_by: &[
        "all cards of the group run at the same clock",
        "one GPU serves alone",
        "the model runs on a CPU",
    ],
    look_alikes: &[
        LookAlike {
            cause: "gpu-thermal-throttle",
            tell: "heat is the usual reason for one slow card: where it is seen, it comes first",
        },
        LookAlike {
            cause: "tp-communication-bound",
            tell: "there all cards are alike and the links are slow",
        },
        LookAlike { cause: "replica-load-imbalance", tell: "there whole replicas differ, not cards of one" },
    ],
    probe: Probe {
        name: "rank-profile",
        steps: "Under load read clock, power and utilisation of every card of the group ten times a second for 30 s.",
        if_so: "One card stands apart.",
        if_not: "They are all alike.",
    },
    remedies: &[
        Remedy::any("find what holds this card back and mend it, or leave it out by its UUID", "capacity"),
        Remedy::of(
            Engine::Vllm,
            "with experts spread over the cards: --enable-eplb evens out which card gets the tokens",
            "memory for copies of busy experts",
        ),
        Remedy::of(
            Engine::Sglang,
            "with experts spread over the cards: --enable-eplb",
            "memory for copies of busy experts",
        ),
    ],
    effect: "The group goes as fast as its other cards.",
    confirm: "Under load the SM clocks of the group are within a tenth of each other.",
    explains: &["tp-communication-bound"],
    judge,
};

/// The slowest card of a group, and the group's middle.
struct Outlier<'a> {
    card: Working<'a>,
    clock: Hertz,
    middle: Hertz,
}

impl Outlier<'_> {
    fn speed(&self) -> Ratio {
        Ratio::of(self.clock.get(), self.middle.get()).unwrap_or(Ratio(1.0))
    }
}

fn judge(e: &Evidence<'_>) -> Judgement {
    let slowest = slowest(e);
    let speed = slowest.as_ref().map_or(Ratio(1.0), Outlier::speed);
    let says = slowest.as_ref().map_or(String::new(), |s| {
        format!("{} runs at {speed} of the clock of its group, and the group waits for it", s.card.name())
    });
    Weighing::new()
        .refuted_by(on_cpu(e))
        .requires(serves_in_a_group(e))
        .requires(stands_apart(e, slowest.as_ref()))
        .supports(something_holds_it(e, slowest.as_ref()))
        // What holds the card is a cause of its own; that the group waits for it, only an exchange of cards proves.
        .at_most_likely(0.7)
        .conclude(says, slower_impact(e, speed))
}

/// The slowest of the cards of one kind that were seen at work often enough.
fn slowest<'a>(e: &Evidence<'a>) -> Result<Outlier<'a>, String> {
    let mut cards = working(e)?;
    let name = cards.first().and_then(|w| w.card.name.clone());
    cards.retain(|w| w.card.name == name && w.load.samples as f64 >= e.limit(Limit::LoadedSamples));
    let clock = |w: &Working<'_>| w.load.sm_clock.map_or(f64::INFINITY, Hertz::get);
    cards.retain(|w| w.load.sm_clock.is_some());
    if cards.len() < 2 {
        return Err("fewer than two cards of one kind were watched at work".into());
    }
    cards.sort_by(|a, b| clock(a).total_cmp(&clock(b)));
    // Of an even number the upper: with two cards the faster one is what the slower could be.
    let middle = Hertz(clock(&cards[cards.len() / 2]));
    let card = cards.swap_remove(0);
    Ok(Outlier { clock: Hertz(clock(&card)), middle, card })
}

fn stands_apart(e: &Evidence<'_>, slowest: Result<&Outlier<'_>, &String>) -> Test {
    match slowest {
        Err(why) => Test::Unknown(why.clone()),
        Ok(s) => {
            let says = format!(
                "{} runs at {} under load, the middle of its group at {}",
                s.card.name(),
                s.clock,
                s.middle
            );
            Test::when(1.0 - s.speed().get() > e.limit(Limit::Straggler), read(e, says, s.clock))
        }
    }
}

/// The driver names what holds the clock of this card.
fn something_holds_it(e: &Evidence<'_>, slowest: Result<&Outlier<'_>, &String>) -> Test {
    const ANY: [(ClockReasons, &str); 3] = [
        (ClockReasons::THERMAL, "heat"),
        (ClockReasons::POWER_CAP, "the power limit"),
        (ClockReasons::POWER_BRAKE, "the power supply's brake"),
    ];
    let Ok(slowest) = slowest else { return Test::Unknown("no card stands apart".into()) };
    let held = |reason| slowest.card.load.held_by(reason).map_or(0.0, Ratio::get);
    let most = ANY.into_iter().max_by(|a, b| held(a.0).total_cmp(&held(b.0)));
    match most.filter(|(reason, _)| held(*reason) > e.limit(Limit::ClockEvent)) {
        Some((reason, what)) => {
            let share = Ratio(held(reason));
            let says = format!("{what} holds its clock {share} of the time it works");
            Test::Holds(read(e, says, share))
        }
        None => Test::Unknown("the driver gives no reason for its low clock".into()),
    }
}

#[cfg(test)]
mod tests {
    use intriage_case::Celsius;
    use intriage_case::Signal::*;

    use super::*;
    use crate::diagnosis::Outcome;
    use crate::testing::{Card, Given};

    /// Scenario F29: 70B over four H100; GPU 2 at 1,180 of 1,755 MHz.
    fn four(third: Card) -> Given {
        let card = || Card::h100().busy(1.0, 1755.0, ClockReasons(0));
        Given::vllm("0.28.0")
            .on_gpu()
            .flags("--tensor-parallel-size 4")
            .gauge(RequestsRunning, 8.0)
            .observed(LatencyDecode, &[(8.0, 200.0)])
            .cards(&[card(), card(), third, card()])
    }

    fn slow() -> Card {
        Card::h100().busy(1.0, 1180.0, ClockReasons(0))
    }

    #[test]
    fn one_slow_card_of_four_holds_up_the_group() {
        let j = four(slow()).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.says.starts_with("GPU 2 runs at 67 %"), "{}", j.says);
    }

    #[test]
    fn heat_comes_first_and_the_straggler_is_its_effect() {
        let hot = Card::h100().at(Celsius(88.0)).busy_with(1.0, 1180.0, 35, ClockReasons::THERMAL);
        let d = four(hot).verdict();
        assert_eq!(d.verdict.primary.cause.as_deref(), Some("gpu-thermal-throttle"), "{:#?}", d.verdict);
        let straggler = d.findings.iter().find(|f| f.cause == CAUSE.id).expect("it holds, too");
        assert_eq!(straggler.effect_of.as_deref(), Some("gpu-thermal-throttle"));
    }

    #[test]
    fn cards_that_are_alike_rule_it_out_and_so_does_one_alone() {
        let alike = four(Card::h100().busy(1.0, 1700.0, ClockReasons(0)));
        assert_eq!(alike.judge(&CAUSE).outcome, Outcome::RuledOut);
        let alone = four(slow()).flags("--tensor-parallel-size 1");
        assert_eq!(alone.judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn an_idle_sibling_and_a_group_of_unknown_size_leave_it_open() {
        let idle = four(Card::h100().idle(345.0)).cards(&[slow(), Card::h100().idle(345.0)]);
        assert_eq!(idle.judge(&CAUSE).outcome, Outcome::CannotTell);
        let fast = Card::h100().busy(1.0, 1755.0, ClockReasons(0));
        let unknown = Given::vllm("0.28.0").gauge(RequestsRunning, 8.0).cards(&[slow(), fast]);
        let j = unknown.judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell, "{j:#?}");
        assert!(j.missing[0].contains("on how many GPUs"), "{:?}", j.missing);
    }
}
