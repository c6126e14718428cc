//! What happened to each process of a server whose log holds several starts.

use std::collections::BTreeMap;

use super::meaning::Meaning;
use super::readings::{InOrder, LogEvent};
use super::signature::LogKind;
use super::starts::is_of_one_process;

/// An event by its place in the tables and, where numbers tell events apart, its number.
pub(super) type Kind = (usize, Option<u32>);

/// Events process by process: those of the one that runs apart from those of the ones that are gone.
#[derive(Default)]
pub(super) struct Processes {
    /// By file: the events of the process that runs.
    running: BTreeMap<(u32, Kind), LogEvent>,
    /// By file: those of the kernel, which no start of an engine ends.
    kernels: BTreeMap<(u32, Kind), LogEvent>,
    /// By file: the events of all the others, taken together.
    gone: BTreeMap<(u32, Kind), LogEvent>,
    /// Where each start but the first begins: file and line.
    restarts: Vec<(u32, u32)>,
    /// The last process that is gone and had the event, and how many had it one after the other.
    rows: BTreeMap<Kind, (usize, u32)>,
}

impl Processes {
    /// The event of the running process, or of the kernel, in this file; `new` makes it where there is none yet.
    pub(super) fn event(
        &mut self,
        by: LogKind,
        file: u32,
        kind: Kind,
        new: impl FnOnce() -> LogEvent,
    ) -> &mut LogEvent {
        let events = if by == LogKind::Kernel { &mut self.kernels } else { &mut self.running };
        events.entry((file, kind)).or_insert_with(new)
    }

    /// So many more lines of the event of this meaning that was seen last were left out.
    pub(super) fn more(&mut self, meaning: Meaning, number: Option<u32>, lines: u32) {
        let events = self.running.values_mut().chain(self.kernels.values_mut());
        let same =
            events.filter(|event| event.meaning == meaning && (number.is_none() || event.number == number));
        if let Some(event) = same.max_by_key(|event| (event.place, event.last_line)) {
            event.count = event.count.saturating_add(lines);
        }
    }

    /// Another process begins here. How the one before was set up is gone with it; what happened to it stays evidence.
    pub(super) fn restart(&mut self, file: u32, line: u32) {
        let process = self.restarts.len();
        for ((of, kind), event) in std::mem::take(&mut self.running) {
            if !is_of_one_process(event.meaning) {
                let row = self.rows.entry(kind).or_insert((process, 0));
                match process - row.0 {
                    0 if row.1 > 0 => {}
                    0 | 1 => *row = (process, row.1 + 1),
                    _ => *row = (process, 1),
                }
                match self.gone.get_mut(&(of, kind)) {
                    Some(before) => before.add(event),
                    None => drop(self.gone.insert((of, kind), event)),
                }
            }
        }
        self.restarts.push((file, line));
    }

    /// Every event, each knowing how many starts stand behind it.
    pub(super) fn finish(self) -> impl Iterator<Item = LogEvent> {
        let Self { running, kernels, gone, restarts, rows } = self;
        running.into_iter().chain(kernels).chain(gone).map(move |((file, kind), event)| {
            let behind = restarts.len() - restarts.partition_point(|start| *start <= (file, event.last_line));
            let before = rows.get(&kind).copied().unwrap_or_default();
            let in_a_row = match behind {
                0 if before.0 + 1 == restarts.len() => before.1 + 1,
                0 => 1,
                _ => before.1.max(1),
            };
            let in_order = InOrder { first: event.line, last: event.last_line, told: event.told_line };
            LogEvent { starts_since: behind as u32, in_a_row, in_order, ..event }
        })
    }
}

#[cfg(test)]
mod tests {
    use intriage_case::LogText;

    use crate::config::Config;
    use crate::log::{Known, LogReadings, read_logs};
    use crate::{Engine, Meaning, dialect};

    const START: &str = "INFO vLLM API server version 0.15.0\n";
    const DEATH: &str = "ERROR [core.py:1] EngineCore encountered a fatal error.\n";
    const SERVED: &str = "INFO:     10.0.0.1:1 - \"POST /v1/completions HTTP/1.1\" 200 OK\n";

    fn read(parts: &[&str]) -> LogReadings {
        let log = LogText { name: "server.log".into(), text: parts.concat() };
        read_logs(Some(dialect(Engine::Vllm)), [&log], Known::default(), &mut Config::default())
    }

    #[test]
    fn an_event_of_two_processes_is_told_of_each() {
        let log = read(&[START, DEATH, DEATH, START, "x\n", DEATH]);
        let told: Vec<_> = log
            .events
            .iter()
            .map(|e| (e.meaning, e.line, e.last_line, e.count, e.starts_since, e.in_a_row))
            .collect();
        assert_eq!(told, [(Meaning::EngineDied, 2, 3, 2, 1, 1), (Meaning::EngineDied, 6, 6, 1, 0, 2)]);
        assert_eq!(log.of_running(Meaning::EngineDied).map(|e| e.line), Some(6));
    }

    #[test]
    fn a_loop_of_crashes_is_told_from_two_that_lie_apart() {
        let in_a_row = |parts: &[&str]| {
            let log = read(parts);
            let died = log.first(Meaning::EngineDied).expect("it died");
            (died.starts_since, died.in_a_row)
        };
        assert_eq!(in_a_row(&[START, DEATH, START, DEATH, START]), (1, 2));
        assert_eq!(in_a_row(&[START, DEATH, START, START, DEATH, START]), (1, 1));
        assert_eq!(in_a_row(&[START, DEATH, START, START]), (2, 1));
        assert_eq!(in_a_row(&[START, DEATH]), (0, 1));
    }

    #[test]
    fn answers_are_those_of_the_process_that_runs() {
        assert_eq!(read(&[START, SERVED, SERVED, START, SERVED]).answers.get(&200), Some(&1));
        assert!(read(&[START, SERVED]).is_up());
        assert!(!read(&[START, SERVED, START]).is_up());
    }

    #[test]
    fn no_start_of_an_engine_ends_what_the_kernel_counts() {
        let log = read(&[START, "nr_throttled 7\n", START, "nr_throttled 9\n"]);
        let throttled = log.first(Meaning::CpuThrottled).expect("it is told");
        assert_eq!((throttled.number, throttled.count, throttled.starts_since), (Some(9), 2, 0));
    }
}
