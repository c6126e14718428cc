//! Cumulative histograms as engines expose them: exact mean, quantiles only as wide as their bucket.

use thiserror::Error;

use crate::Ratio;

/// A histogram over some window: bucket upper bounds with *cumulative* counts, sum and count.
///
/// Values are in the unit of the signal it belongs to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Histogram {
    /// Upper bounds, ascending; the last is normally `+Inf`.
    bounds: Vec<f64>,
    /// Cumulative count at each bound.
    cumulative: Vec<f64>,
    sum: f64,
    count: f64,
}

/// The bucket a quantile lies in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuantileBounds {
    /// Lower end of the bucket.
    pub low: f64,
    /// Upper end of the bucket; infinite in the overflow bucket.
    pub high: f64,
    /// Linear interpolation inside the bucket: a guess, the bounds are the truth.
    pub estimate: f64,
}

impl QuantileBounds {
    /// Whether the quantile is surely above `limit`.
    pub fn surely_above(&self, limit: f64) -> bool {
        self.low >= limit
    }

    /// Whether the quantile is surely at or below `limit`.
    pub fn surely_within(&self, limit: f64) -> bool {
        self.high <= limit
    }
}

/// Why two histograms cannot be put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum HistogramError {
    /// The bucket bounds differ, so only sums and counts could be merged.
    #[error("the bucket bounds differ")]
    BoundsDiffer,
}

impl Histogram {
    /// Builds from `(upper bound, cumulative count)` pairs in any order.
    pub fn new(mut buckets: Vec<(f64, f64)>, sum: f64, count: f64) -> Self {
        buckets.retain(|(bound, _)| !bound.is_nan());
        buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
        buckets.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 = kept.1.max(next.1);
            }
            same
        });
        let (bounds, mut cumulative): (Vec<_>, Vec<_>) = buckets.into_iter().unzip();
        // Multi-process servers can expose buckets a moment apart: make them cumulative again.
        let mut highest = 0.0_f64;
        for c in &mut cumulative {
            highest = highest.max(if c.is_finite() { *c } else { 0.0 });
            *c = highest;
        }
        Self { bounds, cumulative, sum, count }
    }

    /// A histogram known only by its sum and count (a summary, or counters of total and time).
    pub fn from_totals(sum: f64, count: f64) -> Self {
        Self { sum, count, ..Self::default() }
    }

    /// Number of observations.
    pub fn count(&self) -> f64 {
        self.count
    }

    /// Sum of all observations.
    pub fn sum(&self) -> f64 {
        self.sum
    }

    /// Σ / n, the only exact statistic; `None` when nothing was observed.
    pub fn mean(&self) -> Option<f64> {
        let mean = self.sum / self.count;
        (self.count > 0.0 && mean.is_finite()).then_some(mean)
    }

    /// Whether bucket counts exist at all.
    pub fn has_buckets(&self) -> bool {
        !self.bounds.is_empty()
    }

    /// Upper bound of the first bucket: nothing below it can be resolved.
    pub fn finest(&self) -> Option<f64> {
        self.bounds.first().copied()
    }

    /// `(lower, upper, observations in between)` for each bucket.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, f64, f64)> + '_ {
        self.bounds.iter().enumerate().map(|(i, &upper)| {
            let (lower, below) =
                if i == 0 { (0.0, 0.0) } else { (self.bounds[i - 1], self.cumulative[i - 1]) };
            (lower, upper, self.cumulative[i] - below)
        })
    }

    /// The bucket that holds quantile `q` (0 to 1); `None` without buckets or observations.
    pub fn quantile(&self, q: f64) -> Option<QuantileBounds> {
        let total = self.cumulative.last().copied().filter(|&t| t > 0.0)?;
        let rank = q.clamp(0.0, 1.0) * total;
        let mut below = 0.0;
        for (low, high, inside) in self.buckets() {
            if below + inside >= rank && inside > 0.0 {
                let estimate = if high.is_finite() {
                    low + (high - low) * ((rank - below) / inside).clamp(0.0, 1.0)
                } else {
                    low
                };
                return Some(QuantileBounds { low, high, estimate });
            }
            below += inside;
        }
        None
    }

    /// Share of observations that are surely above `limit` (their whole bucket is).
    pub fn share_above(&self, limit: f64) -> Option<Ratio> {
        let total = self.cumulative.last().copied()?;
        let above: f64 = self.buckets().filter(|(low, _, _)| *low >= limit).map(|b| b.2).sum();
        Ratio::of(above, total)
    }

    /// Least and most of the total that lies in buckets wholly above `limit`.
    ///
    /// The least takes every observation at its bucket's lower end; the most at its upper end, but no
    /// more than the exact sum leaves once everything else is taken at *its* lower end.
    pub fn mass_above(&self, limit: f64) -> (f64, f64) {
        let (mut least, mut most, mut rest) = (0.0, 0.0, 0.0);
        for (low, high, inside) in self.buckets().filter(|b| b.2 > 0.0) {
            if low >= limit {
                least += low * inside;
                most += high * inside;
            } else {
                rest += low * inside;
            }
        }
        (least.min(self.sum), most.min(self.sum - rest).max(least))
    }

    /// The mean weighted by size, Σx²/Σx from bucket middles: what a random instant falls into.
    pub fn length_biased_mean(&self) -> Option<f64> {
        let (mut first, mut second) = (0.0, 0.0);
        for (low, high, inside) in self.buckets() {
            let middle = if high.is_finite() { f64::midpoint(low, high) } else { low };
            first += middle * inside;
            second += middle * middle * inside;
        }
        (first > 0.0).then(|| second / first)
    }

    /// What was added between an earlier state and this one.
    ///
    /// A count that fell means the process restarted: then everything here is new. The flag says so.
    pub fn since(&self, earlier: &Self) -> (Self, bool) {
        if self.count < earlier.count {
            return (self.clone(), true);
        }
        let sum = self.sum - earlier.sum;
        let count = self.count - earlier.count;
        if self.bounds != earlier.bounds {
            return (Self::from_totals(sum, count), false);
        }
        let pairs = self.cumulative.iter().zip(&earlier.cumulative).map(|(now, then)| (now - then).max(0.0));
        let buckets = self.bounds.iter().copied().zip(pairs).collect();
        (Self::new(buckets, sum, count), false)
    }

    /// Adds another histogram: exact where the bounds agree, sums and counts alone where not.
    pub fn merge(&self, other: &Self) -> (Self, Result<(), HistogramError>) {
        let sum = self.sum + other.sum;
        let count = self.count + other.count;
        if self.count == 0.0 && !self.has_buckets() {
            return (other.clone(), Ok(()));
        }
        if other.count == 0.0 && !other.has_buckets() {
            return (self.clone(), Ok(()));
        }
        if self.bounds != other.bounds {
            return (Self::from_totals(sum, count), Err(HistogramError::BoundsDiffer));
        }
        let cumulative = self.cumulative.iter().zip(&other.cumulative).map(|(a, b)| a + b).collect();
        (Self { bounds: self.bounds.clone(), cumulative, sum, count }, Ok(()))
    }

    /// The same observations in another unit.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        Self {
            bounds: self.bounds.iter().map(|b| b * factor).collect(),
            cumulative: self.cumulative.clone(),
            sum: self.sum * factor,
            count: self.count,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ttft() -> Histogram {
        // Ten answers within 0.1 s, ten between 10 and 20 s.
        Histogram::new(vec![(0.1, 10.0), (10.0, 10.0), (20.0, 20.0), (f64::INFINITY, 20.0)], 121.0, 20.0)
    }

    #[test]
    fn a_quantile_is_no_finer_than_its_bucket() {
        let p99 = ttft().quantile(0.99).unwrap();
        assert_eq!((p99.low, p99.high), (10.0, 20.0));
        assert!(p99.surely_above(10.0) && !p99.surely_above(12.0) && p99.surely_within(20.0));
        assert_eq!(ttft().quantile(0.5).unwrap().high, 0.1);
    }

    #[test]
    fn the_overflow_bucket_has_no_upper_end() {
        let h = Histogram::new(vec![(1.0, 0.0), (f64::INFINITY, 3.0)], 30.0, 3.0);
        let p50 = h.quantile(0.5).unwrap();
        assert_eq!((p50.low, p50.high, p50.estimate), (1.0, f64::INFINITY, 1.0));
    }

    #[test]
    fn time_above_a_limit_is_bounded_from_both_sides() {
        let (least, most) = ttft().mass_above(10.0);
        assert_eq!((least, most), (100.0, 121.0), "the sum leaves less than the buckets' upper ends");
        assert_eq!(ttft().share_above(10.0), Some(Ratio(0.5)));
    }

    #[test]
    fn a_count_that_falls_is_a_restart() {
        let (delta, reset) = Histogram::from_totals(3.0, 2.0).since(&ttft());
        assert!(reset);
        assert_eq!(delta.mean(), Some(1.5));
    }

    #[test]
    fn different_buckets_merge_by_sum_and_count_only() {
        let other = Histogram::new(vec![(5.0, 1.0), (f64::INFINITY, 1.0)], 4.0, 1.0);
        let (merged, note) = ttft().merge(&other);
        assert_eq!(note, Err(HistogramError::BoundsDiffer));
        assert!(!merged.has_buckets());
        assert_eq!(merged.count(), 21.0);
    }

    #[test]
    fn nothing_observed_has_no_mean_and_no_quantile() {
        let empty = Histogram::new(vec![(1.0, 0.0), (f64::INFINITY, 0.0)], 0.0, 0.0);
        assert_eq!(empty.mean(), None);
        assert_eq!(empty.quantile(0.5), None);
    }

    fn of_values(values: &[f64]) -> Histogram {
        let bounds = [0.5, 1.0, 2.0, 4.0, 8.0, f64::INFINITY];
        let buckets = bounds.iter().map(|b| (*b, values.iter().filter(|v| *v <= b).count() as f64)).collect();
        Histogram::new(buckets, values.iter().sum(), values.len() as f64)
    }

    proptest! {
        #[test]
        fn the_true_quantile_lies_within_the_bounds(
            mut values in prop::collection::vec(0.001_f64..20.0, 1..200), q in 0.01_f64..1.0
        ) {
            let found = of_values(&values).quantile(q).unwrap();
            values.sort_by(f64::total_cmp);
            let rank = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let exact = values[rank - 1];
            prop_assert!(found.low <= exact && exact <= found.high, "{found:?} {exact}");
            prop_assert!(found.low <= found.estimate && found.estimate <= found.high);
        }

        #[test]
        fn a_window_and_its_halves_agree(
            a in prop::collection::vec(0.001_f64..20.0, 0..80), b in prop::collection::vec(0.001_f64..20.0, 0..80)
        ) {
            let whole = of_values(&[a.clone(), b.clone()].concat());
            let (second, reset) = whole.since(&of_values(&a));
            prop_assert!(!reset);
            prop_assert_eq!(second.count(), b.len() as f64);
            let (joined, ok) = of_values(&a).merge(&of_values(&b));
            prop_assert!(ok.is_ok());
            prop_assert_eq!(joined.quantile(0.9).map(|x| x.high), whole.quantile(0.9).map(|x| x.high));
        }

        #[test]
        fn mass_above_brackets_the_truth(values in prop::collection::vec(0.001_f64..20.0, 1..100)) {
            let (least, most) = of_values(&values).mass_above(2.0);
            let truth: f64 = values.iter().filter(|v| **v > 2.0).sum();
            prop_assert!(least <= truth + 1e-9 && truth <= most + 1e-9, "{least} {truth} {most}");
        }
    }
}
