//! Cards and models a deployment is drawn from. Makers' figures; a test of the command line compares them
//! with the tables of `physics`, which this crate may not use.

use intriage_case::{Bytes, PerSecond, Seconds};

/// A GPU.
#[derive(Debug, PartialEq)]
pub struct Card {
    /// As its driver calls it.
    pub name: &'static str,
    /// Peak memory bandwidth.
    pub bandwidth: PerSecond<Bytes>,
    /// Peak of dense 16-bit arithmetic, in FLOP/s.
    pub flops: f64,
    /// Memory as its driver reports it.
    pub memory: Bytes,
    /// `--max-num-batched-tokens` that vLLM takes by itself.
    pub token_budget: u32,
}

/// A model with 16-bit weights.
#[derive(Debug, PartialEq)]
pub struct Model {
    /// As it is served.
    pub name: &'static str,
    /// The checkpoint.
    pub checkpoint: &'static str,
    /// Parameters.
    pub parameters: f64,
    /// Of these, read in every decode step: all but the table of embeddings, which is looked up.
    pub read: f64,
    /// KV bytes of a token.
    pub kv: Bytes,
}

const fn gb(n: f64) -> Bytes {
    Bytes(n * 1e9)
}

const MIB: f64 = 1_048_576.0;

/// The cards, fastest memory first.
pub const CARDS: [Card; 4] = [
    Card {
        name: "NVIDIA H200",
        bandwidth: PerSecond(gb(4800.0)),
        flops: 989e12,
        memory: Bytes(143_771.0 * MIB),
        token_budget: 8192,
    },
    Card {
        name: "NVIDIA H100 80GB HBM3",
        bandwidth: PerSecond(gb(3350.0)),
        flops: 989e12,
        memory: Bytes(81_559.0 * MIB),
        token_budget: 8192,
    },
    Card {
        name: "NVIDIA A100-SXM4-80GB",
        bandwidth: PerSecond(gb(2039.0)),
        flops: 312e12,
        memory: Bytes(81_920.0 * MIB),
        token_budget: 2048,
    },
    Card {
        name: "NVIDIA L4",
        bandwidth: PerSecond(gb(300.0)),
        flops: 121e12,
        memory: Bytes(23_034.0 * MIB),
        token_budget: 2048,
    },
];

/// The models, smallest first.
pub const MODELS: [Model; 4] = [
    Model {
        name: "llama-3.2-3b",
        checkpoint: "meta-llama/Llama-3.2-3B-Instruct",
        parameters: 3.213e9,
        // The table of embeddings is the head, too.
        read: 3.213e9,
        kv: Bytes(114_688.0),
    },
    Model {
        name: "qwen2.5-7b",
        checkpoint: "Qwen/Qwen2.5-7B-Instruct",
        parameters: 7.616e9,
        read: 7.071e9,
        kv: Bytes(57_344.0),
    },
    Model {
        name: "llama-3.1-8b",
        checkpoint: "meta-llama/Llama-3.1-8B-Instruct",
        parameters: 8.030e9,
        read: 7.505e9,
        kv: Bytes(131_072.0),
    },
    Model {
        name: "qwen2.5-14b",
        checkpoint: "Qwen/Qwen2.5-14B-Instruct",
        parameters: 14.770e9,
        read: 13.991e9,
        kv: Bytes(196_608.0),
    },
];

/// The share of the memory that vLLM takes by itself.
const UTILISATION: f64 = 0.92;
/// What activations and graphs take of it.
const OVERHEAD: Bytes = gb(1.5);

impl Model {
    /// Bytes of its weights.
    pub fn weights(&self) -> Bytes {
        Bytes(2.0 * self.parameters)
    }
}

impl Card {
    /// The least time to read the weights once.
    pub fn weights_floor(&self, model: &Model) -> Seconds {
        Seconds(2.0 * model.read / self.bandwidth.0.0)
    }

    /// The least time to read a token of context.
    pub fn context_floor(&self, model: &Model) -> Seconds {
        Seconds(model.kv.0 / self.bandwidth.0.0)
    }

    /// The least time to compute a prompt token.
    pub fn prompt_floor(&self, model: &Model) -> Seconds {
        Seconds(2.0 * model.read / self.flops)
    }

    /// Memory that is left for the KV pool; none where the model does not fit.
    pub fn kv_memory(&self, model: &Model) -> Option<Bytes> {
        let left = self.memory.0 * UTILISATION - model.weights().0 - OVERHEAD.0;
        (left > 1e9).then_some(Bytes(left))
    }
}
