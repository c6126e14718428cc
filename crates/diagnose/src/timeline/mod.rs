//! What happened inside the window, and when: a mean over the window never hides a bad stretch of it.

mod answers;
mod burst;
mod change_points;
mod energy;
mod events;
mod gains;
mod intervals;
mod load;
mod pace;
mod queue;
mod reading;
mod slowdown;
mod standstill;
mod student;
#[cfg(test)]
mod tests;
mod throttle;
mod unanswered;
mod warm_up;

use crate::evidence::Evidence;

use change_points::ChangePoint;
use events::later;
pub use events::{Event, EventKind};
pub(crate) use intervals::{Interval, intervals};
pub(crate) use reading::Reading;

/// The window in pieces, and what happened in it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Timeline {
    /// Events in order of their beginning.
    pub(crate) events: Vec<Event>,
    /// The account between each two readable scrapes.
    pub(crate) intervals: Vec<Interval>,
    /// Silences in which prompts were read, of engines that tell of no single gap.
    pub(crate) readings: Vec<Reading>,
}

impl Timeline {
    /// What happened in the window.
    pub(crate) fn of(e: &Evidence<'_>) -> Self {
        let intervals = intervals(e);
        let standstills = standstill::standstills(e, &intervals);
        let readings = reading::readings(e, &intervals, &standstills);
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
        // What stands still, is slow or piles up while the server warms up, warms up.
        let warm_ups: Vec<Event> = events.iter().filter(|e| e.kind == EventKind::WarmUp).cloned().collect();
        let is_inside = |event: &Event, whole: &Event| {
            let middle = later(event.start, event.seconds.get() / 2.0);
            !event.open && whole.start <= middle && middle <= whole.end()
        };
        events.retain(|event| match event.kind {
            EventKind::Standstill | EventKind::SlowTokens | EventKind::SlowFirstTokens => {
                !warm_ups.iter().any(|warm_up| is_inside(event, warm_up))
            }
            EventKind::Burst => !warm_ups.iter().any(|w| w.start <= event.start && event.start < w.end()),
            _ => true,
        });
        events.sort_by_key(|event| (event.start, event.kind));
        Self { events, intervals, readings }
    }

    /// Events of one kind, in order.
    pub(crate) fn of_kind(&self, kind: EventKind) -> impl Iterator<Item = &Event> {
        self.events.iter().filter(move |event| event.kind == kind)
    }

    /// How much arrivals clump all through the load: 1 where they come by chance.
    pub(crate) fn clumping(&self) -> f64 {
        let load = self.intervals.iter().filter(|i| i.is_active());
        burst::spread(load.filter_map(|i| i.arrivals))
    }

    /// Stretches without a token although requests were in the engine.
    pub(crate) fn standstills(&self) -> impl Iterator<Item = &Event> {
        self.of_kind(EventKind::Standstill)
    }

    /// Requests that came at once.
    pub(crate) fn bursts(&self) -> impl Iterator<Item = &Event> {
        self.of_kind(EventKind::Burst)
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
