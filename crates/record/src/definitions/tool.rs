//! The tools whose rules and result files are known.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A load generator other than ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tool {
    /// `vllm bench serve`.
    Vllm,
    /// GuideLLM.
    Guidellm,
    /// NVIDIA AIPerf.
    Aiperf,
    /// `sglang.benchmark.serving`, formerly `bench_serving`.
    Sglang,
    /// The Kubernetes SIG's inference-perf.
    InferencePerf,
}

/// A name that is none of the known tools.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("no tool is called '{0}' here: known are vllm, guidellm, aiperf, sglang and inference-perf")]
pub struct UnknownTool(
    /// The name as given.
    pub String,
);

impl Tool {
    /// Every tool.
    pub const ALL: [Self; 5] = [Self::Vllm, Self::Guidellm, Self::Aiperf, Self::Sglang, Self::InferencePerf];

    /// Its name on a command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vllm => "vllm",
            Self::Guidellm => "guidellm",
            Self::Aiperf => "aiperf",
            Self::Sglang => "sglang",
            Self::InferencePerf => "inference-perf",
        }
    }

    /// Its name in a sentence.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Vllm => "vllm bench serve",
            Self::Guidellm => "GuideLLM",
            Self::Aiperf => "AIPerf",
            Self::Sglang => "sglang.benchmark.serving",
            Self::InferencePerf => "inference-perf",
        }
    }

    /// The release whose source the rules were read from.
    pub const fn version(self) -> &'static str {
        match self {
            Self::Vllm => "0.32.0",
            Self::Guidellm => "0.8.1",
            Self::Aiperf => "0.13.0",
            Self::Sglang => "0.5.23",
            Self::InferencePerf => "0.7.0",
        }
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Tool {
    type Err = UnknownTool;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // People write guide-llm, inference_perf and vLLM.
        let plain =
            |s: &str| s.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
        let wanted = plain(text.trim());
        Self::ALL
            .into_iter()
            .find(|tool| plain(tool.name()) == wanted)
            .ok_or_else(|| UnknownTool(text.trim().chars().take(60).collect()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn tools_are_known_by_the_names_people_write() {
        for tool in Tool::ALL {
            assert_eq!(tool.name().parse(), Ok(tool));
        }
        assert_eq!("vLLM".parse(), Ok(Tool::Vllm));
        assert_eq!("inference_perf".parse(), Ok(Tool::InferencePerf));
        let said = "wrk".parse::<Tool>().unwrap_err().to_string();
        assert!(said.contains("'wrk'") && Tool::ALL.iter().all(|t| said.contains(t.name())), "{said}");
    }
}
