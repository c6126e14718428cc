//! Why a case cannot be replayed.

use intriage_case::{Ratio, Seconds};
use thiserror::Error;

/// Why a case cannot be replayed, as a sentence without its full stop.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum WhyNot {
    /// A signal the replay is built on is missing; the text says which and why.
    #[error("{0}")]
    Missing(String),
    /// Too little happened in the window.
    #[error(
        "only {first_tokens:.0} first tokens and {finished:.0} finished requests are in the window: watch longer"
    )]
    TooFew {
        /// First tokens in the window.
        first_tokens: f64,
        /// Requests that finished in it.
        finished: f64,
    },
    /// The figures describe no engine at work.
    #[error("{what} cannot be replayed: {figure} is no engine's")]
    Implausible {
        /// What is out of place.
        what: &'static str,
        /// How large it is.
        figure: String,
    },
    /// The process restarted inside the window.
    #[error("the server restarted inside the window")]
    Restarted,
    /// Several engines answer under one address.
    #[error("{0} engines answer here, and which of them got a request is not recorded")]
    Several(usize),
    /// Draft tokens are in the steps.
    #[error("speculation is at work, and what a draft costs cannot be read off these metrics")]
    Speculates,
    /// The settings make no engine.
    #[error("the settings found make no engine: {0}")]
    Settings(String),
    /// The best fit still misses what was measured.
    #[error(
        "the replay gives TTFT {ttft_replayed} where {ttft_measured} was measured, and ITL {itl_replayed} where {itl_measured} was; more than {} off is no ground for a prediction",
        .tolerance
    )]
    Misfit {
        /// Mean time to first token of the replay.
        ttft_replayed: Seconds,
        /// Mean time to first token as measured.
        ttft_measured: Seconds,
        /// Mean gap between tokens of the replay.
        itl_replayed: Seconds,
        /// Mean gap between tokens as measured.
        itl_measured: Seconds,
        /// The largest error that is accepted.
        tolerance: Ratio,
    },
}
