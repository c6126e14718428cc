//! How long an engine has shown no sign of work.

use intriage_case::{Histogram, Series, Signal};
use intriage_engines::Instance;

use crate::evidence::Evidence;

/// The end of the window in which nothing an engine step would move has moved.
pub(crate) struct Silence {
    /// How long it lasts.
    pub(crate) seconds: f64,
    /// Scrape intervals in it.
    pub(crate) intervals: usize,
    /// Something had moved before it.
    pub(crate) after_work: bool,
    /// Requests in the engine throughout, at the least.
    pub(crate) held: f64,
    /// The longest silence before it.
    pub(crate) earlier: f64,
    /// This engine's part of all behind the address.
    pub(crate) share: f64,
    /// The engine's label, where several stand behind the address.
    pub(crate) engine: Option<String>,
}

impl Silence {
    /// The silence of each engine behind the address that counts its steps as they happen.
    pub(crate) fn each(e: &Evidence<'_>) -> Vec<Self> {
        let instances = e.observed.instances();
        let share = 1.0 / instances.len().max(1) as f64;
        let scopes: Vec<Option<&Instance>> =
            if instances.len() < 2 { vec![None] } else { instances.iter().map(Some).collect() };
        scopes.into_iter().filter_map(|of| Self::of(e, of, share)).collect()
    }

    /// The longest silence with requests in it of any engine behind the address.
    pub(crate) fn longest(e: &Evidence<'_>) -> Option<Self> {
        Self::each(e).into_iter().max_by(|a, b| {
            (a.held > 0.0, a.seconds)
                .partial_cmp(&(b.held > 0.0, b.seconds))
                .unwrap_or(std::cmp::Ordering::Equal)
        })
    }

    fn of(e: &Evidence<'_>, of: Option<&Instance>, share: f64) -> Option<Self> {
        let times = &e.observed.times;
        let last = times.len().checked_sub(1)?;
        let tracks = steps_show_in(e, of)?;
        let moved =
            |i: usize| tracks.iter().any(|t| matches!((t[i - 1], t[i]), (Some(a), Some(b)) if a != b));
        let steps: Vec<usize> = (1..=last).filter(|&i| moved(i)).collect();
        let from = steps.last().copied().unwrap_or(0);
        let gaps = steps.windows(2).map(|w| times[w[1]].since(times[w[0]]).get());
        let gauge = |signal| e.observed.series(signal, of, None);
        let (running, waiting) = (gauge(Signal::RequestsRunning), gauge(Signal::RequestsWaiting));
        let at = |s: &Option<Series>, i| s.as_ref().and_then(|s| s.at(i)).unwrap_or(0.0);
        let held = (from..=last).map(|i| at(&running, i) + at(&waiting, i)).fold(f64::INFINITY, f64::min);
        Some(Self {
            seconds: times[last].since(times[from]).get(),
            intervals: last - from,
            after_work: from > 0,
            held,
            earlier: gaps.fold(0.0, f64::max),
            share,
            engine: of.and_then(|instance| instance.engine.clone()),
        })
    }
}

/// Everything a step moves; `None` where nothing counts steps as they happen: counters that move
/// when a request ends stand still through every long answer.
pub(crate) fn steps_show_in(e: &Evidence<'_>, of: Option<&Instance>) -> Option<Vec<Vec<Option<f64>>>> {
    use Signal::{
        ComputeBusy, KvUsage, LatencyItl, LatencyTtft, RequestsFinished, RequestsRunning, SchedulerSteps,
        TokensGenerated, TokensPerStep, TokensPrompt,
    };
    let mut live = false;
    let mut tracks = Vec::new();
    for signal in [
        SchedulerSteps,
        TokensGenerated,
        TokensPrompt,
        RequestsFinished,
        ComputeBusy,
        RequestsRunning,
        KvUsage,
    ] {
        if let Some(series) = e.observed.series(signal, of, None) {
            live |= signal == SchedulerSteps;
            tracks.push(series.values().to_vec());
        }
    }
    for signal in [TokensPerStep, LatencyItl, LatencyTtft] {
        if let Some(states) = e.observed.histograms(signal, of) {
            live |= signal != LatencyTtft && states.iter().flatten().any(Histogram::has_buckets);
            tracks.push(states.iter().map(|h| h.as_ref().map(Histogram::count)).collect());
        }
    }
    live.then_some(tracks)
}

/// The longest observation in the life of the process, by its bucket.
pub(crate) fn longest_known(e: &Evidence<'_>, signals: &[Signal]) -> f64 {
    let longest = |signal: &Signal| {
        let state = e.observed.histograms(*signal, None)?.into_iter().flatten().next_back()?;
        state.quantile(1.0).map(|b| if b.high.is_finite() { b.high } else { b.low })
    };
    signals.iter().filter_map(longest).fold(0.0, f64::max)
}
