//! What counters and histograms gained from scrape to scrape.

use intriage_case::{Histogram, Signal};
use intriage_engines::{Observed, TrackData};

/// What a counter or histogram gained up to each scrape since the one before.
#[derive(Default)]
pub(super) struct Gains(Vec<Option<Gain>>);

#[derive(Clone, Copy, Default)]
struct Gain {
    count: f64,
    sum: f64,
    fell: bool,
}

impl Gains {
    /// Sum and count of a histogram, engine by engine: one that restarts does not hide what another did.
    pub(super) fn of_histogram(observed: &Observed, signal: Signal) -> Self {
        let mut gains = Self::default();
        for track in observed.tracks(signal) {
            let TrackData::Histograms(states) = &track.data else { continue };
            gains.add(states.iter().map(|state| state.as_ref().map(totals)));
        }
        gains
    }

    /// A counter, of the keys that are wanted.
    pub(super) fn of_counter(
        observed: &Observed,
        signal: Signal,
        wanted: impl Fn(Option<&str>) -> bool,
    ) -> Self {
        let mut gains = Self::default();
        for track in observed.tracks(signal).filter(|track| wanted(track.key.as_deref())) {
            let TrackData::Values(series) = &track.data else { continue };
            gains.add(series.values().iter().map(|value| value.map(|v| (v, 0.0))));
        }
        gains
    }

    /// Adds what one engine's counter gained. A fall is a restart: what it shows afterwards is all new.
    fn add(&mut self, states: impl Iterator<Item = Option<(f64, f64)>>) {
        let mut before: Option<(f64, f64)> = None;
        for (i, now) in states.enumerate() {
            if i == self.0.len() {
                self.0.push(None);
            }
            if let (Some(then), Some(now)) = (before, now) {
                let fell = now.0 < then.0;
                let base = if fell { (0.0, 0.0) } else { then };
                let gain = self.0[i].get_or_insert_default();
                gain.count += now.0 - base.0;
                gain.sum += now.1 - base.1;
                gain.fell |= fell;
            }
            before = now;
        }
    }

    fn at(&self, index: usize) -> Option<Gain> {
        self.0.get(index).copied().flatten()
    }

    pub(super) fn count(&self, index: usize) -> Option<f64> {
        self.at(index).map(|gain| gain.count).filter(|n| n.is_finite())
    }

    pub(super) fn mean(&self, index: usize) -> Option<f64> {
        let gain = self.at(index).filter(|gain| gain.count > 0.0)?;
        Some(gain.sum / gain.count).filter(|mean| mean.is_finite() && *mean >= 0.0)
    }

    pub(super) fn fell(&self, index: usize) -> bool {
        self.at(index).is_some_and(|gain| gain.fell)
    }
}

fn totals(histogram: &Histogram) -> (f64, f64) {
    (histogram.count(), histogram.sum())
}

/// Grouped statuses (`4xx`) count as their first (400).
pub(super) fn failures(observed: &Observed) -> Gains {
    if observed.metric(Signal::HttpResponses).is_none() {
        return Gains::of_counter(observed, Signal::RequestsErrors, |_| true);
    }
    let is_failure = |key: &str| key.replace('x', "0").parse::<u16>().is_ok_and(|status| status >= 400);
    let mut failed = Gains::of_counter(observed, Signal::HttpResponses, |key| key.is_some_and(is_failure));
    if failed.0.is_empty() {
        // Answers are counted and none of them has failed: there is no counter of failures before the first.
        let all = Gains::of_counter(observed, Signal::HttpResponses, |_| true);
        failed = Gains(all.0.into_iter().map(|gain| gain.map(|_| Gain::default())).collect());
    }
    failed
}
