//! Lengths as a histogram shows them, with its exact mean.

use intriage_case::Histogram;
use intriage_simulate::Lengths;
use intriage_simulate::workload::LengthRange;

/// The lengths in a histogram; `None` where it is empty. None is longer than `longest` tokens.
///
/// Every bucket is narrowed towards the same end of itself until the mean of the whole is the exact
/// one. Where one bucket holds all, the mean is all that is known.
pub(crate) fn lengths(histogram: &Histogram, longest: u32) -> Option<Lengths> {
    let mean = histogram.mean()?.clamp(1.0, f64::from(longest.max(1)));
    let most = f64::from(longest.max(1)).max(mean);
    // The last bucket has no upper end: nothing in it is longer than the window.
    let buckets: Vec<(f64, f64, f64)> = histogram
        .buckets()
        .filter(|b| b.2 > 0.0)
        .map(|(low, high, n)| {
            let high = if high.is_finite() { high.min(most) } else { most.min(low * 2.0).max(low) };
            (low.min(high), high, n)
        })
        .collect();
    let fixed = Lengths::Fixed(mean.round() as u32);
    if buckets.len() < 2 {
        return Some(fixed);
    }
    // Against the heaviest: counts as large as a float allows would add up to infinity.
    let heaviest = buckets.iter().map(|b| b.2).fold(0.0, f64::max);
    let buckets: Vec<_> = buckets.into_iter().map(|(low, high, n)| (low, high, n / heaviest)).collect();
    let total: f64 = buckets.iter().map(|b| b.2).sum();
    let of = |end: fn(&(f64, f64, f64)) -> f64| buckets.iter().map(|b| end(b) * b.2).sum::<f64>() / total;
    let (least, greatest) = (of(|b| b.0), of(|b| b.1));
    if greatest <= least {
        return Some(fixed);
    }
    let place = ((mean - least) / (greatest - least)).clamp(0.0, 1.0);
    let ranges = buckets.iter().map(|&(low, high, weight)| {
        let width = high - low;
        let (from, to) = if place < 0.5 {
            (low, low + 2.0 * place * width)
        } else {
            (high - 2.0 * (1.0 - place) * width, high)
        };
        LengthRange { from: from.round() as u32, to: to.round() as u32, weight }
    });
    Some(Lengths::Ranges(ranges.collect()))
}

/// The same lengths made shorter or longer by a factor.
pub(crate) fn scaled(lengths: &Lengths, factor: f64) -> Lengths {
    let scale = |n: u32| (f64::from(n) * factor).round().max(1.0) as u32;
    match lengths {
        Lengths::Ranges(ranges) => Lengths::Ranges(
            ranges.iter().map(|r| LengthRange { from: scale(r.from), to: scale(r.to), ..*r }).collect(),
        ),
        Lengths::Uniform(a, b) => Lengths::Uniform(scale(*a), scale(*b)),
        other => Lengths::Fixed(scale(other.mean().get().round() as u32)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    fn of_values(values: &[f64]) -> Histogram {
        let bounds = [10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, f64::INFINITY];
        let buckets = bounds.iter().map(|b| (*b, values.iter().filter(|v| *v <= b).count() as f64)).collect();
        Histogram::new(buckets, values.iter().sum(), values.len() as f64)
    }

    #[test]
    fn requests_of_one_length_have_that_length() {
        assert_eq!(lengths(&of_values(&[542.0; 30]), 8192), Some(Lengths::Fixed(542)));
        assert_eq!(lengths(&of_values(&[]), 8192), None);
    }

    #[test]
    fn counts_beyond_all_reason_have_a_mean() {
        let buckets = vec![(-1.26e306, 7.86e280), (2.6e59, 1.33e305)];
        let found = lengths(&Histogram::new(buckets, 0.0, 5.09e130), 2699).unwrap();
        assert!(found.mean().get().is_finite(), "{found:?}");
    }

    #[test]
    fn a_factor_scales_the_mean() {
        let drawn = lengths(&of_values(&[30.0, 80.0, 150.0, 400.0]), 8192).unwrap();
        assert!((scaled(&drawn, 0.5).mean().get() - drawn.mean().get() / 2.0).abs() < 1.0);
    }

    proptest! {
        #[test]
        fn the_mean_is_the_measured_one(values in prop::collection::vec(1_u32..2000, 2..200)) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let drawn = lengths(&of_values(&values), 4096).unwrap().mean().get();
            prop_assert!((drawn - mean).abs() <= 1.0, "{drawn} instead of {mean}");
        }

        #[test]
        fn nonsense_gives_lengths_or_none(
            buckets in prop::collection::vec((any::<f64>(), any::<f64>()), 0..8), sum: f64, count: f64, longest: u32
        ) {
            if let Some(found) = lengths(&Histogram::new(buckets, sum, count), longest) {
                prop_assert!(found.mean().get().is_finite());
            }
        }
    }
}
