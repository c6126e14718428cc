//! Reads logs through the catalogue.

use std::collections::BTreeMap;

use intriage_case::{LogText, Source};

use super::calendar::{Calendar, Known};
use super::catalogue::{Target, catalogue};
use super::dumps::DUMPS;
use super::line::{Line, answer_status, excerpt, message, number_behind};
use super::readings::{LogEvent, LogReadings};
use super::series::Collector;
use super::signature::{LogKind, Numbered, Signature};
use super::stamp::{self, Stamp};
use super::starts::{StartPart, is_of_one_process};
use super::wrapping::{Unwrapped, unwrap};
use crate::config::{Config, SettingValue};
use crate::dialect::{Dialect, Engine};

/// Reads the logs, adding settings in the dialect's words to `config`.
pub(crate) fn read_logs<'a>(
    dialect: Option<&'a Dialect>,
    logs: impl IntoIterator<Item = &'a LogText>,
    known: Known,
    config: &mut Config,
) -> LogReadings {
    let mut readings = LogReadings::default();
    for log in logs {
        readings.present = true;
        let mut found = Found::new(log, dialect, known);
        let mut unwrapped = unwrap(&log.text);
        let text = std::mem::take(&mut unwrapped.text);
        catalogue().scanner.lines(&text, |line, texts| {
            for text in texts {
                for target in catalogue().targets(*text) {
                    found.take(*target, line, &mut unwrapped);
                }
            }
        });
        found.finish(&mut readings, config);
    }
    readings.events.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    readings
}

/// What was found in one log so far.
struct Found<'a> {
    file: &'a str,
    dialect: Option<&'a Dialect>,
    calendar: Calendar,
    events: BTreeMap<(usize, Option<u32>), LogEvent>,
    answers: BTreeMap<u16, u64>,
    series: Collector,
    /// By place in the dialect's table: the first line of the last start that holds it, and its number.
    values: BTreeMap<usize, (u32, f64)>,
    /// By place in [`DUMPS`]: the first line of the last start that holds it, and what follows.
    dumps: BTreeMap<usize, (u32, String)>,
    /// How far the last start has come.
    reached: Option<StartPart>,
    /// Where the last start begins, where it is not the first.
    restarted: Option<u32>,
}

impl<'a> Found<'a> {
    fn new(log: &'a LogText, dialect: Option<&'a Dialect>, known: Known) -> Self {
        Self {
            file: &log.name,
            dialect,
            calendar: Calendar::new(known),
            events: BTreeMap::new(),
            answers: BTreeMap::new(),
            series: Collector::default(),
            values: BTreeMap::new(),
            dumps: BTreeMap::new(),
            reached: None,
            restarted: None,
        }
    }

    fn take(&mut self, target: Target, line: Line<'_>, log: &mut Unwrapped<'_>) {
        match target {
            Target::Start(start) => {
                if self.is_of(start.engine) {
                    self.begin(start.part, line.number);
                }
            }
            Target::Signature(place, signature) => self.event(place, signature, line, log),
            Target::Periodic(periodic) => {
                if !periodic.without.is_empty() && line.text.contains(periodic.without) {
                    return;
                }
                // The wrapping's time has a date and a zone; the line's own often lacks both.
                let wrapped = log.written_at(line.number).map(Stamp::Full);
                if let Some(stamp) = wrapped.or_else(|| stamp::of_line(line.text)) {
                    let (at, clock) = self.calendar.instant(stamp);
                    self.series.add(periodic, line, at, clock);
                }
            }
            Target::Value(engine, place, value) => {
                if self.is_of(engine)
                    && let Some(number) = number_behind(line.text, value.after)
                {
                    self.reached = Some(StartPart::Made);
                    self.values.entry(place).or_insert((line.number, number * value.scale));
                }
            }
            Target::Dump(place) => {
                if let Some((_, dump)) = line.text.split_once(DUMPS[place].text) {
                    if DUMPS[place].is_made() {
                        self.reached = Some(StartPart::Made);
                    }
                    self.dumps.entry(place).or_insert_with(|| (line.number, dump.to_owned()));
                }
            }
            Target::Answer => {
                if let Some(status) = answer_status(line.text) {
                    *self.answers.entry(status).or_default() += 1;
                }
            }
        }
    }

    fn is_of(&self, engine: Engine) -> bool {
        self.dialect.is_some_and(|dialect| dialect.engine == engine)
    }

    /// A start tells of each part once: one that is told of again is the next start's.
    fn begin(&mut self, part: StartPart, line: u32) {
        if self.reached >= Some(part) {
            self.values.clear();
            self.dumps.clear();
            self.events.retain(|_, event| !is_of_one_process(event.meaning));
            self.restarted = Some(line);
        }
        self.reached = Some(part);
    }

    fn event(&mut self, place: usize, signature: &Signature, line: Line<'_>, log: &mut Unwrapped<'_>) {
        if !signature.fits(line.text) {
            return;
        }
        let number = match signature.numbered {
            Numbered::No => None,
            Numbered::Kind | Numbered::Amount => match signature.number(line.text) {
                None | Some(0) => return,
                number => number,
            },
        };
        let kind = number.filter(|_| signature.numbered == Numbered::Kind);
        let event = self.events.entry((place, kind)).or_insert_with(|| {
            let message = message(line.text);
            LogEvent {
                meaning: signature.meaning,
                log: signature.log,
                number,
                file: self.file.to_owned(),
                line: line.number,
                last_line: line.number,
                told_line: line.number,
                count: 0,
                written: None,
                earlier: false,
                excerpt: excerpt(&message),
                message,
            }
        });
        event.number = number;
        if signature.latest {
            event.told_line = line.number;
        }
        if (signature.numbered == Numbered::Amount || signature.latest) && event.count > 0 {
            // The figures around the number belong to its line.
            event.message = message(line.text);
            event.excerpt = excerpt(&event.message);
        }
        event.last_line = line.number;
        event.count = event.count.saturating_add(1);
        // A kernel's log reaches back for weeks; an engine's begins with the process, and has many more lines.
        if signature.log == LogKind::Kernel {
            let wrapped = log.written_at(line.number).map(Stamp::Full);
            let stamp = wrapped.or_else(|| stamp::of_line(line.text));
            event.written = stamp.and_then(|stamp| self.calendar.written(stamp));
        }
    }

    /// Settings are stated in the order of the tables: of two equally good sources the first counts.
    fn finish(self, readings: &mut LogReadings, config: &mut Config) {
        let restarted = self.restarted.unwrap_or(0);
        readings.events.extend(
            self.events.into_values().map(|event| LogEvent { earlier: event.last_line < restarted, ..event }),
        );
        readings.series.extend(self.series.finish(self.file));
        for (status, count) in self.answers {
            *readings.answers.entry(status).or_default() += count;
        }
        let Some(dialect) = self.dialect else { return };
        let source = |line| Source::Log { file: self.file.to_owned(), line };
        for (place, (line, number)) in self.values {
            config.state(dialect.log_values[place].setting, SettingValue::Number(number), source(line));
        }
        for (place, (line, dump)) in self.dumps {
            DUMPS[place].state(dialect, &dump, &source(line), config);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Meaning, Setting, dialect};

    fn log(text: &str) -> LogText {
        LogText { name: "server.log".into(), text: text.into() }
    }

    fn read(text: &str) -> (LogReadings, Config) {
        let mut config = Config::default();
        (read_logs(Some(dialect(Engine::Vllm)), &[log(text)], Known::default(), &mut config), config)
    }

    #[test]
    fn settings_come_from_the_start_of_the_log() {
        let (_, config) = read(
            "(APIServer pid=1) INFO 11-15 02:26:49 [scheduler.py:252] Chunked prefill is enabled with max_num_batched_tokens=8192.\n\
             (EngineCore pid=2) INFO 11-15 02:27:46 [kv_cache_utils.py:2177] GPU KV cache size: 931,104 tokens\n\
             (EngineCore pid=2) INFO 11-15 02:27:16 [model_runner.py:305] Model loading took 13.8 GiB and 2.36 seconds\n",
        );
        assert_eq!(config.number(Setting::TokenBudget), Some(8192.0));
        assert_eq!(config.number(Setting::KvCapacity), Some(931_104.0));
        assert_eq!(config.number(Setting::WeightBytes), Some(13.8 * 1_073_741_824.0));
    }

    #[test]
    fn answers_are_counted_by_status() {
        let (readings, _) = read(
            "INFO:     127.0.0.1:1 - \"POST /v1/chat/completions HTTP/1.1\" 200 OK\n\
             INFO:     127.0.0.1:1 - \"POST /v1/chat/completions HTTP/1.1\" 500 Internal Server Error\n\
             INFO:     127.0.0.1:1 - \"GET /metrics HTTP/1.1\" 200 OK\n\
             INFO:     127.0.0.1:1 - \"POST /v1/x HTTP/1.1\" é\n",
        );
        assert_eq!(readings.answers, BTreeMap::from([(200, 1), (500, 1)]));
    }

    #[test]
    fn an_event_knows_its_first_and_last_line_and_how_many_there_are() {
        let (readings, _) = read("x\nAborted request a.\nx\nAborted request b.\nAborted request c.\nx\n");
        let event = readings.first(Meaning::RequestAborted).unwrap();
        assert_eq!((event.line, event.last_line, event.count), (2, 5, 3));
        assert_eq!(event.excerpt, "Aborted request a.");
    }

    #[test]
    fn what_is_loaded_again_replaces_what_was_loaded_before() {
        let readings = LogReadings::of(&log(
            "load_tensors: offloaded 20/33 layers to GPU\nx\nload_tensors: offloaded 33/33 layers to GPU\n",
        ));
        let event = readings.first(Meaning::LayersOffloaded).unwrap();
        assert_eq!((event.line, event.told_line, event.count), (1, 3, 2));
        assert!(event.excerpt.contains("33/33"), "{}", event.excerpt);
    }

    #[test]
    fn xids_are_told_apart_by_number_and_counts_are_not() {
        let readings = LogReadings::of(&log(
            "Xid 79\nXid (any device): 31, name=x\nXid 79\nnr_throttled 7\nnr_throttled 9\noom_kill 0\n",
        ));
        let seen: Vec<_> = readings.events.iter().map(|e| (e.meaning, e.number, e.count)).collect();
        let expected =
            [(Meaning::Xid, Some(79), 2), (Meaning::Xid, Some(31), 1), (Meaning::CpuThrottled, Some(9), 2)];
        assert_eq!(seen, expected);
    }

    proptest! {
        #[test]
        fn events_stand_where_their_words_stand(
            lines in prop::collection::vec(
                prop_oneof![3 => "[a-z .:]{0,30}", 1 => Just("é EngineDeadError".to_owned()), 1 => Just("Xid 13".to_owned())],
                0..60,
            )
        ) {
            let readings = LogReadings::of(&log(&lines.join("\n")));
            for (meaning, mark) in [(Meaning::EngineDied, "EngineDead"), (Meaning::Xid, "Xid")] {
                let places: Vec<u32> =
                    lines.iter().zip(1..).filter(|(line, _)| line.contains(mark)).map(|(_, n)| n).collect();
                let event = readings.first(meaning);
                prop_assert_eq!(event.map(|e| e.line), places.first().copied());
                prop_assert_eq!(event.map(|e| e.last_line), places.last().copied());
                prop_assert_eq!(event.map_or(0, |e| e.count as usize), places.len());
            }
        }

        #[test]
        fn any_text_is_survived(text in "(\\PC|[\n\r\u{1b}\"{}\\[\\]:]){0,400}") {
            let readings = LogReadings::of(&log(&text));
            let lines = text.split('\n').count() as u32;
            prop_assert!(readings.events.iter().all(|e| (1..=lines).contains(&e.line) && e.line <= e.last_line && e.last_line <= lines));
        }
    }
}
