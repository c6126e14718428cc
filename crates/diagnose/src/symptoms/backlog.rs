//! More arrives than leaves, and nobody waits: requests pile up in a batch that takes them all and slows down.

use intriage_case::{Millis, ObjectiveMetric, Ratio, Requests, Seconds, Signal};

use super::stated::{Stated, stated};
use crate::evidence::Evidence;
use crate::thresholds::Limit;
use crate::timeline::Interval;

/// Requests that pile up from third to third of the load.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Backlog {
    /// Requests in the server in the first third, on average.
    pub(crate) first: Requests,
    /// The same in the last third.
    pub(crate) last: Requests,
    /// What they feel: `first tokens took 310 ms at first and 2.10 s at last`.
    pub(crate) felt: String,
    /// What that costs: the part of a request's life that the first third did not have.
    pub(crate) share: Ratio,
    /// The beginning of the load.
    pub(crate) start: Millis,
    /// The end of the last third.
    pub(crate) end: Millis,
}

/// Fewer intervals in a third show jitter, not growth.
const LEAST_INTERVALS: usize = 3;

/// Whether requests pile up to the end of the window and that is felt. Bursts and standstills pile up requests, too, and are
/// told by themselves, as a queue is.
pub(crate) fn backlog(e: &Evidence<'_>) -> Option<Backlog> {
    let load: Vec<&Interval> = e.timeline.intervals.iter().filter(|i| i.is_active()).collect();
    let waiting = |i: &&&Interval| i.waiting.is_some_and(|waiting| waiting >= e.limit(Limit::NobodyWaits));
    let queued = load.iter().filter(waiting).count() as f64 >= e.limit(Limit::StretchLooks);
    let told = queued || e.timeline.bursts().chain(e.timeline.standstills()).next().is_some();
    if told || load.len() < 3 * LEAST_INTERVALS || e.restarts() > 0 || e.wants_throughput() {
        return None;
    }
    let third = |n: usize| Third::of(&load[load.len() * n / 3..load.len() * (n + 1) / 3]);
    let (first, middle, last) = (third(0)?, third(1)?, third(2)?);
    let arrived: f64 = load.iter().filter_map(|i| i.arrivals).sum();
    let growth = last.held - first.held;
    let grows = arrived > 0.0
        && middle.held >= first.held
        && last.held >= e.limit(Limit::BacklogGrowth) * middle.held
        && growth >= arrived.sqrt()
        && growth >= e.limit(Limit::StretchRequests)
        // Where as many leave as come, the load has grown and the server keeps up.
        && last.more >= last.arrived.sqrt();
    if !grows {
        return None;
    }
    let late = slower(first.ttft, last.ttft, e.limit(Limit::BacklogTimes), e.limit(Limit::PrefillExcess))
        .filter(|_| !matches!(stated(e, &[ObjectiveMetric::Ttft]), Stated::Met(_)));
    let slow = slower(first.itl, last.itl, e.limit(Limit::BacklogTimes), e.limit(Limit::TokenExcess))
        .filter(|_| !matches!(stated(e, &[ObjectiveMetric::Itl, ObjectiveMetric::Tpot]), Stated::Met(_)));
    let (what, (then, now)) = match (late, slow) {
        (Some(late), _) => ("first tokens took", late),
        (None, Some(slow)) => ("a token took", slow),
        (None, None) => return None,
    };
    let tokens = e.mean(Signal::TokensOutputEach).unwrap_or(0.0);
    let life = |third: &Third| third.ttft.unwrap_or(0.0) + tokens * third.itl.unwrap_or(0.0);
    // A server that was empty fills for as long as a request lives: that is no backlog. One that lives so long only because it
    // became many times slower is.
    let collapsed = now >= e.limit(Limit::BacklogCollapse) * then && life(&first) <= first.seconds;
    if life(&last) > last.seconds && !collapsed {
        return None;
    }
    let kept = if life(&last) > 0.0 { life(&first) / life(&last) } else { then / now };
    Some(Backlog {
        first: Requests(first.held),
        last: Requests(last.held),
        felt: format!("{what} {} at first and {} at last", Seconds(then), Seconds(now)),
        share: Ratio((1.0 - kept).clamp(0.0, 1.0)),
        start: load.first()?.start,
        end: load.last()?.end,
    })
}

/// Means of a third of the load: requests in the server, and times in seconds.
struct Third {
    held: f64,
    ttft: Option<f64>,
    itl: Option<f64>,
    /// How long it is.
    seconds: f64,
    /// Requests that came in it.
    arrived: f64,
    /// Requests in the server at its end beyond those at its beginning.
    more: f64,
}

impl Third {
    fn of(part: &[&Interval]) -> Option<Self> {
        let held: Vec<f64> = part.iter().filter_map(|i| i.held()).collect();
        let mean = |of: fn(&Interval) -> (Option<f64>, Option<f64>)| {
            let known = part.iter().filter_map(|i| of(i).0.zip(of(i).1));
            let (sum, n) = known.fold((0.0, 0.0), |all, (time, n)| (all.0 + time * n, all.1 + n));
            (n > 0.0).then(|| sum / n)
        };
        (!held.is_empty()).then(|| Self {
            held: held.iter().sum::<f64>() / held.len() as f64,
            ttft: mean(|i| (i.ttft, i.first_tokens)),
            itl: mean(|i| (i.itl, i.gaps)),
            seconds: part.iter().map(|i| i.seconds).sum(),
            arrived: part.iter().filter_map(|i| i.arrivals).sum(),
            more: held
                .last()
                .zip(part.first().and_then(|i| i.held_before()))
                .map_or(0.0, |(end, start)| end - start),
        })
    }
}

/// Both times, where the later is so many times the earlier and at least so much more.
fn slower(then: Option<f64>, now: Option<f64>, times: f64, more: f64) -> Option<(f64, f64)> {
    then.zip(now).filter(|(then, now)| *now >= times * then && now - then >= more)
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::backlog;
    use crate::testing::Given;

    /// A batch that takes all that comes: from `before` to `after` requests in it, tokens slower and slower.
    fn load(before: f64, after: f64, itl: (f64, f64)) -> Given {
        let part = |i: u32| f64::from(i) / 11.0;
        let running: Vec<f64> = (0..12).map(|i| before + (after - before) * part(i).powi(2)).collect();
        let gaps: Vec<f64> = (0..11).map(|i| itl.0 + (itl.1 - itl.0) * part(i)).collect();
        Given::vllm("0.32.0")
            .gauges(RequestsRunning, &running)
            .gauge(RequestsWaiting, 0.0)
            .gaps(&gaps)
            .observed(LatencyTtft, &[(0.3, 60.0)])
            .observed(TokensOutputEach, &[(40.0, 60.0)])
            .finished("stop", 60.0)
    }

    fn piles_up(given: &Given) -> bool {
        given.with_evidence(|e| backlog(e).is_some())
    }

    #[test]
    fn a_batch_that_grows_to_the_end_while_tokens_slow_down_is_a_backlog() {
        assert!(piles_up(&load(2.0, 40.0, (0.04, 0.16))));
        assert!(!piles_up(&load(2.0, 40.0, (0.04, 0.042))), "nobody feels it");
        assert!(!piles_up(&load(10.0, 14.0, (0.04, 0.16))), "it hardly grows");
        assert!(!piles_up(&load(40.0, 2.0, (0.04, 0.16))), "it shrinks");
    }

    #[test]
    fn a_server_that_fills_is_told_from_one_that_collapsed() {
        let fills = load(2.0, 40.0, (0.1, 0.4)).observed(TokensOutputEach, &[(80.0, 60.0)]);
        assert!(!piles_up(&fills), "answers of half a minute fill it");
        assert!(piles_up(&load(2.0, 40.0, (0.02, 2.0))), "they take that long because it is full");
    }

    #[test]
    fn a_pace_that_was_promised_and_is_kept_is_none() {
        let kept = load(2.0, 40.0, (0.04, 0.16)).objective("itl.mean=200ms");
        assert!(!piles_up(&kept));
        assert!(!piles_up(&load(2.0, 40.0, (0.04, 0.16)).batch()), "a job plans its backlog");
    }
}
