//! When requests come.

use std::sync::Arc;

use intriage_case::{PerSecond, Ratio, Requests, Seconds};

use crate::random::Random;
use crate::time::Nanos;
use crate::workload::Planned;

/// When requests come.
#[derive(Debug, Clone, PartialEq)]
pub enum Arrivals {
    /// At a rate; the gaps' coefficient of variation is 0 for a metronome, 1 for Poisson, more for bursts.
    Rate {
        /// Requests per second.
        rate: PerSecond<Requests>,
        /// Coefficient of variation of the gaps.
        variation: Ratio,
    },
    /// A steady Poisson stream with a crowd on top every so often.
    Bursts {
        /// Requests per second of the stream.
        rate: PerSecond<Requests>,
        /// From one crowd to the next.
        every: Seconds,
        /// Requests that come at once.
        size: u32,
    },
    /// So many clients, each sending its next request when the last one is answered.
    Closed {
        /// Clients.
        clients: u32,
        /// From answer to next request.
        think: Seconds,
    },
    /// As recorded, in order.
    Trace(Vec<Traced>),
    /// Each request written down beforehand, in order of arrival; the workload's classes are not asked.
    Planned(Arc<[Planned]>),
}

/// One request of a trace. What is not known of it is drawn from the workload's classes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Traced {
    /// When it comes.
    pub at: Nanos,
    /// Prompt and answer length in tokens, where recorded.
    pub lengths: Option<(u32, u32)>,
    /// Keys of its prompt's blocks of [`Traced::BLOCK`] tokens, where recorded.
    pub blocks: Vec<u64>,
}

impl Traced {
    /// Tokens of a block of a trace, as the Mooncake traces cut them.
    pub const BLOCK: u32 = 512;

    /// A request of which only the instant is known.
    pub const fn at(at: Nanos) -> Self {
        Self { at, lengths: None, blocks: Vec::new() }
    }
}

/// The instants of an open workload, one after the other.
#[derive(Debug, Clone)]
pub struct ArrivalTimes {
    arrivals: Arrivals,
    now: f64,
    next_burst: f64,
    left_in_burst: u32,
    index: usize,
}

impl ArrivalTimes {
    /// Those of these arrivals.
    pub fn new(arrivals: Arrivals) -> Self {
        let next_burst = match &arrivals {
            Arrivals::Bursts { every, .. } => every.0 / 2.0,
            _ => 0.0,
        };
        Self { arrivals, now: 0.0, next_burst, left_in_burst: 0, index: 0 }
    }

    /// The row of a trace that [`Self::next`] gave last.
    pub(crate) fn row(&self) -> Option<&Traced> {
        match &self.arrivals {
            Arrivals::Trace(rows) => rows.get(self.index.checked_sub(1)?),
            _ => None,
        }
    }

    /// The request that [`Self::next`] gave the instant of, where each was written down beforehand.
    pub(crate) fn planned(&self) -> Option<&Planned> {
        match &self.arrivals {
            Arrivals::Planned(requests) => requests.get(self.index.checked_sub(1)?),
            _ => None,
        }
    }

    /// The next instant; `None` where no more come by themselves.
    pub fn next(&mut self, random: &mut Random) -> Option<Nanos> {
        let at = |seconds: f64| Some(Nanos::from_seconds(Seconds(seconds)));
        match &self.arrivals {
            Arrivals::Rate { rate, variation } => {
                if rate.0.0 <= 0.0 {
                    return None;
                }
                self.now += random.gamma(variation.0) / rate.0.0;
                at(self.now)
            }
            Arrivals::Bursts { rate, every, size } => {
                if self.left_in_burst > 0 {
                    self.left_in_burst -= 1;
                    // The instant of the crowd itself: working it out again would round differently.
                    return at(self.now);
                }
                let next = self.now + random.exponential() / rate.0.0.max(f64::MIN_POSITIVE);
                if next >= self.next_burst {
                    self.left_in_burst = size.saturating_sub(1);
                    self.now = self.next_burst;
                    self.next_burst += every.0.max(1e-6);
                    return at(self.now);
                }
                self.now = next;
                at(self.now)
            }
            Arrivals::Closed { clients, .. } => {
                self.index += 1;
                // Clients do not all start in the same instant.
                (self.index <= *clients as usize).then(|| Nanos(self.index as u64 * 1_000_000))
            }
            Arrivals::Trace(rows) => {
                self.index += 1;
                rows.get(self.index - 1).map(|row| row.at)
            }
            Arrivals::Planned(requests) => {
                self.index += 1;
                requests.get(self.index - 1).map(|planned| planned.request.arrival)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(arrivals: Arrivals, n: usize) -> Vec<f64> {
        let mut random = Random::new(5, "arrivals");
        let mut source = ArrivalTimes::new(arrivals);
        std::iter::from_fn(|| source.next(&mut random)).take(n).map(|t| t.seconds().0).collect()
    }

    const RATE: PerSecond<Requests> = PerSecond(Requests(20.0));

    #[test]
    fn rates_are_kept_and_instants_never_go_back() {
        for variation in [0.0, 1.0, 3.0] {
            let all = times(Arrivals::Rate { rate: RATE, variation: Ratio(variation) }, 20_000);
            assert!((all[19_999] / 1000.0 - 1.0).abs() < 0.05, "variation {variation}: {}", all[19_999]);
            assert!(all.windows(2).all(|w| w[0] <= w[1]));
        }
    }

    #[test]
    fn a_crowd_comes_at_once() {
        let all = times(Arrivals::Bursts { rate: RATE, every: Seconds(10.0), size: 100 }, 800);
        assert!(all.windows(2).all(|w| w[0] <= w[1]));
        assert_eq!(all.iter().filter(|t| **t == 5.0).count(), 100);
        assert_eq!(all.iter().filter(|t| **t == 15.0).count(), 100);
    }

    #[test]
    fn nothing_comes_at_a_rate_of_zero_and_clients_come_once() {
        assert!(
            times(Arrivals::Rate { rate: PerSecond(Requests(0.0)), variation: Ratio(1.0) }, 5).is_empty()
        );
        assert_eq!(times(Arrivals::Closed { clients: 3, think: Seconds(0.0) }, 10).len(), 3);
    }
}
