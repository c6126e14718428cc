//! The account between each two readable scrapes, all engines together.

use intriage_case::{Millis, Signal};

use super::gains::{Gains, failures};
use crate::evidence::Evidence;
use crate::thresholds::Limit;

/// What happened between one readable scrape and the next. What the engine does not tell, or what a scrape at either end
/// lacks, is `None` and never zero.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Interval {
    /// The scrape that ends it.
    pub(crate) index: usize,
    /// When it begins.
    pub(crate) start: Millis,
    /// When it ends.
    pub(crate) end: Millis,
    /// Its length, above zero.
    pub(crate) seconds: f64,
    /// Requests that got their first token.
    pub(crate) first_tokens: Option<f64>,
    /// Mean time to first token of those, in seconds.
    pub(crate) ttft: Option<f64>,
    /// Gaps between tokens that ended here.
    pub(crate) gaps: Option<f64>,
    /// Mean gap between tokens, in seconds.
    pub(crate) itl: Option<f64>,
    /// Requests that finished.
    pub(crate) finished: Option<f64>,
    /// Mean time in the queue of the requests that finished here, in seconds.
    pub(crate) queue: Option<f64>,
    /// Mean prefill of the requests that finished here, in seconds.
    pub(crate) prefill: Option<f64>,
    /// Output tokens.
    pub(crate) generated: Option<f64>,
    /// Prompt tokens, cached ones included; vLLM books a prompt whole at its first token.
    pub(crate) prompt_tokens: Option<f64>,
    /// Prompt tokens that were computed, where the engine tells them from cached ones; else all of them.
    pub(crate) computed: Option<f64>,
    /// Steps of the engine.
    pub(crate) steps: Option<f64>,
    /// Times a running request was thrown back.
    pub(crate) preempted: Option<f64>,
    /// Answers with an HTTP status from 400 on, or where those are not counted the engine's own errors.
    pub(crate) failed: Option<f64>,
    /// Requests in the batch at the beginning.
    pub(crate) running_before: Option<f64>,
    /// Requests waiting at the beginning.
    pub(crate) waiting_before: Option<f64>,
    /// Requests in the batch at the end.
    pub(crate) running: Option<f64>,
    /// Requests waiting at the end.
    pub(crate) waiting: Option<f64>,
    /// Share of the KV pool in use at the end, of the fullest engine.
    pub(crate) kv: Option<f64>,
    /// Requests that entered: those that finished and the change of those in the engine, or where clients give up
    /// requests first tokens and the change of those that wait.
    pub(crate) arrivals: Option<f64>,
    /// A counter fell: the process began anew.
    pub(crate) restarted: bool,
}

impl Interval {
    /// Requests in the engine at the end.
    pub(crate) fn held(&self) -> Option<f64> {
        sum_of_known(self.running, self.waiting)
    }

    /// Requests in the engine at the beginning.
    pub(crate) fn held_before(&self) -> Option<f64> {
        sum_of_known(self.running_before, self.waiting_before)
    }

    /// Requests in the batch over the interval: the middle of both ends.
    pub(crate) fn batch(&self) -> Option<f64> {
        Some(f64::midpoint(self.running_before?, self.running?))
    }

    /// So many a second.
    pub(crate) fn rate(&self, of: Option<f64>) -> Option<f64> {
        Some(of? / self.seconds)
    }

    /// Something moved, or somebody was in the engine at either end.
    pub(crate) fn is_active(&self) -> bool {
        let counted = [self.generated, self.prompt_tokens, self.first_tokens, self.gaps, self.finished];
        let held = [self.held_before(), self.held()];
        counted.into_iter().chain(held).flatten().any(|n| n > 0.0)
    }
}

fn sum_of_known(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a + b),
        (a, b) => a.or(b),
    }
}

/// The intervals of the window, in order. One in which the collector's clock stood still or went back has no length
/// and is left out.
pub(crate) fn intervals(e: &Evidence<'_>) -> Vec<Interval> {
    let observed = e.observed;
    let times = &observed.times;
    let histogram = |signal| Gains::of_histogram(observed, signal);
    let counter = |signal| Gains::of_counter(observed, signal, |_| true);
    let gauge = |signal| observed.series(signal, None, None).map_or(Vec::new(), |s| s.values().to_vec());
    let (ttft, itl) = (histogram(Signal::LatencyTtft), histogram(Signal::LatencyItl));
    let (queue, prefill) = (histogram(Signal::LatencyQueue), histogram(Signal::LatencyPrefill));
    let (generated, prompt) = (counter(Signal::TokensGenerated), counter(Signal::TokensPrompt));
    let (ended, lived) = (counter(Signal::RequestsFinished), histogram(Signal::LatencyE2e));
    let preempted = counter(Signal::RequestsPreempted);
    let computed = counter(Signal::TokensPromptComputed);
    let (steps, sizes) = (counter(Signal::SchedulerSteps), histogram(Signal::TokensPerStep));
    let failed = failures(observed);
    let (running, waiting) = (gauge(Signal::RequestsRunning), gauge(Signal::RequestsWaiting));
    let kv = gauge(Signal::KvUsage);
    let at = |values: &[Option<f64>], i: usize| values.get(i).copied().flatten();
    let mut all = Vec::with_capacity(times.len().saturating_sub(1));
    let mut estimates = Vec::with_capacity(all.capacity());
    for index in 1..times.len() {
        let (start, end) = (times[index - 1], times[index]);
        let seconds = end.since(start).get();
        if seconds <= 0.0 {
            continue;
        }
        let restarted = [&generated, &prompt, &ended, &ttft].into_iter().any(|g| g.fell(index));
        let first_tokens = ttft.count(index);
        let finished = ended.count(index).or_else(|| lived.count(index));
        // What a process held when it ended never came out of it.
        let before = |values: &[Option<f64>]| if restarted { Some(0.0) } else { at(values, index - 1) };
        let change = |values: &[Option<f64>]| Some(at(values, index)? - before(values)?);
        let queued = change(&waiting);
        let begun = first_tokens.map(|n| n + queued.unwrap_or(0.0));
        let entered = match (finished, change(&running)) {
            (Some(finished), Some(ran)) => Some(finished + ran + queued.unwrap_or(0.0)),
            _ => None,
        };
        estimates.push((begun, entered));
        all.push(Interval {
            index,
            start,
            end,
            seconds,
            first_tokens,
            ttft: ttft.mean(index),
            gaps: itl.count(index),
            itl: itl.mean(index),
            finished,
            queue: queue.mean(index),
            prefill: prefill.mean(index),
            generated: generated.count(index),
            prompt_tokens: prompt.count(index),
            computed: computed.count(index).or_else(|| prompt.count(index)),
            steps: steps.count(index).or_else(|| sizes.count(index)),
            preempted: preempted.count(index),
            failed: failed.count(index),
            running_before: at(&running, index - 1),
            waiting_before: at(&waiting, index - 1),
            running: at(&running, index),
            waiting: at(&waiting, index),
            kv: at(&kv, index),
            arrivals: None,
            restarted,
        });
    }
    let arrivals = better(&estimates, e.limit(Limit::GivenUp));
    for (interval, arrivals) in all.iter_mut().zip(arrivals) {
        // A gauge that is a step old books a request an interval late, and the next one takes it back.
        interval.arrivals = arrivals.map(|n| n.max(0.0));
    }
    all
}

/// Of two ways to count arrivals the better one, for the whole window: an account that mixes them counts requests twice.
///
/// Those that finished and the change of those in the engine tell a request from its first moment on; but requests that
/// their clients gave up finish nowhere. First tokens and the change of the queue tell those, too, and miss a request
/// while its prompt is computed.
fn better(estimates: &[(Option<f64>, Option<f64>)], given_up: f64) -> Vec<Option<f64>> {
    let both = estimates.iter().filter_map(|(begun, entered)| begun.zip(*entered));
    let (begun, entered) = both.fold((0.0, 0.0), |sum, (b, e)| (sum.0 + b, sum.1 + e));
    let all_leave_well = entered >= (1.0 - given_up) * begun;
    let choose = |(begun, entered): &(Option<f64>, Option<f64>)| {
        if all_leave_well { entered.or(*begun) } else { begun.or(*entered) }
    };
    estimates.iter().map(choose).collect()
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::*;
    use crate::testing::Given;

    fn of(given: &Given) -> Vec<Interval> {
        given.with_evidence(intervals)
    }

    fn column(given: &Given, field: fn(&Interval) -> Option<f64>) -> Vec<Option<f64>> {
        of(given).iter().map(field).collect()
    }

    fn arrivals(given: &Given) -> Vec<f64> {
        column(given, |i| i.arrivals).into_iter().map(|n| n.unwrap().round()).collect()
    }

    #[test]
    fn each_interval_tells_its_own_mean() {
        let given = Given::vllm("0.28.0")
            .gauge(RequestsRunning, 4.0)
            .observed_in_halves(LatencyItl, &[(0.01, 1100.0)], &[(0.09, 1100.0)])
            .counter(TokensGenerated, 2200.0);
        let all = of(&given);
        assert_eq!(all.len(), 11);
        assert_eq!((all[0].index, all[0].seconds, all[10].index), (1, 5.0, 11));
        assert!((all[0].itl.unwrap() - 0.01).abs() < 1e-9, "{:?}", all[0]);
        assert!((all[10].itl.unwrap() - 0.09).abs() < 1e-9, "{:?}", all[10]);
        assert!((all[3].generated.unwrap() - 200.0).abs() < 1e-9);
        assert_eq!((all[3].running, all[3].rate(all[3].generated).map(f64::round)), (Some(4.0), Some(40.0)));
    }

    #[test]
    fn what_the_engine_does_not_tell_is_not_zero() {
        let given = Given::vllm("0.28.0").gauge(RequestsRunning, 4.0);
        for interval in of(&given) {
            let told =
                [interval.ttft, interval.generated, interval.waiting, interval.failed, interval.arrivals];
            assert_eq!(told, [None; 5]);
            assert_eq!(interval.held(), Some(4.0));
        }
    }

    #[test]
    fn after_a_restart_everything_counted_is_new() {
        let given = Given::vllm("0.28.0")
            .gauge(RequestsRunning, 4.0)
            .counters(TokensGenerated, &[1000.0, 1100.0, 30.0, 80.0]);
        let tokens = column(&given, |i| i.generated);
        assert_eq!(tokens[..4], [Some(100.0), Some(30.0), Some(50.0), Some(0.0)]);
        let fell: Vec<usize> = of(&given).iter().filter(|i| i.restarted).map(|i| i.index).collect();
        assert_eq!(fell, [2]);
    }

    #[test]
    fn one_engine_that_restarts_does_not_hide_the_work_of_the_other() {
        let given = Given::vllm("0.28.0").each_scrape(|part| {
            let scrape = (part * 11.0).round();
            let first = 10_000.0 + 100.0 * scrape;
            let second = if scrape < 6.0 { 5000.0 + 10.0 * scrape } else { 10.0 * (scrape - 5.0) };
            format!(
                "vllm:generation_tokens_total{{engine=\"0\",model_name=\"m\"}} {first}\n\
                 vllm:generation_tokens_total{{engine=\"1\",model_name=\"m\"}} {second}\n"
            )
        });
        let tokens = column(&given, |i| i.generated);
        assert!(tokens.iter().all(|n| n.is_some_and(|n| (n - 110.0).abs() < 1e-6)), "{tokens:?}");
        assert_eq!(of(&given).iter().filter(|i| i.restarted).count(), 1);
    }

    #[test]
    fn arrivals_are_first_tokens_and_those_that_wait_for_theirs() {
        let given = Given::vllm("0.28.0")
            .gauge(RequestsRunning, 4.0)
            .gauges(RequestsWaiting, &[0.0, 0.0, 90.0, 60.0, 30.0, 0.0])
            .observed(LatencyTtft, &[(0.1, 330.0)]);
        assert_eq!(arrivals(&given)[..6], [30.0, 120.0, 0.0, 0.0, 0.0, 30.0]);
    }

    #[test]
    fn a_request_has_arrived_before_its_prompt_is_computed_and_one_given_up_counts() {
        // 25 at once; their first tokens come later, ten an interval.
        let at_once = Given::vllm("0.28.0")
            .gauges(RequestsRunning, &[0.0, 25.0])
            .gauge(RequestsWaiting, 0.0)
            .finished("stop", 110.0)
            .observed(LatencyTtft, &[(0.1, 110.0)]);
        assert_eq!(arrivals(&at_once)[..3], [35.0, 10.0, 10.0]);
        let given_up = at_once.gauge(RequestsRunning, 25.0).finished("stop", 55.0);
        assert_eq!(arrivals(&given_up)[..3], [10.0, 10.0, 10.0]);
    }

    #[test]
    fn failures_are_statuses_from_400_on_and_known_to_be_none_before_the_first() {
        let busy = Given::vllm("0.28.0").gauge(RequestsRunning, 1.0).answered("2xx", 110.0);
        assert_eq!(column(&busy, |i| i.failed)[0], Some(0.0));
        let failing = busy.answered("5xx", 22.0);
        let failed = column(&failing, |i| i.failed)[0].unwrap();
        assert!((failed - 2.0).abs() < 1e-9, "{failed}");
    }
}
