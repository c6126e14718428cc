//! When each token is due.

use std::time::Duration;

use crate::config::{Config, Mode};
use crate::random;

/// The deadlines of one answer, in nanoseconds of CLOCK_MONOTONIC.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schedule {
    begin: u64,
    ttft: u64,
    itl: u64,
    jitter: u64,
    seed: u64,
    request: u64,
}

impl Schedule {
    pub(crate) fn new(config: &Config, request: u64, begin: u64) -> Self {
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let (ttft, itl, jitter) = match config.mode {
            Mode::Paced => (nanos(config.ttft), nanos(config.itl), nanos(config.jitter)),
            Mode::Flood => (0, 0, 0),
        };
        Self { begin, ttft, itl, jitter, seed: config.seed, request }
    }

    /// When it began.
    pub(crate) const fn begin(&self) -> u64 {
        self.begin
    }

    /// When the token is due that has `index` before it: an event is due with the last of its tokens.
    pub(crate) fn due(&self, index: u32) -> u64 {
        let late = random::below(self.jitter, self.seed, self.request, u64::from(index));
        self.begin
            .saturating_add(self.ttft)
            .saturating_add(self.itl.saturating_mul(u64::from(index)))
            .saturating_add(late)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_follow_the_figures_and_the_seed() {
        let config = Config::default().with("ttft_ms=50,itl_ms=5").unwrap();
        let plain = Schedule::new(&config, 1, 1_000);
        assert_eq!((plain.due(0), plain.due(3)), (50_001_000, 65_001_000));
        let config = config.with("jitter_ms=2,seed=9").unwrap();
        let draws = |request| (0..50).map(|i| Schedule::new(&config, request, 0).due(i)).collect::<Vec<_>>();
        assert_eq!(draws(4), draws(4));
        assert_ne!(draws(4), draws(5));
        for (i, due) in (0..).zip(draws(4)) {
            let least = 50_000_000 + 5_000_000 * i;
            assert!((least..least + 2_000_000).contains(&due));
        }
        let flood = Schedule::new(&config.with("mode=flood").unwrap(), 1, 7);
        assert_eq!(flood.due(1_000_000), 7);
    }
}
