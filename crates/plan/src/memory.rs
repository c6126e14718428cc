//! Where the memory of each GPU goes, and how many requests the rest holds.

use intriage_case::{Bytes, Ratio, Requests, Tokens};
use intriage_physics::Deployment;
use intriage_physics::memory::{Budget, Policy, Sampling, Spending};
use intriage_physics::queueing::LiveContext;
use schemars::JsonSchema;
use serde::Serialize;

use crate::assumptions::{DRIVER_RESERVED, GRAPHS, UTILISATION, UTILISATION_BEFORE_0_20};
use crate::deployed::{Deployed, Release};

/// The memory of each GPU, divided.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MemoryAccount {
    /// All of it.
    pub total: Bytes,
    /// What it goes to, in a fixed order.
    pub parts: Vec<MemoryPart>,
    /// Missing for the engine to start; 0 where it starts.
    pub short_by: Bytes,
}

/// One part of a GPU's memory.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MemoryPart {
    /// What it is.
    pub name: String,
    /// How much.
    pub bytes: Bytes,
}

/// What the KV pool of one instance holds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Pool {
    /// Bytes of one token's keys and values, all GPUs together; absent where nothing tells it.
    pub bytes_per_token: Option<Bytes>,
    /// Tokens that fit.
    pub tokens: Tokens,
    /// Longest prompt and answer together.
    pub window: Tokens,
    /// Requests of full length at once.
    pub concurrency_full: Requests,
    /// Context of an average running request: long answers stay longer and count more.
    pub live_context: Tokens,
    /// Tokens of it that all requests begin with and that are held once.
    pub shared: Tokens,
    /// Requests of that context at once, the shared tokens counted once.
    pub concurrency_live: Requests,
}

impl Deployed {
    /// The deployment as physics sees it.
    pub(crate) fn physics(&self) -> Deployment<'_> {
        Deployment::new(&self.model, &self.gpu).on(self.tp).with_kv(self.kv)
    }

    /// Share of the memory that the engine may take.
    pub(crate) fn utilisation(&self) -> Ratio {
        self.utilisation.unwrap_or(match self.release {
            Release::Before020 => UTILISATION_BEFORE_0_20,
            Release::From020 => UTILISATION,
        })
    }

    pub(crate) fn budget(&self, token_budget: u32, sequences: u32) -> Budget {
        let mut gpu = self.gpu.clone();
        gpu.memory = Bytes((gpu.memory.get() - DRIVER_RESERVED.get()).max(0.0));
        let on = Deployment::new(&self.model, &gpu).on(self.tp).with_kv(self.kv);
        let sampling = match self.release {
            Release::Before020 => Sampling::BySorting,
            Release::From020 => Sampling::Fused,
        };
        let mut spending = Spending::estimate_with(&on, Tokens(f64::from(token_budget)), sequences, sampling);
        spending.graphs = GRAPHS;
        spending.weights = Bytes(spending.weights.get() * self.largest_stage());
        let graphs_counted = self.release == Release::From020;
        Budget::of(&on, Policy::Vllm { utilisation: self.utilisation(), graphs_counted }, spending)
    }

    /// Share of the weights that the fullest pipeline stage holds: layers divide in whole numbers.
    fn largest_stage(&self) -> f64 {
        let layers = self.model.layers.len().max(1);
        layers.div_ceil(self.pp.max(1) as usize) as f64 / layers as f64
    }

    /// Sequences of this length that the pool of one instance holds: each stage keeps its layers' part.
    pub(crate) fn concurrency(&self, budget: &Budget, length: Tokens) -> Requests {
        Requests(budget.concurrency(&self.physics(), length).get() / self.largest_stage())
    }

    /// Bytes of one token's keys and values, all GPUs together, in a sequence of this length.
    pub(crate) fn kv_bytes_per_token(&self, length: Tokens) -> Bytes {
        let bytes = self.model.kv_bytes(length, self.kv).get() / length.get().max(1.0);
        // The mean of many layers is whole but for the last bit.
        Bytes(bytes.round())
    }
}

impl MemoryAccount {
    pub(crate) fn of(budget: &Budget) -> Self {
        let part = |name: &str, bytes: Bytes| MemoryPart { name: name.to_owned(), bytes };
        let spending = &budget.spending;
        let parts = vec![
            part("weights", spending.weights),
            part("KV pool", budget.kv_pool),
            part("activations", spending.activations),
            part("CUDA graphs", spending.graphs),
            part("CUDA context, NCCL", spending.non_torch),
            part("unused", budget.unclaimed),
        ];
        Self { total: budget.total, parts, short_by: budget.short_by }
    }

    /// A part's share of the whole.
    pub fn share(&self, part: &MemoryPart) -> Ratio {
        Ratio::of(part.bytes.get(), self.total.get()).unwrap_or(Ratio(0.0))
    }
}

impl Pool {
    /// A pool that holds `full` requests of the window's length and `live` of a running one's if they
    /// shared nothing.
    pub(crate) fn new(
        bytes_per_token: Option<Bytes>,
        (window, full): (u32, Requests),
        (context, live): (LiveContext, Requests),
        shared: Tokens,
    ) -> Self {
        let tokens = live.get() * context.mean.get();
        let own = (context.mean.get() - shared.get()).max(1.0);
        Self {
            bytes_per_token,
            tokens: Tokens(tokens),
            shared,
            window: Tokens(f64::from(window)),
            concurrency_full: full,
            live_context: context.mean,
            concurrency_live: Requests((tokens - shared.get()).max(0.0) / own),
        }
    }
}
