//! A card's PCIe link: its generation counts only under load, its lanes always.

use super::State;
use super::card::{Look, Seen, good, unknown, wrong};
use crate::thresholds::Limit;

const SEAT: &str =
    "reseat the card or its riser, check slot, bifurcation and ASPM in the BIOS; compare with a sibling";

pub(super) fn link(seen: &Seen<'_>) -> Look {
    let (Some((generation, best)), Some((lanes, all))) =
        (seen.card.pcie_generation.both(), seen.card.pcie_width.both())
    else {
        return unknown("the PCIe link was not told");
    };
    let replays = match (seen.card.pcie_replays, seen.before.and_then(|b| b.pcie_replays)) {
        (Some(now), Some(then)) if now > then => {
            format!("; sent again in the window: {} packets", now - then)
        }
        (Some(now), _) if now > 0 => format!("; packets sent again since the driver started: {now}"),
        _ => String::new(),
    };
    let load = seen.load.as_ref();
    let lanes = load.and_then(|l| l.pcie_width).unwrap_or(lanes).max(lanes);
    if lanes < all {
        return wrong(
            State::Bad,
            format!("{lanes} of {all} lanes, generation {generation} of {best}{replays}"),
            SEAT,
        );
    }
    let enough = seen.thresholds.get(Limit::LoadedSamples);
    let reached = load.filter(|l| l.samples as f64 >= enough).and_then(|l| l.pcie_generation);
    let full = seen.thresholds.get(Limit::GpuBusyHigh);
    let busy = seen.card.util.is_some_and(|util| util.get() >= full);
    match reached {
        Some(reached) if reached < best => wrong(
            State::Bad,
            format!("generation {reached} of {best} under load, {lanes} of {all} lanes{replays}"),
            SEAT,
        ),
        Some(reached) => good(format!("generation {reached} of {best} under load, {lanes} lanes{replays}")),
        None if generation < best && busy => wrong(
            State::Attention,
            format!(
                "generation {generation} of {best} while the card was busy, {lanes} of {all} lanes; too short a look to be sure{replays}"
            ),
            SEAT,
        ),
        None if generation < best => good(format!(
            "generation {generation} of {best} with all {lanes} lanes: an idle link slows down to save power{replays}"
        )),
        None => good(format!("generation {generation} of {best}, {lanes} of {all} lanes{replays}")),
    }
}
