//! Heat holds the clocks down.

use intriage_case::gpu::ClockReasons;
use intriage_case::{Celsius, Ratio};

use super::cards::{Working, read, slower_impact, working};
use crate::causes::shared::on_cpu;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "gpu-thermal-throttle",
    class: Class::Hardware,
    layer: Layer::Gpu,
    hurts: Aspect::OF_THE_CARD,
    summary: "A GPU is too hot, so the driver or the hardware lowers its clocks.",
    symptoms: &[
        "prompts and tokens are both slower, more so in hot hours",
        "a group of GPUs goes as slowly as its hottest member",
    ],
    confirmed_by: &[
        "a thermal reason (0x20 or 0x40) holds the clocks in more than 5 % of the busy moments, and the SM clock is low",
        "the chip is within 3 °C of where it slows down",
    ],
    refuted_by: &[
        "under load no thermal reason is given",
        "clocks are low only while nothing runs",
        "the model runs on a CPU",
    ],
    look_alikes: &[
        LookAlike {
            cause: "gpu-power-or-capability-limit",
            tell: "there the reason is power (0x4, 0x80) or somebody's setting (0x2)",
        },
        LookAlike { cause: "benign-idle-gpu-clocks", tell: "an idle card lowers its clocks to save power" },
        LookAlike { cause: "kernel-fallback-slow-path", tell: "there the clocks are normal" },
    ],
    probe: Probe {
        name: "burn-short",
        steps: "Take the traffic off one card, run a large matrix product for 60 s and watch clock, temperature, power and reasons.",
        if_so: "The clock sags as the temperature rises.",
        if_not: "The clock holds.",
    },
    remedies: &[
        Remedy::any("airflow, fans, filters, coolant, seat of the heat sink", "a maintenance window"),
        Remedy::any(
            "until then a lower power limit on all cards of the group alike: nvidia-smi -pl WATTS",
            "a little speed, the same for all",
        ),
        Remedy::any("send less traffic to this machine", "capacity"),
    ],
    effect: "Clocks come back; prompts speed up with the clock, tokens somewhat less.",
    confirm: "No thermal reason under the same load, and the SM clock of its siblings.",
    explains: &[
        "straggler-gpu-or-rank",
        "tp-communication-bound",
        "batch-past-knee",
        "long-prompt-compute-bound",
    ],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let hottest = working(e).map(|cards| {
        let share = |w: &Working<'_>| w.load.held_by(ClockReasons::THERMAL).map_or(0.0, Ratio::get);
        cards.into_iter().max_by(|a, b| share(a).total_cmp(&share(b)))
    });
    let card = match &hottest {
        Ok(Some(card)) => Ok(card),
        Ok(None) => Err(super::cards::no_cards(e)),
        Err(why) => Err(why.as_str()),
    };
    let speed = card.ok().and_then(Working::clocks).and_then(|(now, most)| Ratio::of(now.get(), most.get()));
    let speed = speed.unwrap_or(Ratio(1.0));
    let name = card.map_or(String::new(), Working::name);
    Weighing::new()
        .refuted_by(on_cpu(e))
        .requires(heat_holds(e, card))
        .requires(clock_is_low(e, card))
        .supports(no_margin(e, card))
        .conclude(format!("{name} is too hot: it runs at {speed} of its clock"), slower_impact(e, speed))
}

fn heat_holds(e: &Evidence<'_>, card: Result<&Working<'_>, &str>) -> Test {
    let card = match card {
        Ok(card) => card,
        Err(why) => return Test::Unknown(why.to_owned()),
    };
    let Some(share) = card.load.held_by(ClockReasons::THERMAL) else {
        return Test::Unknown("no tool said what holds the clocks".into());
    };
    let says = format!("heat holds the clocks of {} {share} of the time it works", card.name());
    Test::when(share.get() > e.limit(Limit::ClockEvent), read(e, says, share))
}

fn clock_is_low(e: &Evidence<'_>, card: Result<&Working<'_>, &str>) -> Test {
    let Some((now, most)) = card.ok().and_then(Working::clocks) else {
        return Test::Unknown("the SM clock under load is not known".into());
    };
    let says = format!("the SM clock is {now} of {most} under load");
    Test::when(now.get() < e.limit(Limit::ClockDrop) * most.get(), read(e, says, now))
}

fn no_margin(e: &Evidence<'_>, card: Result<&Working<'_>, &str>) -> Test {
    let told = card.ok().and_then(|w| w.card.heat_left);
    let computed =
        card.ok().and_then(|w| Some(Celsius(w.card.slowdown_at?.get() - w.load.temperature?.get())));
    let Some(left) = told.or(computed) else {
        return Test::Unknown("where the card slows down was not told".into());
    };
    let says = format!("the chip is {left} from where it slows down");
    Test::when(left.get() <= e.limit(Limit::HeatMargin), read(e, says, left))
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::*;
    use crate::diagnosis::Outcome;
    use crate::testing::{Card, Given};

    fn busy() -> Given {
        Given::vllm("0.28.0")
            .on_gpu()
            .gauge(RequestsRunning, 8.0)
            .observed(LatencyPrefill, &[(0.4, 200.0)])
            .observed(LatencyDecode, &[(4.0, 200.0)])
    }

    #[test]
    fn one_hot_card_of_four_slows_the_group() {
        // Scenario F29: bit 0x40 in 35 % of the loaded samples, 1,180 of 1,980 MHz.
        let cool = Card::h100().busy(0.98, 1755.0, ClockReasons(0));
        let hot = Card::h100().at(Celsius(88.0)).busy_with(0.98, 1180.0, 35, ClockReasons::HARDWARE_THERMAL);
        let j = busy().cards(&[cool.clone(), cool.clone(), hot, cool]).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert!(j.says.contains("GPU 2 is too hot") && j.says.contains("60 %"), "{}", j.says);
    }

    #[test]
    fn an_idle_card_is_not_throttled_and_a_capped_one_is_not_hot() {
        // Scenarios H06 and H09.
        let idle = busy().cards(&[Card::h100().idle(345.0)]).judge(&CAUSE);
        assert_eq!(idle.outcome, Outcome::CannotTell);
        let capped = busy().cards(&[Card::h100().busy(0.99, 1500.0, ClockReasons::POWER_CAP)]).judge(&CAUSE);
        assert_eq!(capped.outcome, Outcome::RuledOut);
    }

    #[test]
    fn without_a_card_nobody_can_tell_and_on_a_cpu_there_is_none() {
        assert_eq!(busy().judge(&CAUSE).outcome, Outcome::CannotTell);
        let on_cpu = Given::vllm("0.28.0").gauge(RequestsRunning, 8.0).flags("--device cpu");
        assert_eq!(on_cpu.judge(&CAUSE).outcome, Outcome::RuledOut);
    }
}
