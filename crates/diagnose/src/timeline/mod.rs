//! What happened inside the window, and when: a mean over the window never hides a bad stretch of it.
#![allow(dead_code, unused_imports, reason = "symptoms and verdict read it from their next change on")]

mod answers;
mod change_points;
mod events;
mod intervals;
mod load;
mod queue;
mod slowdown;
mod standstill;
mod student;
#[cfg(test)]
mod tests;
mod throttle;
mod warm_up;

use intriage_case::{Millis, Seconds};

use crate::evidence::Evidence;

pub(crate) use change_points::{ChangePoint, Rule, Shape, change_points};
use events::later;
pub use events::{Event, EventKind};
pub(crate) use intervals::{Interval, intervals};

/// The window in pieces, and what happened in it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Timeline {
    /// Events in order of their beginning.
    pub(crate) events: Vec<Event>,
    /// The account between each two readable scrapes.
    pub(crate) intervals: Vec<Interval>,
}

/// Consecutive intervals with the mean of something over them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Stretch {
    /// When they begin.
    pub(crate) start: Millis,
    /// How long they are.
    pub(crate) seconds: Seconds,
    /// The first of them, counted from 0, and the one behind the last.
    pub(crate) range: (usize, usize),
    /// The mean, weighted.
    pub(crate) mean: f64,
}

impl Timeline {
    /// What happened in the window.
    pub(crate) fn of(e: &Evidence<'_>) -> Self {
        let intervals = intervals(e);
        let standstills = standstill::standstills(e, &intervals);
        let load = load::load_events(e, &intervals, &standstills);
        let mut events = [standstills, load].concat();
        events.extend(answers::no_answers(e, &intervals));
        events.extend(answers::restarts(&intervals));
        events.extend(warm_up::warm_ups(e, &intervals));
        events.extend(queue::queues(&intervals));
        events.extend(slowdown::slowdowns(e, &intervals));
        events.extend(throttle::throttles(e));
        // Where the engine stands still, nobody knows whether traffic has ended.
        let stands = events.iter().find(|event| event.kind == EventKind::Standstill && event.open);
        if let Some(from) = stands.map(|event| event.start) {
            events.retain(|event| event.kind != EventKind::LoadEnd || event.start < from);
        }
        events.sort_by_key(|event| (event.start, event.kind));
        Self { events, intervals }
    }

    /// Events of one kind, in order.
    pub(crate) fn of_kind(&self, kind: EventKind) -> impl Iterator<Item = &Event> {
        self.events.iter().filter(move |event| event.kind == kind)
    }

    /// Stretches without a token although requests were in the engine.
    pub(crate) fn standstills(&self) -> impl Iterator<Item = &Event> {
        self.of_kind(EventKind::Standstill)
    }

    /// Requests that came at once.
    pub(crate) fn bursts(&self) -> impl Iterator<Item = &Event> {
        self.of_kind(EventKind::Burst)
    }

    /// The stretch in which requests waited the longest time.
    pub(crate) fn longest_queue(&self) -> Option<&Event> {
        let longer = |a: &&Event, b: &&Event| a.seconds.get().total_cmp(&b.seconds.get());
        self.of_kind(EventKind::Queue).max_by(longer)
    }

    /// The `at_least` consecutive intervals in which the mean of something is highest: `of` gives its value and its
    /// weight, such as the time to first token and the first tokens, and `None` where it is not known. `None` where there
    /// are fewer intervals, or none of them knows it.
    pub(crate) fn worst_stretch(
        &self,
        of: impl Fn(&Interval) -> Option<(f64, f64)>,
        at_least: usize,
    ) -> Option<Stretch> {
        let known: Vec<Option<(f64, f64)>> = self.intervals.iter().map(of).collect();
        let means = known.windows(at_least.max(1)).enumerate().filter_map(|(from, part)| {
            let known = part.iter().flatten().filter(|(_, weight)| *weight > 0.0);
            let (sum, weight) = known.fold((0.0, 0.0), |all, (v, w)| (all.0 + v * w, all.1 + w));
            (weight > 0.0).then(|| (sum / weight, (from, from + part.len())))
        });
        let (mean, range) = means.reduce(|worst, next| if next.0 > worst.0 { next } else { worst })?;
        let (first, last) = (&self.intervals[range.0], &self.intervals[range.1 - 1]);
        Some(Stretch { start: first.start, seconds: last.end.since(first.start), range, mean })
    }
}

/// The middle value, or the mean of the two in the middle.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    Some(if values.len() % 2 == 1 { upper } else { f64::midpoint(values[middle - 1], upper) })
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, n) = values.fold((0.0, 0.0), |all, value| (all.0 + value, all.1 + 1.0));
    (n > 0.0).then(|| sum / n)
}
