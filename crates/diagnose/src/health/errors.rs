//! What a card reports as broken: memory, links, Xids.

use intriage_engines::{Gravity, Xid, XidFault};

use super::State;
use super::card::{Look, Seen, good, unknown, wrong};
use crate::thresholds::Limit;

const DRAIN: &str = "drain it, then reset the GPU (nvidia-smi -r, amd-smi reset) or reboot; if it comes back, have it replaced";
const FABRIC: &str = "restart the fabric manager, reset the GPUs; drain and reseat if it stays";

pub(super) fn memory_errors(seen: &Seen<'_>) -> Look {
    let ecc = seen.card.ecc;
    if let Some(count) = ecc.volatile_uncorrected.filter(|n| *n > 0) {
        return wrong(
            State::Bad,
            format!("{count} memory errors were not corrected since the driver started"),
            DRAIN,
        );
    }
    if ecc.remap_failed == Some(true) {
        return wrong(State::Bad, "a bad memory row could not be replaced", "have the card replaced");
    }
    if let Some(action) = &seen.card.recovery_action {
        let says = format!("the driver's advice for this card is: {action}");
        return wrong(State::Bad, says, "do it when the card is drained");
    }
    if ecc.remap_pending == Some(true) {
        return wrong(
            State::Attention,
            "a bad memory row waits to be replaced",
            "reset the GPU when it is drained",
        );
    }
    if ecc.sram_threshold_exceeded == Some(true) {
        return wrong(
            State::Attention,
            "errors in the chip's own memory passed what the vendor allows",
            "ask the vendor: such cards are replaced",
        );
    }
    if let Some(count) =
        ecc.aggregate_uncorrected.filter(|n| *n as f64 > seen.thresholds.get(Limit::WornMemory))
    {
        return wrong(
            State::Attention,
            format!("{count} memory errors were not corrected in the card's life"),
            "ask the vendor: cards with that many are replaced",
        );
    }
    match (ecc.enabled, ecc.volatile_uncorrected) {
        (Some(false), _) => good("error correction is off"),
        (_, Some(0)) => {
            let corrected = ecc.volatile_corrected.filter(|n| *n > 0);
            let says = corrected.map_or(String::new(), |n| format!(", {n} corrected"));
            good(format!("none uncorrected{says}"))
        }
        _ => unknown("memory errors were not told"),
    }
}

pub(super) fn nvlinks(seen: &Seen<'_>) -> Look {
    let links = &seen.card.nvlinks;
    let up = links.iter().filter(|l| l.active == Some(true)).count();
    if links.is_empty() {
        return if seen.by_the_library() { good("no NVLink") } else { unknown("NVLinks were not told") };
    }
    if up == 0 {
        return if seen.alone {
            good(format!("none of {} links is up, and there is no second card here", links.len()))
        } else {
            wrong(State::Attention, format!("none of {} links is up", links.len()), FABRIC)
        };
    }
    if up < links.len() {
        return wrong(State::Bad, format!("{up} of {} links are up", links.len()), FABRIC);
    }
    if let Some(errors) = seen.nvlink_errors.filter(|n| *n > 0) {
        return wrong(State::Bad, format!("all {up} links are up, {errors} errors in the window"), FABRIC);
    }
    good(format!("all {up} links are up"))
}

/// The last Xid somebody kept: it stays until the next, so it may be old.
pub(super) fn xid(seen: &Seen<'_>) -> Look {
    let Some(number) = seen.card.last_xid.filter(|number| *number > 0) else { return good("no Xid") };
    let Some(xid) = Xid::of(number) else {
        return wrong(
            State::Attention,
            format!("the last Xid was {number}"),
            "look for it in the kernel log",
        );
    };
    let says = format!("the last Xid was {number}: {}", xid.meaning);
    match xid.gravity {
        Gravity::Drain | Gravity::Reset => wrong(State::Bad, says, xid.action),
        Gravity::Notice if xid.fault == XidFault::Application => {
            good(format!("{says}, mostly of the application's own making"))
        }
        Gravity::Suspect | Gravity::Notice => wrong(State::Attention, says, xid.action),
    }
}
