//! A distribution of times in constant memory.

use hdrhistogram::Histogram;
use intriage_case::{Nanos, Seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::certificate::answers_needed;

/// Counts of times, exact in number and sum, and within 0.01 % in value.
#[derive(Debug, Clone)]
pub struct Spread {
    counts: Histogram<u64>,
    sum: u128,
    squares: u128,
    least: u64,
    most: u64,
}

/// Longest time told apart: a day.
const LONGEST: u64 = 86_400_000_000_000;
/// Times below are not told apart: half a microsecond.
const SHORTEST: u64 = 512;
/// Figures kept of each time.
const FIGURES: u8 = 4;

impl Default for Spread {
    fn default() -> Self {
        // The bounds are constants that the histogram accepts; a smaller one stands in where it would not.
        let counts = Histogram::new_with_bounds(SHORTEST, LONGEST, FIGURES)
            .or_else(|_| Histogram::new(2))
            .unwrap_or_else(|_| unreachable!("constant bounds"));
        Self { counts, sum: 0, squares: 0, least: u64::MAX, most: 0 }
    }
}

/// Standard deviations of a normal distribution that hold 95 %.
pub(crate) const Z: f64 = 1.96;

impl Spread {
    /// One more time.
    pub fn add(&mut self, time: Nanos) {
        self.add_many(time, 1);
    }

    /// The same time, so often.
    pub fn add_many(&mut self, time: Nanos, times: u64) {
        if times == 0 {
            return;
        }
        self.counts.saturating_record_n(time.0, times);
        self.sum += u128::from(time.0) * u128::from(times);
        let time_squared = u128::from(time.0) * u128::from(time.0);
        self.squares = self.squares.saturating_add(time_squared.saturating_mul(u128::from(times)));
        self.least = self.least.min(time.0);
        self.most = self.most.max(time.0);
    }

    /// All of another one as well.
    pub fn merge(&mut self, other: &Self) {
        // Same bounds on both sides, so this cannot fail.
        let _ = self.counts.add(&other.counts);
        self.sum += other.sum;
        self.squares = self.squares.saturating_add(other.squares);
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
    }

    /// How many.
    pub fn len(&self) -> u64 {
        self.counts.len()
    }

    /// None at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value below which so large a share lies.
    pub fn quantile(&self, share: f64) -> Option<Seconds> {
        (!self.is_empty()).then(|| {
            let value = self.counts.value_at_quantile(share).clamp(self.least, self.most);
            Nanos(value).seconds()
        })
    }

    /// The mean.
    pub fn mean(&self) -> Option<Seconds> {
        (!self.is_empty()).then(|| Seconds(self.sum as f64 / 1e9 / self.len() as f64))
    }

    /// The largest.
    pub fn max(&self) -> Option<Seconds> {
        (!self.is_empty()).then(|| Nanos(self.most).seconds())
    }

    /// The sum of all, in seconds.
    pub fn sum(&self) -> Seconds {
        Seconds(self.sum as f64 / 1e9)
    }

    /// Between which values a quantile of the population lies with 95 % confidence, were the samples independent: by
    /// order statistics, no shape assumed. `None` on a side where there are too few samples to say.
    pub fn interval(&self, share: f64) -> (Option<Seconds>, Option<Seconds>) {
        self.interval_among(share, self.len())
    }

    /// The same for samples that go together, so that only so many of them are independent.
    pub fn interval_among(&self, share: f64, independent: u64) -> (Option<Seconds>, Option<Seconds>) {
        let n = independent as f64;
        let (middle, half) = (n * share, Z * (n * share * (1.0 - share)).sqrt());
        let rank =
            |rank: f64| (n > 0.0 && rank >= 1.0 && rank <= n).then(|| self.quantile(rank / n)).flatten();
        (rank((middle - half).floor()), rank((middle + half).ceil()))
    }

    /// Its usual figures.
    pub fn distribution(&self) -> Distribution {
        self.distribution_among(self.len())
    }

    /// The same for samples of which only so many are independent, such as the token gaps of so many answers.
    pub fn distribution_among(&self, independent: u64) -> Distribution {
        let n = self.len();
        let answers = independent.min(n);
        let mean = self.mean();
        let deviation =
            mean.map(|m| Seconds((self.squares as f64 / 1e18 / n as f64 - m.0 * m.0).max(0.0).sqrt()));
        Distribution {
            n,
            mean,
            stddev: deviation,
            min: (n > 0).then(|| Nanos(self.least).seconds()),
            p50: self.quantile(0.5),
            p90: self.quantile(0.9),
            p95: self.quantile(0.95),
            p99: self.quantile(0.99),
            p999: self.quantile(0.999),
            max: self.max(),
            p50_interval: self.interval(0.5),
            p99_interval: self.interval(0.99),
            answers,
            certified: Certified::of(answers),
        }
    }
}

/// The usual figures of a distribution of times, in seconds; absent where there is no sample.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// Samples.
    pub n: u64,
    /// Mean.
    pub mean: Option<Seconds>,
    /// Standard deviation.
    pub stddev: Option<Seconds>,
    /// Smallest.
    pub min: Option<Seconds>,
    /// Median.
    pub p50: Option<Seconds>,
    /// 90th percentile.
    pub p90: Option<Seconds>,
    /// 95th percentile.
    pub p95: Option<Seconds>,
    /// 99th percentile.
    pub p99: Option<Seconds>,
    /// 99.9th percentile.
    pub p999: Option<Seconds>,
    /// Largest.
    pub max: Option<Seconds>,
    /// 95 % interval of the median from the number of samples alone; a side is absent where there are too few.
    pub p50_interval: (Option<Seconds>, Option<Seconds>),
    /// The same for the 99th percentile.
    pub p99_interval: (Option<Seconds>, Option<Seconds>),
    /// Independent samples: answers, also where each answer has many samples, such as its token gaps.
    #[serde(default)]
    pub answers: u64,
    /// Which percentiles have answers enough.
    #[serde(default)]
    pub certified: Certified,
}

/// Which percentiles of a distribution have answers enough: ten beyond each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[expect(clippy::struct_excessive_bools, reason = "one answer for each percentile shown")]
pub struct Certified {
    /// Median.
    pub p50: bool,
    /// 90th percentile.
    pub p90: bool,
    /// 95th percentile.
    pub p95: bool,
    /// 99th percentile.
    pub p99: bool,
    /// 99.9th percentile.
    pub p999: bool,
}

impl Certified {
    /// By the number of answers.
    pub fn of(answers: u64) -> Self {
        let enough = |quantile| answers >= answers_needed(quantile);
        Self { p50: enough(0.5), p90: enough(0.9), p95: enough(0.95), p99: enough(0.99), p999: enough(0.999) }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn of(times: &[u64]) -> Spread {
        let mut spread = Spread::default();
        for t in times {
            spread.add(Nanos(*t));
        }
        spread
    }

    proptest! {
        #[test]
        fn quantiles_are_those_of_the_sorted_times(mut times in proptest::collection::vec(1_000u64..10_000_000_000, 1..400), share in 0.01f64..1.0) {
            let spread = of(&times);
            times.sort_unstable();
            let rank = ((times.len() as f64 * share).ceil() as usize).clamp(1, times.len());
            let exact = times[rank - 1] as f64 / 1e9;
            let said = spread.quantile(share).unwrap().0;
            prop_assert!((said - exact).abs() <= exact * 2e-4 + 1e-6, "{said} {exact}");
        }

        #[test]
        fn two_halves_make_the_whole(times in proptest::collection::vec(0u64..1_000_000_000_000, 2..200)) {
            let (a, b) = times.split_at(times.len() / 2);
            let mut merged = of(a);
            merged.merge(&of(b));
            prop_assert_eq!(merged.distribution(), of(&times).distribution());
        }
    }

    #[test]
    fn the_interval_of_a_tail_needs_samples() {
        let few = of(&(1..=50).map(|i| i * 1_000_000).collect::<Vec<_>>());
        assert_eq!(few.interval(0.99).1, None);
        let many = of(&(1..=10_000).map(|i| i * 1_000_000).collect::<Vec<_>>());
        let (low, high) = many.interval(0.99);
        assert!(low.unwrap().0 < 9.9 && high.unwrap().0 > 9.9 && high.unwrap().0 < 9.95);
        assert_eq!(of(&[]).distribution(), Distribution::default());
    }
}
