//! The card's memory or the card itself is broken.

use intriage_case::{Fact, Quantity, Ratio, Unit};
use intriage_engines::{LogEvent, Meaning, Xid, XidFault};

use super::cards::{NO_CARDS, read};
use crate::causes::shared::on_cpu;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::past::past;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "gpu-ecc-xid-fault",
    class: Class::Hardware,
    layer: Layer::Gpu,
    summary: "A GPU has memory errors nobody could correct, a row it could not replace, or has reported a hardware fault.",
    symptoms: &[
        "the engine dies with illegal memory accesses",
        "answers are wrong on one machine",
        "the GPU is lost",
    ],
    confirmed_by: &[
        "memory errors were not corrected since the driver started, or a row could not be replaced",
        "the kernel log, or a DCGM exporter, has an Xid that stands for hardware: 48, 63, 64, 74, 79, 94, 95, 119, 120; one from before the server started or a day before the window only fits",
        "the kernel log says that a GPU has fallen off the bus",
        "crashes follow one card from job to job",
    ],
    refuted_by: &[
        "no uncorrected errors and no failed replacement",
        "only Xids of the application's own making: 13, 31, 43, 45",
        "the model runs on a CPU",
    ],
    look_alikes: &[
        LookAlike {
            cause: "engine-crash-5xx",
            tell: "there it follows the request or the build, not the card",
        },
        LookAlike { cause: "runtime-oom-non-kv", tell: "there the log says out of memory" },
        LookAlike { cause: "kernel-numerical-corruption", tell: "there it follows the build or the shape" },
    ],
    probe: Probe {
        name: "dcgm-diag",
        steps: "Drain the card and run dcgmi diag -r 2, or -r 3 with time; -r 1 is too shallow.",
        if_so: "It fails.",
        if_not: "It passes.",
    },
    remedies: &[
        Remedy::any("drain, reset the GPU (nvidia-smi -r) or reboot", "capacity for minutes"),
        Remedy::any("if it comes back: keep this card out by its UUID and have it replaced", "capacity"),
    ],
    effect: "The faults stop.",
    confirm: "No new Xid and no uncorrected error under the same load.",
    explains: &["engine-crash-5xx", "engine-stalled-not-admitting"],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let crashed = e.observed.log.first(Meaning::EngineDied).is_some() || e.restarts() > 0;
    let impact = Impact {
        on: if crashed { ImpactOn::Availability } else { ImpactOn::Errors },
        share: Ratio(1.0),
        time: None,
        says: "what runs on this card can die or compute wrongly at any time".into(),
    };
    let broken = broken(e);
    let says = match &broken {
        Test::Holds(fact) => fact.says.clone(),
        _ => String::new(),
    };
    Weighing::new().refuted_by(on_cpu(e)).requires(broken).conclude(says, impact)
}

fn broken(e: &Evidence<'_>) -> Test {
    let gpu = &e.observed.gpu;
    let counted = |says: String, n: u64| read(e, says, Quantity::new(n as f64, Unit::Events));
    for card in &gpu.cards {
        if let Some(n) = card.ecc.volatile_uncorrected.filter(|n| *n > 0) {
            return Test::Holds(counted(
                format!("GPU {} has {n} memory errors that were not corrected", card.index),
                n,
            ));
        }
        if card.ecc.remap_failed == Some(true) {
            return Test::Holds(counted(format!("GPU {} could not replace a bad memory row", card.index), 1));
        }
        if let Some(xid) = card.last_xid.and_then(Xid::of).filter(|xid| xid.fault == XidFault::Hardware) {
            let says = format!("the last Xid of GPU {} is {}: {}", card.index, xid.number, xid.meaning);
            return Test::Holds(counted(says, 1));
        }
    }
    let mut over = None;
    for (event, says) in reported(e) {
        // A log without times may be of now.
        let Some(age) = past(e, event) else {
            let value = Quantity::new(f64::from(event.count), Unit::Events);
            return Test::Holds(Fact { source: event.source(), ..read(e, says, value) });
        };
        over = over.or(Some(format!("{says}; that was {age}, and nothing tells whether it is over")));
    }
    if let Some(over) = over {
        return Test::Unknown(over);
    }
    if gpu.cards.iter().any(|c| c.ecc.volatile_uncorrected.is_some()) {
        return Test::Fails(fine(e));
    }
    Test::Unknown(if gpu.cards.is_empty() { NO_CARDS } else { "the cards do not count memory errors" }.into())
}

/// What the kernel's log says of broken cards.
fn reported<'a>(e: &Evidence<'a>) -> impl Iterator<Item = (&'a LogEvent, String)> {
    let events = &e.observed.log.events;
    let lost = events.iter().filter(|event| event.meaning == Meaning::GpuLost);
    let lost = lost.map(|event| (event, format!("a GPU no longer answers on its bus: {}", event.excerpt)));
    let xids = events.iter().filter(|event| event.meaning == Meaning::Xid).filter_map(|event| {
        let xid = Xid::of(event.number?).filter(|xid| xid.fault == XidFault::Hardware)?;
        Some((event, format!("the driver reported Xid {}: {}", xid.number, xid.meaning)))
    });
    lost.chain(xids)
}

fn fine(e: &Evidence<'_>) -> Fact {
    read(e, "no card has uncorrected memory errors or a row it could not replace", Ratio(0.0))
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;
    use intriage_case::gpu::ClockReasons;

    use super::*;
    use crate::diagnosis::Outcome;
    use crate::testing::{Card, Given};

    fn on(card: Card) -> Judgement {
        Given::vllm("0.28.0").on_gpu().gauge(RequestsRunning, 8.0).cards(&[card]).judge(&CAUSE)
    }

    #[test]
    fn uncorrected_errors_are_a_broken_card() {
        let j = on(Card::h100().errors(12, 2).busy(0.9, 1755.0, ClockReasons(0)));
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert!(j.says.contains("2 memory errors"), "{}", j.says);
    }

    #[test]
    fn an_xid_of_the_hardware_is_enough_and_one_of_the_application_is_not() {
        let with = |line: &str| {
            let card = Card::h100().errors(0, 0).busy(0.9, 1755.0, ClockReasons(0));
            Given::vllm("0.28.0").on_gpu().gauge(RequestsRunning, 8.0).cards(&[card]).log(line).judge(&CAUSE)
        };
        let lost = with("NVRM: Xid (PCI:0000:19:00): 79, pid=1234, GPU has fallen off the bus.\n");
        assert_eq!(lost.outcome, Outcome::Confirmed, "{lost:#?}");
        assert!(lost.says.contains("Xid 79"), "{}", lost.says);
        // Scenario F44: an illegal access of the application's own making.
        assert_eq!(with("NVRM: Xid (PCI:0000:19:00): 31, pid=1234, MMU Fault\n").outcome, Outcome::RuledOut);
    }

    /// The window of the tests begins on Tuesday, 14 November 2023, at 22:13:20 UTC.
    fn log(line: &str) -> Given {
        let card = Card::h100().errors(0, 0).busy(0.9, 1755.0, ClockReasons(0));
        Given::vllm("0.28.0").on_gpu().gauge(RequestsRunning, 8.0).cards(&[card]).log(line)
    }

    fn is_only_consistent(judged: &Judgement, age: &str) {
        assert_eq!(judged.outcome, Outcome::CannotTell, "{judged:#?}");
        let told = judged.missing.join("; ");
        assert!(told.contains("Xid 79") && told.contains(age), "{told}");
    }

    #[test]
    fn an_xid_of_last_week_does_not_confirm_a_fault_of_today() {
        // Ten days after the machine's start.
        let machine = |seconds: f64| {
            let line =
                format!("[{seconds:12.6}] NVRM: Xid (PCI:0000:19:00): 79, GPU has fallen off the bus.\n");
            let look = || vec![("proc/uptime".to_owned(), "864000.00 1.00\n".to_owned())];
            log(&line).kernel(&[look()]).judge(&CAUSE)
        };
        is_only_consistent(&machine(86_400.0), "9 days before the window");
        assert_eq!(machine(863_990.0).outcome, Outcome::Confirmed);
        assert_eq!(machine(864_005.0).outcome, Outcome::Confirmed, "in the window");
        let with_dates = |line: &str| log(&format!("{line} NVRM: Xid (PCI:0000:19:00): 79\n")).judge(&CAUSE);
        is_only_consistent(&with_dates("[Sat Nov 11 20:00:00 2023]"), "3 days before the window");
        is_only_consistent(&with_dates("Nov 11 20:00:00 node kernel:"), "3 days before the window");
        // Yesterday evening by a clock whose zone nobody knows may have been this morning.
        assert_eq!(with_dates("[Mon Nov 13 23:00:00 2023]").outcome, Outcome::Confirmed);
        // The last one counts.
        let twice = "2023-11-01T00:00:00Z NVRM: Xid (PCI:0000:19:00): 79\n2023-11-14T22:00:00Z NVRM: Xid (PCI:0000:19:00): 79\n";
        assert_eq!(log(twice).judge(&CAUSE).outcome, Outcome::Confirmed);
    }

    #[test]
    fn an_xid_from_before_the_server_started_is_another_servers() {
        // Started an hour before the window.
        let server = |line: &str| {
            let line = format!("{line} NVRM: Xid (PCI:0000:19:00): 79, GPU has fallen off the bus.\n");
            log(&line).raw("process_start_time_seconds 1.6999964e+09\n").judge(&CAUSE)
        };
        is_only_consistent(&server("2023-11-14T20:00:00Z"), "before the server started");
        assert_eq!(server("2023-11-14T21:30:00Z").outcome, Outcome::Confirmed);
        // What ended the server before this one.
        assert_eq!(server("2023-11-14T21:12:00Z").outcome, Outcome::Confirmed);
    }

    #[test]
    fn a_lost_card_is_told_by_the_kernel_or_by_an_exporter() {
        let given = || Given::vllm("0.28.0").on_gpu().gauge(RequestsRunning, 8.0);
        let lost = given().log("NVRM: GPU 0000:19:00.0: GPU has fallen off the bus.\n").judge(&CAUSE);
        assert_eq!(lost.outcome, Outcome::Confirmed, "{lost:#?}");
        let exported = |xid: u32| {
            given().raw(&format!("DCGM_FI_DEV_XID_ERRORS{{gpu=\"0\",UUID=\"GPU-a\"}} {xid}\n")).judge(&CAUSE)
        };
        let told = exported(79);
        assert_eq!(told.outcome, Outcome::Confirmed, "{told:#?}");
        assert!(told.says.contains("79"), "{}", told.says);
        // One of the application's own, and none at all: memory errors are not counted there, so it stays open.
        assert!([31, 0].map(exported).iter().all(|j| j.outcome == Outcome::CannotTell));
    }

    #[test]
    fn a_few_corrected_ones_are_wear() {
        // Scenario H14: twelve corrected errors, none uncorrected.
        assert_eq!(on(Card::h100().errors(12, 0).idle(345.0)).outcome, Outcome::RuledOut);
    }
}
