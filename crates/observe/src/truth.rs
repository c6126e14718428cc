//! The truth file of a labelled recording: for the scoreboard only, never for a verdict.

use std::path::Path;

use serde_json::Value;
use thiserror::Error;

/// What is known to be wrong in a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Truth {
    /// The cause, or `None` where nothing is wrong.
    pub cause: Option<String>,
    /// Other causes that are also right.
    pub accept: Vec<String>,
    /// `healthy`, `finding` or `cannot_tell`.
    pub status: String,
    /// In words.
    pub what: String,
}

/// Why there is no truth.
#[derive(Debug, Error)]
pub enum TruthError {
    /// Not readable.
    #[error("{path} cannot be read: {why}")]
    Read {
        /// The file.
        path: String,
        /// The reason.
        why: String,
    },
}

/// Reads `truth.json` of a recording.
pub fn read_truth(recording: &Path) -> Result<Truth, TruthError> {
    let path = recording.join("truth.json");
    let bad = |why: String| TruthError::Read { path: path.display().to_string(), why };
    let text = std::fs::read_to_string(&path).map_err(|e| bad(e.to_string()))?;
    let value: Value = serde_json::from_str(&text).map_err(|e| bad(e.to_string()))?;
    let string = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let accept = value.get("accept").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    Ok(Truth {
        cause: string("cause"),
        accept: accept.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        status: string("status").ok_or_else(|| bad("it has no status".into()))?,
        what: string("what").unwrap_or_default(),
    })
}
