//! What a log tells: signatures found, answers by status, resolved settings.

use std::collections::BTreeMap;

use intriage_case::{LogText, Source};
use memchr::memmem;

use crate::config::{Config, SettingValue, field_list, from_fields};
use crate::dialect::{Dialect, LogValue};

/// What a log line means, whatever the engine's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Meaning {
    /// The engine or a worker died.
    EngineDied,
    /// GPU memory ran out while serving or starting.
    GpuOutOfMemory,
    /// No room was left for the KV pool at start.
    NoRoomForKv,
    /// A worker does not answer.
    WorkerSilent,
    /// The engine was paused or put to sleep by hand.
    Paused,
    /// Decode runs without CUDA graphs.
    GraphsOff,
    /// A slower kernel is used than the hardware offers.
    KernelFallback,
    /// A cached prompt was thrown away and computed again.
    PrefixLost,
    /// Something is compiled or tuned while requests wait.
    Compiling,
    /// A request was longer than the context window.
    PromptTooLong,
    /// A running request was thrown back for lack of KV blocks.
    Preempted,
    /// The process shuts down.
    ShuttingDown,
}

/// A log line to look for.
#[derive(Debug, Clone, Copy)]
pub struct Signature {
    /// What it means.
    pub meaning: Meaning,
    /// The text that marks it.
    pub text: &'static str,
    /// A line it must find, as the engine wrote it.
    pub example: &'static str,
}

/// A signature found in a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEvent {
    /// What it means.
    pub meaning: Meaning,
    /// The log's name.
    pub file: String,
    /// 1-based line of the first occurrence.
    pub line: u32,
    /// How many lines carry it.
    pub count: u32,
    /// The first such line, prefix removed and shortened.
    pub excerpt: String,
}

impl LogEvent {
    /// As a fact's source.
    pub fn source(&self) -> Source {
        Source::Log { file: self.file.clone(), line: self.line }
    }
}

/// Everything read from the logs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LogReadings {
    /// Signatures found, in order of appearance.
    pub events: Vec<LogEvent>,
    /// Answers to inference requests by HTTP status, from access lines.
    pub answers: BTreeMap<u16, u64>,
    /// Whether there was any log at all.
    pub present: bool,
}

impl LogReadings {
    /// The first event of this meaning.
    pub fn first(&self, meaning: Meaning) -> Option<&LogEvent> {
        self.events.iter().find(|e| e.meaning == meaning)
    }
}

/// Reads the logs in the dialect's words, adding resolved settings to `config`.
pub(crate) fn read_logs(dialect: &Dialect, logs: &[LogText], config: &mut Config) -> LogReadings {
    let mut readings = LogReadings { present: !logs.is_empty(), ..LogReadings::default() };
    for log in logs {
        readings.events.extend(signatures(dialect, log));
        settings(dialect, log, config);
        answers(&log.text, &mut readings.answers);
    }
    readings.events.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    readings
}

fn signatures(dialect: &Dialect, log: &LogText) -> Vec<LogEvent> {
    let mut found: Vec<LogEvent> = Vec::new();
    for signature in dialect.signatures {
        let mut hits = memmem::find_iter(log.text.as_bytes(), signature.text);
        let Some(first) = hits.next() else { continue };
        found.push(LogEvent {
            meaning: signature.meaning,
            file: log.name.clone(),
            line: line_number(&log.text, first),
            count: 1 + hits.count() as u32,
            excerpt: excerpt(line_at(&log.text, first)),
        });
    }
    found
}

fn settings(dialect: &Dialect, log: &LogText, config: &mut Config) {
    for value in dialect.log_values {
        if let Some((at, number)) = find_value(&log.text, value) {
            let source = Source::Log { file: log.name.clone(), line: line_number(&log.text, at) };
            config.state(value.setting, SettingValue::Number(number * value.scale), source);
        }
    }
    // The dumps: what was asked for, then what the engine made of it.
    for opening in ["non-default args: {", "with config: ", "server_args=ServerArgs("] {
        if let Some(at) = log.text.find(opening) {
            let source = Source::Log { file: log.name.clone(), line: line_number(&log.text, at) };
            let line = line_at(&log.text, at);
            if let Some((_, dump)) = line.split_once(opening) {
                from_fields(dialect, field_list(dump), &source, config);
            }
        }
    }
}

/// The first line that contains `value.line` and a number behind `value.after`.
fn find_value(text: &str, value: &LogValue) -> Option<(usize, f64)> {
    memmem::find_iter(text.as_bytes(), value.line).find_map(|at| {
        let (_, rest) = line_at(text, at).split_once(value.after)?;
        Some((at, leading_number(rest)?))
    })
}

/// `931,104 tokens` is 931104.
fn leading_number(text: &str) -> Option<f64> {
    let text = text.trim_start();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ',')).unwrap_or(text.len());
    text[..end].trim_end_matches(['.', ',']).replace(',', "").parse().ok()
}

/// Counts `"POST /v1/… HTTP/1.1" 200` lines by status.
fn answers(text: &str, counts: &mut BTreeMap<u16, u64>) {
    for at in memmem::find_iter(text.as_bytes(), "\"POST /") {
        let line = line_at(text, at);
        let Some((_, rest)) = line.split_once(" HTTP/1.") else { continue };
        let status = rest.get(3..6).and_then(|s| s.parse::<u16>().ok());
        if let Some(status) = status.filter(|s| (100..600).contains(s)) {
            *counts.entry(status).or_default() += 1;
        }
    }
}

fn line_number(text: &str, at: usize) -> u32 {
    1 + memchr::memchr_iter(b'\n', &text.as_bytes()[..at]).count() as u32
}

fn line_at(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |i| i + 1);
    let end = text[at..].find('\n').map_or(text.len(), |i| at + i);
    &text[start..end]
}

/// Drops `(EngineCore pid=1) ERROR 11-15 03:53:11 [core.py:1512] ` and cuts long lines.
fn excerpt(line: &str) -> String {
    let message = match line.find(".py:") {
        Some(at) => line[at..].find("] ").map_or(line, |end| &line[at + end + 2..]),
        None => line,
    };
    let mut short: String = message.trim().chars().take(160).collect();
    if short.len() < message.trim().len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Engine, Setting, dialect};

    fn read(text: &str) -> (LogReadings, Config) {
        let mut config = Config::default();
        let log = LogText { name: "server.log".into(), text: text.into() };
        (read_logs(dialect(Engine::Vllm), &[log], &mut config), config)
    }

    #[test]
    fn every_signature_finds_its_own_example() {
        for engine in Engine::ALL {
            let dialect = dialect(*engine);
            for signature in dialect.signatures {
                let log = LogText { name: "l".into(), text: format!("ok\n{}\n", signature.example) };
                let found = signatures(dialect, &log);
                assert!(
                    found.iter().any(|e| e.meaning == signature.meaning && e.line == 2),
                    "{engine}: {}",
                    signature.text
                );
            }
        }
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
    fn the_prefix_of_a_line_is_not_its_message() {
        let line =
            "(EngineCore pid=9) ERROR 11-15 03:53:10 [core.py:1512] EngineCore encountered a fatal error.";
        assert_eq!(excerpt(line), "EngineCore encountered a fatal error.");
    }
}
