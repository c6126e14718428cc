//! What one engine counts, when vLLM would count it.

use std::borrow::Cow;

use crate::engine::{EngineConfig, EngineLoad, Sequence, Sink};
use crate::metrics::buckets;
use crate::request::Finish;
use crate::time::Nanos;

/// A histogram as Prometheus clients keep it.
#[derive(Debug, Clone)]
pub(super) struct Buckets {
    pub(super) limits: Cow<'static, [f64]>,
    pub(super) counts: Vec<u64>,
    pub(super) sum: f64,
}

impl Buckets {
    fn new(limits: impl Into<Cow<'static, [f64]>>) -> Self {
        let limits = limits.into();
        Self { counts: vec![0; limits.len() + 1], limits, sum: 0.0 }
    }

    pub(super) fn add(&mut self, value: f64) {
        let at = self.limits.partition_point(|limit| *limit < value);
        self.counts[at] += 1;
        self.sum += value;
    }
}

/// One engine's counters, gauges and histograms.
#[derive(Debug, Clone)]
pub(super) struct EngineMetrics {
    /// What the last step left: gauges are set at the end of a step.
    pub(super) load: EngineLoad,
    pub(super) prefix_queries: u64,
    pub(super) prefix_hits: u64,
    pub(super) preemptions: u64,
    pub(super) prompt_tokens: u64,
    pub(super) cached_tokens: u64,
    pub(super) generated_tokens: u64,
    pub(super) finished_stop: u64,
    pub(super) finished_length: u64,
    pub(super) drafts: u64,
    pub(super) draft_tokens: u64,
    pub(super) accepted_tokens: u64,
    pub(super) accepted_at: Vec<u64>,
    pub(super) step_tokens: Buckets,
    pub(super) ttft: Buckets,
    pub(super) itl: Buckets,
    pub(super) tpot: Buckets,
    pub(super) e2e: Buckets,
    pub(super) queue: Buckets,
    pub(super) prefill: Buckets,
    pub(super) decode: Buckets,
    pub(super) inference: Buckets,
    pub(super) prompt_length: Buckets,
    pub(super) output_length: Buckets,
    pub(super) longest_output: Buckets,
    pub(super) answers: Buckets,
    pub(super) max_tokens: Buckets,
    pub(super) computed_length: Buckets,
    pub(super) preemptions_each: Buckets,
    prefix_cache: bool,
    in_step: u64,
}

impl EngineMetrics {
    pub(super) fn new(config: &EngineConfig) -> Self {
        let lengths = || Buckets::new(buckets::lengths(config.context_window));
        let phase = || Buckets::new(buckets::PHASE);
        let drafts = config.speculation.map_or(0, |s| s.draft_tokens);
        Self {
            load: EngineLoad { blocks: config.pool_blocks, ..EngineLoad::default() },
            prefix_queries: 0,
            prefix_hits: 0,
            preemptions: 0,
            prompt_tokens: 0,
            cached_tokens: 0,
            generated_tokens: 0,
            finished_stop: 0,
            finished_length: 0,
            drafts: 0,
            draft_tokens: 0,
            accepted_tokens: 0,
            accepted_at: vec![0; drafts as usize],
            step_tokens: Buckets::new(buckets::STEP_TOKENS),
            ttft: Buckets::new(buckets::TTFT),
            itl: Buckets::new(buckets::ITL),
            tpot: Buckets::new(buckets::ITL),
            e2e: phase(),
            queue: phase(),
            prefill: phase(),
            decode: phase(),
            inference: phase(),
            prompt_length: lengths(),
            output_length: lengths(),
            longest_output: lengths(),
            answers: Buckets::new(buckets::ANSWERS),
            max_tokens: lengths(),
            computed_length: lengths(),
            preemptions_each: Buckets::new(buckets::PREEMPTIONS),
            prefix_cache: config.prefix_cache,
            in_step: 0,
        }
    }
}

impl Sink for EngineMetrics {
    fn admitted(&mut self, sequence: &Sequence, _now: Nanos) {
        if self.prefix_cache {
            self.prefix_queries += u64::from(sequence.request.prompt);
            self.prefix_hits += u64::from(sequence.cached);
        }
    }

    fn tokens(&mut self, sequence: &Sequence, tokens: u32, gap: Option<Nanos>, now: Nanos) {
        self.generated_tokens += u64::from(tokens);
        self.in_step += u64::from(tokens);
        // vLLM counts a preemption when the thrown-back request gets its next token.
        self.preemptions += u64::from(sequence.unreported_preemptions);
        if let Some(gap) = gap {
            self.itl.add(gap.seconds().0);
        } else {
            // A prompt is booked whole when its first token comes, however many steps it took.
            let prompt = u64::from(sequence.request.prompt);
            self.prompt_tokens += prompt;
            self.cached_tokens += u64::from(sequence.cached);
            self.in_step += prompt;
            self.ttft.add(now.since(sequence.request.arrival).seconds().0);
        }
    }

    fn speculated(&mut self, drafted: u32, accepted: u32) {
        self.drafts += 1;
        self.draft_tokens += u64::from(drafted);
        self.accepted_tokens += u64::from(accepted);
        self.accepted_at.iter_mut().take(accepted as usize).for_each(|n| *n += 1);
    }

    fn finished(&mut self, sequence: &Sequence, reason: Finish, now: Nanos) {
        match reason {
            Finish::Stop => self.finished_stop += 1,
            Finish::Length => self.finished_length += 1,
            // A client that hangs up leaves no trace in vLLM's counters.
            Finish::Abort => return,
        }
        let (request, times) = (&sequence.request, sequence);
        let scheduled = times.scheduled_at.unwrap_or(now);
        let first = times.first_token.unwrap_or(now);
        let decode = now.since(first).seconds().0;
        self.e2e.add(now.since(request.arrival).seconds().0);
        self.queue.add(scheduled.since(times.queued).seconds().0);
        self.prefill.add(first.since(scheduled).seconds().0);
        self.decode.add(decode);
        self.inference.add(now.since(scheduled).seconds().0);
        self.tpot.add(if times.generated > 1 { decode / f64::from(times.generated - 1) } else { 0.0 });
        self.prompt_length.add(f64::from(request.prompt));
        self.output_length.add(f64::from(times.generated));
        self.longest_output.add(f64::from(times.generated));
        self.answers.add(1.0);
        self.max_tokens.add(f64::from(request.max_tokens));
        self.computed_length.add(f64::from(request.prompt - times.cached));
        self.preemptions_each.add(f64::from(times.preemptions));
    }

    fn stepped(&mut self, load: EngineLoad, _now: Nanos) {
        self.load = load;
        self.step_tokens.add(std::mem::take(&mut self.in_step) as f64);
    }
}
