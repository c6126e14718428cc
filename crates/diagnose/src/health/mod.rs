//! The state of the machine itself, whatever it serves: what `intriage host` tells.
//!
//! A check says what is, not what it costs: a downgraded link on a card nobody waits for is still a
//! downgraded link. Whether it is the cause of slow answers is for the causes to judge.

mod bridges;
mod card;
mod errors;
mod host;
mod kernel;
mod link;
#[cfg(test)]
mod tests;

use intriage_case::gpu::GpuSurvey;
use intriage_case::{Case, Gathered};
use intriage_engines::read;
use schemars::JsonSchema;
use serde::Serialize;

use crate::thresholds::Thresholds;

/// The version of the health format.
pub const HEALTH_SCHEMA: &str = "intriage.health/1";

/// What the machine looks like.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Health {
    /// Always `intriage.health/1`.
    pub schema: String,
    /// The version that judged.
    pub intriage: String,
    /// The worst state of the checks that could be made.
    pub state: State,
    /// Every check, part by part.
    pub checks: Vec<Check>,
    /// What could not be seen, and what would show it.
    pub missing: Vec<String>,
    /// The cards as they were read, without the samples; null where there was no GPU to read.
    pub gpus: Option<GpuSurvey>,
}

/// How a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// As it should be.
    Good,
    /// Nobody could tell.
    Unknown,
    /// Worth knowing; may be on purpose.
    Attention,
    /// Broken or held back.
    Bad,
}

/// One thing looked at.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Check {
    /// The part, such as `GPU 0 NVIDIA H200`.
    pub part: String,
    /// What was looked at, such as `pcie`.
    pub name: &'static str,
    /// How it is.
    pub state: State,
    /// What was seen.
    pub says: String,
    /// What to do, where something is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// Looks at the machine in a case.
pub fn health(case: &Case, thresholds: &Thresholds) -> Health {
    let observed = read(case);
    let mut checks = card::checks(&observed.gpu, thresholds);
    checks.extend(observed.host.iter().flat_map(|host| host::checks(host, thresholds)));
    checks.extend(kernel::checks(case, &observed.log, &observed.gpu.reports));
    let gpus = observed.gpu.survey();
    Health {
        schema: HEALTH_SCHEMA.into(),
        intriage: env!("CARGO_PKG_VERSION").into(),
        // What nobody could tell does not make the rest worse; only where nothing is known it is the answer.
        state: checks
            .iter()
            .map(|c| c.state)
            .filter(|s| *s != State::Unknown)
            .max()
            .unwrap_or(State::Unknown),
        checks,
        missing: missing(case),
        gpus,
    }
}

/// What a collector could not bring, and the notes.
fn missing(case: &Case) -> Vec<String> {
    let skipped = case.collected.iter().filter_map(|part| match &part.outcome {
        Gathered::Whole => None,
        Gathered::Partly { why } | Gathered::Skipped { why } => Some(format!("{}: {why}", part.what)),
    });
    skipped.chain(case.notes.iter().cloned()).collect()
}
