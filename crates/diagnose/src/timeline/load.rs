//! What the load did: when it began and ended, whether it changed, and what came at once.

use intriage_case::{Millis, PerSecond, Requests};

use super::burst::Burst;
use super::change_points::{Shape, change_points};
use super::events::{Event, EventKind, clock, length, requests, when};
use super::intervals::Interval;
use super::later;
use super::slowdown::rule;
use crate::evidence::Evidence;
use crate::thresholds::Limit;

/// Everything the load did. While the engine stood still nobody counted who came.
pub(super) fn load_events(e: &Evidence<'_>, intervals: &[Interval], standstills: &[Event]) -> Vec<Event> {
    let placed = arrivals_by_first_tokens(e, intervals);
    let intervals = placed.as_deref().unwrap_or(intervals);
    let Some(load) = Load::of(e, intervals, standstills) else { return Vec::new() };
    let bursts = load.bursts();
    let mut found = Vec::new();
    found.extend(load.start());
    found.extend(load.steps(&bursts));
    found.extend(bursts.iter().map(|burst| load.burst(burst)));
    found.extend(load.drain_event());
    found.extend(load.end());
    found
}

/// The part of the window with traffic.
pub(super) struct Load<'a, 'e> {
    pub(super) e: &'a Evidence<'e>,
    pub(super) all: &'a [Interval],
    /// The first interval with traffic, and the one behind the last.
    pub(super) active: (usize, usize),
    /// From here on nobody came any more while requests were still in the engine; the end of the active part if not so.
    pub(super) drain: usize,
    /// Arrivals a second of each interval, over the time since anything was counted; `None` while the engine stood still and
    /// where they are not known.
    pub(super) rates: Vec<Option<f64>>,
}

impl<'a, 'e> Load<'a, 'e> {
    fn of(e: &'a Evidence<'e>, all: &'a [Interval], standstills: &[Event]) -> Option<Self> {
        let unseen = unseen(all);
        let is_active = |i: &usize| all[*i].is_active() || unseen[*i];
        let first = (0..all.len()).find(is_active)?;
        let end = (0..all.len()).rfind(is_active)? + 1;
        let rates = rates(all, &unseen, standstills);
        let mut load = Self { e, all, active: (first, end), drain: end, rates };
        load.drain = load.find_drain();
        Some(load)
    }

    /// Mean arrivals a second of a part.
    fn rate(&self, from: usize, to: usize) -> Option<f64> {
        let known = self.all[from..to].iter().filter_map(|i| Some((i.arrivals?, i.seconds)));
        let (came, time) = known.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        (time > 0.0).then(|| came / time)
    }

    /// Whether so many seconds without a request are more than chance.
    fn is_missed(&self, seconds: f64) -> bool {
        match self.rate(self.active.0, self.drain) {
            Some(rate) => rate * seconds >= self.e.limit(Limit::MissedArrivals),
            None => seconds >= self.e.limit(Limit::Quiet) * self.e.elapsed().get(),
        }
    }

    fn start(&self) -> Option<Event> {
        let (begin, first) = (self.all.first()?.start, &self.all[self.active.0]);
        let idle = first.start.since(begin).get();
        if self.active.0 == 0 || !self.is_missed(idle) {
            return None;
        }
        let rate = self.rate(self.active.0, self.drain).map(|rate| PerSecond(Requests(rate)));
        let last = self.all[self.active.1 - 1].end;
        let says = format!(
            "traffic began at {}, {} after the beginning of the window",
            clock(first.start),
            length(idle)
        );
        let open = self.active.1 == self.all.len();
        let event = Event::new(EventKind::LoadStart, first.start, last, says).open(open);
        Some(if let Some(rate) = rate { event.size(rate) } else { event })
    }

    fn end(&self) -> Option<Event> {
        let (last, end) = (self.all[self.active.1 - 1].end, self.all.last()?.end);
        let idle = end.since(last).get();
        if idle <= 0.0 || !self.is_missed(idle) {
            return None;
        }
        let says = format!("traffic ended at {}, {} before the end of the window", clock(last), length(idle));
        Some(Event::new(EventKind::LoadEnd, last, end, says).open(true))
    }

    /// The first of the last intervals in which next to nobody came, while those in the engine were finished.
    fn find_drain(&self) -> usize {
        let (first, end) = self.active;
        let came = |i: usize| self.all[i].arrivals;
        let mut from = end;
        while from > first + 1 {
            let Some(rate) = self.calm_rate(first, from - 1) else { break };
            let usual = rate * self.all[from - 1].seconds;
            if came(from - 1).is_none_or(|n| n > self.e.limit(Limit::DrainArrivals) * usual && n >= 1.0) {
                break;
            }
            from -= 1;
        }
        let part = &self.all[from..end];
        let seconds: f64 = part.iter().map(|i| i.seconds).sum();
        let expected = self.calm_rate(first, from).map_or(0.0, |rate| rate * seconds);
        let held = part.first().and_then(Interval::held_before).unwrap_or(0.0);
        let left = part.last().and_then(Interval::held).unwrap_or(held);
        let finished: f64 = part.iter().filter_map(|i| i.finished).sum();
        // Clients that ask anew when they are answered come in waves, and between two of them nobody comes.
        let between_waves = longest_without_arrivals(&self.all[first..from]);
        let limit = |limit| self.e.limit(limit);
        let emptied = held > 0.0 && left < limit(Limit::KeepsCrowd) * held && finished > 0.0;
        let drains = emptied && seconds > limit(Limit::BetweenWaves) * between_waves;
        if drains && expected >= limit(Limit::MissedArrivals) { from } else { end }
    }

    fn drain_event(&self) -> Option<Event> {
        let first = self.all.get(self.drain).filter(|_| self.drain < self.active.1)?;
        let (held, last) = (first.held_before()?, &self.all[self.active.1 - 1]);
        let open = last.held().is_some_and(|left| left > 0.0);
        let says = format!(
            "{} no new requests came, and the server worked on the {} it had",
            when(first.start, last.end, open),
            requests(held)
        );
        Some(Event::new(EventKind::Drain, first.start, last.end, says).size(Requests(held)).open(open))
    }

    /// Lasting changes of the rate, bursts left out.
    fn steps(&self, bursts: &[Burst]) -> Vec<Event> {
        let in_burst = |i: usize| bursts.iter().any(|burst| (burst.from..burst.to).contains(&i));
        let known: Vec<(usize, f64)> = (self.active.0..self.drain)
            .filter(|i| !in_burst(*i))
            .filter_map(|i| Some((i, self.rates[i]?)))
            .collect();
        let rates: Vec<f64> = known.iter().map(|(_, rate)| *rate).collect();
        let points = change_points(&rates, &rule(self.e));
        let end = |i: usize| points.get(i + 1).map_or(self.drain - 1, |next| known[next.at - 1].0);
        let told = |(i, point): (usize, &super::ChangePoint)| {
            let (start, until) = (self.all[known[point.at].0].start, self.all[end(i)].end);
            let [before, after] = [point.before, point.after].map(|rate| PerSecond(Requests(rate)));
            let rate = |rate: PerSecond<Requests>| intriage_case::Quantity::from(rate).to_string();
            let open = i + 1 == points.len() && self.drain == self.all.len();
            let says =
                format!("{} {} came instead of {}", when(start, until, open), rate(after), rate(before));
            Event::new(EventKind::LoadStep, start, until, says).size(after).usual(before).open(open)
        };
        points.iter().enumerate().filter(|(_, point)| point.shape == Shape::Step).map(told).collect()
    }
}

/// The longest time in which nobody came.
fn longest_without_arrivals(part: &[Interval]) -> f64 {
    let mut since = 0.0;
    let time = |i: &Interval| {
        since = if i.arrivals.is_some_and(|came| came < 1.0) { since + i.seconds } else { 0.0 };
        since
    };
    part.iter().map(time).fold(0.0, f64::max)
}

/// Arrivals a second of each interval. While a long step runs nobody is counted, so those that are counted when it ends came
/// over the time since. What comes out of a standstill did not come when it was counted.
fn rates(all: &[Interval], unseen: &[bool], standstills: &[Event]) -> Vec<Option<f64>> {
    let stood =
        |from: Millis, to: Millis| standstills.iter().any(|stop| stop.start < to && from < stop.end());
    let mut since = 0.0;
    let mut rates = Vec::with_capacity(all.len());
    for (i, interval) in all.iter().enumerate() {
        let behind = i.checked_sub(1).map_or(interval.start, |before| all[before].start);
        if stood(behind, interval.end) {
            rates.push(None);
            since = 0.0;
            continue;
        }
        since += interval.seconds;
        let moved = [interval.generated, interval.gaps, interval.first_tokens, interval.arrivals];
        let is_held = interval.held().is_some_and(|held| held > 0.0) || unseen[i];
        let is_counted = moved.into_iter().flatten().any(|n| n > 0.0) || !is_held;
        rates.push(interval.arrivals.map(|came| came / since));
        if is_counted {
            since = 0.0;
        }
    }
    rates
}

/// The same intervals with requests where they came, not where they were counted: an engine with long steps takes in one step
/// after the other what came at once. A first token tells when its request came. `None` where no two steps show requests of one
/// moment, and where requests wait: they are counted when they come.
fn arrivals_by_first_tokens(e: &Evidence<'_>, all: &[Interval]) -> Option<Vec<Interval>> {
    let waits = |i: &Interval| i.waiting.is_some_and(|waiting| waiting >= 1.0);
    let groups: Vec<(usize, &Interval, Millis)> = all
        .iter()
        .enumerate()
        .filter(|(_, i)| i.first_tokens.is_some_and(|n| n >= e.limit(Limit::StretchRequests)))
        .filter_map(|(at, i)| Some((at, i, later(i.end, -i.ttft?))))
        .collect();
    let of_one_moment = groups.windows(2).any(|pair| {
        let (counted, came) = (pair[1].0 - pair[0].0, pair[1].2.since(pair[0].2).get().abs());
        counted >= 2 && came <= e.limit(Limit::OneMoment) * pair[1].1.seconds
    });
    // Many whose first tokens took as long as the one step before them came when it began; those that come evenly
    // wait for half of the step before it as well.
    let in_one_step = groups.iter().any(|(at, i, _)| {
        let still =
            all[..*at].iter().rev().take_while(|i| i.generated == Some(0.0) && i.first_tokens == Some(0.0));
        let step = i.seconds + still.map(|i| i.seconds).sum::<f64>();
        let many = i.first_tokens.is_some_and(|n| n >= e.limit(Limit::BurstLeast));
        let apart = (i.ttft.unwrap_or(0.0) - step).abs();
        many && step > 2.0 * i.seconds && apart <= e.limit(Limit::OneStep) * step
    });
    if all.iter().any(waits) || !(of_one_moment || in_one_step) {
        return None;
    }
    let none_yet = |known: Option<f64>| known.map(|_| 0.0);
    let mut placed: Vec<Interval> = all
        .iter()
        .map(|i| Interval {
            arrivals: none_yet(i.arrivals),
            first_tokens: none_yet(i.first_tokens),
            prompt_tokens: none_yet(i.prompt_tokens),
            ttft: None,
            ..*i
        })
        .collect();
    for counted in all {
        let (Some(came), Some(ttft)) = (counted.first_tokens, counted.ttft) else { continue };
        let at = later(counted.end, -ttft);
        let Some(into) = placed.iter_mut().find(|i| i.start <= at && at < i.end) else { continue };
        let before = into.first_tokens.unwrap_or(0.0);
        into.ttft = Some((into.ttft.unwrap_or(0.0) * before + ttft * came) / (before + came));
        into.arrivals = into.arrivals.map(|n| n + came);
        into.first_tokens = Some(before + came);
        into.prompt_tokens = into.prompt_tokens.map(|n| n + counted.prompt_tokens.unwrap_or(0.0));
    }
    // Who came last has no first token yet.
    let ttft = all.iter().rev().find_map(|i| i.ttft).unwrap_or(0.0);
    let known = all.last().map(|last| later(last.end, -ttft));
    for interval in placed.iter_mut().filter(|i| known.is_some_and(|known| i.end > known)) {
        interval.arrivals = None;
    }
    Some(placed)
}

/// Intervals in which requests were in the server although none was shown: first tokens behind them took longer than the
/// time since. While a first long step runs, every gauge reads what it read before.
fn unseen(all: &[Interval]) -> Vec<bool> {
    let mut unseen = vec![false; all.len()];
    for (at, interval) in all.iter().enumerate() {
        let Some(ttft) = interval.ttft else { continue };
        let asked = later(interval.end, -ttft);
        for earlier in (0..at).rev().take_while(|&j| all[j].end > asked) {
            unseen[earlier] = true;
        }
    }
    unseen
}
