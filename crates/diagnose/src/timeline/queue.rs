//! Stretches in which requests waited.

use intriage_case::{Millis, Requests};

use super::events::{Event, EventKind, clock, requests, when};
use super::intervals::Interval;

/// Fewest scrapes in a row with somebody waiting: one is between two steps.
const STRETCH: usize = 2;

/// A scrape with somebody waiting.
#[derive(Clone, Copy)]
struct Wait {
    at: Millis,
    waiting: f64,
}

/// The stretches of scrapes with requests waiting. A single scrape between two of them with nobody waiting does not end
/// a stretch: a queue that is emptied for a moment is the same queue.
pub(super) fn queues(intervals: &[Interval]) -> Vec<Event> {
    let first = intervals.first().and_then(|i| Some((i.start, i.waiting_before?)));
    let rest = intervals.iter().filter_map(|i| Some((i.end, i.waiting?)));
    let scrapes: Vec<Wait> =
        first.into_iter().chain(rest).map(|(at, waiting)| Wait { at, waiting }).collect();
    let waits = |i: usize| scrapes.get(i).is_some_and(|scrape| scrape.waiting > 0.0);
    let mut found = Vec::new();
    let mut i = 0;
    while i < scrapes.len() {
        if !waits(i) {
            i += 1;
            continue;
        }
        let mut end = i + 1;
        while waits(end) || (end < scrapes.len() && waits(end + 1)) {
            end += 1;
        }
        if (i..end).any(|at| (at..at + STRETCH).all(waits)) {
            found.push(told(&scrapes, i, end));
        }
        i = end + 1;
    }
    found
}

/// The stretch `from..end`; the scrape at `end`, if there is one, shows nobody waiting.
fn told(scrapes: &[Wait], from: usize, end: usize) -> Event {
    let stretch = &scrapes[from..end];
    let most =
        stretch.iter().fold(stretch[0], |most, next| if next.waiting > most.waiting { *next } else { most });
    let (start, until) = (stretch[0].at, scrapes.get(end).or(stretch.last()).map_or(most.at, |last| last.at));
    let open = end == scrapes.len();
    let before = if from == 0 { ", as they did before" } else { "" };
    let left = if open {
        let last = scrapes[end - 1].waiting;
        format!("; {} still {} at the end", requests(last), if last == 1.0 { "waits" } else { "wait" })
    } else {
        String::new()
    };
    let says = format!(
        "{} requests waited{before}: up to {} at {}{left}",
        when(start, until, open),
        requests(most.waiting),
        clock(most.at)
    );
    Event::new(EventKind::Queue, start, until, says).size(Requests(most.waiting)).open(open)
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::*;
    use crate::testing::Given;
    use crate::timeline::intervals;

    fn of(waiting: &[f64]) -> Vec<Event> {
        let given = Given::vllm("0.28.0").gauge(RequestsRunning, 4.0).gauges(RequestsWaiting, waiting);
        given.with_evidence(|e| queues(&intervals(e)))
    }

    #[test]
    fn a_queue_in_the_second_half_is_told_with_what_is_left_of_it() {
        let found = of(&[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 5.0, 9.0, 8.0, 7.0, 6.0]);
        assert_eq!(found.len(), 1, "{found:#?}");
        assert_eq!((found[0].seconds.get(), found[0].open), (25.0, true));
        assert_eq!(
            found[0].says,
            "from 22:13:50 to the end of the window (25 s) requests waited: up to 9 requests at 22:14:00; 6 requests still wait at the end"
        );
    }

    #[test]
    fn a_moment_without_a_queue_does_not_end_it_and_a_single_scrape_is_none() {
        let found = of(&[0.0, 3.0, 0.0, 4.0, 2.0, 0.0, 0.0, 1.0, 0.0]);
        assert_eq!(found.len(), 1, "{found:#?}");
        assert_eq!((found[0].seconds.get(), found[0].size), (20.0, Some(Requests(4.0).into())));
        assert!(!found[0].open && found[0].says.contains("for 20 s,"), "{}", found[0].says);
    }
}
