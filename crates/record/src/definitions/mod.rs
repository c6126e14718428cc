//! What another tool would have said of the same requests, and why it differs.
//!
//! The same word means different things: a "time to first token" stops at the role chunk in one tool and at the first word
//! in another. Here each tool's rules, read from its source, are applied to our record; beside every figure stand ours, the rule
//! in a sentence, and how many of this run's requests make the difference.

mod aiperf;
mod guidellm;
mod inference_perf;
mod reason;
mod rules;
mod said;
mod sglang;
mod sums;
mod tool;
mod vllm;

use intriage_case::Objective;

use crate::event::Finished;
use crate::figures::Figures;
use crate::summary::Group;
use rules::Rules;
use sums::Sums;

pub use said::{Said, SaidFigure, SaidTotal, Stats};
pub use tool::{Tool, UnknownTool};

/// Adds up finished requests by another tool's rules, in memory that does not grow with their number.
#[derive(Debug, Clone)]
pub struct AsTool {
    tool: Tool,
    chat: bool,
    objectives: Vec<Objective>,
    sums: Sums,
}

impl AsTool {
    /// Nothing yet. `api` is that of the run's header; the objectives are those of a good request.
    pub fn new(tool: Tool, api: &str, objectives: &[Objective]) -> Self {
        Self {
            tool,
            chat: api.starts_with("chat"),
            objectives: objectives.to_vec(),
            sums: Sums::new(rules(tool).figures.len()),
        }
    }

    /// One more finished request. Warm-up counts nowhere, and neither does what was never sent.
    pub fn add(&mut self, finished: &Finished) {
        if finished.request.warmup {
            return;
        }
        let ours = Figures::of(finished);
        if let Some(reading) = (rules(self.tool).read)(finished, &ours, self.chat, &mut self.sums) {
            self.sums.count(&reading, finished.request.outcome, &self.objectives);
        }
    }

    /// What the tool would have said, beside our figures of the same requests.
    pub fn finish(&self, ours: &Group) -> Said {
        said::compose(self.tool, rules(self.tool), &self.sums, ours, !self.objectives.is_empty())
    }
}

const fn rules(tool: Tool) -> &'static Rules {
    match tool {
        Tool::Vllm => &vllm::RULES,
        Tool::Guidellm => &guidellm::RULES,
        Tool::Aiperf => &aiperf::RULES,
        Tool::Sglang => &sglang::RULES,
        Tool::InferencePerf => &inference_perf::RULES,
    }
}

#[cfg(test)]
mod own_code;
#[cfg(test)]
mod tests;
