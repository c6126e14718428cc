//! What the machine reports that is no cause here and should not go unsaid.

use intriage_engines::{LogEvent, Meaning};

use super::signs::{Sign, signs};
use crate::causes::shared::on_cpu;
use crate::evidence::Evidence;
use crate::past::past;
use crate::weighing::Test;

/// Lines of the kernel no cause judges, in words.
const LINES: [(Meaning, &str); 5] = [
    (Meaning::TaskHung, "tasks stood still for minutes"),
    (Meaning::MachineCheck, "the hardware reported errors"),
    (Meaning::StorageError, "a disk failed to read or write"),
    (Meaning::CpuTooHot, "processors slowed down for heat"),
    (Meaning::GpuReset, "the driver reset a GPU that hung"),
];

/// Most signs told one by one.
const MOST: usize = 6;

/// Reports of cards that do not count against this server, or not yet, and what else the kernel complains of.
pub(crate) fn machine_notes(e: &Evidence<'_>) -> Vec<String> {
    let signs = if matches!(on_cpu(e), Test::Holds(_)) { Vec::new() } else { signs(e) };
    let mut told: Vec<String> = signs.iter().filter_map(of_sign).collect();
    let more = told.len().saturating_sub(MOST);
    if more > 0 {
        told.truncate(MOST);
        told.push(format!("the logs have {more} more such reports of devices"));
    }
    told.extend(LINES.iter().filter_map(|(meaning, says)| {
        let event = e.observed.log.events.iter().find(|event| event.meaning == *meaning)?;
        past(e, event).is_none().then(|| of_line(event, says))
    }));
    told
}

fn of_sign(sign: &Sign) -> Option<String> {
    let Sign { says, action, .. } = sign;
    let age = sign.age.as_ref().map_or(String::new(), |age| format!(", {age}"));
    if sign.elsewhere {
        return Some(format!(
            "{says}{age}: it is none of the cards this server was seen with, so no cause of its trouble; {action}"
        ));
    }
    // What counts now is a finding and needs no note.
    (!sign.counts()).then(|| format!("{says}{age}: {action}"))
}

fn of_line(event: &LogEvent, says: &str) -> String {
    format!("the kernel's log says that {says} ({} line {}): {}", event.file, event.line, event.excerpt)
}
