//! Values over time: gauges to look at, counters to take differences of.

use crate::{Millis, Ratio, Seconds};

/// A value at each scrape; `None` where the scrape lacked it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series {
    times: Vec<Millis>,
    values: Vec<Option<f64>>,
}

/// What a counter did over a window.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CounterWindow {
    /// Increase over the window, restarts taken into account.
    pub delta: f64,
    /// How often the counter fell back, i.e. the process restarted.
    pub resets: u32,
    /// Time between the first and the last value.
    pub elapsed: Seconds,
}

impl Series {
    /// A series from times and values of equal length; surplus on either side is dropped.
    pub fn new(times: Vec<Millis>, values: Vec<Option<f64>>) -> Self {
        let n = times.len().min(values.len());
        let mut series = Self { times, values };
        series.times.truncate(n);
        series.values.truncate(n);
        // NaN is how some exporters say "not yet".
        for v in &mut series.values {
            *v = v.filter(|x| x.is_finite());
        }
        series
    }

    /// The scrape times.
    pub fn times(&self) -> &[Millis] {
        &self.times
    }

    /// The value at each scrape.
    pub fn values(&self) -> &[Option<f64>] {
        &self.values
    }

    /// The values that exist, with their scrape's index.
    pub fn known(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.values.iter().enumerate().filter_map(|(i, v)| v.map(|v| (i, v)))
    }

    /// Whether there is no value at all.
    pub fn is_empty(&self) -> bool {
        self.known().next().is_none()
    }

    /// The value at scrape `index`.
    pub fn at(&self, index: usize) -> Option<f64> {
        self.values.get(index).copied().flatten()
    }

    /// The last value that exists.
    pub fn last(&self) -> Option<f64> {
        self.known().last().map(|(_, v)| v)
    }

    /// The largest value.
    pub fn max(&self) -> Option<f64> {
        self.known().map(|(_, v)| v).reduce(f64::max)
    }

    /// Mean over the scrapes in `at`.
    pub fn mean_at(&self, at: &[usize]) -> Option<f64> {
        let values: Vec<f64> = at.iter().filter_map(|&i| self.at(i)).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    /// Largest value over the scrapes in `at` that have one.
    pub fn max_at(&self, at: &[usize]) -> Option<f64> {
        at.iter().filter_map(|&i| self.at(i)).reduce(f64::max)
    }

    /// Share of the scrapes in `at` (those with a value) where `test` holds.
    pub fn share_at(&self, at: &[usize], test: impl Fn(f64) -> bool) -> Option<Ratio> {
        let values: Vec<f64> = at.iter().filter_map(|&i| self.at(i)).collect();
        Ratio::of(values.iter().filter(|v| test(**v)).count() as f64, values.len() as f64)
    }

    /// Reads the series as a counter from its first to its last value.
    ///
    /// A fall is a restart: what the counter shows afterwards is all new.
    pub fn counter(&self) -> Option<CounterWindow> {
        let known: Vec<(usize, f64)> = self.known().collect();
        let (first, last) = (known.first()?, known.last()?);
        let mut window =
            CounterWindow { elapsed: self.times[last.0].since(self.times[first.0]), ..Default::default() };
        for pair in known.windows(2) {
            let step = pair[1].1 - pair[0].1;
            if step < 0.0 {
                window.resets += 1;
                window.delta += pair[1].1;
            } else {
                window.delta += step;
            }
        }
        Some(window)
    }

    /// Adds another series value by value; where only one side has a value, that one counts.
    #[must_use]
    pub fn combine(&self, other: &Self, with: impl Fn(f64, f64) -> f64) -> Self {
        let values = self
            .values
            .iter()
            .zip(&other.values)
            .map(|(a, b)| match (a, b) {
                (Some(a), Some(b)) => Some(with(*a, *b)),
                (a, b) => a.or(*b),
            })
            .collect();
        Self { times: self.times.clone(), values }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn series(values: &[f64]) -> Series {
        let times = (0..values.len() as u64).map(|i| Millis(i * 5000)).collect();
        Series::new(times, values.iter().map(|v| Some(*v)).collect())
    }

    #[test]
    fn a_counter_that_falls_has_restarted() {
        let window = series(&[100.0, 150.0, 20.0, 30.0]).counter().unwrap();
        assert_eq!(window, CounterWindow { delta: 80.0, resets: 1, elapsed: Seconds(15.0) });
    }

    #[test]
    fn not_a_number_is_no_value() {
        let s = series(&[f64::NAN, 2.0, f64::INFINITY, 3.0]);
        assert_eq!(s.known().collect::<Vec<_>>(), vec![(1, 2.0), (3, 3.0)]);
        assert_eq!(s.counter().unwrap().delta, 1.0);
    }

    #[test]
    fn shares_count_only_scrapes_that_have_the_value() {
        let s = Series::new(vec![Millis(0), Millis(1), Millis(2)], vec![Some(1.0), None, Some(3.0)]);
        assert_eq!(s.share_at(&[0, 1, 2], |v| v > 2.0), Some(Ratio(0.5)));
        assert_eq!(s.mean_at(&[0, 1, 2]), Some(2.0));
        assert_eq!(s.share_at(&[1], |_| true), None);
    }

    proptest! {
        #[test]
        fn without_a_restart_the_increase_is_last_minus_first(
            steps in prop::collection::vec(0.0_f64..1e6, 1..50)
        ) {
            let mut total = 0.0;
            let values: Vec<f64> = steps.iter().map(|s| { total += s; total }).collect();
            let window = series(&values).counter().unwrap();
            prop_assert_eq!(window.resets, 0);
            prop_assert!((window.delta - (values[values.len() - 1] - values[0])).abs() < 1e-3);
        }

        #[test]
        fn an_increase_is_never_negative(values in prop::collection::vec(0.0_f64..1e6, 0..50)) {
            if let Some(window) = series(&values).counter() {
                prop_assert!(window.delta >= 0.0);
            }
        }
    }
}
