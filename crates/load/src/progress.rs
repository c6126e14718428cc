//! How a run goes, while it goes.

use std::collections::VecDeque;

use intriage_case::{Nanos, Seconds};
use intriage_record::{Figures, Finished, Outcome};

/// How a run goes: totals, and the last first tokens.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// Requests that ended, however.
    pub ended: u64,
    /// Of them failed.
    pub failed: u64,
    /// Tokens that came with them.
    pub tokens: u64,
    firsts: VecDeque<Nanos>,
}

/// First tokens remembered; enough for a 99th percentile on a screen.
const MOST: usize = 1000;

impl Progress {
    pub(crate) fn count(&mut self, finished: &Finished) {
        if finished.request.outcome == Outcome::NeverSent {
            return;
        }
        let figures = Figures::of(finished);
        self.ended += 1;
        self.failed += u64::from(finished.request.outcome.is_failure());
        self.tokens += u64::from(figures.tokens.number());
        if let Some(ttft) = figures.ttft {
            if self.firsts.len() == MOST {
                self.firsts.pop_front();
            }
            self.firsts.push_back(ttft);
        }
    }

    /// Median and 99th percentile of the last thousand times to first token.
    pub fn first_tokens(&self) -> Option<(Seconds, Seconds)> {
        let mut firsts: Vec<Nanos> = self.firsts.iter().copied().collect();
        firsts.sort_unstable();
        let at = |share: f64| {
            firsts.get(((firsts.len() as f64 * share) as usize).min(firsts.len().saturating_sub(1)))
        };
        at(0.5).zip(at(0.99)).map(|(median, tail)| (median.seconds(), tail.seconds()))
    }
}
