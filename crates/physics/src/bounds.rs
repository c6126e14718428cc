//! The least time that a step can take, and the range that good software reaches.
//!
//! The formulas are plain functions on bytes, FLOPs and rates in [`formulas`]; [`Deployment`] feeds
//! them from a model on a number of GPUs.

pub mod formulas;
mod step;

use intriage_case::{Bytes, Ratio, Seconds, Tokens};

use crate::gpu::{FlopPerSecond, Gpu, Math};
use crate::model::{ModelShape, Module};
use crate::{KvDtype, model};

pub use step::{StepLoad, StepTime};

/// One model on `tp` GPUs of a kind.
#[derive(Debug, Clone)]
pub struct Deployment<'a> {
    /// The model.
    pub model: &'a ModelShape,
    /// Each of the GPUs.
    pub gpu: &'a Gpu,
    /// GPUs that share every layer.
    pub tp: u32,
    /// How keys and values are stored.
    pub kv: KvDtype,
    /// What carries the all-reduce between the GPUs.
    pub link: Link,
    /// Which weights count as read and multiplied.
    pub counting: Counting,
}

/// What carries traffic between the GPUs of one tensor-parallel group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// NVLink, Infinity Fabric and the like, with the engine's own all-reduce.
    Direct,
    /// PCIe between peers.
    PciePeer,
    /// PCIe through host memory, where peers cannot see each other.
    ThroughHost,
}

impl Link {
    /// Latency of one all-reduce, from and to: orders of magnitude, to be measured with nccl-tests.
    pub const fn latency(self) -> (Seconds, Seconds) {
        match self {
            Self::Direct => (Seconds(5e-6), Seconds(10e-6)),
            Self::PciePeer => (Seconds(20e-6), Seconds(40e-6)),
            Self::ThroughHost => (Seconds(50e-6), Seconds(100e-6)),
        }
    }
}

/// Which weights a step is charged with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Counting {
    /// What must be touched: embedding rows are looked up, and only sampled tokens pass the head.
    /// This is the true lower bound.
    #[default]
    Touched,
    /// Every stored parameter, as in the common rule 2·P·T; it overstates small models with large
    /// vocabularies.
    AllParameters,
}

impl<'a> Deployment<'a> {
    /// The model on one GPU, with 16-bit KV or what the checkpoint asks for.
    pub fn new(model: &'a ModelShape, gpu: &'a Gpu) -> Self {
        let link = if gpu.link.is_some() { Link::Direct } else { Link::PciePeer };
        let kv = model.kv_scheme.unwrap_or(KvDtype::Bf16);
        Self { model, gpu, tp: 1, kv, link, counting: Counting::Touched }
    }

    /// On `tp` GPUs; 0 counts as 1.
    #[must_use]
    pub fn on(mut self, tp: u32) -> Self {
        self.tp = tp.max(1);
        self
    }

    /// With keys and values stored so.
    #[must_use]
    pub fn with_kv(mut self, kv: KvDtype) -> Self {
        self.kv = kv;
        self
    }

    /// With this link between the GPUs.
    #[must_use]
    pub fn over(mut self, link: Link) -> Self {
        self.link = link;
        self
    }

    /// With weights counted so.
    #[must_use]
    pub fn counting(mut self, counting: Counting) -> Self {
        self.counting = counting;
        self
    }

    /// One decode step: `batch` sequences with `context` tokens each, one new token a sequence.
    pub fn decode(&self, batch: u32, context: Tokens) -> StepTime {
        self.step(&StepLoad::decode(batch, context))
    }

    /// One prompt alone: `new` tokens to compute after `cached` that are already there.
    pub fn prefill(&self, new: Tokens, cached: Tokens) -> StepTime {
        self.step(&StepLoad::prefill(new, cached))
    }

    /// The arithmetic of the bulk of the weights on this GPU, with the peak of all GPUs together.
    pub fn math(&self) -> (Math, FlopPerSecond) {
        let bulk = self.model.tensors.iter().filter(|tensor| tensor.module != Module::Embedding);
        let bulk = bulk.max_by_key(|tensor| tensor.elements());
        let (math, peak) = self.gpu.math_for(bulk.map_or(Math::Bf16, |tensor| tensor.format.math));
        (math, FlopPerSecond(peak.get() * f64::from(self.tp)))
    }

    /// Tokens in one step at which the weights turn from bandwidth-bound to compute-bound.
    pub fn ridge(&self) -> Tokens {
        let parameters = self.model.parameters().total().max(1) as f64;
        let bytes_each = self.model.weight_bytes().get() / parameters;
        let (_, peak) = self.gpu.math_for(self.math().0);
        formulas::ridge_tokens(peak, bytes_each, self.gpu.bandwidth)
    }

    /// Bandwidth of the link between GPUs in one direction; 0 where there is no direct one.
    fn link_bandwidth(&self) -> f64 {
        match (self.link, &self.gpu.link) {
            (Link::Direct, Some(link)) => link.bandwidth.0.get(),
            // Through the host every byte crosses twice.
            (Link::ThroughHost, _) => self.gpu.pcie().0.get() / 2.0,
            _ => self.gpu.pcie().0.get(),
        }
    }

    /// Whether weights and one sequence of `context` tokens fit into `utilisation` of the memory.
    pub fn fits(&self, context: Tokens, utilisation: Ratio) -> bool {
        let weights = self.model.weight_bytes_per_gpu(self.tp);
        let kv = self.model.kv_bytes_per_gpu(context, self.kv, self.tp);
        (weights + kv).get() <= self.gpu.memory.get() * utilisation.get()
    }

    /// Bytes of weights that a step of `tokens` tokens reads on each GPU.
    fn weights_read(&self, tokens: f64) -> Bytes {
        let weights = self.model.step_weights(self.tp);
        let experts = weights.experts * self.model.experts_touched(Tokens(tokens)).get();
        let lookup = match self.counting {
            Counting::AllParameters => weights.lookup,
            Counting::Touched => 0.0,
        };
        Bytes(weights.always + weights.head + experts + lookup)
    }

    /// Parameters that each token is multiplied with, and those that only sampled tokens are.
    fn multiplied(&self) -> (f64, f64) {
        let parameters = self.model.parameters();
        match self.counting {
            Counting::AllParameters => (parameters.active() as f64, 0.0),
            Counting::Touched => {
                let head = if self.model.tied_embeddings() { parameters.embedding } else { parameters.head };
                let body =
                    parameters.active().saturating_sub(parameters.embedding).saturating_sub(parameters.head);
                (body as f64, head as f64)
            }
        }
    }

    fn layers(&self) -> &[model::Layer] {
        &self.model.layers
    }
}
