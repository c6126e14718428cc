//! Traces of real traffic, told apart by their first line.
//!
//! | trace | first line | time | notes |
//! |---|---|---|---|
//! | Mooncake | `{"timestamp": 27482, "input_length": …` | milliseconds | blocks of 512 tokens in `hash_ids` |
//! | BurstGPT | `Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type` | seconds | a failed request has no answer |
//! | Azure | `TIMESTAMP,ContextTokens,GeneratedTokens` | date and time | fractions of a second |

use std::path::Path;

use intriage_simulate::workload::{Traced, trace as mooncake};

mod clock;
mod table;

/// Why a trace cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// It cannot be read.
    #[error("{file}: {why}")]
    Read {
        /// The file.
        file: String,
        /// What went wrong.
        why: std::io::Error,
    },
    /// A Mooncake trace with a mistake.
    #[error("{file}, {why}")]
    Mooncake {
        /// The file.
        file: String,
        /// What is wrong with it.
        why: mooncake::TraceError,
    },
    /// A line that is not a request.
    #[error("{file}, line {line}: {why}")]
    Line {
        /// The file.
        file: String,
        /// Which line, from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// The first line is none that is known.
    #[error(
        "{file}: its first line is none of a known trace (Mooncake: {{\"timestamp\": MILLISECONDS, …}}; BurstGPT: {BURSTGPT}; Azure: {AZURE})",
        BURSTGPT = table::BURSTGPT.header(),
        AZURE = table::AZURE.header()
    )]
    Unknown {
        /// The file.
        file: String,
    },
    /// No request in it.
    #[error("{file}: the trace has no requests")]
    Empty {
        /// The file.
        file: String,
    },
}

/// Reads a trace from a file; `-` is the standard input.
pub fn open(path: &Path) -> Result<Vec<Traced>, TraceError> {
    let file = crate::prompts::input::name(path);
    let bytes =
        crate::prompts::input::open(path).map_err(|why| TraceError::Read { file: file.clone(), why })?;
    read(&String::from_utf8_lossy(&bytes), &file)
}

/// Reads a trace; `file` is what errors call it. Rows come in order of time, the first at zero. Lengths are at
/// least one token.
pub fn read(text: &str, file: &str) -> Result<Vec<Traced>, TraceError> {
    let file = || file.to_owned();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some(first) = text.lines().find(|line| !line.trim().is_empty()) else {
        return Err(TraceError::Empty { file: file() });
    };
    if first.trim_start().starts_with('{') {
        return mooncake::read_sorted(text).map_err(|why| TraceError::Mooncake { file: file(), why });
    }
    let Some(rows) = table::read(text, first) else {
        return Err(TraceError::Unknown { file: file() });
    };
    let mut rows = rows.map_err(|(line, why)| TraceError::Line { file: file(), line, why })?;
    rows.sort_by_key(|row| row.at);
    let Some(start) = rows.first().map(|row| row.at) else {
        return Err(TraceError::Empty { file: file() });
    };
    for row in &mut rows {
        row.at = row.at.since(start);
    }
    Ok(rows)
}

#[cfg(test)]
mod tests;
