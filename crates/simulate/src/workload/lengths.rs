//! How long prompts and answers are.

use intriage_case::{Ratio, Tokens};

use crate::random::Random;

/// A distribution of lengths in tokens.
#[derive(Debug, Clone, PartialEq)]
pub enum Lengths {
    /// Always the same.
    Fixed(u32),
    /// Any length from the first to the second, both included.
    Uniform(u32, u32),
    /// Around a mean, as often above as below. What would be shorter than one token is drawn again, and so
    /// is what would be as far above: the mean stays, at the price of a narrower spread.
    Normal {
        /// The mean.
        mean: Tokens,
        /// The standard deviation.
        deviation: Tokens,
    },
    /// Many short, few long.
    LogNormal {
        /// The mean.
        mean: Tokens,
        /// Coefficient of variation.
        variation: Ratio,
        /// None is longer.
        most: u32,
    },
    /// As seen in a histogram: ranges with their weights, even within each.
    Ranges(Vec<LengthRange>),
}

/// One range of lengths and how often it occurs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LengthRange {
    /// Shortest, in tokens.
    pub from: u32,
    /// Longest, in tokens.
    pub to: u32,
    /// How often, against the other ranges.
    pub weight: f64,
}

/// Draws of a normal length before the mean is taken instead.
const TRIES: usize = 64;

impl Lengths {
    /// Any length within a share of `length` to both sides, as `--random-range-ratio` of vLLM has meant since
    /// July 2026; the mean is `length`.
    pub fn around(length: u32, share: Ratio) -> Self {
        let length = length.max(1);
        // A cast from f64 takes not-a-number as zero.
        let away = ((f64::from(length) * share.0.clamp(0.0, 1.0)).ceil() as u32).min(length - 1);
        Self::Uniform(length - away, length.saturating_add(away))
    }

    /// Draws a length; at least one token.
    pub fn draw(&self, random: &mut Random) -> u32 {
        let between = |a: u32, b: u32, random: &mut Random| {
            let (low, high) = (a.min(b), a.max(b));
            low + random.below(u64::from(high - low) + 1) as u32
        };
        let length = match self {
            Self::Fixed(n) => *n,
            Self::Uniform(a, b) => between(*a, *b, random),
            Self::Normal { mean, deviation } => {
                let draws = (0..TRIES).map(|_| deviation.0.mul_add(random.normal(), mean.0).round());
                let most = (2.0 * mean.0).round() - 1.0;
                let fits = |drawn: &f64| *drawn >= 1.0 && *drawn <= most;
                draws.into_iter().find(fits).unwrap_or(mean.0) as u32
            }
            Self::LogNormal { mean, variation, most } => {
                ((mean.0 * random.lognormal(variation.0)).round() as u32).min(*most)
            }
            Self::Ranges(ranges) => {
                let total: f64 = ranges.iter().map(|r| r.weight).sum();
                let mut left = random.unit() * total;
                let found = ranges.iter().find(|r| {
                    left -= r.weight;
                    left < 0.0
                });
                found.or(ranges.last()).map_or(1, |r| between(r.from, r.to, random))
            }
        };
        length.max(1)
    }

    /// The mean length, before the cut at the longest.
    pub fn mean(&self) -> Tokens {
        match self {
            Self::Fixed(n) => Tokens(f64::from(*n)),
            Self::Uniform(a, b) => Tokens(f64::midpoint(f64::from(*a), f64::from(*b))),
            Self::Normal { mean, .. } | Self::LogNormal { mean, .. } => *mean,
            Self::Ranges(ranges) => {
                let total: f64 = ranges.iter().map(|r| r.weight).sum();
                let sum: f64 =
                    ranges.iter().map(|r| r.weight * f64::midpoint(f64::from(r.from), f64::from(r.to))).sum();
                Tokens(if total > 0.0 { sum / total } else { 1.0 })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_drawn_mean_is_the_promised_one() {
        let ranges = vec![
            LengthRange { from: 10, to: 20, weight: 3.0 },
            LengthRange { from: 100, to: 300, weight: 1.0 },
        ];
        for lengths in [
            Lengths::Fixed(7),
            Lengths::Uniform(5, 15),
            Lengths::around(1000, Ratio(0.8)),
            Lengths::Normal { mean: Tokens(100.0), deviation: Tokens(20.0) },
            Lengths::Normal { mean: Tokens(100.0), deviation: Tokens(400.0) },
            Lengths::LogNormal { mean: Tokens(200.0), variation: Ratio(0.6), most: 100_000 },
            Lengths::Ranges(ranges),
        ] {
            let mut random = Random::new(3, "lengths");
            let drawn: f64 =
                (0..40_000).map(|_| f64::from(lengths.draw(&mut random))).sum::<f64>() / 40_000.0;
            let mean = lengths.mean().0;
            assert!((drawn / mean - 1.0).abs() < 0.03, "{lengths:?}: {drawn} instead of {mean}");
        }
    }

    #[test]
    fn a_range_reaches_as_far_down_as_up() {
        assert_eq!(Lengths::around(1000, Ratio(0.0)), Lengths::Uniform(1000, 1000));
        assert_eq!(Lengths::around(1000, Ratio(0.25)), Lengths::Uniform(750, 1250));
        assert_eq!(Lengths::around(10, Ratio(1.0)), Lengths::Uniform(1, 19), "none is empty");
        assert_eq!(Lengths::around(10, Ratio(f64::NAN)), Lengths::Uniform(10, 10));
    }

    proptest! {
        #[test]
        fn nonsense_still_gives_a_length(a in any::<u32>(), b in any::<u32>(), mean in any::<f64>(), cv in any::<f64>()) {
            let mut random = Random::new(1, "x");
            let log = Lengths::LogNormal { mean: Tokens(mean), variation: Ratio(cv), most: 50 };
            prop_assert!((1..=50).contains(&log.draw(&mut random)));
            let normal = Lengths::Normal { mean: Tokens(mean), deviation: Tokens(cv) };
            prop_assert!(normal.draw(&mut random) >= 1);
            prop_assert!(Lengths::around(a, Ratio(cv)).draw(&mut random) >= 1);
            prop_assert!(Lengths::Uniform(a, b).draw(&mut random) >= 1);
            prop_assert_eq!(Lengths::Ranges(Vec::new()).draw(&mut random), 1);
        }
    }
}
