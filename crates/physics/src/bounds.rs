//! The least time that a step can take, and the range that good software reaches.
//!
//! The formulas are plain functions on bytes, FLOPs and rates in [`formulas`]; [`Deployment`] feeds
//! them from a model on a number of GPUs.

pub mod formulas;
mod load;
mod step;

use intriage_case::{Bytes, PerSecond, Ratio, Seconds, Tokens};

use crate::KvDtype;
use crate::gpu::{FlopPerSecond, Gpu, Math};
use crate::model::{ModelShape, Module};

pub use load::StepLoad;
pub use step::{StepModel, StepTime};

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

    /// The least time of one engine step with this load. For many steps, prepare once:
    /// [`Deployment::prepared`].
    pub fn step(&self, load: &StepLoad) -> StepTime {
        self.prepared().step(load)
    }

    /// All that does not depend on the load, computed once: cheap enough for a simulator's every step.
    pub fn prepared(&self) -> StepModel {
        StepModel::new(self)
    }

    /// Most tokens a second that a batch of this size and context can make, at the bound.
    pub fn decode_rate(&self, batch: u32, context: Tokens) -> PerSecond<Tokens> {
        let bound = self.decode(batch, context).bound.get();
        PerSecond(Tokens(if bound > 0.0 { f64::from(batch) / bound } else { 0.0 }))
    }

    /// The arithmetic of most multiplied weights on one of these GPUs, with its peak.
    pub fn math(&self) -> (Math, FlopPerSecond) {
        let all = [Math::Bf16, Math::Fp16, Math::Fp8, Math::Int8, Math::Fp4];
        let multiplied = self.model.tensors.iter().filter(|tensor| tensor.module != Module::Embedding);
        let sum = |math| {
            multiplied
                .clone()
                .filter(|tensor| tensor.format.math == math)
                .map(|t| t.used_elements() as f64)
                .sum::<f64>()
        };
        let bulk = all.into_iter().max_by(|a, b| sum(*a).total_cmp(&sum(*b))).unwrap_or(Math::Bf16);
        self.gpu.math_for(bulk)
    }

    /// Tokens in one step at which the weights turn from bandwidth-bound to compute-bound.
    pub fn ridge(&self) -> Tokens {
        let parameters = self.model.parameters().total().max(1) as f64;
        let bytes_each = Bytes(self.model.weight_bytes().get() / parameters);
        formulas::ridge_tokens(self.math().1, bytes_each, self.gpu.bandwidth)
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
}
