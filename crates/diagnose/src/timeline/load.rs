//! What the load did: when it began and ended, whether it changed, and what came at once.

use intriage_case::{Millis, PerSecond, Requests};

use super::change_points::{Shape, change_points};
use super::events::{Event, EventKind, clock, length, requests, when};
use super::intervals::Interval;
use super::slowdown::rule;
use super::{later, mean, median};
use crate::evidence::Evidence;
use crate::thresholds::Limit;

/// One interval in so many of the load can be a burst: more are a change of load.
const FEW: usize = 5;
/// Intervals to each side that are the neighbourhood of one.
const NEAR: usize = 8;

/// Everything the load did. While the engine stood still nobody counted who came.
pub(super) fn load_events(e: &Evidence<'_>, intervals: &[Interval], standstills: &[Event]) -> Vec<Event> {
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
struct Load<'a, 'e> {
    e: &'a Evidence<'e>,
    all: &'a [Interval],
    /// The first interval with traffic, and the one behind the last.
    active: (usize, usize),
    /// From here on nobody came any more while requests were still in the engine; the end of the active part if not so.
    drain: usize,
    /// Arrivals a second of each interval, over the time since anything was counted; `None` while the engine stood still and
    /// where they are not known.
    rates: Vec<Option<f64>>,
}

/// Intervals `from..to` in which far more came than usual.
struct Burst {
    from: usize,
    to: usize,
    came: f64,
    usual: f64,
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
            if came(from - 1).is_none_or(|n| n > 0.25 * usual && n >= 1.0) {
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
        let drains = held > 0.0 && left < 0.7 * held && finished > 0.0 && seconds > 1.5 * between_waves;
        if drains && expected >= self.e.limit(Limit::MissedArrivals) { from } else { end }
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

    fn bursts(&self) -> Vec<Burst> {
        let (first, end) = (self.active.0, self.drain);
        let usual: Vec<f64> = (0..self.all.len()).map(|i| self.usual_rate(i)).collect();
        let spread = self.spread();
        let is_much = |i: usize| {
            let (rate, limit) = (self.rates[i], |limit| self.e.limit(limit));
            let seconds = self.all[i].seconds;
            rate.is_some_and(|rate| {
                let (came, usual) = (rate * seconds, usual[i] * seconds);
                came >= limit(Limit::BurstPeak) * usual
                    && 2.0 * (came.sqrt() - usual.sqrt()) >= limit(Limit::BurstNoise) * spread
                    && self.all[i].arrivals.is_some_and(|came| came >= limit(Limit::BurstLeast))
            })
        };
        let mut found = Vec::new();
        let mut i = first;
        while i < end {
            let run = (i..end).take_while(|j| is_much(*j)).count();
            let burst = Burst {
                from: i,
                to: i + run,
                came: (i..i + run).filter_map(|j| self.all[j].arrivals).sum(),
                usual: (i..i + run).map(|j| usual[j] * self.all[j].seconds).sum(),
            };
            let is_short = run > 0 && run * FEW <= (end - first).max(2 * FEW);
            if is_short && self.is_felt(&burst) && !self.stays(&burst) {
                found.push(burst);
            }
            i += run.max(1);
        }
        found
    }

    /// Arrivals a second around an interval: the middle of its neighbours, and no less than the mean of all but the fullest
    /// fifth.
    fn usual_rate(&self, i: usize) -> f64 {
        let near = i.saturating_sub(NEAR).max(self.active.0)..(i + NEAR + 1).min(self.drain);
        let local = median(near.filter(|j| *j != i).filter_map(|j| self.rates[j]).collect());
        local.unwrap_or(0.0).max(self.calm_rate(self.active.0, self.drain).unwrap_or(0.0))
    }

    /// Mean arrivals a second of a part, its fullest fifth left out.
    fn calm_rate(&self, from: usize, to: usize) -> Option<f64> {
        let mut all: Vec<f64> = self.rates[from..to].iter().flatten().copied().collect();
        all.sort_by(f64::total_cmp);
        all.truncate(all.len() - all.len() / FEW);
        mean(all.into_iter())
    }

    /// Standard deviation of twice the root of arrivals: one for requests that come by chance, whatever their rate, and more
    /// where they come in clumps all the time. From the middle, so that a burst does not count.
    fn spread(&self) -> f64 {
        const NORMAL: f64 = 1.4826;
        let known = self.all.iter().zip(&self.rates).take(self.drain).skip(self.active.0);
        let roots: Vec<f64> =
            known.filter_map(|(i, rate)| Some(2.0 * ((*rate)? * i.seconds).sqrt())).collect();
        let Some(middle) = median(roots.clone()) else { return 1.0 };
        let away = median(roots.into_iter().map(|root| (root - middle).abs()).collect());
        away.map_or(1.0, |away| (NORMAL * away).max(1.0))
    }

    /// Whether those that came are seen in the engine, or in their first tokens: where as many leave as come, clients ask
    /// anew when they are answered.
    fn is_felt(&self, burst: &Burst) -> bool {
        let part = &self.all[burst.from..self.all.len().min(burst.to + 1)];
        let before = self.all[burst.from].held_before();
        let most = part.iter().filter_map(Interval::held).reduce(f64::max);
        let load = &self.all[self.active.0..self.drain];
        // A burst that is not worked off makes what follows fuller: what was before it counts, where it is known.
        let calm = if burst.from < self.active.0 + 2 { load } else { &self.all[self.active.0..burst.from] };
        let usual = median(calm.iter().filter_map(Interval::held).collect());
        let (Some(before), Some(most), Some(usual)) = (before, most, usual) else { return true };
        let first_tokens = part.iter().filter_map(|i| i.ttft).reduce(f64::max);
        let slower = first_tokens
            .zip(median(load.iter().filter_map(|i| i.ttft).collect()))
            .is_some_and(|(now, usual)| now >= 2.0 * usual);
        slower || most - before.max(usual) >= 0.25 * (burst.came - burst.usual)
    }

    /// Whether a load that begins so keeps as many requests in the engine: clients that ask anew when they are answered.
    fn stays(&self, burst: &Burst) -> bool {
        if burst.from != self.active.0 {
            return false;
        }
        let held = |part: &[Interval]| -> Vec<f64> { part.iter().filter_map(Interval::held).collect() };
        let most = held(&self.all[burst.from..burst.to]).into_iter().reduce(f64::max);
        let after = held(&self.all[burst.to..self.drain.max(burst.to)]);
        let least = after.iter().copied().reduce(f64::min);
        after.len() > 1 && least.zip(most).is_some_and(|(least, most)| least >= 0.7 * most)
    }

    fn burst(&self, burst: &Burst) -> Event {
        let first = &self.all[burst.from];
        let last = &self.all[burst.to - 1];
        let within = last.end.since(first.start).get();
        let (back, open) = self.recovered(burst);
        let usual = if burst.usual >= 0.5 {
            format!("{} are usual", requests(burst.usual.round()))
        } else {
            "hardly one is usual".into()
        };
        let recovery = if open {
            "the queue was not as before when the window ended".to_owned()
        } else {
            format!("the queue was as before {} later", length(back.since(first.start).get()))
        };
        let says = format!(
            "at {}, {} came within {} where {usual}; {recovery}",
            clock(first.start),
            requests(burst.came.round()),
            length(within)
        );
        let event = Event::new(EventKind::Burst, first.start, back, says);
        event.size(Requests(burst.came)).usual(Requests(burst.usual)).open(open)
    }

    /// When no more waited than before the burst, or where nobody waited ran; and whether the window ended first.
    fn recovered(&self, burst: &Burst) -> (Millis, bool) {
        let first = &self.all[burst.from];
        let after = &self.all[burst.to - 1..];
        let waited =
            after.iter().any(|i| i.waiting > first.waiting_before && i.waiting.is_some_and(|w| w > 0.0));
        let is_back = |i: &&Interval| {
            let (now, before) =
                if waited { (i.waiting, first.waiting_before) } else { (i.held(), first.held_before()) };
            now.zip(before).is_none_or(|(now, before)| now <= 1.2 * before + 1.0)
        };
        let back = after.iter().find(is_back);
        let end = self.all.last().map_or(first.end, |last| last.end);
        back.map_or((end, true), |back| (back.end, false))
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
