//! What can hurt.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rank::{DOUBTFUL, NOT_SERVING};

/// An aspect of the service: a segment of the latency, or one of the other things users feel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Aspect {
    /// Whether the server gives tokens at all.
    #[serde(rename = "availability")]
    Availability,
    /// Requests that fail.
    #[serde(rename = "errors")]
    Errors,
    /// Requests their clients gave up.
    #[serde(rename = "aborts")]
    Aborts,
    /// The wait before a request runs.
    #[serde(rename = "queue")]
    Queue,
    /// Computing the prompt.
    #[serde(rename = "prefill")]
    Prefill,
    /// Time to first token before the engine's scheduler and outside of it.
    #[serde(rename = "front end")]
    FrontEnd,
    /// The step between two tokens.
    #[serde(rename = "decode step")]
    DecodeStep,
    /// Steps slowed by the prompts in them.
    #[serde(rename = "prefill interference")]
    Interference,
    /// Gaps many times the ordinary one.
    #[serde(rename = "stalls")]
    Stalls,
    /// Steps in which the GPU waits for the host.
    #[serde(rename = "host gap")]
    HostGap,
    /// Running requests thrown back and computed again.
    #[serde(rename = "preemption")]
    Preemption,
    /// Work done against work offered.
    #[serde(rename = "throughput")]
    Throughput,
    /// Answers that do not end.
    #[serde(rename = "answer lengths")]
    AnswerLengths,
    /// The GPU's clock while it is busy.
    #[serde(rename = "gpu clock")]
    GpuClock,
    /// The way between client and server.
    #[serde(rename = "network")]
    Network,
    /// Tokens on their way to the client.
    #[serde(rename = "delivery")]
    Delivery,
    /// The client's own part.
    #[serde(rename = "client")]
    Client,
    /// Whether the figures can be trusted.
    #[serde(rename = "measurement")]
    Measurement,
}

impl Aspect {
    /// Every aspect, in the order they are told.
    pub const ALL: &[Self] = &[
        Self::Availability,
        Self::Errors,
        Self::Aborts,
        Self::Queue,
        Self::Prefill,
        Self::FrontEnd,
        Self::DecodeStep,
        Self::Interference,
        Self::Stalls,
        Self::HostGap,
        Self::Preemption,
        Self::Throughput,
        Self::AnswerLengths,
        Self::GpuClock,
        Self::Network,
        Self::Delivery,
        Self::Client,
        Self::Measurement,
    ];

    /// Its name, as segments are named.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Availability => "availability",
            Self::Errors => "errors",
            Self::Aborts => "aborts",
            Self::Queue => "queue",
            Self::Prefill => "prefill",
            Self::FrontEnd => "front end",
            Self::DecodeStep => "decode step",
            Self::Interference => "prefill interference",
            Self::Stalls => "stalls",
            Self::HostGap => "host gap",
            Self::Preemption => "preemption",
            Self::Throughput => "throughput",
            Self::AnswerLengths => "answer lengths",
            Self::GpuClock => "gpu clock",
            Self::Network => "network",
            Self::Delivery => "delivery",
            Self::Client => "client",
            Self::Measurement => "measurement",
        }
    }

    /// What comes first whatever it costs: no service, then failures, then slowness, then doubt.
    pub(super) const fn rank(self) -> f64 {
        match self {
            Self::Availability => NOT_SERVING,
            Self::Errors => 1.0,
            Self::Measurement => DOUBTFUL,
            // A low clock, a thrown-back request and a long answer are felt through other aspects.
            Self::GpuClock | Self::AnswerLengths => -0.5,
            _ => 0.0,
        }
    }

    /// The parts of the time to first token.
    pub const FIRST_TOKEN: &[Self] = &[Self::Queue, Self::Prefill, Self::FrontEnd];
    /// What a card that is slow, or fails, can make hurt.
    pub const OF_THE_CARD: &[Self] = &[
        Self::Availability,
        Self::Prefill,
        Self::DecodeStep,
        Self::Interference,
        Self::Stalls,
        Self::HostGap,
        Self::GpuClock,
    ];
    /// What a release or its settings can make hurt.
    pub const OF_A_RELEASE: &[Self] = &[
        Self::Availability,
        Self::Errors,
        Self::Queue,
        Self::Prefill,
        Self::DecodeStep,
        Self::Interference,
        Self::Stalls,
        Self::HostGap,
        Self::Preemption,
    ];
    /// The parts of the time per token.
    pub const TOKEN: &[Self] = &[Self::DecodeStep, Self::Interference, Self::Stalls, Self::HostGap];
    /// What lies between the server's tokens and whoever reads them.
    pub const OUTSIDE: &[Self] = &[Self::Network, Self::Delivery, Self::Client];
    /// The parts of both times, of the first token and of the others.
    pub const LATENCY: &[Self] = &[
        Self::Queue,
        Self::Prefill,
        Self::FrontEnd,
        Self::DecodeStep,
        Self::Interference,
        Self::Stalls,
        Self::HostGap,
    ];
}

impl std::fmt::Display for Aspect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::Aspect;

    #[test]
    fn an_aspect_is_written_by_its_name() {
        for aspect in Aspect::ALL {
            let json = serde_json::to_string(aspect).expect("a name is a string");
            assert_eq!(json, format!("{:?}", aspect.name()));
        }
    }
}
