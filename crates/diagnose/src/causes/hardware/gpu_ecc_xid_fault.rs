//! The card's memory or the card itself is broken.

use intriage_case::Ratio;
use intriage_engines::Gravity;

use super::cards::{no_cards, read};
use super::signs::{Sign, signs};
use crate::causes::shared::on_cpu;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::lately::death;
use crate::symptoms::Aspect;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "gpu-ecc-xid-fault",
    class: Class::Hardware,
    layer: Layer::Gpu,
    hurts: &[
        Aspect::Availability,
        Aspect::Errors,
        Aspect::Prefill,
        Aspect::DecodeStep,
        Aspect::Interference,
        Aspect::Stalls,
        Aspect::HostGap,
        Aspect::GpuClock,
    ],
    summary: "A GPU has memory errors nobody could correct, a row it could not replace, or has reported a hardware fault.",
    symptoms: &[
        "the engine dies with illegal memory accesses",
        "answers are wrong on one machine",
        "the GPU is lost",
    ],
    confirmed_by: &[
        "memory errors were not corrected since the driver started, or a row could not be replaced",
        "the kernel log, or a DCGM exporter, has an Xid after which a GPU must be reset or replaced: 48, 62, 64, 74, 79, 94, 95, 119, 120, 140, 143 to 150, 154; one from before the server started or a day before the window only fits",
        "the kernel log says that a GPU has fallen off the bus, that its PCIe link had a fatal error, or that a switch between GPUs had one",
        "crashes follow one card from job to job",
    ],
    refuted_by: &[
        "no uncorrected errors and no failed replacement",
        "only Xids of the application's own making (13, 31, 43, 45), or of a card this server does not have",
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
    let crashed = death(e).is_some() || e.restarts() > 0;
    let impact = Impact {
        on: if crashed { ImpactOn::Availability } else { ImpactOn::Errors },
        share: Ratio(1.0),
        time: None,
        says: "what runs on this card can die or compute wrongly at any time".into(),
    };
    let signs = signs(e);
    let now: Vec<&Sign> = signs.iter().filter(|sign| sign.counts()).collect();
    let mut w = Weighing::new().refuted_by(on_cpu(e)).explains(CAUSE.explains);
    let Some(worst) = now.iter().copied().reduce(|a, b| if b.gravity > a.gravity { b } else { a }) else {
        return w.requires(none_now(e, &signs)).conclude("", impact);
    };
    let others = now.iter().filter(|sign| sign.says != worst.says).take(MOST_TOLD);
    w = others.fold(w.requires(Test::Holds(worst.fact.clone())), |w, sign| {
        w.supports(Test::Holds(sign.fact.clone()))
    });
    if worst.gravity < Some(Gravity::Reset) {
        w = w.at_most_likely(UNSURE);
    }
    w.conclude(worst.says.clone(), impact)
}

/// Other signs that are told beside the worst.
const MOST_TOLD: usize = 4;
/// How sure a line makes that may be the card's, the driver's or the process's.
const UNSURE: f64 = 0.5;

/// Nothing serious is reported of now: that is clean only where memory errors are counted, and nothing hints at one.
fn none_now(e: &Evidence<'_>, signs: &[Sign]) -> Test {
    let mine = || signs.iter().filter(|sign| !sign.elsewhere);
    let is_serious = |sign: &&Sign| sign.gravity >= Some(Gravity::Suspect);
    if let Some((sign, age)) = mine().filter(is_serious).find_map(|s| Some((s, s.age.as_ref()?))) {
        return Test::Unknown(format!("{}; that was {age}, and nothing tells whether it is over", sign.says));
    }
    let fresh = || mine().filter(|sign| sign.age.is_none());
    if let Some(sign) = fresh().find(|sign| sign.gravity.is_none()) {
        return Test::Unknown(format!("{}: NVIDIA's catalogue of Xids tells what it stands for", sign.says));
    }
    if let Some(sign) = fresh().find(|sign| sign.wear) {
        return Test::Unknown(format!("{}: that fits a failing card and proves none", sign.says));
    }
    let gpu = &e.observed.gpu;
    let own = fresh().find(|sign| sign.own_doing);
    if gpu.cards.iter().any(|c| c.ecc.volatile_uncorrected.is_some()) {
        let mut says = "no card has uncorrected memory errors or a row it could not replace".to_owned();
        if let Some(own) = own {
            says = format!("{}; {says}", own.says);
        }
        return Test::Fails(read(e, says, Ratio(0.0)));
    }
    let why = if gpu.cards.is_empty() { no_cards(e) } else { "the cards do not count memory errors" };
    Test::Unknown(own.map_or(why.to_owned(), |own| format!("{}; {why}", own.says)))
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
        // Scenario F44: an illegal access of the application's own making; it is ruled out and told.
        let own = with("NVRM: Xid (PCI:0000:19:00): 31, pid=1234, name=python3, MMU Fault\n");
        assert_eq!(own.outcome, Outcome::RuledOut);
        assert!(own.against[0].says.contains("Xid 31"), "{own:#?}");
        assert!(own.against[0].says.contains("the process's own doing, here of python3"), "{own:#?}");
    }

    #[test]
    fn the_words_of_cuda_are_enough_where_a_log_is_all_there_is() {
        let alone = |log: &str| Given::vllm("0.28.0").without_scrapes().log(log);
        let ecc = alone(
            "RuntimeError: CUDA error: uncorrectable ECC error encountered\nERROR [core.py:1] EngineCore encountered a fatal error.\n",
        );
        let j = ecc.judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert_eq!(ecc.place_of(&CAUSE), crate::testing::Place::First);
        let other =
            alone("RuntimeError: CUDA error: an illegal memory access was encountered\n").judge(&CAUSE);
        assert_ne!(other.outcome, Outcome::Confirmed);
    }

    #[test]
    fn what_needs_a_reset_confirms_whoever_is_at_fault() {
        for line in [
            "Xid (PCI:0000:19:00): 119, pid=599, name=VLLM, Timeout after 6s of waiting for RPC response",
            "Xid (PCI:0000:19:00): 140, Unrecovered ECC error",
            "Xid (PCI:0000:19:00): 62, pid=1, 2027(2d50) 8503ffff 00000000",
            "Xid (PCI:0000:19:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 05",
            "Xid (PCI:0000:19:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
        ] {
            assert_eq!(log(&format!("NVRM: {line}\n")).judge(&CAUSE).outcome, Outcome::Confirmed, "{line}");
        }
    }

    #[test]
    fn a_number_nobody_knows_and_worn_memory_leave_it_open_and_are_told() {
        for (number, words) in [(171, "not known here"), (63, "marked for replacement"), (92, "corrected")] {
            let given = log(&format!("NVRM: Xid (PCI:0000:19:00): {number}, x\n"));
            let j = given.judge(&CAUSE);
            assert_eq!(j.outcome, Outcome::CannotTell, "{j:#?}");
            assert!(j.missing[0].contains(words), "{j:#?}");
            let notes = given.verdict().notes;
            assert!(notes.iter().any(|note| note.contains(&format!("Xid {number}"))), "{notes:#?}");
        }
    }

    #[test]
    fn of_several_the_worst_is_the_headline() {
        let line = |number| format!("NVRM: Xid (PCI:0000:19:00): {number}, x\n");
        let j = log(&[63, 48, 94].map(line).concat()).judge(&CAUSE);
        assert!(j.says.contains("Xid 48"), "{}", j.says);
        assert!(j.facts_for.iter().any(|fact| fact.says.contains("Xid 94")), "{j:#?}");
        assert!(log(&[31, 94, 79].map(line).concat()).judge(&CAUSE).says.contains("Xid 79"));
    }

    #[test]
    fn a_card_this_server_does_not_have_is_a_note() {
        let card =
            || Card::h100().at_slot("00000000:00:06.0").errors(0, 0).busy(0.9, 1755.0, ClockReasons(0));
        let with = |lines: &str| {
            Given::vllm("0.28.0").on_gpu().gauge(RequestsRunning, 8.0).cards(&[card()]).log(lines)
        };
        let theirs = "NVRM: Xid (PCI:0000:19:00): 79, GPU has fallen off the bus.\n";
        let j = with(theirs).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut, "{j:#?}");
        let notes = with(theirs).verdict().notes;
        assert!(
            notes.iter().any(|n| n.contains("0000:19:00") && n.contains("none of the cards")),
            "{notes:#?}"
        );
        // The same number of the server's own card, behind it.
        let both = format!("{theirs}NVRM: Xid (PCI:0000:00:06): 79, GPU has fallen off the bus.\n");
        assert_eq!(with(&both).judge(&CAUSE).outcome, Outcome::Confirmed);
        // A card that fell off is in no list any more: where the server died, it may have been its own.
        let died = with(theirs).log("EngineDeadError: EngineCore encountered an issue\n");
        assert_eq!(died.judge(&CAUSE).outcome, Outcome::Confirmed);
    }

    #[test]
    fn a_fatal_error_of_the_cards_link_confirms_and_one_of_a_disk_is_none_of_it() {
        let error =
            |of: &str| log(&format!("{of}: PCIe Bus Error: severity=Uncorrectable (Fatal), type=x\n"));
        assert_eq!(error("nvidia 0000:00:06.0").judge(&CAUSE).outcome, Outcome::Confirmed);
        assert_eq!(error("nvme 0000:02:00.0").judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn a_switch_that_failed_confirms_for_a_group_and_is_likely_for_one_gpu_alone() {
        let line = "nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Fatal, Link 32 LTSSM Fault Up\n";
        let of = |n: u32| log(line).flags(&format!("--tensor-parallel-size {n}")).judge(&CAUSE).outcome;
        assert_eq!((of(4), of(1)), (Outcome::Confirmed, Outcome::Likely));
    }

    #[test]
    fn what_else_the_kernel_complains_of_is_a_note() {
        let notes = log("INFO: task python3:4711 blocked for more than 122 seconds.\n").verdict().notes;
        assert!(notes.iter().any(|note| note.contains("python3:4711")), "{notes:#?}");
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
        let notes = log("2023-11-11T20:00:00Z NVRM: Xid (PCI:0000:19:00): 79\n").verdict().notes;
        assert!(notes.iter().any(|n| n.contains("Xid 79") && n.contains("3 days before")), "{notes:#?}");
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
