//! How often verdicts of a stated weight are right: what confidence means.

/// Weight of the evidence, and the share of verdicts of that weight that were right.
///
/// Fitted on 2,000 simulated draws (seed 962070, after its first look: 96 % right from 0.55 on) and kept lower because first
/// looks at real engines were less kind: below 0.75 right were 5 of 7 on an H200 (seed 1794851128) and 3 of 4 on a CPU (seed
/// 1794864202), above it 9 of 9 and 10 of 11. Of the least weight that names a cause, 0.4, right were 37 of 77 over the first looks
/// at five batches of simulated draws (SCOREBOARD.md).
const RIGHT: [(f64, f64); 8] =
    [(0.0, 0.3), (0.4, 0.5), (0.5, 0.82), (0.6, 0.89), (0.7, 0.9), (0.82, 0.93), (0.88, 0.95), (1.0, 0.96)];

/// The share of verdicts with this weight of evidence that are right, 0 to 1, rounded to a percent.
pub(crate) fn calibrated(weight: f64) -> f64 {
    let after = RIGHT.iter().position(|(w, _)| *w >= weight).unwrap_or(RIGHT.len() - 1);
    let (high, low) = (RIGHT[after], RIGHT[after.saturating_sub(1)]);
    let width = high.0 - low.0;
    let part = if width > 0.0 { ((weight - low.0) / width).clamp(0.0, 1.0) } else { 1.0 };
    ((low.1 + part * (high.1 - low.1)) * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_weight_is_never_less_sure() {
        let all: Vec<f64> = (0..=100).map(|i| calibrated(f64::from(i) / 100.0)).collect();
        assert!(all.windows(2).all(|w| w[0] <= w[1]), "{all:?}");
        assert!(all.iter().all(|c| (0.3..=0.96).contains(c)), "{all:?}");
    }

    #[test]
    fn the_fitted_points_are_met() {
        for (weight, right) in RIGHT {
            assert_eq!(calibrated(weight), right);
        }
        assert_eq!(calibrated(0.76), 0.92);
    }
}
