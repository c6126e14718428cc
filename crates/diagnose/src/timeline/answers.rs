//! Whether the server answered, and whether it is still the same process.

use intriage_case::{Millis, Quantity, Unit};

use super::events::{Event, EventKind, clock, length, when};
use super::intervals::Interval;
use super::median;
use crate::evidence::Evidence;
use crate::thresholds::Limit;

/// Stretches without an answer: looks that failed, and scrapes that are missing.
pub(super) fn no_answers(e: &Evidence<'_>, intervals: &[Interval]) -> Vec<Event> {
    let mut found = failed(e);
    // Lines of a log come when the server has something to say.
    if e.observed.lines.is_none() {
        found.extend(holes(e, intervals));
    }
    found
}

/// Looks that failed one after the other, up to the next answer.
fn failed(e: &Evidence<'_>) -> Vec<Event> {
    let answered = &e.observed.times;
    let next_answer = |at: Millis| answered.get(answered.partition_point(|time| *time <= at)).copied();
    let mut found: Vec<Event> = Vec::new();
    let mut failures = e.observed.failed.iter().map(|(at, why)| (*at, why.as_str())).peekable();
    while let Some((start, why)) = failures.next() {
        let back = next_answer(start);
        let (mut count, mut last) = (1, start);
        while let Some((at, _)) = failures.next_if(|(at, _)| back.is_none_or(|back| *at < back)) {
            (count, last) = (count + 1, at);
        }
        let end = back.unwrap_or(last);
        let looks = if count == 1 { "1 look failed".to_owned() } else { format!("{count} looks failed") };
        let says = format!("{} the server did not answer ({looks}: {why})", when(start, end, back.is_none()));
        let count = Quantity::new(f64::from(count), Unit::Count);
        found.push(Event::new(EventKind::NoAnswer, start, end, says).size(count).open(back.is_none()));
    }
    found
}

/// Much more time between two scrapes than usual, and no failed look in it.
fn holes(e: &Evidence<'_>, intervals: &[Interval]) -> Vec<Event> {
    let Some(usual) = median(intervals.iter().map(|i| i.seconds).collect()) else { return Vec::new() };
    let least = usual * e.limit(Limit::ScrapeHole);
    let was_asked = |i: &Interval| e.observed.failed.iter().any(|(at, _)| i.start < *at && *at < i.end);
    let told = |i: &Interval| {
        let says = format!(
            "between {} and {} ({}) there is no scrape, where one came every {}: the server did not answer, or nobody asked",
            clock(i.start),
            clock(i.end),
            length(i.seconds),
            length(usual)
        );
        Event::new(EventKind::NoAnswer, i.start, i.end, says)
    };
    intervals.iter().filter(|i| i.seconds >= least && !was_asked(i)).map(told).collect()
}

/// Counters that began anew.
pub(super) fn restarts(intervals: &[Interval]) -> Vec<Event> {
    let told = |i: &Interval| {
        let says = format!(
            "between {} and {} the counters began anew: the server was started again",
            clock(i.start),
            clock(i.end)
        );
        Event::new(EventKind::Restart, i.start, i.end, says)
    };
    intervals.iter().filter(|i| i.restarted).map(told).collect()
}
