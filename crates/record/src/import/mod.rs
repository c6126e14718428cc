//! Result files of other tools, read into our record as far as they tell.
//!
//! A file is known by what is in it, not by its name. Where it has times of chunks or tokens, every request becomes a
//! [`Finished`] with just those chunks, so that our figures can be computed from it and compared; what a file does not tell
//! is not made up. Nobody certifies such a run: the client that made it told nothing of itself.

mod aiperf;
mod guidellm;
mod inference_perf;
mod json;
mod request;
mod sglang;
mod vllm;

use std::io::Read;

use thiserror::Error;

use crate::definitions::Tool;
use crate::event::Finished;
use crate::header::Header;
use json::Shape;

/// Bytes of a file at most.
pub const MOST_BYTES: u64 = 2 << 30;

/// The name under which [`Header::host`] says where an imported run comes from.
pub const IMPORTED_FROM: &str = "imported from";

/// A result file.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// Who wrote it.
    pub tool: Tool,
    /// Its version, where the file tells.
    pub version: Option<String>,
    /// The runs in it: one, or as many as were appended to it.
    pub runs: Vec<ImportedRun>,
}

/// One run of a result file.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedRun {
    /// What is known of the plan; `host` has [`IMPORTED_FROM`].
    pub header: Header,
    /// How much is known of each request.
    pub detail: Detail,
    /// Each request, where the file has them.
    pub requests: Vec<Finished>,
    /// What the tool itself printed.
    pub said: Vec<Printed>,
    /// What the reader of our figures must know of these records.
    pub notes: Vec<String>,
}

/// How much a file tells of each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Detail {
    /// Which chunks of an answer.
    pub chunks: Chunks,
    /// When requests were sent. Without it all count from 0, and no rate or duration can be computed.
    pub starts: bool,
}

/// Which chunks of an answer a file tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chunks {
    /// Every one.
    Every,
    /// The first and the last, and the first after the reasoning.
    Ends,
    /// None: the file has sums alone.
    None,
}

/// A number as the tool printed it.
#[derive(Debug, Clone, PartialEq)]
pub struct Printed {
    /// The tool's word, the same as in [`crate::definitions`] where it has one there.
    pub figure: String,
    /// Which statistic of it: mean, p50, p99; empty for a single number.
    pub statistic: String,
    /// The number, in `unit`.
    pub value: f64,
    /// Its unit, as the tool names it.
    pub unit: String,
}

/// Why a file is not taken.
#[derive(Debug, Error)]
pub enum ImportError {
    /// It could not be read.
    #[error("{name}: {source}")]
    Io {
        /// The file.
        name: String,
        /// The system's word.
        source: std::io::Error,
    },
    /// It is too large.
    #[error("{name}: larger than {limit} bytes, the most that is read")]
    TooLarge {
        /// The file.
        name: String,
        /// The limit.
        limit: u64,
    },
    /// It is not JSON, or a value in it has the wrong type.
    #[error("{name}: {what}; result files of vLLM, SGLang, GuideLLM, AIPerf and inference-perf are JSON")]
    Json {
        /// The file.
        name: String,
        /// What is wrong, with line and column.
        what: String,
    },
    /// It is JSON that no known tool writes.
    #[error(
        "{name}: no result file of a known tool (its first keys: {keys}); known are vLLM's JSON (--save-result, --save-detailed), \
         SGLang's JSONL, GuideLLM's benchmarks.json, AIPerf's profile_export.jsonl and profile_export_aiperf.json, \
         inference-perf's per_request and summary lifecycle metrics"
    )]
    Unknown {
        /// The file.
        name: String,
        /// What it begins with.
        keys: String,
    },
    /// A value in it cannot be.
    #[error("{name}: {place}: {what}")]
    Value {
        /// The file.
        name: String,
        /// Where in the file.
        place: String,
        /// What is wrong with it.
        what: String,
    },
}

/// Reads a result file of another tool. `name` is what errors call it.
pub fn import(name: &str, reader: impl Read) -> Result<Imported, ImportError> {
    let bytes = read_all(name, reader, MOST_BYTES)?;
    let text = json::without_python_words(&bytes);
    let at = json::File { name, text: &text };
    let mut imported = match at.shape()? {
        Shape::Vllm => vllm::read(&at),
        Shape::Sglang => sglang::read(&at),
        Shape::Guidellm => guidellm::read(&at),
        Shape::AiperfRecords => aiperf::read_records(&at),
        Shape::AiperfSums => aiperf::read_sums(&at),
        Shape::InferencePerfRequests => inference_perf::read_requests(&at),
        Shape::InferencePerfSums => inference_perf::read_sums(&at),
    }?;
    for run in &mut imported.runs {
        run.header.declared.without_starts = !run.detail.starts;
    }
    Ok(imported)
}

fn read_all(name: &str, reader: impl Read, limit: u64) -> Result<Vec<u8>, ImportError> {
    let mut bytes = Vec::new();
    let read = reader.take(limit.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|source| ImportError::Io { name: name.to_owned(), source })?;
    if bytes.len() as u64 > limit {
        return Err(ImportError::TooLarge { name: name.to_owned(), limit });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
