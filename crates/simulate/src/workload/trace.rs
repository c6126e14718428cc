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
    let lines = lines(text)?;
    let back = lines.windows(2).find(|pair| matches!(pair, [a, b] if b.told.timestamp < a.told.timestamp));
    if let Some([_, late]) = back {
        return Err(TraceError::Line { line: late.number, why: "time goes back".into() });
    }
    rows(lines)
}

/// Reads a trace whose lines may stand in any order; instants count from its earliest request.
pub fn read_sorted(text: &str) -> Result<Vec<Traced>, TraceError> {
    let mut lines = lines(text)?;
    lines.sort_by(|a, b| a.told.timestamp.total_cmp(&b.told.timestamp));
    rows(lines)
}

/// A line and its number, from 1.
struct Numbered {
    number: usize,
    told: Line,
}

fn lines(text: &str) -> Result<Vec<Numbered>, TraceError> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let read = lines.map(|(index, line)| {
        let bad = |why: String| TraceError::Line { line: index + 1, why };
        let told: Line = serde_json::from_str(line).map_err(|e| bad(e.to_string()))?;
        if !told.timestamp.is_finite() || told.input_length == 0 || told.output_length == 0 {
            return Err(bad("lengths must be at least 1 and the time a number".into()));
        }
        Ok(Numbered { number: index + 1, told })
    });
    read.collect()
}

fn rows(lines: Vec<Numbered>) -> Result<Vec<Traced>, TraceError> {
    let first = lines.first().ok_or(TraceError::Empty)?.told.timestamp;
    let row = |Numbered { told, .. }| Traced {
        at: Nanos(((told.timestamp - first) * 1e6).round() as u64),
        lengths: Some((told.input_length, told.output_length)),
        blocks: told.hash_ids,
    };
    Ok(lines.into_iter().map(row).collect())
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
        let sorted: Vec<_> = read_sorted(&back).unwrap().iter().map(|row| row.at.0 / 1_000_000).collect();
        assert_eq!(sorted, [0, 990, 2990, 8990]);
        assert!(read(r#"{"timestamp": 1, "input_length": -4, "output_length": 1}"#).is_err());
    }

    proptest! {
        #[test]
        fn no_text_brings_it_down(text in ".{0,400}", n in any::<f64>()) {
            let _ = read(&text);
            let _ = read_sorted(&text);
            let _ = read(&format!(r#"{{"timestamp": {n}, "input_length": 1, "output_length": 1}}"#));
        }
    }
}
