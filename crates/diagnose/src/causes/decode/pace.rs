//! The pace of tokens: what is wanted of it, and what it follows.

use intriage_case::{ObjectiveMetric, Ratio, Seconds, Signal};
use intriage_engines::Setting;

use crate::causes::shared::unknown;
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::thresholds::Limit;
use crate::weighing::Test;

const PACE: [ObjectiveMetric; 2] = [ObjectiveMetric::Itl, ObjectiveMetric::Tpot];

/// The tightest objective on the pace of tokens.
pub(super) fn stated_pace(e: &Evidence<'_>) -> Option<Seconds> {
    PACE.into_iter().filter_map(|m| e.objective(m)).reduce(|a, b| if a < b { a } else { b })
}

/// The tightest objective on the pace of tokens; without one, what the card's own floor allows.
pub(super) fn pace_limit(e: &Evidence<'_>) -> Option<Seconds> {
    stated_pace(e).or_else(|| {
        let floor = e.floor.as_ref().ok()?;
        Some(Seconds(floor.decode * e.limit(Limit::TokenOverFloor)))
    })
}

/// Running requests are thrown back often enough to tear gaps into their streams.
pub(super) fn thrown_back(e: &Evidence<'_>) -> Test {
    let Some(preempted) = e.delta(Signal::RequestsPreempted) else {
        return unknown(e, Signal::RequestsPreempted);
    };
    let per_minute = preempted / (e.elapsed().get().max(1.0) / 60.0);
    let says = format!("{per_minute:.1} requests a minute are thrown back and recomputed");
    Test::when(
        per_minute >= e.limit(Limit::PreemptionsPerMinute),
        e.fact(Signal::RequestsPreempted, says, preempted),
    )
}

/// What `seconds` more on every token cost a request.
pub(in crate::causes) fn pace_impact(e: &Evidence<'_>, seconds: f64) -> Impact {
    let tokens = match (e.account.decode, e.account.itl) {
        (Some(decode), Some(itl)) if itl > 0.0 => decode / itl,
        _ => e.mean(Signal::TokensOutputEach).unwrap_or(0.0),
    };
    let time = seconds.max(0.0) * tokens;
    let share = e.account.share_of_life(time);
    let says = format!("{} on every token, {share} of a request's life", Seconds(seconds.max(0.0)));
    Impact { on: ImpactOn::Tpot, share, time: Some(Seconds(time)), says }
}

/// A straight line through the gap between tokens over some measure of load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fit {
    /// Gap without load, in seconds.
    pub(super) intercept: f64,
    /// Seconds per unit of load.
    pub(super) slope: f64,
    /// r squared.
    pub(super) quality: f64,
    /// Largest load seen.
    pub(super) most: f64,
}

impl Fit {
    /// The gap at this load.
    pub(super) fn at(&self, load: f64) -> f64 {
        self.intercept + self.slope * load
    }

    /// Whether the gap rises with the load; `None` where it does so only loosely.
    pub(super) fn follows(&self, e: &Evidence<'_>) -> Option<bool> {
        let wanted = e.limit(Limit::FitQuality);
        let clear = self.quality >= wanted || self.quality < wanted / 2.0 || self.slope <= 0.0;
        clear.then_some(self.slope > 0.0 && self.quality >= wanted)
    }
}

/// Fits the mean gap of each interval between scrapes to the load in it, or says why it cannot be done.
pub(super) fn fit_gaps(
    e: &Evidence<'_>,
    load: impl Fn(usize) -> Option<f64>,
    name: &str,
) -> Result<Fit, String> {
    let points: Vec<(f64, f64)> =
        gaps(e).into_iter().filter_map(|(i, gap)| Some((between(&load, i)?, gap))).collect();
    let least = e.limit(Limit::FitPoints);
    if (points.len() as f64) < least {
        return Err(format!(
            "only {} intervals between scrapes show both {name} and gaps between tokens; {least:.0} are needed",
            points.len()
        ));
    }
    let spread = spread(points.iter().map(|p| p.0));
    if spread < e.limit(Limit::FitSpread) {
        return Err(format!(
            "{name} hardly changed in the window, so whether the pace follows it cannot be seen: watch longer or vary the load"
        ));
    }
    line(&points).ok_or_else(|| format!("no line fits {name} and the gaps between tokens"))
}

/// Whether two measures of load rise and fall together, so that their effects cannot be told apart.
pub(super) fn move_together(
    e: &Evidence<'_>,
    a: impl Fn(usize) -> Option<f64>,
    b: impl Fn(usize) -> Option<f64>,
) -> bool {
    let points: Vec<(f64, f64)> =
        gaps(e).into_iter().filter_map(|(i, _)| Some((between(&a, i)?, between(&b, i)?))).collect();
    let varies = spread(points.iter().map(|p| p.0)) >= e.limit(Limit::FitSpread);
    varies && line(&points).is_some_and(|l| l.quality >= e.limit(Limit::FitQuality))
}

/// Requests in the batch at a scrape.
pub(super) fn running(e: &Evidence<'_>) -> impl Fn(usize) -> Option<f64> {
    let series = e.gauge(Signal::RequestsRunning);
    move |i| series.as_ref()?.at(i)
}

/// Tokens in the KV pool at a scrape.
pub(super) fn live_tokens(e: &Evidence<'_>) -> impl Fn(usize) -> Option<f64> {
    let (series, capacity) = (e.gauge(Signal::KvUsage), e.setting(Setting::KvCapacity));
    move |i| Some(series.as_ref()?.at(i)? * capacity?)
}

/// `(scrape that ends it, mean gap)` of every interval in which tokens came.
fn gaps(e: &Evidence<'_>) -> Vec<(usize, f64)> {
    let Some(states) = e.observed.histograms(Signal::LatencyItl, e.scope()) else { return Vec::new() };
    let of = |i: usize| states[i].as_ref()?.since(states[i - 1].as_ref()?).0.mean();
    (1..states.len()).filter_map(|i| Some((i, of(i)?))).collect()
}

/// A gauge over the interval that ends at scrape `i`.
fn between(load: &impl Fn(usize) -> Option<f64>, i: usize) -> Option<f64> {
    Some(f64::midpoint(load(i - 1)?, load(i)?))
}

/// Range over mean.
fn spread(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    let (low, high) = values.iter().fold((f64::INFINITY, 0.0_f64), |(l, h), v| (l.min(*v), h.max(*v)));
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    Ratio::of(high - low, mean).map_or(0.0, Ratio::get)
}

/// Least squares; `None` where either side stands still.
fn line(points: &[(f64, f64)]) -> Option<Fit> {
    let n = points.len() as f64;
    let (mx, my) = (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
    let sum = |f: fn(f64, f64) -> f64| points.iter().map(|p| f(p.0 - mx, p.1 - my)).sum::<f64>();
    let (xx, xy, yy) = (sum(|x, _| x * x), sum(|x, y| x * y), sum(|_, y| y * y));
    let slope = xy / xx;
    let quality = xy * xy / (xx * yy);
    let most = points.iter().map(|p| p.0).fold(0.0, f64::max);
    (slope.is_finite() && quality.is_finite()).then_some(Fit {
        intercept: my - slope * mx,
        slope,
        quality,
        most,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_again_and_noise_is_not_a_line() {
        let fit = line(&[(1.0, 3.0), (2.0, 5.0), (3.0, 7.0)]).unwrap();
        assert!((fit.at(4.0) - 9.0).abs() < 1e-9 && fit.quality > 0.999, "{fit:?}");
        assert!(line(&[(1.0, 3.0), (2.0, 1.0), (3.0, 3.0)]).unwrap().quality < 0.1);
        assert_eq!(line(&[(1.0, 3.0), (1.0, 5.0)]), None);
        assert_eq!(line(&[]), None);
    }
}
