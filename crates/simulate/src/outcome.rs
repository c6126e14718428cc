//! What a run gave: latencies, throughput, how full the engine was.

use hdrhistogram::Histogram;
use intriage_case::{PerSecond, Ratio, Requests, Seconds, Tokens};

use crate::engine::{EngineLoad, Refusal, Sequence, Sink};
use crate::fleet::FleetConfig;
use crate::request::{Finish, Request};
use crate::run::{Stop, Watch, run};
use crate::time::Nanos;
use crate::workload::Workload;

/// What a run gave. Requests that arrived before the warm-up ended are not counted.
#[derive(Debug)]
pub struct Outcome {
    /// Arrival to first token.
    pub ttft: Latency,
    /// Gaps between the tokens of one request.
    pub itl: Latency,
    /// Arrival to last token.
    pub e2e: Latency,
    /// Queued to first scheduled.
    pub queue: Latency,
    /// First scheduled to first token.
    pub prefill: Latency,
    /// Requests that were answered.
    pub answered: Requests,
    /// Requests that were refused.
    pub refused: Requests,
    /// Requests whose client gave up.
    pub given_up: Requests,
    /// How often a request was thrown back.
    pub preemptions: u64,
    /// Tokens generated.
    pub output_tokens: Tokens,
    /// Prompt tokens found in the prefix cache, of all.
    pub cached_tokens: Tokens,
    /// Prompt tokens.
    pub prompt_tokens: Tokens,
    /// Engine steps.
    pub steps: u64,
    /// Requests in the batch, averaged over the steps.
    pub running: Requests,
    /// Requests that waited, averaged over the steps.
    pub waiting: Requests,
    /// Share of the pool held, averaged over the steps.
    pub kv_usage: Ratio,
    /// How long was counted.
    pub time: Seconds,
    from: Nanos,
    sums: [f64; 3],
}

/// A distribution of times, exact to about one part in a thousand.
#[derive(Debug)]
pub struct Latency {
    nanos: Histogram<u64>,
    sum: f64,
    // The newest time and how often it came in a row: most of a batch waits equally long.
    newest: (Nanos, u64),
}

impl Default for Latency {
    fn default() -> Self {
        Self::new()
    }
}

impl Latency {
    /// An empty distribution.
    pub fn new() -> Self {
        // From a microsecond to two days at three figures: about 250 KB.
        let nanos =
            Histogram::new_with_bounds(1000, 200_000_000_000_000, 3).unwrap_or_else(|_| Self::coarse());
        Self { nanos, sum: 0.0, newest: (Nanos::ZERO, 0) }
    }

    /// One figure is always a legal choice; the types do not say so.
    #[allow(clippy::unreachable)]
    fn coarse() -> Histogram<u64> {
        Histogram::new(1).unwrap_or_else(|_| unreachable!("one significant figure is allowed"))
    }

    /// Counts one time.
    #[inline]
    pub fn add(&mut self, time: Nanos) {
        self.nanos.saturating_record(time.0);
        self.sum += time.0 as f64;
    }

    /// Counts one time, later: equal ones in a row are written down together by [`Self::settle`].
    #[inline]
    fn hold(&mut self, time: Nanos) {
        if time == self.newest.0 {
            self.newest.1 += 1;
        } else {
            self.settle();
            self.newest = (time, 1);
        }
    }

    /// Writes down what [`Self::hold`] held back; before this nothing can be asked.
    fn settle(&mut self) {
        let (time, times) = std::mem::take(&mut self.newest);
        self.nanos.saturating_record_n(time.0, times);
        self.sum += time.0 as f64 * times as f64;
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.nanos.len()
    }

    /// The mean; zero where nothing was counted.
    pub fn mean(&self) -> Seconds {
        Seconds(if self.nanos.is_empty() { 0.0 } else { self.sum / self.nanos.len() as f64 / 1e9 })
    }

    /// A quantile, 0 to 1.
    pub fn quantile(&self, q: Ratio) -> Seconds {
        Nanos(self.nanos.value_at_quantile(q.0)).seconds()
    }
}

impl Outcome {
    /// Runs a workload and counts what happens to requests that arrive after `warm_up`.
    pub fn of(fleet: &FleetConfig, workload: &Workload, seed: u64, stop: Stop, warm_up: Seconds) -> Self {
        let mut outcome = Self::empty(Nanos::from_seconds(warm_up));
        let end = run(fleet, workload, seed, stop, &mut outcome);
        outcome.itl.settle();
        outcome.time = end.since(outcome.from).seconds();
        let steps = (outcome.steps as f64).max(1.0);
        let [running, waiting, kv] = outcome.sums;
        outcome.running = Requests(running / steps);
        outcome.waiting = Requests(waiting / steps);
        outcome.kv_usage = Ratio(kv / steps);
        outcome
    }

    fn empty(from: Nanos) -> Self {
        Self {
            ttft: Latency::new(),
            itl: Latency::new(),
            e2e: Latency::new(),
            queue: Latency::new(),
            prefill: Latency::new(),
            answered: Requests(0.0),
            refused: Requests(0.0),
            given_up: Requests(0.0),
            preemptions: 0,
            output_tokens: Tokens(0.0),
            cached_tokens: Tokens(0.0),
            prompt_tokens: Tokens(0.0),
            steps: 0,
            running: Requests(0.0),
            waiting: Requests(0.0),
            kv_usage: Ratio(0.0),
            time: Seconds(0.0),
            from,
            sums: [0.0; 3],
        }
    }

    /// Requests answered per second.
    pub fn request_rate(&self) -> PerSecond<Requests> {
        PerSecond(Requests(if self.time.0 > 0.0 { self.answered.0 / self.time.0 } else { 0.0 }))
    }

    /// Tokens generated per second.
    pub fn token_rate(&self) -> PerSecond<Tokens> {
        PerSecond(Tokens(if self.time.0 > 0.0 { self.output_tokens.0 / self.time.0 } else { 0.0 }))
    }

    fn counts(&self, sequence: &Sequence) -> bool {
        sequence.request.arrival >= self.from
    }
}

impl Watch for Outcome {
    fn sink(&mut self, _engine: usize) -> &mut impl Sink {
        self
    }
    fn refused(&mut self, request: &Request, _why: Refusal, _now: Nanos) {
        if request.arrival >= self.from {
            self.refused.0 += 1.0;
        }
    }
}

impl Sink for Outcome {
    fn admitted(&mut self, sequence: &Sequence, now: Nanos) {
        if self.counts(sequence) {
            self.queue.add(now.since(sequence.queued));
            self.cached_tokens.0 += f64::from(sequence.cached);
            self.prompt_tokens.0 += f64::from(sequence.request.prompt);
        }
    }

    #[inline]
    fn tokens(&mut self, sequence: &Sequence, tokens: u32, gap: Option<Nanos>, now: Nanos) {
        if now >= self.from {
            self.output_tokens.0 += f64::from(tokens);
            if let Some(gap) = gap {
                self.itl.hold(gap);
            } else if self.counts(sequence) {
                self.ttft.add(now.since(sequence.request.arrival));
                self.prefill.add(now.since(sequence.scheduled_at.unwrap_or(now)));
            }
        }
    }

    fn finished(&mut self, sequence: &Sequence, reason: Finish, now: Nanos) {
        if !self.counts(sequence) {
            return;
        }
        self.preemptions += u64::from(sequence.preemptions);
        if reason == Finish::Abort {
            self.given_up.0 += 1.0;
        } else {
            self.answered.0 += 1.0;
            self.e2e.add(now.since(sequence.request.arrival));
        }
    }

    fn stepped(&mut self, load: EngineLoad, now: Nanos) {
        if now >= self.from {
            self.steps += 1;
            self.sums[0] += f64::from(load.running);
            self.sums[1] += f64::from(load.waiting + load.deferred);
            self.sums[2] += f64::from(load.blocks_held) / f64::from(load.blocks.max(1));
        }
    }
}
