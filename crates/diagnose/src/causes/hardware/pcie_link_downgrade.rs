//! The card's PCIe link came up slower than it could, and something needs it.

use intriage_case::{Bytes, PerSecond, Ratio};

use super::cards::{Working, read, slower_impact, working};
use crate::causes::shared::on_cpu;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "pcie-link-downgrade",
    class: Class::Hardware,
    layer: Layer::Gpu,
    hurts: Aspect::OF_THE_CARD,
    summary: "A GPU's PCIe link runs at a lower generation or with fewer lanes than it could, and something that serves requests needs its bandwidth.",
    symptoms: &[
        "first tokens are late, more than the pace of tokens suffers",
        "models load slowly; KV offload, images or tensor parallelism over PCIe are slow",
    ],
    confirmed_by: &[
        "under load the link stays below its generation, or it has fewer lanes at any time",
        "the traffic fills most of what the link still carries",
    ],
    refuted_by: &[
        "only an idle link is slow: that saves power",
        "hardly anything crosses the link: then it is a repair to plan, not the cause",
        "the model runs on a CPU",
    ],
    look_alikes: &[
        LookAlike {
            cause: "tp-communication-bound",
            tell: "there the link is whole and the topology is what it is",
        },
        LookAlike { cause: "nvlink-degraded", tell: "there the GPUs talk over NVLink" },
        LookAlike { cause: "benign-idle-pcie-gen", tell: "an idle link slows down and keeps its lanes" },
    ],
    probe: Probe {
        name: "load-and-look",
        steps: "Keep the GPU busy and read pcie.link.gen.current and width; on a drained GPU run nvbandwidth host to device and compare with a sibling.",
        if_so: "Low under load, and slow copies.",
        if_not: "Both as on the sibling.",
    },
    remedies: &[
        Remedy::any(
            "reseat the card or its riser, another slot, BIOS: bifurcation, ASPM; firmware",
            "a maintenance window; until then take the machine out of rotation",
        ),
        Remedy::any(
            "until then less over PCIe: no KV or weight offload, tensor parallelism only over NVLink pairs",
            "memory or parallelism",
        ),
    ],
    effect: "The bandwidth of the whole link: Gen3 x8 to Gen5 x16 is eight times as much.",
    confirm: "The link is at full generation and width under load, and first tokens come as before.",
    explains: &["tp-communication-bound", "long-prompt-compute-bound", "prefill-decode-interference"],
    judge,
};

/// What a lane carries one way in bytes a second, by generation from 1. Source: PCI-SIG, after line coding.
const LANE: [f64; 6] = [0.25e9, 0.5e9, 0.985e9, 1.969e9, 3.938e9, 7.563e9];

struct Slow<'a> {
    card: &'a Working<'a>,
    generation: (u32, u32),
    lanes: (u32, u32),
    /// Whether it was seen often enough to be sure.
    watched: bool,
}

impl Slow<'_> {
    /// What the link carries one way now, and what it could, in bytes a second.
    fn ceilings(&self) -> (f64, f64) {
        (carries(self.generation.0, self.lanes.0), carries(self.generation.1, self.lanes.1))
    }

    fn used(&self) -> Option<(PerSecond<Bytes>, Ratio)> {
        let rate = self.card.load.pcie_rate?;
        Some((rate, Ratio::of(rate.0.get(), self.ceilings().0)?))
    }

    fn says(&self) -> String {
        let ((now, most), (lanes, all)) = (self.generation, self.lanes);
        format!("the PCIe link of {} runs at Gen{now} x{lanes} instead of Gen{most} x{all}", self.card.name())
    }
}

/// What such a link carries one way, in bytes a second.
fn carries(generation: u32, lanes: u32) -> f64 {
    LANE.get(generation.saturating_sub(1) as usize).copied().unwrap_or(0.0) * f64::from(lanes)
}

fn judge(e: &Evidence<'_>) -> Judgement {
    let cards = working(e);
    let slow = fullest(cards.iter().flatten().filter_map(|card| slow(e, card)));
    let speed = slow.as_ref().and_then(|slow| Ratio::of(slow.ceilings().0, slow.ceilings().1));
    let link = match (&cards, &slow) {
        (Err(why), _) => Test::Unknown(why.clone()),
        (_, Some(slow)) => Test::Holds(read(e, format!("under load {}", slow.says()), Ratio(1.0))),
        (Ok(cards), None) => whole(e, cards),
    };
    let mut w = Weighing::new().refuted_by(on_cpu(e)).requires(link);
    let mut says = String::new();
    if let Some(slow) = &slow {
        says = slow.says();
        if !slow.watched {
            w = w.at_most_likely(0.5);
        }
        w = match slow.used() {
            Some((rate, share)) => {
                let gbs = rate.0.get() / 1e9;
                let fact =
                    read(e, format!("{gbs:.1} GB/s cross it, {share} of what it still carries"), share);
                if share.get() < e.limit(Limit::LinkIdle) {
                    w.refuted_by(Test::Holds(fact))
                } else {
                    w.supports(Test::when(share.get() >= e.limit(Limit::LinkFull), fact))
                }
            }
            None => w
                .supports(Test::Unknown("how much crosses the link was not counted".into()))
                .at_most_likely(0.5),
        };
    }
    w.conclude(says, slower_impact(e, speed.unwrap_or(Ratio(1.0))))
}

/// Of several slow links the one that is used most; one whose use nobody counted comes before an idle one.
fn fullest<'a>(slow: impl Iterator<Item = Slow<'a>>) -> Option<Slow<'a>> {
    let used = |link: &Slow<'_>| link.used().map_or(f64::EPSILON, |(_, share)| share.get());
    slow.reduce(|a, b| if used(&b) > used(&a) { b } else { a })
}

/// A card whose link is slower than it could be although the card works. A link needs a moment to speed up when work
/// comes: few looks show that it did not only where the card was busy throughout.
fn slow<'a>(e: &Evidence<'_>, card: &'a Working<'a>) -> Option<Slow<'a>> {
    let (load, stands) = (&card.load, card.card);
    let lanes = (load.pcie_width.or(stands.pcie_width.now)?, stands.pcie_width.most?);
    let most = stands.pcie_generation.most?;
    let watched = load.samples as f64 >= e.limit(Limit::LoadedSamples) && load.pcie_generation.is_some();
    let full = |util: Option<Ratio>| util.is_some_and(|u| u.get() >= e.limit(Limit::GpuBusyHigh));
    let reached = if watched { load.pcie_generation } else { reached(card) };
    if lanes.0 < lanes.1 {
        return Some(Slow { card, generation: (reached?, most), lanes, watched: true });
    }
    let busy = watched || full(stands.util) || (load.pcie_generation.is_some() && full(load.util));
    let generation = (reached.filter(|now| busy && *now < most)?, most);
    Some(Slow { card, generation, lanes, watched })
}

/// The highest generation the link was seen at, at work or not.
fn reached(card: &Working<'_>) -> Option<u32> {
    card.load.pcie_generation.max(card.card.pcie_generation.now)
}

/// No link is seen to be slow: well where each was seen at its best, else nobody knows.
fn whole(e: &Evidence<'_>, cards: &[Working<'_>]) -> Test {
    for working in cards {
        let Working { card, load } = working;
        let name = format!("GPU {}", card.index);
        let (Some(most), Some(lanes)) = (card.pcie_generation.most, card.pcie_width.most) else {
            return Test::Unknown(format!("{name} does not tell its PCIe link at its best"));
        };
        // At its best at any time is whole; below it an idle link may only save power.
        let reached = reached(working);
        let width = load.pcie_width.max(card.pcie_width.now);
        if reached.is_none_or(|now| now < most) || width.is_none_or(|now| now < lanes) {
            return Test::Unknown(format!(
                "the PCIe link of {name} was not seen long enough under load: it may only save power"
            ));
        }
    }
    Test::Fails(read(e, "every PCIe link was seen at its full generation with all lanes", Ratio(1.0)))
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;
    use intriage_case::gpu::ClockReasons;

    use super::*;
    use crate::diagnosis::Outcome;
    use crate::testing::{Card, Given};

    /// Founding case 1, scenario F28: 70B on two H100 PCIe without a bridge; 80 % SM utilisation.
    fn tensor_parallel_over_pcie() -> Given {
        Given::vllm("0.28.0")
            .on_gpu()
            .gauge(RequestsRunning, 8.0)
            .observed(LatencyPrefill, &[(1.4, 200.0)])
            .observed(LatencyDecode, &[(8.0, 200.0)])
    }

    fn card(generation: u32, lanes: u32, rate: Option<f64>) -> Card {
        Card::h100().linked(generation, lanes, rate).busy(0.8, 1755.0, ClockReasons(0))
    }

    #[test]
    fn of_two_slow_links_the_one_that_is_used_is_judged() {
        let j = tensor_parallel_over_pcie()
            .cards(&[card(3, 8, Some(0.0)), card(3, 8, Some(6.3e9))])
            .judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert!(j.says.contains("GPU 1"), "{}", j.says);
    }

    #[test]
    fn gen3_x8_under_load_with_a_full_link_is_the_cause() {
        let j = tensor_parallel_over_pcie()
            .cards(&[card(3, 8, Some(6.3e9)), card(5, 16, Some(6.3e9))])
            .judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert!(j.says.contains("GPU 0 runs at Gen3 x8 instead of Gen5 x16"), "{}", j.says);
        assert!(j.facts_for.iter().any(|f| f.says.contains("80 % of what it still carries")), "{j:#?}");
    }

    #[test]
    fn a_slow_link_nobody_uses_is_a_repair_and_not_the_cause() {
        let j = tensor_parallel_over_pcie().cards(&[card(3, 8, Some(0.1e9))]).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut, "{j:#?}");
    }

    #[test]
    fn uncounted_traffic_leaves_it_likely() {
        let j = tensor_parallel_over_pcie().cards(&[card(3, 8, None)]).judge(&CAUSE);
        assert_eq!((j.outcome, j.confidence), (Outcome::Likely, 0.5));
    }

    #[test]
    fn one_look_at_a_busy_card_makes_a_low_generation_likely_and_at_a_hardly_busy_one_leaves_it_open() {
        let looked = |util: &str, generation: u32| {
            let text = format!(
                "GPU 00000000:00:06.0\n    Product Name : NVIDIA H200\n            PCIe Generation\n                Max : 5\n                Current : {generation}\n            Link Width\n                Max : 16x\n                Current : 16x\n    Utilization\n        GPU : {util} %\n"
            );
            tensor_parallel_over_pcie().smi_q_text(&text).judge(&CAUSE)
        };
        for generation in 1..5 {
            let j = looked("98", generation);
            assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
            assert!(j.says.contains(&format!("Gen{generation} x16 instead of Gen5 x16")), "{}", j.says);
            assert_eq!(looked("3", generation).outcome, Outcome::CannotTell);
        }
        assert_eq!(looked("3", 5).outcome, Outcome::RuledOut, "at its best at any time is whole");
    }

    #[test]
    fn an_idle_link_and_a_whole_one_are_fine() {
        let whole = tensor_parallel_over_pcie().cards(&[card(5, 16, Some(6.3e9))]).judge(&CAUSE);
        assert_eq!(whole.outcome, Outcome::RuledOut);
        // Scenario H06: Gen1 x16 at night.
        let idle = Card::h100().linked(1, 16, None).idle(345.0);
        assert_eq!(tensor_parallel_over_pcie().cards(&[idle]).judge(&CAUSE).outcome, Outcome::CannotTell);
    }
}
