//! Reads logs through the catalogue.

use intriage_case::LogText;

use super::calendar::Known;
use super::catalogue::{Target, catalogue};
use super::found::Found;
use super::line::Line;
use super::meaning::Meaning;
use super::order::{chains, of_names};
use super::prompts::Prompts;
use super::readings::LogReadings;
use super::sieve::gap::Gap;
use super::signature::LogKind;
use super::wrapping::unwrap;
use crate::config::Config;
use crate::dialect::Dialect;

/// Reads the logs, adding settings in the dialect's words to `config`.
pub(crate) fn read_logs<'a>(
    dialect: Option<&'a Dialect>,
    logs: impl IntoIterator<Item = &'a LogText>,
    known: Known,
    config: &mut Config,
) -> LogReadings {
    let mut readings = LogReadings::default();
    let logs: Vec<&LogText> = logs.into_iter().collect();
    readings.present = !logs.is_empty();
    for (chain, number) in chains(&logs, known).iter().zip(0..) {
        readings.chains.push(of_names(chain));
        let mut found = Found::new(number, dialect, known);
        for log in &chain.logs {
            found.open(&log.name);
            scan(log, &mut found);
        }
        found.finish(&mut readings, config);
    }
    readings.events.sort_by_key(|event| (event.place, event.line));
    readings
}

/// Looks through one file.
fn scan(log: &LogText, found: &mut Found<'_>) {
    let mut unwrapped = unwrap(&log.text);
    let whole = std::mem::take(&mut unwrapped.text);
    let mut prompts = Prompts::of(&whole);
    found.moments.open(&whole);
    catalogue().scanner.lines(&whole, |line, texts| {
        if let Some(gap) = Gap::parse(line.text) {
            found.leave_out(&gap);
            return;
        }
        for text in texts {
            for target in catalogue().targets(*text) {
                let kernels = matches!(target, Target::Signature(_, row) if row.log == LogKind::Kernel);
                if kernels && !unwrapped.is_journal() && prompts.hold(line.text) {
                    continue;
                }
                found.take(*target, line, &mut unwrapped);
                match target {
                    Target::Signature(_, row) if row.meaning == Meaning::Ready && row.fits(line.text) => {
                        found.moments.came_up(&whole, place(&whole, line) + line.text.len());
                    }
                    Target::Start(_) => found.began(&whole, place(&whole, line)),
                    Target::Thrown(throws) => {
                        found.thrown(*throws, &whole[place(&whole, line)..], line.number);
                    }
                    _ => {}
                }
            }
        }
    });
    found.moments.close(&whole);
}

/// Where a line of a text begins in it.
fn place(whole: &str, line: Line<'_>) -> usize {
    (line.text.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::{Engine, Setting, dialect};

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
