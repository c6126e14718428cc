//! First answers that are many times slower than later ones.

use intriage_case::{Millis, Seconds, Signal};

use super::events::{Event, EventKind, clock, later, requests};
use super::intervals::Interval;
use super::median;
use crate::evidence::Evidence;
use crate::thresholds::Limit;

/// What shows a warm-up.
struct Measure {
    of: fn(&Interval) -> Option<f64>,
    what: &'static str,
    /// Whether a queue makes it longer.
    has_queue: bool,
}

/// The first token, or where a queue hides that the prompt alone.
const MEASURES: [Measure; 2] = [
    Measure { of: |i| i.ttft, what: "the first token came after", has_queue: true },
    Measure { of: |i| i.prefill, what: "the prompt took", has_queue: false },
];

/// The warm-up of a process that is new at the beginning of the window or begins inside it, or of one that was idle.
pub(super) fn warm_ups(e: &Evidence<'_>, intervals: &[Interval]) -> Vec<Event> {
    let restarts = intervals.iter().enumerate().filter(|(_, i)| i.restarted).map(|(at, _)| (at, true));
    let is_new = has_never_answered(e);
    let begins = (is_new || begins_cold(e, intervals)).then_some((0, is_new)).into_iter().chain(restarts);
    begins.filter_map(|(from, is_new)| warm_up(e, &intervals[from..], is_new)).collect()
}

/// The window begins with a process that is young, or with nobody in the engine.
fn begins_cold(e: &Evidence<'_>, intervals: &[Interval]) -> bool {
    let was_empty = intervals.first().is_some_and(|i| i.held_before() == Some(0.0));
    let started = e.observed.series(Signal::ProcessStart, None, None).and_then(|s| s.last());
    let young = started
        .zip(e.observed.times.first())
        .is_some_and(|(started, first)| first.unix().get() - started < e.limit(Limit::ColdSeconds));
    was_empty || young
}

/// The process had given no first token when the window began.
fn has_never_answered(e: &Evidence<'_>) -> bool {
    let states = e.observed.histograms(Signal::LatencyTtft, None).unwrap_or_default();
    states.into_iter().flatten().next().is_some_and(|first| first.count() == 0.0)
}

fn warm_up(e: &Evidence<'_>, intervals: &[Interval], is_new: bool) -> Option<Event> {
    MEASURES.iter().find_map(|measure| {
        let slow = slow_at_first(e, intervals, measure, is_new)?;
        let (start, end) = first_answers(intervals, slow.answers)?;
        let says = format!(
            "from {} to {} the first {} were slow: {} {}, later on {}; the server was warming up",
            clock(start),
            clock(end),
            requests(slow.answers),
            measure.what,
            Seconds(slow.time),
            Seconds(slow.later_on)
        );
        let event = Event::new(EventKind::WarmUp, start, end, says);
        Some(event.size(Seconds(slow.time)).usual(Seconds(slow.later_on)))
    })
}

struct SlowAtFirst {
    time: f64,
    later_on: f64,
    answers: f64,
}

/// The first intervals against what follows. At most the first third may be warm-up, as what most answers take is usual;
/// of a process that has never answered before the first two thirds.
fn slow_at_first(
    e: &Evidence<'_>,
    intervals: &[Interval],
    measure: &Measure,
    is_new: bool,
) -> Option<SlowAtFirst> {
    let known: Vec<(&Interval, f64)> = intervals.iter().filter_map(|i| Some((i, (measure.of)(i)?))).collect();
    let third = known.len().div_ceil(3);
    let (early, rest) = known.split_at(if is_new { known.len() - third } else { third });
    let later_on = median(rest.iter().map(|(_, time)| *time).collect()).filter(|_| rest.len() > 1)?;
    // Prompts that are computed together take longer.
    let factor = e.limit(if is_new && measure.has_queue { Limit::NewFactor } else { Limit::ColdFactor });
    let is_slow = |time: f64| time >= factor * later_on && time - later_on >= e.limit(Limit::WarmUpTime);
    let slow: Vec<_> = early.iter().take_while(|(_, time)| is_slow(*time)).collect();
    let (first, time) = slow.first()?;
    // A queue is no warm-up, and neither are prompts as much longer.
    let queue = [first.waiting_before, first.waiting].into_iter().flatten().fold(0.0, f64::max);
    let waited = measure.has_queue && queue >= e.limit(Limit::NobodyWaits);
    let length = |i: &Interval| Some(i.prompt_tokens? / i.first_tokens.filter(|n| *n > 0.0)?);
    let usual_length = median(rest.iter().filter_map(|(i, _)| length(i)).collect());
    let longer = length(first)
        .zip(usual_length)
        .is_some_and(|(prompt, usual)| prompt * later_on * factor > usual * time);
    let answers: f64 =
        slow.iter().filter_map(|(i, _)| i.first_tokens.filter(|n| *n > 0.0).or(i.finished)).sum();
    (!waited && !longer).then_some(SlowAtFirst { time: *time, later_on, answers: answers.max(1.0) })
}

/// From when the first of so many answers was asked for to when the last of them began.
fn first_answers(intervals: &[Interval], answers: f64) -> Option<(Millis, Millis)> {
    let first = intervals.iter().find(|i| i.ttft.is_some())?;
    let asked = later(first.end, -first.ttft?).max(intervals.first()?.start);
    let mut begun = 0.0;
    let last = intervals.iter().find(|i| {
        begun += i.first_tokens.unwrap_or(0.0);
        begun >= answers
    });
    Some((asked, last.map_or(first.end, |last| last.end)))
}
