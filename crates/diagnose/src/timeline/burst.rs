//! What came at once, and how long it was felt.

use intriage_case::{Millis, Requests};

use super::events::{Event, EventKind, clock, length, requests};
use super::intervals::Interval;
use super::load::Load;
use super::{later, mean, median};
use crate::thresholds::Limit;

/// One interval in so many of the load can be a burst: more are a change of load.
const FEW: usize = 5;
/// Intervals to each side that are the neighbourhood of one.
const NEAR: usize = 8;
/// Intervals behind a burst that tell whether it is over.
const BEHIND: usize = 3;

/// Intervals `from..to` in which far more came than usual.
pub(super) struct Burst {
    pub(super) from: usize,
    pub(super) to: usize,
    came: f64,
    usual: f64,
}

/// How much arrivals clump: the standard deviation of twice their root, which is one for requests that come by chance,
/// whatever their rate, and more where they come in clumps all the time. From the middle, so that a single burst does not count.
pub(super) fn spread(arrivals: impl Iterator<Item = f64>) -> f64 {
    const NORMAL: f64 = 1.4826;
    let roots: Vec<f64> = arrivals.map(|came| 2.0 * came.max(0.0).sqrt()).collect();
    let Some(middle) = median(roots.clone()) else { return 1.0 };
    let away = median(roots.into_iter().map(|root| (root - middle).abs()).collect());
    away.map_or(1.0, |away| (NORMAL * away).max(1.0))
}

impl Load<'_, '_> {
    pub(super) fn bursts(&self) -> Vec<Burst> {
        let (first, end) = (self.active.0, self.drain);
        let usual: Vec<f64> = (0..self.all.len()).map(|i| self.usual_rate(i)).collect();
        let spread = self.spread();
        let is_much = |i: usize| {
            let (Some(rate), interval) = (self.rates[i], &self.all[i]) else { return false };
            let (came, usual) = (rate * interval.seconds, usual[i] * interval.seconds);
            let limit = |limit| self.e.limit(limit);
            // Those that had to wait were too many, however often that happens.
            let (peak, noise) = if self.is_felt_at_once(i, came - usual) {
                (limit(Limit::BurstFelt), limit(Limit::BurstFeltNoise))
            } else {
                (limit(Limit::BurstPeak), limit(Limit::BurstNoise) * spread)
            };
            came >= peak * usual
                && 2.0 * (came.sqrt() - usual.sqrt()) >= noise
                && interval.arrivals.is_some_and(|came| came >= limit(Limit::BurstLeast))
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
            if is_short && self.is_over(&burst) && self.is_felt(&burst) && !self.stays(&burst) {
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
    pub(super) fn calm_rate(&self, from: usize, to: usize) -> Option<f64> {
        let mut all: Vec<f64> = self.rates[from..to].iter().flatten().copied().collect();
        all.sort_by(f64::total_cmp);
        all.truncate(all.len() - all.len() / FEW);
        mean(all.into_iter())
    }

    /// Whether so many more than usual had to wait: a queue grew with them, or first tokens took several times as long and
    /// their prompts are no longer than usual.
    fn is_felt_at_once(&self, i: usize, more: f64) -> bool {
        let interval = &self.all[i];
        let load = &self.all[self.active.0..self.drain];
        let queued = interval.waiting.zip(interval.waiting_before).map_or(0.0, |(now, then)| now - then);
        let times = |of: fn(&Interval) -> Option<f64>| {
            Some(of(interval)? / median(load.iter().filter_map(of).collect())?)
                .filter(|times| times.is_finite())
        };
        let slower = times(|i| i.ttft).unwrap_or(1.0);
        let longer = times(|i| Some(i.prompt_tokens? / i.first_tokens.filter(|n| *n > 0.0)?)).unwrap_or(1.0);
        queued >= self.e.limit(Limit::BurstSeen) * more
            || slower >= self.e.limit(Limit::BurstWait) * longer.max(1.0)
    }

    fn spread(&self) -> f64 {
        let seconds = median(self.all.iter().map(|i| i.seconds).collect()).unwrap_or(1.0);
        spread(self.rates[self.active.0..self.drain].iter().flatten().map(|rate| rate * seconds))
    }

    /// Whether as many came behind it as before: where about as many go on coming, to the end or beyond it, the load has
    /// grown.
    fn is_over(&self, burst: &Burst) -> bool {
        let seconds: f64 = self.all[burst.from..burst.to].iter().map(|i| i.seconds).sum();
        let behind = &self.rates[burst.to..self.drain.min(burst.to + BEHIND).max(burst.to)];
        let goes_on = f64::midpoint(burst.came, burst.usual) / seconds;
        let at_once = burst.to - burst.from == 1;
        mean(behind.iter().flatten().copied()).map_or(at_once, |rate| rate <= goes_on)
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
        let waited = (burst.from..burst.to).any(|i| self.is_felt_at_once(i, burst.came - burst.usual));
        waited || most - before.max(usual) >= self.e.limit(Limit::BurstSeen) * (burst.came - burst.usual)
    }

    /// Whether a load that begins so keeps as many requests in the engine: clients that ask anew when they are answered.
    fn stays(&self, burst: &Burst) -> bool {
        if burst.from != self.active.0 {
            return false;
        }
        let held = |part: &[Interval]| -> Vec<f64> { part.iter().filter_map(Interval::held).collect() };
        let most = held(&self.all[burst.from..burst.to]).into_iter().reduce(f64::max);
        let after = held(&self.all[burst.to..self.drain.max(burst.to)]);
        let keeps = self.e.limit(Limit::KeepsCrowd);
        // Half of the time: at the end the clients may stop one after the other.
        let enough = after.len() > 1;
        enough && median(after).zip(most).is_some_and(|(usual, most)| usual >= keeps * most)
    }

    pub(super) fn burst(&self, burst: &Burst) -> Event {
        let first = &self.all[burst.from];
        let last = &self.all[burst.to - 1];
        let within = last.end.since(first.start).get();
        let (back, open) = self.recovered(burst);
        let usual = match burst.usual.round() as u64 {
            0 => "hardly one is usual".to_owned(),
            1 => "one is usual".to_owned(),
            _ => format!("{} are usual", requests(burst.usual.round())),
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
            now.zip(before).is_none_or(|(now, before)| now <= self.e.limit(Limit::AsBefore) * before + 1.0)
        };
        // Those that came are not gone before they have their first tokens, however few the engine shows meanwhile.
        let longest = self.all[burst.from..burst.to].iter().filter_map(|i| i.ttft).fold(0.0, f64::max);
        let answered = later(first.end, longest);
        let back = after.iter().filter(|i| i.end >= answered).find(is_back);
        let end = self.all.last().map_or(first.end, |last| last.end);
        back.map_or((end, true), |back| (back.end, false))
    }
}
