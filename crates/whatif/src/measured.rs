//! What the replay has to show: exact means and counts of the window.

use intriage_case::{Requests, Seconds, Signal, Tokens};

use crate::why_not::WhyNot;
use crate::window::Window;

/// Fewer first tokens or finished requests than these are no ground for a fit.
const FEWEST: f64 = 10.0;
/// No engine gives tokens faster than this, in seconds.
const FASTEST_GAP: f64 = 1e-4;
/// A window shorter than this shows a moment, in seconds.
const SHORTEST: f64 = 1.0;

/// What was measured in the replayed window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// First to last scrape.
    pub window: Seconds,
    /// Mean time to first token, of first tokens in the window.
    pub ttft: Seconds,
    /// Mean gap between tokens.
    pub itl: Seconds,
    /// Mean queue of finished requests.
    pub queue: Option<Seconds>,
    /// Mean prefill of finished requests.
    pub prefill: Option<Seconds>,
    /// Mean time of finished requests in no phase: in front of the scheduler.
    pub before_queue: Option<Seconds>,
    /// First tokens.
    pub first_tokens: Requests,
    /// Requests that finished.
    pub finished: Requests,
    /// Output tokens.
    pub tokens: Tokens,
    /// Engine steps, where they are counted.
    pub steps: Option<f64>,
}

impl Measured {
    pub(crate) fn read(window: &Window<'_>) -> Result<Self, WhyNot> {
        let missing = |signal| WhyNot::Missing(window.observed.why_missing(signal));
        let ttft = window.gained(Signal::LatencyTtft).ok_or_else(|| missing(Signal::LatencyTtft))?;
        let gaps = window.gained(Signal::LatencyItl).or_else(|| window.gained(Signal::LatencyTpot));
        let gaps = gaps.ok_or_else(|| missing(Signal::LatencyItl))?;
        let finished = window
            .delta(Signal::RequestsFinished)
            .or_else(|| window.gained(Signal::LatencyE2e).map(|h| h.count()))
            .ok_or_else(|| missing(Signal::RequestsFinished))?;
        let tokens = window.delta(Signal::TokensGenerated).ok_or_else(|| missing(Signal::TokensGenerated))?;
        let few = WhyNot::TooFew { first_tokens: ttft.count(), finished };
        if ttft.count() < FEWEST || finished < FEWEST || tokens <= 0.0 {
            return Err(few);
        }
        let (Some(ttft_mean), Some(itl)) = (ttft.mean(), gaps.mean()) else { return Err(few) };
        let length = window.length();
        if length.get() < SHORTEST {
            return Err(WhyNot::Implausible { what: "a window", figure: length.to_string() });
        }
        if itl < FASTEST_GAP || ttft_mean <= 0.0 {
            let figure = format!("ITL {} and TTFT {}", Seconds(itl), Seconds(ttft_mean));
            return Err(WhyNot::Implausible { what: "such a pace", figure });
        }
        let mean = |signal| window.mean(signal);
        let phases = [Signal::LatencyQueue, Signal::LatencyPrefill, Signal::LatencyDecode];
        let before_queue = mean(Signal::LatencyE2e)
            .and_then(|whole| phases.into_iter().try_fold(whole, |left, phase| Some(left - mean(phase)?)));
        Ok(Self {
            window: length,
            ttft: Seconds(ttft_mean),
            itl: Seconds(itl),
            queue: mean(Signal::LatencyQueue).map(Seconds),
            prefill: mean(Signal::LatencyPrefill).filter(|p| *p > 0.0).map(Seconds),
            before_queue: before_queue.map(|s| Seconds(s.max(0.0))),
            first_tokens: Requests(ttft.count()),
            finished: Requests(finished),
            tokens: Tokens(tokens),
            steps: window.gained(Signal::TokensPerStep).map(|h| h.count()).filter(|n| *n > 0.0),
        })
    }
}
