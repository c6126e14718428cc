//! When requests came: counted per scrape interval from what went in, what came out and what is inside.

use intriage_case::{PerSecond, Ratio, Requests, Seconds, Signal};
use intriage_simulate::{Nanos, Random};

use crate::measured::Measured;
use crate::why_not::WhyNot;
use crate::window::Window;

/// How far behind gauges are, in steps: they are set when a step ends, about half a step before a
/// scrape, and count whom the scheduler had seen when that step began.
const GAUGES_LAG_STEPS: f64 = 1.5;

/// More requests than these in one window are no load but a broken counter.
const MOST_REQUESTS: f64 = 200_000.0;

/// Requests that came, and those that were there when the window began.
#[derive(Debug, Clone, PartialEq)]
pub struct Traffic {
    /// Length of the window in seconds.
    window: f64,
    /// From, to (seconds from the window's beginning, the first may be negative) and arrivals.
    intervals: Vec<(f64, f64, u32)>,
    /// Requests that waited when the window began.
    pub waiting: u32,
    /// Requests that ran when the window began.
    pub running: u32,
    /// How long the first of those that waited had waited.
    pub oldest: Seconds,
}

impl Traffic {
    pub(crate) fn read(window: &Window<'_>, measured: &Measured) -> Result<Self, WhyNot> {
        let missing = |signal| WhyNot::Missing(window.observed.why_missing(signal));
        let gauge = |signal| window.series(signal).ok_or_else(|| missing(signal));
        let (running, waiting) = (gauge(Signal::RequestsRunning)?, gauge(Signal::RequestsWaiting)?);
        let firsts: Vec<Option<f64>> = window
            .histograms(Signal::LatencyTtft)
            .ok_or_else(|| missing(Signal::LatencyTtft))?
            .iter()
            .map(|h| h.as_ref().map(intriage_case::Histogram::count))
            .collect();
        let finished = window.series(Signal::RequestsFinished);
        let times = window.times();
        let lag = GAUGES_LAG_STEPS * measured.itl.get();
        let points = arrived_by(&times, &running, &waiting, &firsts, finished.as_deref());
        let first = |series: &[Option<f64>]| series.iter().flatten().next().copied().unwrap_or(0.0).max(0.0);
        let (waiting, running) = (first(&waiting).round() as u32, first(&running).round() as u32);
        // On an idle engine gauges are up to date.
        let lag = if waiting + running == 0 { 0.0 } else { lag };
        let traffic = Self {
            window: measured.window.get(),
            intervals: intervals(&points, lag),
            waiting,
            running,
            oldest: oldest(window, &times, waiting, measured),
        };
        let all = traffic.arrivals().get() + f64::from(waiting) + f64::from(running);
        if all > MOST_REQUESTS {
            return Err(WhyNot::Implausible { what: "such a load", figure: Requests(all).to_string() });
        }
        Ok(traffic)
    }

    /// Requests that came in the window.
    pub fn arrivals(&self) -> Requests {
        Requests(self.intervals.iter().map(|i| f64::from(i.2)).sum())
    }

    /// Arrivals per second over the window.
    pub fn rate(&self) -> PerSecond<Requests> {
        PerSecond(Requests(self.arrivals().get() / self.window.max(1e-3)))
    }

    /// How uneven arrivals are from scrape to scrape: variance over mean of the counts, 1 for Poisson.
    pub fn burstiness(&self) -> Option<Ratio> {
        let rate = self.rate().0.get();
        let n = self.intervals.len();
        if n < 4 || rate <= 0.0 {
            return None;
        }
        let excess = self.intervals.iter().map(|(from, to, count)| {
            let expected = rate * (to - from);
            (f64::from(*count) - expected).powi(2) / expected.max(1e-9)
        });
        Some(Ratio(excess.sum::<f64>() / (n - 1) as f64))
    }

    /// Length of the window.
    pub fn window(&self) -> Seconds {
        Seconds(self.window)
    }

    /// Where the window begins in a replay: late enough for the oldest request to have come before.
    pub(crate) fn begin(&self) -> Nanos {
        let earliest = self.intervals.first().map_or(0.0, |i| (-i.0).max(0.0));
        Nanos::from_seconds(Seconds(self.oldest.get().max(earliest).clamp(0.0, 1e6) + 0.001))
    }

    /// Every arrival of the window and of the backlog, the window beginning at [`Self::begin`].
    pub(crate) fn instants(&self, seed: u64) -> Vec<Nanos> {
        let begin = self.begin().seconds().get();
        let mut random = Random::new(seed, "whatif arrivals");
        let mut all: Vec<f64> = (0..self.waiting)
            .map(|k| -self.oldest.get() * (1.0 - (f64::from(k) + 0.5) / f64::from(self.waiting)))
            .collect();
        self.scatter(1.0, &mut random, |t| all.push(t));
        all.sort_by(f64::total_cmp);
        all.into_iter().map(|t| Nanos::from_seconds(Seconds(begin + t))).collect()
    }

    /// The arrivals of the window over and over, so many times, `factor` as many of them.
    pub(crate) fn repeated(&self, seed: u64, times: u32, factor: f64) -> Vec<Nanos> {
        let mut random = Random::new(seed, "whatif arrivals");
        let mut all = Vec::new();
        for k in 0..times {
            let shift = f64::from(k) * self.window;
            self.scatter(factor, &mut random, |t| all.push((t + shift).max(0.0)));
        }
        all.sort_by(f64::total_cmp);
        all.into_iter().map(|t| Nanos::from_seconds(Seconds(t))).collect()
    }

    /// Arrivals anywhere within their interval: how they lay inside it nobody recorded.
    fn scatter(&self, factor: f64, random: &mut Random, mut put: impl FnMut(f64)) {
        for (from, to, count) in &self.intervals {
            let wanted = f64::from(*count) * factor;
            let more = u32::from(random.chance(wanted.fract()));
            for _ in 0..wanted as u32 + more {
                put(from + (to - from) * random.unit());
            }
        }
    }
}

/// `(time, requests that had come by then)` at each scrape that tells.
///
/// What finished and what is inside came before. Clients that hang up leave without being counted;
/// then first tokens and what waits tell more.
fn arrived_by(
    times: &[f64],
    running: &[Option<f64>],
    waiting: &[Option<f64>],
    firsts: &[Option<f64>],
    finished: Option<&[Option<f64>]>,
) -> Vec<(f64, f64)> {
    let at = |series: &[Option<f64>], i: usize| series.get(i).copied().flatten();
    let by_finished: Vec<(f64, f64, f64)> = (0..times.len())
        .filter_map(|i| {
            let inside = at(running, i)? + at(waiting, i)?;
            let done = at(finished?, i)?;
            let lost = at(firsts, i).map_or(0.0, |f| (f - done - inside).max(0.0));
            Some((times[i], done + inside, lost))
        })
        .collect();
    if let (Some(first), Some(last)) = (by_finished.first(), by_finished.last()) {
        let (came, lost) = (last.1 - first.1, last.2 - first.2);
        if lost <= 0.05 * came.max(1.0) {
            return by_finished.into_iter().map(|(t, n, _)| (t, n)).collect();
        }
    }
    (0..times.len()).filter_map(|i| Some((times[i], at(firsts, i)? + at(waiting, i)?))).collect()
}

/// Whole arrivals between the points. A count that falls back is a gauge that was behind: what came
/// later makes up for it, so that the sum stays right.
fn intervals(points: &[(f64, f64)], lag: f64) -> Vec<(f64, f64, u32)> {
    let Some(&(_, start)) = points.first() else { return Vec::new() };
    let mut counted = 0.0_f64;
    points
        .windows(2)
        .map(|pair| {
            let new = (pair[1].1 - start - counted).round().clamp(0.0, 1e6);
            counted += new;
            (pair[0].0 - lag, pair[1].0 - lag, new as u32)
        })
        .collect()
}

/// How long the head of the queue had waited when the window began.
///
/// The first interval's first tokens are the front of that queue: their mean wait, less the time until
/// they were served, is the age of the middle one of them. Ages fall evenly towards the queue's end.
fn oldest(window: &Window<'_>, times: &[f64], waiting: u32, measured: &Measured) -> Seconds {
    if waiting == 0 {
        return Seconds(0.0);
    }
    let queue = f64::from(waiting);
    let little = queue * measured.window.get() / measured.first_tokens.get().max(1.0);
    let seen = || {
        let states = window.histograms(Signal::LatencyTtft)?;
        let (first, next) = (
            states.first()?.as_ref()?,
            states.iter().position(|h| {
                h.as_ref().zip(states[0].as_ref()).is_some_and(|(h, f)| h.count() > f.count())
            })?,
        );
        let served = states[next].as_ref()?.since(first).0;
        let age = served.mean()? - times.get(next)? / 2.0 - measured.prefill.map_or(0.0, Seconds::get);
        let middle = (served.count() / 2.0).min(0.5 * queue);
        Some((age / (1.0 - middle / queue)).max(0.0))
    };
    Seconds(seen().unwrap_or(little).min(1e5))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(values: &[f64]) -> Vec<Option<f64>> {
        values.iter().copied().map(Some).collect()
    }

    #[test]
    fn what_went_in_is_what_came_out_and_what_is_inside() {
        let times = [0.0, 2.0, 4.0];
        let (running, waiting) = (all(&[4.0, 4.0, 4.0]), all(&[0.0, 5.0, 12.0]));
        let (firsts, finished) = (all(&[4.0, 10.0, 16.0]), all(&[0.0, 6.0, 12.0]));
        let points = arrived_by(&times, &running, &waiting, &firsts, Some(&finished));
        assert_eq!(points, vec![(0.0, 4.0), (2.0, 15.0), (4.0, 28.0)]);
        assert_eq!(intervals(&points, 0.5), vec![(-0.5, 1.5, 11), (1.5, 3.5, 13)]);
    }

    #[test]
    fn clients_that_hang_up_are_found_by_their_first_tokens() {
        let times = [0.0, 2.0];
        let (running, waiting) = (all(&[4.0, 4.0]), all(&[0.0, 0.0]));
        // Thirty got a first token, ten finished, four run: sixteen are gone without a trace.
        let (firsts, finished) = (all(&[4.0, 34.0]), all(&[0.0, 10.0]));
        let points = arrived_by(&times, &running, &waiting, &firsts, Some(&finished));
        assert_eq!(points, vec![(0.0, 4.0), (2.0, 34.0)]);
    }

    #[test]
    fn a_gauge_that_was_behind_does_not_add_arrivals() {
        let points = [(0.0, 0.0), (1.0, 10.0), (2.0, 8.0), (3.0, 20.0)];
        let counts: Vec<u32> = intervals(&points, 0.0).iter().map(|i| i.2).collect();
        assert_eq!(counts, vec![10, 0, 10]);
    }

    #[test]
    fn a_crowd_every_now_and_then_is_burstier_than_a_steady_stream() {
        let of = |counts: [u32; 6]| {
            let intervals =
                counts.into_iter().zip(0_u32..).map(|(n, i)| (f64::from(i), f64::from(i) + 1.0, n));
            let intervals = intervals.collect();
            Traffic { window: 6.0, intervals, waiting: 0, running: 0, oldest: Seconds(0.0) }.burstiness()
        };
        assert_eq!(of([10, 10, 10, 10, 10, 10]), Some(Ratio(0.0)));
        assert!(of([0, 0, 60, 0, 0, 0]) > Some(Ratio(10.0)));
    }

    #[test]
    fn a_replay_has_every_arrival_in_its_interval() {
        let traffic = Traffic {
            window: 4.0,
            intervals: vec![(-0.5, 1.5, 11), (1.5, 3.5, 13)],
            waiting: 3,
            running: 0,
            oldest: Seconds(9.0),
        };
        let begin = traffic.begin().seconds().get();
        let times: Vec<f64> = traffic.instants(1).iter().map(|t| t.seconds().get() - begin).collect();
        assert_eq!(times.len(), 27);
        assert_eq!(times.iter().filter(|t| **t > 1.5).count(), 13);
        assert!((times[0] + 7.5).abs() < 1e-6, "the oldest third of nine seconds: {}", times[0]);
        assert_eq!(traffic.instants(1), traffic.instants(1));
        assert_ne!(traffic.instants(1), traffic.instants(2));
        let doubled = traffic.repeated(1, 10, 2.0);
        assert_eq!(doubled.len(), 480);
        assert!(doubled.windows(2).all(|w| w[0] <= w[1]));
        assert_eq!(traffic.rate().0.get(), 6.0);
        assert_eq!(traffic.burstiness(), None, "two intervals tell nothing");
    }
}
