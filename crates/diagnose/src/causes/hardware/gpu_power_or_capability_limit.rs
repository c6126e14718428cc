//! The card is held below what it was sold for: by a setting, by the power supply, or because it is only a slice.

use intriage_case::Ratio;
use intriage_case::gpu::ClockReasons;

use super::cards::{Working, read, slower_impact, working};
use crate::causes::shared::on_cpu;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "gpu-power-or-capability-limit",
    class: Class::Hardware,
    layer: Layer::Gpu,
    hurts: Aspect::OF_THE_CARD,
    summary: "A GPU runs below its kind because its power limit was lowered, its clocks were set, the power supply brakes it, or it is a MIG slice.",
    symptoms: &["everything is slower than on the other machines, steadily, and the card is cool"],
    confirmed_by: &[
        "the enforced power limit is below the one the card was sold with, and the power cap holds its clocks",
        "clocks were set by hand (reason 0x2) or the power supply brakes (0x80) while it works",
        "MIG is on, and the speed is that of the slice (only a comparison tells)",
    ],
    refuted_by: &[
        "the limit is the card's own, nobody set the clocks, and it is a whole card",
        "the model runs on a CPU",
    ],
    look_alikes: &[
        LookAlike { cause: "gpu-thermal-throttle", tell: "there the reason is heat (0x20, 0x40)" },
        LookAlike {
            cause: "benign-power-cap-bit",
            tell: "a power cap at the card's own limit is what full load looks like",
        },
        LookAlike {
            cause: "kernel-fallback-slow-path",
            tell: "there limits and clocks are as they should be",
        },
    ],
    probe: Probe {
        name: "limit-read",
        steps: "Read nvidia-smi -q -d POWER,CLOCK,PERFORMANCE and the list of MIG slices, and compare with a machine that is fast.",
        if_so: "The limit, the clocks or the slice differ.",
        if_not: "They are the same.",
    },
    remedies: &[
        Remedy::any("nvidia-smi -pl with the card's default limit", "power and heat in the rack"),
        Remedy::any("nvidia-smi -rgc gives the clocks free", "power"),
        Remedy::any("for the power brake: the power supply or the rack's capping", "a maintenance window"),
        Remedy::any("for MIG: a larger slice, or expectations of a slice", "fewer tenants"),
    ],
    effect: "The card returns to the speed of its kind.",
    confirm: "The SM clock under load is that of its siblings.",
    explains: &["straggler-gpu-or-rank", "batch-past-knee", "long-prompt-compute-bound"],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let cards = working(e);
    let held = cards.as_deref().map(|cards| cards.iter().find_map(|card| holds(e, card)));
    let speed = match &held {
        Ok(Some(Held { speed, .. })) => *speed,
        _ => Ratio(1.0),
    };
    let (test, says) = match held {
        Err(why) => (Test::Unknown(why.clone()), String::new()),
        Ok(None) => (unheld(e, cards.as_deref().unwrap_or_default()), String::new()),
        Ok(Some(held)) => (Test::Holds(read(e, held.fact, held.speed)), held.says),
    };
    Weighing::new().refuted_by(on_cpu(e)).requires(test).conclude(says, slower_impact(e, speed))
}

struct Held {
    fact: String,
    says: String,
    speed: Ratio,
}

fn holds(e: &Evidence<'_>, card: &Working<'_>) -> Option<Held> {
    let (now, most) = card.clocks()?;
    let speed = Ratio::of(now.get(), most.get())?;
    let low = speed.get() < e.limit(Limit::ClockDrop);
    let often = |reasons| card.load.held_by(reasons).filter(|share| share.get() > e.limit(Limit::ClockEvent));
    let limits = card.card.power_limits;
    let name = card.name();
    if let (Some(limit), Some(default)) = (limits.enforced, limits.default)
        && limit < default
        && low
        && let Some(share) = often(ClockReasons::POWER_CAP)
    {
        return Some(Held {
            fact: format!(
                "{name} may draw {limit} and was sold with {default}; the cap holds its clocks {share} of the time it works"
            ),
            says: format!(
                "{name} has a lowered power limit ({limit} instead of {default}): it runs at {speed} of its clock"
            ),
            speed,
        });
    }
    if low && let Some(share) = often(ClockReasons::CLOCKS_SETTING) {
        return Some(Held {
            fact: format!("somebody's clock setting holds {name} {share} of the time it works"),
            says: format!("the clocks of {name} were set by hand: it runs at {speed} of its clock"),
            speed,
        });
    }
    if low && let Some(share) = often(ClockReasons::POWER_BRAKE) {
        return Some(Held {
            fact: format!("the power supply brakes {name} {share} of the time it works"),
            says: format!("the power supply brakes {name}: it runs at {speed} of its clock"),
            speed,
        });
    }
    // NVML sets no reason where clocks were locked (nvidia-smi -lgc): a busy, cool card far from its power limit is.
    let cool = !card.load.held_by(ClockReasons::THERMAL).is_some_and(|s| s.get() > 0.0);
    let busy = card.load.util.is_some_and(|u| u.get() >= e.limit(Limit::BusyEnough));
    let limit = limits.enforced.or(limits.default);
    let drawn = card.load.power.zip(limit).and_then(|(power, limit)| Ratio::of(power.get(), limit.get()));
    let free = drawn.is_some_and(|drawn| drawn.get() < e.limit(Limit::NearPowerLimit));
    if speed.get() < e.limit(Limit::LockedClock) && cool && busy && free {
        let drawn = drawn.unwrap_or(Ratio(0.0));
        return Some(Held {
            fact: format!(
                "{name} is busy, cool and draws {drawn} of its power limit, and still runs at {speed} of its clock"
            ),
            says: format!(
                "{name} runs at {now} of {most} although neither heat nor power holds it: its clocks are locked"
            ),
            speed,
        });
    }
    None
}

/// No card is seen to be held: clean where each runs at its clock, or where something tells what holds it.
fn unheld(e: &Evidence<'_>, cards: &[Working<'_>]) -> Test {
    for card in cards {
        let name = card.name();
        let Some((now, most)) = card.clocks() else {
            return Test::Unknown(format!("the SM clock of {name} under load, or its highest, was not told"));
        };
        let fast = now.get() >= e.limit(Limit::ClockDrop) * most.get();
        let told = |reasons| card.load.held_by(reasons).is_some();
        let limits = card.card.power_limits;
        let own_limit = limits.enforced.zip(limits.default).is_some_and(|(limit, default)| limit >= default);
        let capped = told(ClockReasons::POWER_CAP) || own_limit;
        let explained = capped && told(ClockReasons::CLOCKS_SETTING) && told(ClockReasons::POWER_BRAKE);
        // Without power and load nobody knows whether a clock was locked: no reason is set then. Heat, and the cap at the
        // card's own limit, are reasons enough.
        let often =
            |reasons| card.load.held_by(reasons).is_some_and(|s| s.get() > e.limit(Limit::ClockEvent));
        let by_design = often(ClockReasons::THERMAL) || own_limit && often(ClockReasons::POWER_CAP);
        let telling = by_design || card.load.power.is_some() && card.load.util.is_some();
        if !(fast || explained && telling) {
            return Test::Unknown(format!(
                "{name} runs below its clock, and no tool said whether a setting or the power supply holds it (nvidia-smi -q -d PERFORMANCE does)"
            ));
        }
    }
    Test::Fails(read(e, "no card is held below its own limits by a setting, and none is braked", Ratio(0.0)))
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;
    use intriage_case::Watts;

    use super::*;
    use crate::diagnosis::Outcome;
    use crate::testing::{Card, Given};

    fn busy() -> Given {
        Given::vllm("0.28.0").on_gpu().gauge(RequestsRunning, 8.0).observed(LatencyDecode, &[(4.0, 200.0)])
    }

    #[test]
    fn a_lowered_limit_that_holds_the_clocks_is_the_cause() {
        let lowered = Card::h100().limited(Watts(400.0)).busy(0.99, 1300.0, ClockReasons::POWER_CAP);
        let j = busy().cards(&[lowered]).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert!(j.says.contains("400 W instead of 700 W"), "{}", j.says);
    }

    #[test]
    fn a_lowered_limit_nobody_feels_is_not() {
        let lowered = Card::h100().limited(Watts(600.0)).busy(0.6, 1950.0, ClockReasons(0));
        assert_eq!(busy().cards(&[lowered]).judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn full_load_at_the_card_s_own_limit_is_not_a_fault() {
        // Scenario H09: the cap bit all the time, at the limit the card was sold with.
        let capped = Card::h100().busy(0.99, 1500.0, ClockReasons::POWER_CAP);
        assert_eq!(busy().cards(&[capped]).judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn a_slow_card_whose_reasons_nobody_told_is_not_cleared() {
        let table = |clock: u32, reasons: &str, cells: &str| {
            let header = format!(
                "index, utilization.gpu [%], clocks.current.sm [MHz], clocks.max.sm [MHz]{reasons}\n"
            );
            let row = format!("0, 98 %, {clock} MHz, 1980 MHz{cells}\n");
            busy().smi_csv(&format!("{header}{}", row.repeat(4))).judge(&CAUSE).outcome
        };
        let some = ", clocks_event_reasons.hw_thermal_slowdown, clocks_event_reasons.sw_power_cap";
        assert_eq!(table(1200, some, ", Active, Not Active"), Outcome::CannotTell);
        assert_eq!(table(1200, "", ""), Outcome::CannotTell);
        assert_eq!(table(1965, "", ""), Outcome::RuledOut, "at its clock nothing holds it");
        let braked = ", clocks_event_reasons.hw_power_brake_slowdown";
        assert_eq!(table(1200, braked, ", Active"), Outcome::Confirmed);
        let mask = ", clocks_throttle_reasons.active";
        assert_eq!(table(1200, mask, ", 0x0000000000000040"), Outcome::RuledOut, "heat alone holds it");
    }

    #[test]
    fn clocks_set_by_hand_are_named() {
        let set = Card::h100().busy(0.9, 1200.0, ClockReasons::CLOCKS_SETTING);
        let j = busy().cards(&[set]).judge(&CAUSE);
        assert!(j.says.contains("set by hand"), "{j:#?}");
    }
}
