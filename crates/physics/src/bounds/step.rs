//! The least time of one engine step.

use intriage_case::{Bytes, PerSecond, Ratio, Seconds, Tokens};

use super::load::{Run, StepLoad};
use super::{Counting, Deployment, formulas};
use crate::Math;
use crate::bytes::expert_share;
use crate::model::{Layer, Module};

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
    const NONE: Self = {
        let none = Seconds(0.0);
        Self { bandwidth: none, compute: none, communication: none, bound: none, expected: (none, none) }
    };

    /// True where arithmetic is the longer part.
    pub fn compute_bound(&self) -> bool {
        self.compute > self.bandwidth
    }

    /// How often the bound fits into a measured time: 1 is perfect, 2 usual, 3 unexplained.
    pub fn times_bound(&self, measured: Seconds) -> Option<Ratio> {
        Ratio::of(measured.get(), self.bound.get())
    }
}

/// A [`Deployment`] with everything computed that does not depend on the load. All bytes are those of
/// one GPU, all times those of the group.
#[derive(Debug, Clone, PartialEq)]
pub struct StepModel {
    /// Weights that every step reads.
    always: f64,
    experts: f64,
    /// Share of the experts that one token uses.
    picked: f64,
    /// Seconds of arithmetic for each token, and more for each that is sampled.
    per_token: f64,
    per_sampled: f64,
    layers: Vec<Alike>,
    state: Bytes,
    bandwidth: PerSecond<Bytes>,
    mbu: (Ratio, Ratio),
    mfu: (Ratio, Ratio),
    all_reduce: AllReduce,
}

/// Layers that remember alike.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Alike {
    layer: Layer,
    count: f64,
    /// KV bytes of one token in one of them.
    kv: f64,
    /// Seconds of arithmetic for one pair of query and key in one of them.
    per_pair: f64,
    per_pair_decoding: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct AllReduce {
    layers: u64,
    gpus: u32,
    hidden: Bytes,
    link: PerSecond<Bytes>,
    latency: (Seconds, Seconds),
}

impl AllReduce {
    fn time(&self, latency: Seconds, tokens: f64) -> Seconds {
        formulas::tensor_parallel(self.layers, self.gpus, latency, Tokens(tokens), self.hidden, self.link)
    }
}

impl StepModel {
    pub(super) fn new(on: &Deployment<'_>) -> Self {
        let model = on.model;
        let weights = model.step_weights(on.tp);
        let everything = on.counting == Counting::AllParameters;
        let (per_token, per_sampled) = arithmetic(on);

        let group = f64::from(on.tp);
        let attention = on.gpu.math_for(Math::Bf16).1.get() * group;
        let mut layers: Vec<Alike> = Vec::new();
        for &layer in &model.layers {
            if let Some(alike) = layers.iter_mut().find(|alike| alike.layer == layer) {
                alike.count += 1.0;
                continue;
            }
            let (prefilling, decoding) = flop_per_pair(layer);
            layers.push(Alike {
                layer,
                count: 1.0,
                kv: layer.kv_bytes_per_gpu(on.kv, on.tp),
                per_pair: prefilling / attention,
                per_pair_decoding: decoding / attention,
            });
        }
        Self {
            always: weights.always + weights.head + if everything { weights.lookup } else { 0.0 },
            experts: weights.experts,
            picked: model.experts().map_or(1.0, |(experts, used)| used as f64 / experts.max(1) as f64),
            per_token,
            per_sampled,
            layers,
            state: model.state_bytes(on.tp),
            bandwidth: on.gpu.bandwidth,
            mbu: on.gpu.mbu,
            mfu: on.gpu.mfu,
            all_reduce: AllReduce {
                layers: model.layers.len() as u64,
                gpus: on.tp,
                // The residual stream travels as 16 bit.
                hidden: Bytes(model.hidden as f64 * 2.0),
                link: PerSecond(Bytes(on.link_bandwidth())),
                latency: on.link.latency(),
            },
        }
    }

    /// The least time of one engine step with this load.
    pub fn step(&self, load: &StepLoad) -> StepTime {
        let tokens = load.tokens().get();
        if tokens <= 0.0 {
            return StepTime::NONE;
        }
        let weights = self.always + self.experts * expert_share(self.picked, tokens);
        let kv: f64 = load.runs.iter().map(|run| run.sequences * self.kv_read(*run)).sum();
        let bandwidth = formulas::decode(Bytes(weights), Bytes(kv), self.bandwidth);

        let attention: f64 = load.runs.iter().map(|run| run.sequences * self.attention(*run)).sum();
        let compute = Seconds(self.per_token * tokens + self.per_sampled * load.sampled() + attention);

        let (least, most) = self.all_reduce.latency;
        let communication = self.all_reduce.time(least, tokens);
        let reached = |mbu: Ratio, mfu: Ratio, communication: Seconds| {
            Seconds((bandwidth.get() / mbu.get()).max(compute.get() / mfu.get()) + communication.get())
        };
        StepTime {
            bandwidth,
            compute,
            communication,
            bound: Seconds(bandwidth.get().max(compute.get()) + communication.get()),
            expected: (
                reached(self.mbu.1, self.mfu.1, communication),
                reached(self.mbu.0, self.mfu.0, self.all_reduce.time(most, tokens)),
            ),
        }
    }

    /// KV bytes that one sequence reads: its past once, however many tokens it computes.
    fn kv_read(&self, run: Run) -> f64 {
        let past: f64 =
            self.layers.iter().map(|alike| alike.count * alike.layer.kept(run.past) * alike.kv).sum();
        past + self.state.get()
    }

    fn attention(&self, run: Run) -> f64 {
        let decoding = run.new <= 1.0;
        let time = |alike: &Alike| {
            let each = if decoding { alike.per_pair_decoding } else { alike.per_pair };
            alike.count * run.pairs(alike.layer) * each
        };
        self.layers.iter().map(time).sum()
    }
}

/// Seconds of arithmetic for each token, and for each that passes the head, each tensor at the peak of
/// its own format.
fn arithmetic(on: &Deployment<'_>) -> (f64, f64) {
    let tied = on.model.tied_embeddings();
    let (mut body, mut head) = (0.0, 0.0);
    for tensor in &on.model.tensors {
        let peak = on.gpu.math_for(tensor.format.math).1.get() * f64::from(on.tp);
        let time = 2.0 * tensor.used_elements() as f64 / peak.max(f64::MIN_POSITIVE);
        let touched = on.counting == Counting::Touched;
        match tensor.module {
            Module::Head if touched => head += time,
            Module::Embedding if touched && tied => head += time,
            Module::Embedding if touched => {}
            _ => body += time,
        }
    }
    (body, head)
}

/// FLOPs for one pair of a query and a key: in prefill, and in decode.
fn flop_per_pair(layer: Layer) -> (f64, f64) {
    let both = |heads: u64, key: u64, value: u64| 2.0 * heads as f64 * (key as f64 + value as f64);
    match layer {
        Layer::Attention { heads, key_dim, value_dim, .. } => {
            let flop = both(heads, key_dim, value_dim);
            (flop, flop)
        }
        // Prefill unpacks the compressed vectors, decode multiplies with them as they are.
        Layer::Latent { heads, rank, rope_dim, key_dim, value_dim } => {
            (both(heads, key_dim, value_dim), both(heads, rank.saturating_add(rope_dim), rank))
        }
        Layer::State { .. } | Layer::Nothing => (0.0, 0.0),
    }
}
