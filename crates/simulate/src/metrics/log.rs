//! What vLLM writes about its state into its log, every ten seconds.

use std::fmt::Write as _;

use intriage_case::Millis;

use crate::metrics::Exporter;
use crate::time::Nanos;

/// From one line to the next.
const EVERY: Nanos = Nanos(10_000_000_000);

/// A server's log: its first lines, and then its state every ten seconds.
#[derive(Debug)]
pub(crate) struct StatsLog {
    text: String,
    last: Nanos,
    // Prompt and answer tokens of each engine at the last line.
    counted: Vec<(u64, u64)>,
}

impl StatsLog {
    /// A log that begins with these lines.
    pub(crate) const fn new(head: String) -> Self {
        Self { text: head, last: Nanos::ZERO, counted: Vec::new() }
    }

    /// Writes a line an engine if ten seconds have passed since the last ones.
    pub(crate) fn note(&mut self, exporter: &Exporter, epoch_ms: u64, now: Nanos) {
        let passed = now.since(self.last);
        if passed < EVERY {
            return;
        }
        self.counted.resize(exporter.engines.len(), (0, 0));
        let seconds = passed.seconds().0;
        let at = stamp(epoch_ms + now.0 / 1_000_000);
        for ((number, engine), counted) in exporter.engines.iter().enumerate().zip(&mut self.counted) {
            let load = engine.load;
            let held = f64::from(load.blocks_held) / f64::from(load.blocks.max(1)) * 100.0;
            let hits = engine.prefix_hits as f64 / (engine.prefix_queries as f64).max(1.0) * 100.0;
            // Writing to a string cannot fail.
            let _ = writeln!(
                self.text,
                "(APIServer pid=1232) INFO {at} [loggers.py:335] Engine {number:03}: Avg prompt throughput: {:.1} tokens/s, Avg generation throughput: {:.1} tokens/s, Running: {} reqs, Waiting: {} reqs, GPU KV cache usage: {held:.1}%, Prefix cache hit rate: {hits:.1}%",
                (engine.prompt_tokens - counted.0) as f64 / seconds,
                (engine.generated_tokens - counted.1) as f64 / seconds,
                load.running,
                load.waiting + load.deferred,
            );
            *counted = (engine.prompt_tokens, engine.generated_tokens);
        }
        self.last = now;
    }

    /// All that was written.
    pub(crate) fn into_text(self) -> String {
        self.text
    }
}

/// An instant as vLLM writes it, `11-15 02:47:32`, in UTC.
pub(crate) fn stamp(unix_ms: u64) -> String {
    // The date has a year before and a zone behind.
    let date = Millis(unix_ms).to_string();
    date.get(5..19).unwrap_or(&date).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_is_written_as_vllm_writes_it() {
        assert_eq!(stamp(0), "01-01 00:00:00");
        assert_eq!(stamp(1_794_700_000_000), "11-14 23:46:40");
    }
}
