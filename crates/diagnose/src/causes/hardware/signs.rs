//! What speaks against a card: its own counters, and what the driver and the kernel wrote of it.

use intriage_case::gpu::GpuCard;
use intriage_case::{Fact, Quantity, Unit};
use intriage_engines::host::DeviceKind;
use intriage_engines::{BusPlace, DeviceReport, Gravity, LogEvent, Meaning, Reported, Xid, XidFault};

use super::cards::read;
use crate::causes::gpus::serves_alone;
use crate::evidence::Evidence;
use crate::lately::{death, lately};
use crate::past::{past_time, undated};
use crate::thresholds::Limit;
use crate::weighing::Test;

/// One sign against a card.
pub(super) struct Sign {
    /// The sign in a sentence.
    pub(super) says: String,
    /// What is done about it.
    pub(super) action: &'static str,
    /// How grave it is; `None` where nobody here knows.
    pub(super) gravity: Option<Gravity>,
    /// How old it is, where that is too old to count.
    pub(super) age: Option<String>,
    /// It is of a device this server does not have.
    pub(super) elsewhere: bool,
    /// It is the process's own doing.
    pub(super) own_doing: bool,
    /// It hints at a card that wears out.
    pub(super) wear: bool,
    /// As a fact.
    pub(super) fact: Fact,
}

impl Sign {
    /// Whether it speaks against a card of this server, now.
    pub(super) fn counts(&self) -> bool {
        self.gravity >= Some(Gravity::Suspect) && self.age.is_none() && !self.elsewhere
    }
}

/// All signs, those of the cards' own counters first.
pub(super) fn signs(e: &Evidence<'_>) -> Vec<Sign> {
    let mut signs: Vec<Sign> = e.observed.gpu.cards.iter().flat_map(|card| of_card(e, card)).collect();
    let reports = &e.observed.gpu.reports;
    // The driver says it twice, with its number and without.
    let said_before = |report: &DeviceReport| {
        let numbered = |other: &DeviceReport| {
            other.said.what == Reported::Xid(79) && other.said.device == report.said.device
        };
        report.said.what == Reported::Lost && reports.iter().any(numbered)
    };
    signs.extend(reports.iter().filter(|report| !said_before(report)).map(|report| of_report(e, report)));
    signs.extend(lately(e, Meaning::GpuEcc).map(of_runtime));
    signs
}

/// CUDA told the process that a memory error was not corrected.
fn of_runtime(line: &LogEvent) -> Sign {
    let says = format!("CUDA reported a memory error that was not corrected: {}", line.excerpt);
    let value = Some(Quantity::new(f64::from(line.count), Unit::Events));
    Sign {
        action: "drain and reset the GPU",
        gravity: Some(Gravity::Reset),
        age: None,
        elsewhere: false,
        own_doing: false,
        wear: false,
        fact: Fact { says: says.clone(), value, limit: None, signal: None, source: line.source() },
        says,
    }
}

const WORN: &str = "ask the vendor: such cards are replaced";
const RESET_SOON: &str = "reset the GPU soon, when it is drained";

fn of_card(e: &Evidence<'_>, card: &GpuCard) -> Vec<Sign> {
    let (ecc, name) = (card.ecc, format!("GPU {}", card.index));
    let mut signs = Vec::new();
    let mut add = |gravity: Option<Gravity>, count: u64, action: &'static str, says: String| {
        let fact = read(e, says.clone(), Quantity::new(count as f64, Unit::Events));
        let wear = gravity == Some(Gravity::Notice);
        signs.push(Sign { says, action, gravity, age: None, elsewhere: false, own_doing: false, wear, fact });
    };
    if let Some(n) = ecc.volatile_uncorrected.filter(|n| *n > 0) {
        let says = format!("{name} has {n} memory errors that were not corrected");
        add(Some(Gravity::Reset), n, "drain and reset the GPU", says);
    }
    if ecc.remap_failed == Some(true) {
        let says = format!("{name} could not replace a bad memory row");
        add(Some(Gravity::Drain), 1, "have the card replaced", says);
    }
    if ecc.remap_pending == Some(true) {
        let says = format!("a bad memory row of {name} waits to be replaced");
        add(Some(Gravity::Notice), 1, RESET_SOON, says);
    }
    let worn = |n: &u64| *n as f64 > e.limit(Limit::WornMemory);
    if let Some(n) = ecc.aggregate_uncorrected.filter(worn) {
        let says = format!("{name} had {n} memory errors in its life that were not corrected");
        add(Some(Gravity::Notice), n, WORN, says);
    }
    if ecc.sram_threshold_exceeded == Some(true) {
        let says = format!("{name} had more errors in the chip's own memory than its vendor allows");
        add(Some(Gravity::Notice), 1, WORN, says);
    }
    if let Some(action) = &card.recovery_action {
        // Draining waits for the operator; a reset or a restart means that the card is not whole now.
        let drains = action.contains("Drain");
        let gravity = if drains { Gravity::Notice } else { Gravity::Suspect };
        add(Some(gravity), 1, RESET_SOON, format!("the driver's advice for {name} is: {action}"));
    }
    if let Some(number) = card.last_xid.filter(|number| *number > 0) {
        let known = Xid::of(number);
        let meaning = known.map_or("not known here", |xid| xid.meaning);
        let says = format!("the last Xid of {name} is {number}: {meaning}");
        let of_the_process = known.is_some_and(|xid| xid.fault == XidFault::Application);
        add(known.map(|xid| xid.gravity), 1, known.map_or(LOOK_IT_UP, |xid| xid.action), says);
        if let Some(sign) = signs.last_mut().filter(|_| of_the_process) {
            (sign.wear, sign.own_doing) = (false, true);
        }
    }
    signs
}

const LOOK_IT_UP: &str = "look it up in NVIDIA's catalogue of Xids";

fn of_report(e: &Evidence<'_>, report: &DeviceReport) -> Sign {
    let said = &report.said;
    let mut gravity = said.gravity;
    // A switch's fault ends the work of GPUs that talk through it; one that serves alone may be spared.
    if matches!(said.what, Reported::SwitchXid(_)) && matches!(serves_alone(e), Test::Holds(_)) {
        gravity = gravity.map(|gravity| gravity.min(Gravity::Suspect));
    }
    let own_doing = said.what.is_own_doing();
    let (mut says, action) = in_words(e, report);
    if let Some(date) = undated(e, report.written) {
        says = format!("{says} ({date})");
    }
    let value = Quantity::new(f64::from(report.count), Unit::Events);
    Sign {
        action,
        gravity,
        age: past_time(e, report.written),
        elsewhere: is_elsewhere(e, report),
        own_doing,
        wear: gravity == Some(Gravity::Notice) && matches!(said.what, Reported::Xid(63 | 92)),
        fact: Fact { source: report.source(), ..read(e, says.clone(), value) },
        says,
    }
}

fn in_words(e: &Evidence<'_>, report: &DeviceReport) -> (String, &'static str) {
    let said = &report.said;
    let whose = said.device.map(|device| match e.observed.gpu.card_at(device) {
        Some(card) => format!("GPU {}", card.index),
        None => format!("the device at {device}"),
    });
    let of = whose.as_ref().map_or(String::new(), |whose| format!(" of {whose}"));
    match said.what {
        Reported::Xid(number) => {
            let Some(xid) = Xid::of(number) else {
                return (
                    format!("the driver reported Xid {number}{of}, which is not known here"),
                    LOOK_IT_UP,
                );
            };
            let mut says = format!("the driver reported Xid {number}{of}: {}", xid.meaning);
            match &said.detail {
                Some(name) if said.what.is_own_doing() => {
                    says = format!("{says}; that is mostly the process's own doing, here of {name}");
                }
                None if said.what.is_own_doing() => says.push_str("; that is mostly the process's own doing"),
                // What the driver advises.
                Some(advice) if number == 154 => says = format!("{says} ({advice})"),
                _ => {}
            }
            (says, xid.action)
        }
        Reported::SwitchXid(number) => {
            let (kind, action) = match said.gravity {
                Some(Gravity::Notice) => ("not fatal", "watch; the fabric manager's log tells more"),
                _ => (
                    "fatal",
                    "restart the fabric manager and reset the GPUs; have the switch replaced if it stays",
                ),
            };
            (format!("a switch between GPUs reported SXid {number}, {kind}"), action)
        }
        Reported::Lost => {
            let whose = whose.as_deref().unwrap_or("a GPU");
            let says = format!("{whose} has fallen off its bus and no longer answers");
            (says, "drain the node; look at power, slot and temperature")
        }
        Reported::PcieUncorrected => {
            let kind = if said.gravity == Some(Gravity::Reset) { "a fatal error" } else { "an error" };
            let says = format!("the PCIe link{of} had {kind} that was not corrected");
            (says, "reseat the card or its riser; compare with a sibling")
        }
    }
}

/// Whether the device is none of this server's cards. A card that fell off the bus is in no list any more, so only a
/// server that went on clears it.
fn is_elsewhere(e: &Evidence<'_>, report: &DeviceReport) -> bool {
    let said = &report.said;
    if matches!(said.what, Reported::SwitchXid(_)) {
        return false;
    }
    let Some(device) = said.device else { return said.what == Reported::PcieUncorrected };
    if said.what == Reported::PcieUncorrected {
        let drives_gpus = matches!(said.detail.as_deref(), Some("nvidia" | "amdgpu"));
        return match e.observed.gpu.is_listed(device) {
            Some(true) => false,
            Some(false) => !is_above_a_card(e, device),
            None => !drives_gpus && !is_above_a_card(e, device),
        };
    }
    let unlisted = e.observed.gpu.is_listed(device) == Some(false);
    unlisted && (!said.what.is_lost() || went_on(e))
}

/// Whether a bridge leads to a GPU of the machine.
fn is_above_a_card(e: &Evidence<'_>, device: BusPlace) -> bool {
    let devices = e.observed.host.iter().flat_map(|host| &host.devices);
    devices
        .filter(|d| d.kind == DeviceKind::Gpu)
        .flat_map(|gpu| &gpu.bridges)
        .any(|bridge| BusPlace::parse(&bridge.address) == Some(device))
}

/// Whether the server answered throughout and nothing of it died.
fn went_on(e: &Evidence<'_>) -> bool {
    let died = death(e).is_some();
    !e.observed.times.is_empty() && e.observed.failed.is_empty() && !died && e.restarts() == 0
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::super::gpu_ecc_xid_fault::CAUSE;
    use crate::diagnosis::Outcome;
    use crate::testing::Given;

    /// A card without errors as `nvidia-smi -q` prints it, and lines that say more.
    fn card(lines: &str) -> Given {
        let text = format!(
            "GPU 00000000:00:06.0\n    Product Name : NVIDIA H200\n    ECC Errors\n        Volatile\n            DRAM Uncorrectable : 0\n{lines}"
        );
        Given::vllm("0.28.0").on_gpu().gauge(RequestsRunning, 8.0).smi_q_text(&text)
    }

    #[test]
    fn what_only_fits_a_failing_card_leaves_it_open_and_is_noted() {
        for (lines, words) in [
            ("        Aggregate\n            SRAM Threshold Exceeded : Yes\n", "than its vendor allows"),
            ("        Aggregate\n            DRAM Uncorrectable : 5\n", "5 memory errors in its life"),
            ("    Remapped Rows\n        Pending : Yes\n", "waits to be replaced"),
            ("    GPU Recovery Action : Drain and Reset\n", "Drain and Reset"),
        ] {
            let judged = card(lines).judge(&CAUSE);
            assert_eq!(judged.outcome, Outcome::CannotTell, "{judged:#?}");
            assert!(judged.missing[0].contains(words), "{judged:#?}");
            let notes = card(lines).verdict().notes;
            assert!(notes.iter().any(|note| note.contains(words)), "{notes:#?}");
        }
        assert_eq!(card("").judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn samples_alone_are_not_called_nothing() {
        let given = Given::vllm("0.28.0").on_gpu().gauge(RequestsRunning, 8.0).gpu_busy(98);
        assert!(given.judge(&CAUSE).missing[0].contains("dmon alone"));
    }

    #[test]
    fn a_driver_that_wants_a_reset_makes_it_likely() {
        let judged = card("    GPU Recovery Action : Reset\n").judge(&CAUSE);
        assert_eq!(judged.outcome, Outcome::Likely, "{judged:#?}");
        assert!(judged.says.ends_with("Reset"), "{}", judged.says);
    }

    #[test]
    fn without_a_window_a_line_is_told_with_its_date() {
        let text =
            "[Tue Jan  3 10:00:00 2023] NVRM: Xid (PCI:0000:19:00): 79, pid=1, GPU has fallen off the bus.\n";
        let logs = vec![intriage_case::LogText { name: "kernel.log".into(), text: text.into() }];
        let case = intriage_case::Case { logs, ..intriage_case::Case::default() };
        let told = crate::diagnose(&case, &crate::thresholds::Thresholds::default());
        let finding = told.findings.iter().find(|f| f.cause == CAUSE.id).expect("it is found");
        assert!(finding.says.contains("2023-01-03 10:00:00 UTC"), "{}", finding.says);
    }
}
