//! One engine step: what it works on and the least time it takes.

use intriage_case::{Bytes, PerSecond, Ratio, Seconds, Tokens};

use super::{Deployment, formulas};
use crate::model::Layer;

/// What one engine step works on: decoding sequences and pieces of prompts, mixed as they come.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StepLoad {
    /// Runs of consecutive tokens to compute.
    runs: Vec<Run>,
}

/// `sequences` alike, each computing `new` tokens after `past`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Run {
    sequences: f64,
    new: f64,
    past: f64,
    sampled: bool,
}

impl StepLoad {
    /// `batch` sequences with `context` tokens each, one new token a sequence.
    pub fn decode(batch: u32, context: Tokens) -> Self {
        Self::default().with_decode(batch, context)
    }

    /// One prompt of `new` tokens after `cached` ones, to its end.
    pub fn prefill(new: Tokens, cached: Tokens) -> Self {
        Self::default().with_chunk(new, cached, true)
    }

    /// Adds `batch` decoding sequences whose mean context is `context` tokens.
    #[must_use]
    pub fn with_decode(mut self, batch: u32, context: Tokens) -> Self {
        // The new token reads itself too, but the difference is nothing against the context.
        let past = clean(context);
        self.runs.push(Run { sequences: f64::from(batch), new: 1.0, past, sampled: true });
        self
    }

    /// Adds a piece of one prompt: `new` tokens after `past`; `last` where it ends the prompt, so
    /// that one token is sampled.
    #[must_use]
    pub fn with_chunk(mut self, new: Tokens, past: Tokens, last: bool) -> Self {
        self.runs.push(Run { sequences: 1.0, new: clean(new), past: clean(past), sampled: last });
        self
    }

    /// Tokens computed in the step.
    pub fn tokens(&self) -> Tokens {
        Tokens(self.runs.iter().map(|run| run.sequences * run.new).sum())
    }

    fn sampled(&self) -> f64 {
        self.runs.iter().filter(|run| run.sampled && run.new > 0.0).map(|run| run.sequences).sum()
    }
}

/// Lengths come from configs and metrics: what is no length counts as none.
fn clean(tokens: Tokens) -> f64 {
    if tokens.get().is_finite() { tokens.get().max(0.0) } else { 0.0 }
}

impl Run {
    /// Pairs of a new token and a token it looks at, in one layer and one sequence.
    fn pairs(self, layer: Layer) -> f64 {
        let full = |past: f64| self.new * past + self.new * self.new / 2.0;
        match layer {
            Layer::Attention { window: Some(window), .. } => {
                // Tokens before the window fills see all, those after see the window.
                let growing = (window as f64 - self.past).clamp(0.0, self.new);
                growing * self.past + growing * growing / 2.0 + (self.new - growing) * window as f64
            }
            Layer::Attention { .. } | Layer::Latent { .. } => full(self.past),
            Layer::State { .. } | Layer::Nothing => 0.0,
        }
    }
}

/// FLOPs for one pair of a query and a key.
fn flop_per_pair(layer: Layer, decoding: bool) -> f64 {
    match layer {
        Layer::Attention { heads, key_dim, value_dim, .. } => {
            2.0 * heads as f64 * (key_dim as f64 + value_dim as f64)
        }
        // Decoding multiplies with the compressed vectors as they are, prefill unpacks them.
        Layer::Latent { heads, rank, rope_dim, .. } if decoding => {
            2.0 * heads as f64 * (2.0 * rank as f64 + rope_dim as f64)
        }
        Layer::Latent { heads, key_dim, value_dim, .. } => {
            2.0 * heads as f64 * (key_dim as f64 + value_dim as f64)
        }
        Layer::State { .. } | Layer::Nothing => 0.0,
    }
}

/// The parts of a step's least time, and what good software makes of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepTime {
    /// Reading weights and live KV at peak bandwidth.
    pub bandwidth: Seconds,
    /// Multiplying at peak FLOP/s.
    pub compute: Seconds,
    /// All-reduces between the GPUs at the link's best.
    pub communication: Seconds,
    /// The lower bound: the longer of the first two, plus the third. Host work is not in it.
    pub bound: Seconds,
    /// What well-tuned software reaches, best first: the usual shares of peak, and the link's range.
    pub expected: (Seconds, Seconds),
}

impl StepTime {
    /// True where arithmetic is the longer part.
    pub fn compute_bound(&self) -> bool {
        self.compute > self.bandwidth
    }

    /// How often the bound fits into a measured time: 1 is perfect, 2 usual, 3 unexplained.
    pub fn times_bound(&self, measured: Seconds) -> Option<Ratio> {
        Ratio::of(measured.get(), self.bound.get())
    }
}

impl Deployment<'_> {
    /// The least time of one engine step with this load.
    pub fn step(&self, load: &StepLoad) -> StepTime {
        let tokens = load.tokens().get();
        if tokens <= 0.0 {
            let none = Seconds(0.0);
            return StepTime {
                bandwidth: none,
                compute: none,
                communication: none,
                bound: none,
                expected: (none, none),
            };
        }
        let kv_read: f64 = load.runs.iter().map(|run| run.sequences * self.kv_read(*run)).sum();
        let bandwidth = formulas::decode(self.weights_read(tokens), Bytes(kv_read), self.gpu.bandwidth);

        let peak = self.math().1;
        let compute = Seconds(self.flop(load) / peak.get().max(f64::MIN_POSITIVE));
        let (least, most) = self.link.latency();
        let communication = self.all_reduces(least, tokens);

        let (slow_mbu, fast_mbu) = self.gpu.mbu;
        let (slow_mfu, fast_mfu) = self.gpu.mfu;
        let reached = |mbu: Ratio, mfu: Ratio, comm: Seconds| {
            Seconds((bandwidth.get() / mbu.get()).max(compute.get() / mfu.get()) + comm.get())
        };
        StepTime {
            bandwidth,
            compute,
            communication,
            bound: Seconds(bandwidth.get().max(compute.get()) + communication.get()),
            expected: (
                reached(fast_mbu, fast_mfu, communication),
                reached(slow_mbu, slow_mfu, self.all_reduces(most, tokens)),
            ),
        }
    }

    /// KV bytes that one sequence of the run reads on each GPU: its past once, whatever it computes.
    fn kv_read(&self, run: Run) -> f64 {
        self.model.kv_bytes_per_gpu(Tokens(run.past), self.kv, self.tp).get()
    }

    fn flop(&self, load: &StepLoad) -> f64 {
        let (body, head) = self.multiplied();
        let linear = 2.0 * (body * load.tokens().get() + head * load.sampled());
        // The common rule leaves attention to its own term too, so it is counted either way.
        let attention: f64 = load
            .runs
            .iter()
            .map(|run| {
                let decoding = run.new <= 1.0;
                let pairs =
                    self.layers().iter().map(|layer| run.pairs(*layer) * flop_per_pair(*layer, decoding));
                run.sequences * pairs.sum::<f64>()
            })
            .sum();
        linear + attention
    }

    fn all_reduces(&self, latency: Seconds, tokens: f64) -> Seconds {
        // The residual stream travels as 16 bit.
        let hidden = Bytes(self.model.hidden as f64 * 2.0);
        let link = PerSecond(Bytes(self.link_bandwidth()));
        formulas::tensor_parallel(self.layers().len() as u64, self.tp, latency, Tokens(tokens), hidden, link)
    }

    /// Most tokens a second that a batch of this size and context can make, at the bound.
    pub fn decode_rate(&self, batch: u32, context: Tokens) -> PerSecond<Tokens> {
        let bound = self.decode(batch, context).bound.get();
        PerSecond(Tokens(if bound > 0.0 { f64::from(batch) / bound } else { 0.0 }))
    }
}
