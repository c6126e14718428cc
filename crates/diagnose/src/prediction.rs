//! What a change is expected to do: the part of the answer that a replay fills in.

use intriage_case::{Quantity, Seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What one change is expected to do to this server under this load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Prediction {
    /// The cause the change is for.
    pub cause: String,
    /// The change, with exact flags where the engine has one.
    pub change: String,
    /// What must hold for the figures to hold, where the evidence does not tell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub provided: Option<String>,
    /// The window as the model replays it.
    pub before: Foreseen,
    /// The same load after the change. Where the queue still grows, its times only hold for the few
    /// windows that were replayed.
    pub after: Foreseen,
    /// Requests per second by which the queue still grows; absent where the load fits.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub queue_growth: Option<Quantity>,
    /// Whether a missed objective comes nearer by it; without one, whether anything gets better.
    pub helps: bool,
    /// How well the model replays what was measured.
    pub fit: Fit,
}

/// Latency and throughput of one replay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Foreseen {
    /// Arrival to first token.
    pub ttft: Times,
    /// Gap between the tokens of one request.
    pub itl: Times,
    /// Mean time from queued to first scheduled.
    pub queue: Estimate,
    /// Requests answered per second.
    pub requests: Estimate,
    /// Output tokens per second.
    pub tokens: Estimate,
}

/// A distribution of times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Times {
    /// The mean.
    pub mean: Estimate,
    /// The median.
    pub p50: Estimate,
    /// The 95th percentile.
    pub p95: Estimate,
    /// The 99th percentile.
    pub p99: Estimate,
}

/// A number with the range it is expected in.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The best estimate.
    pub value: Quantity,
    /// Lower end, in the same unit.
    pub low: f64,
    /// Upper end, in the same unit.
    pub high: f64,
}

/// The replay against what was measured in the same window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fit {
    /// Mean time to first token, measured.
    pub ttft_measured: Seconds,
    /// Mean time to first token, replayed.
    pub ttft_replayed: Seconds,
    /// Mean gap between tokens, measured.
    pub itl_measured: Seconds,
    /// Mean gap between tokens, replayed.
    pub itl_replayed: Seconds,
    /// Output tokens in the window, measured.
    pub tokens_measured: f64,
    /// Output tokens in the window, replayed.
    pub tokens_replayed: f64,
}
