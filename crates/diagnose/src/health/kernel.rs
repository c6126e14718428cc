//! What the kernel's log tells of the machine since it started.

use intriage_case::Case;
use intriage_engines::{
    DeviceReport, Gravity, LogEvent, LogKind, LogReadings, LogTime, Meaning, Reported, Xid,
};

use super::{Check, State};

/// What a line means for the machine, and what to do.
const ROWS: [(Meaning, State, &str, &str); 9] = [
    (
        Meaning::GpuLost,
        State::Bad,
        "a GPU fell off its bus",
        "drain the machine; look at power, slot and temperature",
    ),
    (
        Meaning::GpuReset,
        State::Attention,
        "the driver reset a GPU that hung",
        "look what ran on it; update the driver",
    ),
    (
        Meaning::MachineCheck,
        State::Attention,
        "the hardware reported errors",
        "mcelog or rasdaemon say which part",
    ),
    (
        Meaning::PcieUncorrected,
        State::Attention,
        "PCIe errors were not corrected",
        "reseat the card or its riser; compare with a sibling",
    ),
    (
        Meaning::StorageError,
        State::Attention,
        "a disk failed to read or write",
        "smartctl -a; have the disk replaced",
    ),
    (
        Meaning::OomKilled,
        State::Attention,
        "processes were killed for want of memory",
        "a higher limit, or fewer processes",
    ),
    (Meaning::TaskHung, State::Attention, "tasks stood still for minutes", "look at storage and drivers"),
    (Meaning::CpuTooHot, State::Attention, "processors slowed down for heat", "airflow, fans, filters"),
    (Meaning::PcieCorrected, State::Good, "PCIe errors were corrected", ""),
];

/// One check where there is a kernel's log, none without.
pub(super) fn checks(case: &Case, log: &LogReadings, reports: &[DeviceReport]) -> Vec<Check> {
    if !case.logs.iter().any(|log| log.name.starts_with("kernel")) {
        return Vec::new();
    }
    let mut told: Vec<Check> = reports.iter().filter_map(numbered).collect();
    told.extend(log.events.iter().filter(|e| e.log == LogKind::Kernel).filter_map(one));
    if told.is_empty() {
        let says = "nothing of GPUs, memory, links or disks since it started".to_owned();
        return vec![check(State::Good, says, "")];
    }
    told
}

fn one(event: &LogEvent) -> Option<Check> {
    let (_, state, says, remedy) = ROWS.iter().find(|(meaning, ..)| *meaning == event.meaning)?;
    let times = if event.count == 1 { String::new() } else { format!(" ({} lines)", event.count) };
    Some(check(*state, format!("{says}{times}{}: {}", when(event.written), event.excerpt), remedy))
}

/// When the last such line was written, where that is known to the minute.
fn when(written: Option<LogTime>) -> String {
    let exact = written.filter(|time| time.within.get() <= 60.0);
    exact.map_or(String::new(), |time| format!(", last at {}", time.at))
}

/// A report with a number; the others are lines of the table.
fn numbered(report: &DeviceReport) -> Option<Check> {
    let said = &report.said;
    let of = said.device.map_or(String::new(), |device| format!(" of {device}"));
    let (name, meaning, action) = match said.what {
        Reported::Xid(number) => {
            let known = Xid::of(number);
            let meaning = known.map_or("not known here", |xid| xid.meaning);
            (format!("Xid {number}"), meaning, known.map_or("look it up with the vendor", |xid| xid.action))
        }
        Reported::SwitchXid(number) => (
            format!("SXid {number}"),
            "a switch between GPUs reported it",
            "look at the fabric manager's log",
        ),
        Reported::Lost | Reported::PcieUncorrected => return None,
    };
    let state = match said.gravity {
        Some(Gravity::Drain | Gravity::Reset) => State::Bad,
        // Worn memory is worth knowing, a process's own doing is not.
        Some(Gravity::Notice) if !matches!(said.what, Reported::Xid(63 | 92)) => State::Good,
        Some(Gravity::Notice | Gravity::Suspect) | None => State::Attention,
    };
    Some(check(state, format!("{name}{of}{}: {meaning}", when(report.written)), action))
}

fn check(state: State, says: String, remedy: &str) -> Check {
    let remedy = (state != State::Good && !remedy.is_empty()).then(|| remedy.to_owned());
    Check { part: "Host".into(), name: "kernel", state, says, remedy }
}

#[cfg(test)]
mod tests {
    use intriage_case::{HostSnapshot, LogText, Millis};

    use super::*;
    use crate::health::health;
    use crate::thresholds::Thresholds;

    fn told(text: &str) -> Vec<(State, String)> {
        let logs = vec![LogText { name: "kernel.log".into(), text: text.into() }];
        let case = Case { logs, ..Case::default() };
        let checks = health(&case, &Thresholds::default()).checks;
        checks.into_iter().filter(|c| c.name == "kernel").map(|c| (c.state, c.says)).collect()
    }

    #[test]
    fn a_quiet_log_is_good_and_a_lost_card_is_bad() {
        assert_eq!(told("[    1.000000] Linux version 6.8\n")[0].0, State::Good);
        let lost =
            told("[    9.000000] NVRM: Xid (PCI:0000:19:00): 79, pid=1, GPU has fallen off the bus.\n");
        assert_eq!(lost.len(), 1, "{lost:?}");
        assert_eq!(lost[0].0, State::Bad);
        let oom = told("Out of memory: Killed process 7 (python3) total-vm:1kB\n");
        assert!(oom[0].0 == State::Attention && oom[0].1.contains("python3"), "{oom:?}");
    }

    #[test]
    fn a_line_is_told_with_its_time_where_the_start_of_the_machine_is_known() {
        let text = "[    9.000000] NVRM: Xid (PCI:0000:19:00): 79, pid=1, GPU has fallen off the bus.\n";
        let logs = vec![LogText { name: "kernel.log".into(), text: text.into() }];
        let files = [("proc/stat".to_owned(), "btime 1794709600\n".to_owned())].into();
        let host = vec![HostSnapshot { at: Millis(1_794_800_000_000), files }];
        let told = health(&Case { logs, host, ..Case::default() }, &Thresholds::default()).checks;
        let says = told.iter().find(|c| c.name == "kernel").map(|c| c.says.as_str()).unwrap();
        assert!(says.starts_with("Xid 79 of 0000:19:00, last at 2026-11-15 02:26:49 UTC: "), "{says}");
    }

    #[test]
    fn an_applications_own_xid_and_corrected_errors_do_not_alarm() {
        let text = "NVRM: Xid (PCI:0000:19:00): 31, pid=1, MMU Fault\npcieport 0000:00:1c.0: PCIe Bus Error: severity=Corrected, type=Physical Layer\n";
        assert!(told(text).iter().all(|(state, _)| *state == State::Good));
    }

    #[test]
    fn what_needs_a_reset_is_bad_and_wear_or_an_unknown_number_is_worth_a_look() {
        for (line, state) in [
            ("NVRM: Xid (PCI:0000:19:00): 119, pid=1, Timeout after 6s", State::Bad),
            (
                "NVRM: Xid (PCI:0000:19:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
                State::Bad,
            ),
            ("nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Fatal, Link 32 LTSSM Fault Up", State::Bad),
            ("NVRM: Xid (PCI:0000:19:00): 63, Row Remapper", State::Attention),
            ("NVRM: Xid (PCI:0000:19:00): 171, x", State::Attention),
        ] {
            let told = told(&format!("[    9.000000] {line}\n"));
            assert_eq!(told.iter().map(|(state, _)| *state).collect::<Vec<_>>(), [state], "{told:?}");
        }
    }

    #[test]
    fn an_engines_log_is_not_the_kernels() {
        let logs = vec![LogText { name: "server.log".into(), text: "Xid 79\n".into() }];
        let case = Case { logs, ..Case::default() };
        assert!(health(&case, &Thresholds::default()).checks.iter().all(|c| c.name != "kernel"));
    }
}
