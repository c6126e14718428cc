//! Finds in logs what the driver and the kernel wrote of devices, device by device.

use std::sync::LazyLock;

use intriage_case::LogText;
use memchr::memmem;

use super::Xid;
use crate::gpu::{Complaint, DeviceReport};
use crate::log::calendar::{Calendar, Known};
use crate::log::line::Line;
use crate::log::prompts::Prompts;
use crate::log::scan::Scanner;
use crate::log::sieve::gap;
use crate::log::stamp::{self, Stamp};
use crate::log::wrapping::unwrap;

/// Most devices and numbers that are told apart: a log is written by others.
const MOST: usize = 256;

static SCANNER: LazyLock<Scanner> = LazyLock::new(|| {
    // Line numbers count what was left out, too.
    let texts: Vec<&str> = Complaint::MARKS.iter().copied().chain([gap::MARK]).collect();
    Scanner::new(&texts)
});

impl Xid {
    /// What these logs tell of devices, in order of appearance. The catalogue's events tell Xids apart by number
    /// alone; whose card it was stands in each line.
    pub(crate) fn reports<'a>(
        logs: impl IntoIterator<Item = &'a LogText>,
        known: Known,
    ) -> Vec<DeviceReport> {
        let mut reports: Vec<DeviceReport> = Vec::new();
        // Hardly any log has one, and unwrapping costs more than looking.
        let tells = |log: &&LogText| {
            Complaint::MARKS.iter().any(|mark| memmem::find(log.text.as_bytes(), mark.as_bytes()).is_some())
        };
        for log in logs.into_iter().filter(tells) {
            let first = reports.len();
            let mut calendar = Calendar::new(known);
            let mut unwrapped = unwrap(&log.text);
            let text = std::mem::take(&mut unwrapped.text);
            let mut prompts = Prompts::of(&text);
            SCANNER.lines(&text, |line: Line<'_>, _| {
                let Some(said) = Complaint::in_line(line.text) else { return };
                if !unwrapped.is_journal() && prompts.hold(line.text) {
                    return;
                }
                let wrapped = unwrapped.written_at(line.row).map(Stamp::Full);
                let stamp = wrapped.or_else(|| stamp::of_line(line.text));
                let written = stamp.and_then(|stamp| calendar.written(stamp));
                if let Some(same) = reports[first..].iter_mut().find(|report| report.said.is_like(&said)) {
                    same.count = same.count.saturating_add(1);
                    same.written = written;
                } else if reports.len() < MOST {
                    let (file, line) = (log.name.clone(), line.number);
                    reports.push(DeviceReport { said, file, line, count: 1, written });
                }
            });
        }
        reports
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::gpu::Reported;

    fn reports(text: &str) -> Vec<DeviceReport> {
        Xid::reports(&[LogText { name: "kernel.log".into(), text: text.into() }], Known::default())
    }

    #[test]
    fn one_number_on_two_cards_is_two_reports() {
        let text = "NVRM: Xid (PCI:0000:19:00): 74, a\nx\nNVRM: Xid (PCI:0000:3b:00): 74, b\nNVRM: Xid (PCI:0000:19:00): 74, c\n";
        let told: Vec<_> = reports(text).iter().map(|r| (r.said.what, r.line, r.count)).collect();
        assert_eq!(told, [(Reported::Xid(74), 1, 2), (Reported::Xid(74), 3, 1)]);
    }

    #[test]
    fn a_journal_gives_each_report_its_time() {
        let told = reports(
            "{\"__REALTIME_TIMESTAMP\":\"1794709609000000\",\"MESSAGE\":\"NVRM: Xid (PCI:0000:19:00): 79, GPU has fallen off the bus.\"}\n",
        );
        assert_eq!(told[0].written.map(|time| time.at.0), Some(1_794_709_609_000));
    }

    proptest! {
        #[test]
        fn any_log_is_survived_and_gives_few_reports(
            lines in prop::collection::vec("(Xid |SXid |\\(PCI:[0-9a-f:]{0,12}\\)|: |[0-9]{1,6}|é|, Fatal|\\PC){0,8}", 0..300)
        ) {
            let text = lines.join("\n");
            let told = reports(&text);
            prop_assert!(told.len() <= MOST);
            prop_assert!(told.iter().all(|r| (1..=lines.len() as u32).contains(&r.line)));
        }
    }
}
