//! Requests that come in clumps all through the window: no single burst stands out, and the fullest moments make the rest late.

use intriage_case::{Requests, Seconds};

use crate::evidence::Evidence;
use crate::thresholds::Limit;
use crate::timeline::Interval;

/// Arrivals that are not even, and what the fullest intervals did to first tokens.
pub(super) struct Clumps {
    /// Most that came in one interval.
    most: f64,
    /// As many come in an interval on average.
    usual: f64,
    /// Length of an interval in seconds.
    seconds: f64,
    /// Part of what first tokens took beyond the usual that lies in full intervals or right behind them, 0 to 1.
    pub(super) first_tokens: f64,
    /// Seconds by which a first token came later for them on average.
    pub(super) later: f64,
}

/// Fewer intervals than this show chance.
const FEWEST: usize = 8;

impl Clumps {
    /// The clumps of a window, where arrivals vary from one interval to the next far more than chance makes them.
    pub(super) fn of(e: &Evidence<'_>) -> Option<Self> {
        Self::among(&e.timeline.intervals, e.limit(Limit::Clumps))
    }

    /// The same, from a variance over the mean of `least` on.
    fn among(intervals: &[Interval], least: f64) -> Option<Self> {
        let all: Vec<&Interval> = intervals.iter().filter(|i| i.arrivals.is_some()).collect();
        if all.len() < FEWEST {
            return None;
        }
        let came: Vec<f64> = all.iter().filter_map(|i| i.arrivals).collect();
        let mean = came.iter().sum::<f64>() / came.len() as f64;
        // From neighbour to neighbour: a load that grows is no clump.
        let steps = came.windows(2).map(|pair| (pair[1] - pair[0]).powi(2) / 2.0);
        let variance = steps.sum::<f64>() / (came.len() - 1) as f64;
        if mean <= 0.0 || variance / mean < least {
            return None;
        }
        let full = |i: usize| came[i] >= mean + variance.sqrt();
        let behind = |i: usize| full(i) || i > 0 && full(i - 1);
        let mut times: Vec<f64> = all.iter().filter_map(|i| i.ttft).collect();
        times.sort_by(f64::total_cmp);
        let usual = times.get(times.len() / 2).copied().unwrap_or(0.0);
        let late =
            |i: usize| (all[i].ttft.unwrap_or(usual) - usual).max(0.0) * all[i].first_tokens.unwrap_or(0.0);
        let (whole, theirs) = (0..all.len()).fold((0.0, 0.0), |(whole, theirs), i| {
            (whole + late(i), theirs + if behind(i) { late(i) } else { 0.0 })
        });
        let begun: f64 = all.iter().filter_map(|i| i.first_tokens).sum();
        Some(Self {
            most: came.iter().copied().fold(0.0, f64::max),
            usual: mean,
            seconds: all.iter().map(|i| i.seconds).sum::<f64>() / all.len() as f64,
            first_tokens: if whole > 0.0 { theirs / whole } else { 0.0 },
            later: theirs / begun.max(1.0),
        })
    }

    /// In one sentence.
    pub(super) fn says(&self) -> String {
        format!(
            "requests come in clumps: up to {} within {} where {} come on average",
            Requests(self.most.round()),
            Seconds(self.seconds),
            Requests(self.usual)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Clumps;
    use crate::timeline::Interval;

    /// Seconds in which so many come and get their first tokens after so long.
    fn among(seconds: impl Iterator<Item = (f64, f64)>) -> Option<Clumps> {
        let second = |(came, ttft)| Interval {
            seconds: 1.0,
            arrivals: Some(came),
            first_tokens: Some(came),
            ttft: Some(ttft),
            ..Interval::default()
        };
        Clumps::among(&seconds.map(second).collect::<Vec<_>>(), 2.0)
    }

    #[test]
    fn a_crowd_every_fifth_second_is_a_clump_and_its_first_tokens_are_the_late_ones() {
        let crowds = (0..30).map(|i| if i % 5 == 4 { (12.0, 0.4) } else { (1.0, 0.05) });
        let clumps = among(crowds).expect("clumps");
        assert!(clumps.first_tokens > 0.99, "{}", clumps.first_tokens);
        assert!((clumps.later - 0.35 * 72.0 / 96.0).abs() < 1e-9, "{}", clumps.later);
        assert_eq!(
            clumps.says(),
            "requests come in clumps: up to 12 requests within 1.00 s where 3.2 requests come on average"
        );
        let as_fast = (0..30).map(|i| if i % 5 == 4 { (12.0, 0.05) } else { (1.0, 0.05) });
        assert_eq!(among(as_fast).map(|c| c.first_tokens), Some(0.0), "nobody is late");
    }

    #[test]
    fn chance_and_growth_are_no_clumps() {
        let chance = [3.0, 5.0, 4.0, 2.0, 6.0, 4.0, 5.0, 3.0, 4.0, 4.0];
        assert!(among(chance.into_iter().map(|n| (n, 0.05))).is_none());
        assert!(among((0..30).map(|i| (f64::from(i), 0.05))).is_none());
    }
}
