//! The window in two halves: did demand change, and did the answers?

use intriage_case::{Histogram, Signal};

use crate::causes::queueing::arrivals;
use crate::evidence::Evidence;
use crate::thresholds::Limit;

/// The steady part of the window, cut in the middle.
pub(super) struct Halves {
    /// Intervals by the scrape they end at.
    first: Vec<usize>,
    second: Vec<usize>,
}

/// A mean in either half.
pub(super) struct Change {
    pub(super) before: f64,
    pub(super) after: f64,
    /// What chance explains of their difference: one standard error.
    pub(super) noise: f64,
}

impl Change {
    /// Relative growth.
    pub(super) fn growth(&self) -> f64 {
        if self.before > 0.0 { self.after / self.before - 1.0 } else { 0.0 }
    }

    /// It grew by more than a fourth, and by more than chance explains.
    pub(super) fn grew(&self, e: &Evidence<'_>) -> bool {
        self.growth() > e.limit(Limit::Shift)
            && self.after - self.before > e.limit(Limit::BurstNoise) * self.noise
    }
}

impl Halves {
    /// The halves; `None` where the steady part is too short to cut.
    pub(super) fn of(e: &Evidence<'_>) -> Option<Self> {
        let times = &e.observed.times;
        let (&start, &end) = (e.busy().first()?, e.busy().last()?);
        // Short answers end first: while a load settles in, what has finished is not what was asked for.
        let settle = if start > 0 { 2.0 * e.mean(Signal::LatencyE2e).unwrap_or(0.0) } else { 0.0 };
        let from = (start..=end).find(|&i| times[i].since(times[start]).get() >= settle)?;
        let half = times[end].since(times[from]).get() / 2.0;
        let (first, second): (Vec<usize>, Vec<usize>) =
            (from + 1..=end).partition(|&i| times[i].since(times[from]).get() <= half);
        (!first.is_empty() && !second.is_empty()).then_some(Self { first, second })
    }

    /// A histogram's mean in either half; `None` where either has too few observations.
    pub(super) fn of_histogram(&self, e: &Evidence<'_>, signal: Signal) -> Option<Change> {
        let gained = |half: &[usize]| {
            let histogram = e.histogram_where(signal, |i| half.contains(&i))?;
            (histogram.count() >= e.limit(Limit::MeanSample)).then_some(histogram)
        };
        let (first, second) = (gained(&self.first)?, gained(&self.second)?);
        let noise = (error_squared(&first)? + error_squared(&second)?).sqrt();
        Some(Change { before: first.mean()?, after: second.mean()?, noise })
    }

    /// Requests a second that arrived in either half.
    pub(super) fn of_arrivals(&self, e: &Evidence<'_>) -> Option<Change> {
        let arrivals = arrivals(e)?;
        self.rate(e, &|i| arrivals.get(i).copied().unwrap_or(0.0))
    }

    /// Requests a second that finished in either half.
    pub(super) fn of_completions(&self, e: &Evidence<'_>) -> Option<Change> {
        let finished = e.observed.series(Signal::RequestsFinished, None, None)?;
        self.rate(e, &|i| finished.at(i).zip(finished.at(i - 1)).map_or(0.0, |(b, a)| (b - a).max(0.0)))
    }

    fn rate(&self, e: &Evidence<'_>, count: &dyn Fn(usize) -> f64) -> Option<Change> {
        let times = &e.observed.times;
        let of = |half: &[usize]| {
            let n: f64 = half.iter().map(|&i| count(i)).sum();
            let long: f64 = half.iter().map(|&i| times[i].since(times[i - 1]).get()).sum();
            (long > 0.0).then_some((n, long))
        };
        let ((n, long), (m, longer)) = (of(&self.first)?, of(&self.second)?);
        // Counts of independent arrivals vary by their square root.
        let noise = (n.max(1.0) / long.powi(2) + m.max(1.0) / longer.powi(2)).sqrt();
        Some(Change { before: n / long, after: m / longer, noise })
    }
}

/// The square of the mean's standard error, by the middles of the buckets.
fn error_squared(histogram: &Histogram) -> Option<f64> {
    let (mean, count) = (histogram.mean()?, histogram.count());
    if !histogram.has_buckets() {
        return None;
    }
    let spread: f64 = histogram
        .buckets()
        .filter(|(_, _, n)| *n > 0.0)
        .map(|(low, high, n)| {
            let middle = if high.is_finite() { f64::midpoint(low, high) } else { low };
            n * (middle - mean).powi(2)
        })
        .sum();
    Some(spread / count.powi(2))
}
