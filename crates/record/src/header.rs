//! What was planned, written before the first request: the head of a run's file.

use intriage_case::{Millis, Objective, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a run set out to do.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Header {
    /// Version of intriage that wrote it.
    pub intriage: String,
    /// When it began, by this machine's clock.
    pub started: Millis,
    /// The server, without credentials.
    pub url: String,
    /// The model asked for.
    pub model: String,
    /// The API spoken: chat, completions, responses, llama.cpp, tgi.
    pub api: String,
    /// HTTP/1.1 or HTTP/2, with or without TLS.
    pub protocol: String,
    /// The command line, keys masked.
    pub command: Vec<String>,
    /// Seed of prompts and arrivals.
    pub seed: u64,
    /// Salt of the prompts: differs between runs so that no cache knows them.
    pub salt: u64,
    /// What the load was declared to be.
    pub declared: Declared,
    /// This machine, by name and value.
    pub host: Vec<(String, String)>,
}

/// What the load was declared to be; the certificate compares it with what happened.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Declared {
    /// How requests come.
    pub arrival: Arrival,
    /// Share of prompt tokens that a prefix cache should find, where declared.
    pub hit_ratio: Option<Ratio>,
    /// Answers are meant to have the length asked for.
    pub ignore_eos: bool,
    /// Tokens the chat template adds to a prompt, where known.
    pub template_tokens: Option<u32>,
    /// Names of the classes, by number, each with its own objectives.
    pub classes: Vec<(String, Vec<Objective>)>,
    /// Names of the stages, by number.
    pub stages: Vec<String>,
    /// Sessions have several turns.
    pub sessions: bool,
    /// Objectives of a good request, for all classes without their own.
    pub objectives: Vec<Objective>,
    /// Shards of this run and which one this is, where it is one of several.
    pub shard: Option<(u32, u32)>,
    /// Nobody knows when requests were sent, as in some tools' files: each counts from 0, and there is no rate.
    #[serde(default)]
    pub without_starts: bool,
    /// Percentiles asked for by a list, each from 0 to 100, beside those of the objectives.
    #[serde(default)]
    pub percentiles: Vec<f64>,
    /// Requests (sessions, where they have several turns) after which the plan ends; `None` where only time ends it.
    #[serde(default)]
    pub num_prompts: Option<u64>,
}

/// How requests come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arrival {
    /// A fixed number in flight: the next is sent when one ends.
    Closed {
        /// Requests in flight.
        concurrency: u32,
    },
    /// By the clock, whatever the server does.
    Open {
        /// Requests a second on average, where the plan has one.
        rate: Option<f64>,
        /// Of what kind: constant, poisson, gamma, bursts, ramp, steps, trace.
        shape: String,
        /// In flight at most, where the user set a limit.
        max_concurrency: Option<u32>,
    },
}

impl Default for Arrival {
    fn default() -> Self {
        Self::Closed { concurrency: 1 }
    }
}

impl Arrival {
    /// Whether the load is meant to hold one level.
    pub fn is_level(&self) -> bool {
        match self {
            Self::Closed { .. } => true,
            Self::Open { shape, .. } => matches!(shape.as_str(), "constant" | "poisson" | "gamma"),
        }
    }

    /// Whether requests come by the clock.
    pub const fn is_open(&self) -> bool {
        matches!(self, Self::Open { .. })
    }
}
