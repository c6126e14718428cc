//! The sums behind another tool's figures.

use std::collections::BTreeMap;

use intriage_case::{Nanos, Objective, ObjectiveMetric, Seconds};

use super::reason::{Reason, Shift};
use super::rules::{Counted, Judged, Percentiles, Reading};
use super::said::Stats;
use crate::event::Outcome;
use crate::spread::Spread;

/// What is added up, in constant memory.
#[derive(Debug, Clone)]
pub(super) struct Sums {
    spreads: Vec<Spread>,
    shifts: BTreeMap<(usize, Reason), Shift>,
    pub completed: u64,
    pub failed: u64,
    /// Answered for it and not for us.
    pub answered_for_it: u64,
    pub tokens: u64,
    pub begin: Option<Nanos>,
    pub end: Option<Nanos>,
    pub good: u64,
    /// Answered ones that have every figure the objectives ask for.
    pub judged: u64,
}

impl Sums {
    pub(super) fn new(figures: usize) -> Self {
        Self {
            spreads: vec![Spread::default(); figures],
            shifts: BTreeMap::new(),
            completed: 0,
            failed: 0,
            answered_for_it: 0,
            tokens: 0,
            begin: None,
            end: None,
            good: 0,
            judged: 0,
        }
    }

    /// One sample of a figure.
    pub(super) fn add(&mut self, figure: usize, time: Nanos) {
        self.add_many(figure, time, 1);
    }

    /// A sample with a weight.
    pub(super) fn add_many(&mut self, figure: usize, time: Nanos, weight: u64) {
        if let Some(spread) = self.spreads.get_mut(figure) {
            spread.add_many(time, weight);
        }
    }

    /// A sample differs from ours for this reason, by so much.
    pub(super) fn because(&mut self, figure: usize, reason: Reason, amount: Nanos) {
        self.because_many(figure, reason, amount, 1);
    }

    /// So many samples do.
    pub(super) fn because_many(&mut self, figure: usize, reason: Reason, amount: Nanos, samples: u64) {
        if samples > 0 {
            self.shifts.entry((figure, reason)).or_default().add_many(amount, samples);
        }
    }

    /// Counts a request as the tool takes it.
    pub(super) fn count(&mut self, reading: &Reading, outcome: Outcome, objectives: &[Objective]) {
        match reading.counted {
            Counted::Completed => {
                self.completed += 1;
                self.answered_for_it += u64::from(outcome != Outcome::Ok);
                let verdict = reading.judged.verdict(objectives);
                self.judged += u64::from(verdict.is_some());
                self.good += u64::from(verdict == Some(true));
            }
            Counted::Failed => self.failed += 1,
            Counted::Unfinished => {}
        }
        self.tokens += reading.tokens;
        if let Some((begin, end)) = reading.span {
            self.begin = Some(self.begin.map_or(begin, |b| b.min(begin)));
            self.end = self.end.max(Some(end));
        }
    }

    /// From its first request to its last.
    pub(super) fn duration(&self) -> Option<Seconds> {
        let (begin, end) = self.begin.zip(self.end)?;
        (end > begin).then(|| end.since(begin).seconds())
    }

    /// The figures of a distribution the way the tool takes them.
    pub(super) fn stats(&self, figure: usize, percentiles: Percentiles) -> Stats {
        let Some(spread) = self.spreads.get(figure) else { return Stats::default() };
        let at = |share: f64| match percentiles {
            Percentiles::Nearest => spread.quantile(share),
            Percentiles::Interpolated => interpolated(spread, share),
        };
        Stats {
            n: spread.len(),
            mean: spread.mean(),
            p50: at(0.5),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            max: spread.max(),
        }
    }

    /// Why a figure is not ours in this run.
    pub(super) fn differs(&self, figure: usize) -> Option<String> {
        let of_figure = self.shifts.iter().filter(|((place, reason), shift)| {
            *place == figure && (!reason.is_of_time() || shift.mean() >= NOTICED)
        });
        let words: Vec<String> = of_figure.map(|((_, reason), shift)| reason.words(*shift)).collect();
        (!words.is_empty()).then(|| words.join("; "))
    }
}

/// Shorter than this shows in no figure.
const NOTICED: Seconds = Seconds(1e-6);

/// Between the samples on either side of the place, as numpy's percentile.
fn interpolated(spread: &Spread, share: f64) -> Option<Seconds> {
    let n = spread.len() as f64;
    // The sample at a rank from 0: half a rank in, where rounding cannot reach its neighbours.
    let sample = |rank: f64| spread.quantile((rank + 0.5) / n);
    let place = (n - 1.0) * share;
    let (low, high) = (sample(place.floor())?, sample(place.ceil())?);
    Some(Seconds(low.0 + (high.0 - low.0) * place.fract()))
}

impl Judged {
    /// Whether all objectives hold; `None` where a figure one of them asks for is missing.
    fn verdict(&self, objectives: &[Objective]) -> Option<bool> {
        let mut good = true;
        for objective in objectives {
            let figure = match objective.metric {
                ObjectiveMetric::Ttft => self.ttft?,
                ObjectiveMetric::Itl | ObjectiveMetric::Tpot => self.pace?,
                ObjectiveMetric::E2e => self.e2e?,
                ObjectiveMetric::Queue | ObjectiveMetric::Errors => Nanos::ZERO,
            };
            good &= figure.seconds().0 <= objective.limit;
        }
        Some(good)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    /// The textbook form, on all samples.
    fn numpy(sorted: &[u64], share: f64) -> f64 {
        let place = (sorted.len() - 1) as f64 * share;
        let (low, high) = (sorted[place.floor() as usize] as f64, sorted[place.ceil() as usize] as f64);
        (low + (high - low) * place.fract()) / 1e9
    }

    proptest! {
        #[test]
        fn percentiles_lie_where_numpy_puts_them(mut times in proptest::collection::vec(1_000u64..10_000_000_000, 1..300), share in 0.0f64..=1.0) {
            let mut spread = Spread::default();
            for t in &times {
                spread.add(Nanos(*t));
            }
            times.sort_unstable();
            let (said, exact) = (interpolated(&spread, share).unwrap().0, numpy(&times, share));
            prop_assert!((said - exact).abs() <= exact * 3e-4 + 1e-6, "{said} {exact}");
        }
    }
}
