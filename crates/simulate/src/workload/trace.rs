//! Traces of real traffic, one JSON object a line, as the Mooncake project publishes them:
//! `{"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47]}`.

use serde::Deserialize;

use crate::time::Nanos;
use crate::workload::Traced;

/// A line of a trace; the instant is in milliseconds, `hash_ids` name blocks of 512 prompt tokens.
#[derive(Debug, Deserialize)]
struct Line {
    timestamp: f64,
    input_length: u32,
    output_length: u32,
    #[serde(default)]
    hash_ids: Vec<u64>,
}

/// Why a trace cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// A line that is not a request.
    #[error(
        "line {line}: {why} (wanted: {{\"timestamp\": MILLISECONDS, \"input_length\": TOKENS, \"output_length\": TOKENS}})"
    )]
    Line {
        /// Which line, from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// No line at all.
    #[error("the trace has no requests")]
    Empty,
}

/// Reads a trace; instants count from its first request, and must not go back.
pub fn read(text: &str) -> Result<Vec<Traced>, TraceError> {
    let mut rows: Vec<Traced> = Vec::new();
    let mut first = None;
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let bad = |why: String| TraceError::Line { line: index + 1, why };
        let told: Line = serde_json::from_str(line).map_err(|e| bad(e.to_string()))?;
        if !told.timestamp.is_finite() || told.input_length == 0 || told.output_length == 0 {
            return Err(bad("lengths must be at least 1 and the time a number".into()));
        }
        let since = told.timestamp - *first.get_or_insert(told.timestamp);
        let at = Nanos((since * 1e6).round() as u64);
        if since < 0.0 || rows.last().is_some_and(|last| at < last.at) {
            return Err(bad("time goes back".into()));
        }
        rows.push(Traced {
            at,
            lengths: Some((told.input_length, told.output_length)),
            blocks: told.hash_ids,
        });
    }
    if rows.is_empty() { Err(TraceError::Empty) } else { Ok(rows) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use intriage_case::Seconds;
    use proptest::prelude::*;

    use super::*;
    use crate::fleet::{FleetConfig, Front, Router};
    use crate::outcome::Outcome;
    use crate::run::Stop;
    use crate::setup::Setup;
    use crate::workload::{Arrivals, Workload};

    const TRACE: &str = r#"{"timestamp": 1000, "input_length": 1200, "output_length": 10, "hash_ids": [7, 8, 9]}

{"timestamp": 3000, "input_length": 1300, "output_length": 20, "hash_ids": [7, 8, 10]}
{"timestamp": 9000.5, "input_length": 40, "output_length": 5}"#;

    #[test]
    fn a_trace_is_replayed_with_its_lengths_and_shared_blocks() {
        let rows = read(TRACE).unwrap();
        assert_eq!(rows[2].at, Nanos(8_000_500_000));
        let setup = Setup::healthy(1);
        let fleet = FleetConfig {
            engines: setup.fleet.engines,
            router: Router::RoundRobin,
            front: Front::default(),
            going_on: Vec::new(),
        };
        let workload = Workload { arrivals: Arrivals::Trace(rows), classes: setup.workload.classes };
        let outcome = Outcome::of(&fleet, &workload, 1, Stop::after_requests(u64::MAX), Seconds(0.0));
        assert_eq!((outcome.answered.0, outcome.output_tokens.0), (3.0, 35.0));
        assert_eq!(outcome.prompt_tokens.0, 2540.0);
        assert_eq!(outcome.cached_tokens.0, 1024.0, "the second prompt finds two blocks of 512");
    }

    #[test]
    fn nonsense_names_its_line() {
        assert!(read("").unwrap_err().to_string().contains("no requests"));
        assert!(read("{}").unwrap_err().to_string().starts_with("line 1: missing field"));
        let back = format!("{TRACE}\n{{\"timestamp\": 10, \"input_length\": 1, \"output_length\": 1}}");
        assert!(read(&back).unwrap_err().to_string().starts_with("line 5: time goes back"));
        assert!(read(r#"{"timestamp": 1, "input_length": -4, "output_length": 1}"#).is_err());
    }

    proptest! {
        #[test]
        fn no_text_brings_it_down(text in ".{0,400}", n in any::<f64>()) {
            let _ = read(&text);
            let _ = read(&format!(r#"{{"timestamp": {n}, "input_length": 1, "output_length": 1}}"#));
        }
    }
}
