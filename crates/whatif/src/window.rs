//! The part of a case that is replayed: counters, histograms and gauges from one scrape to the last.

use intriage_case::{Histogram, Seconds, Series, Signal};
use intriage_engines::Observed;

use crate::why_not::WhyNot;

/// Output tokens of the longest stretch that is replayed: more costs time and tells little.
const MOST_TOKENS: f64 = 100_000.0;

/// The scrapes from `from` on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window<'a> {
    pub(crate) observed: &'a Observed,
    from: usize,
}

impl<'a> Window<'a> {
    /// The latest stretch of a case that can be replayed in reasonable time.
    pub(crate) fn new(observed: &'a Observed) -> Self {
        let mut window = Self { observed, from: 0 };
        if let Some(tokens) = observed.series(Signal::TokensGenerated, None, None)
            && let Some(last) = tokens.last()
        {
            let late = |(i, v): (usize, f64)| (last - v <= MOST_TOKENS).then_some(i);
            window.from = tokens.known().find_map(late).unwrap_or(0);
        }
        // Two scrapes are the least there must be.
        window.from = window.from.min(observed.times.len().saturating_sub(2));
        window
    }

    /// Seconds from the window's beginning to each of its scrapes.
    pub(crate) fn times(&self) -> Vec<f64> {
        let times = &self.observed.times[self.from.min(self.observed.times.len())..];
        times.iter().map(|t| t.since(times[0]).get()).collect()
    }

    /// First to last scrape.
    pub(crate) fn length(&self) -> Seconds {
        Seconds(self.times().last().copied().unwrap_or(0.0))
    }

    /// A counter or gauge at each scrape.
    pub(crate) fn series(&self, signal: Signal) -> Option<Vec<Option<f64>>> {
        let series = self.observed.series(signal, None, None)?;
        let values = series.values().get(self.from..)?.to_vec();
        values.iter().any(Option::is_some).then_some(values)
    }

    /// A histogram at each scrape.
    pub(crate) fn histograms(&self, signal: Signal) -> Option<Vec<Option<Histogram>>> {
        Some(self.observed.histograms(signal, None)?.get(self.from..)?.to_vec())
    }

    /// Increase of a counter.
    pub(crate) fn delta(&self, signal: Signal) -> Option<f64> {
        let values = self.series(signal)?;
        let times = self.observed.times.get(self.from..)?.to_vec();
        Some(Series::new(times, values).counter()?.delta)
    }

    /// What a histogram gained.
    pub(crate) fn gained(&self, signal: Signal) -> Option<Histogram> {
        let states: Vec<Histogram> = self.histograms(signal)?.into_iter().flatten().collect();
        let (first, last) = (states.first()?, states.last()?);
        (states.len() > 1).then(|| last.since(first).0)
    }

    /// Exact mean of a histogram.
    pub(crate) fn mean(&self, signal: Signal) -> Option<f64> {
        self.gained(signal)?.mean()
    }

    /// That there is one engine whose counters only rise.
    pub(crate) fn is_whole(&self) -> Result<(), WhyNot> {
        let engines = self.observed.instances().len();
        if engines > 1 {
            return Err(WhyNot::Several(engines));
        }
        let fell = |signal| {
            self.observed.series(signal, None, None).and_then(|s| s.counter()).is_some_and(|c| c.resets > 0)
        };
        if [Signal::TokensGenerated, Signal::TokensPrompt, Signal::RequestsFinished].into_iter().any(fell) {
            return Err(WhyNot::Restarted);
        }
        Ok(())
    }
}
