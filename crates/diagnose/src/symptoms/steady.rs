//! The worst stretch of the window: what a mean over all of it would hide.

use intriage_case::Millis;

use crate::evidence::Evidence;
use crate::thresholds::Limit;
use crate::timeline::Interval;

/// A stretch in which requests waited.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Waiting {
    /// When it begins.
    pub(crate) start: Millis,
    /// When it ends.
    pub(crate) end: Millis,
    /// Its length in seconds.
    pub(crate) seconds: f64,
    /// Mean wait of a request in it, in seconds, by Little's law.
    pub(crate) wait: f64,
    /// Most that waited at once.
    pub(crate) peak: f64,
    /// They still wait at the end of the window.
    pub(crate) open: bool,
    /// Its part of the busy time, 0 to 1.
    pub(crate) part: f64,
}

/// The stretch of waiting requests that costs most request-seconds, where it is long enough to be no flicker of a gauge.
pub(crate) fn longest_wait(e: &Evidence<'_>) -> Option<Waiting> {
    let all = &e.timeline.intervals;
    let waits = |i: &Interval| i.waiting.is_some_and(|w| w >= 1.0);
    let mut best: Option<(f64, Waiting)> = None;
    let mut from = 0;
    while from < all.len() {
        if !waits(&all[from]) {
            from += 1;
            continue;
        }
        // One look without a queue in between is a gauge read between two steps.
        let mut to = from;
        while to + 1 < all.len() && (waits(&all[to + 1]) || all.get(to + 2).is_some_and(waits)) {
            to += 1;
        }
        let stretch = &all[from..=to];
        let seconds: f64 = stretch.iter().map(|i| i.seconds).sum();
        let waited: f64 = stretch.iter().map(|i| i.waiting.unwrap_or(0.0) * i.seconds).sum();
        let begun: f64 = stretch.iter().filter_map(|i| i.first_tokens).sum();
        let open = to + 1 == all.len();
        let left = if open { stretch.last().and_then(|i| i.waiting).unwrap_or(0.0) } else { 0.0 };
        let looks = stretch.iter().filter(|i| waits(i)).count();
        if looks as f64 >= e.limit(Limit::StretchLooks) && begun + left > 0.0 {
            let found = Waiting {
                start: stretch[0].start,
                end: stretch[stretch.len() - 1].end,
                seconds,
                wait: waited / (begun + left),
                peak: stretch.iter().filter_map(|i| i.waiting).fold(0.0, f64::max),
                open,
                part: seconds / e.busy_time().get().max(seconds),
            };
            if best.is_none_or(|(most, _)| waited > most) {
                best = Some((waited, found));
            }
        }
        from = to + 1;
    }
    best.map(|(_, found)| found)
}
