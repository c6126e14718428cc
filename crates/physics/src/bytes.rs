//! Bytes of weights and of what is remembered, whole and on one GPU.

use intriage_case::{Bytes, Tokens};
use serde::{Deserialize, Serialize};

use crate::model::{Layer, ModelShape, Module, Split, Tensor};

/// How keys and values are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KvDtype {
    /// 32-bit floats.
    Fp32,
    /// 16-bit floats of either kind.
    Bf16,
    /// 8-bit floats with one scale a layer.
    Fp8,
    /// 8-bit integers, one 32-bit scale a token and head.
    Int8,
    /// DeepSeek's layout for latent attention: 656 bytes a token and layer.
    Fp8DsMla,
    /// llama.cpp's blocks of 32 bytes with a 16-bit scale.
    Q8_0,
    /// llama.cpp's blocks of 32 half-bytes with a 16-bit scale.
    Q4_0,
}

/// Names as engines' flags spell them.
const KV_NAMES: &[(&str, KvDtype)] = &[
    ("bf16", KvDtype::Bf16),
    ("bfloat16", KvDtype::Bf16),
    ("fp16", KvDtype::Bf16),
    ("f16", KvDtype::Bf16),
    ("float16", KvDtype::Bf16),
    ("half", KvDtype::Bf16),
    ("fp32", KvDtype::Fp32),
    ("f32", KvDtype::Fp32),
    ("fp8", KvDtype::Fp8),
    ("fp8_e4m3", KvDtype::Fp8),
    ("fp8_e5m2", KvDtype::Fp8),
    ("fp8_ds_mla", KvDtype::Fp8DsMla),
    ("int8", KvDtype::Int8),
    ("q8_0", KvDtype::Q8_0),
    ("q4_0", KvDtype::Q4_0),
];

impl KvDtype {
    /// A dtype as an engine's flag spells it; `auto` follows the checkpoint and else is 16 bit.
    pub fn parse(name: &str, model: &ModelShape) -> Result<Self, UnknownKvDtype> {
        let wanted = name.trim().to_lowercase();
        if wanted == "auto" || wanted.is_empty() {
            return Ok(model.kv_scheme.unwrap_or(Self::Bf16));
        }
        KV_NAMES.iter().find(|(known, _)| *known == wanted).map(|(_, dtype)| *dtype).ok_or_else(|| {
            UnknownKvDtype {
                name: name.chars().take(40).collect(),
                known: std::iter::once("auto")
                    .chain(KV_NAMES.iter().map(|(name, _)| *name))
                    .collect::<Vec<_>>()
                    .join(", "),
            }
        })
    }

    /// Bytes of `vectors` vectors of `elements` each, scales included.
    fn bytes(self, vectors: f64, elements: f64) -> f64 {
        match self {
            Self::Fp32 => vectors * elements * 4.0,
            Self::Bf16 => vectors * elements * 2.0,
            Self::Fp8 | Self::Fp8DsMla => vectors * elements,
            Self::Int8 => vectors * (elements + 4.0),
            Self::Q8_0 => vectors * elements * 34.0 / 32.0,
            Self::Q4_0 => vectors * elements * 18.0 / 32.0,
        }
    }
}

/// A KV dtype that is not in the table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("KV dtype `{name}` is not known; known are {known}")]
pub struct UnknownKvDtype {
    /// The name as given, shortened.
    pub name: String,
    /// The names in the table.
    pub known: String,
}

impl Layer {
    /// Bytes of one token in this layer, before any window.
    fn kv_bytes(self, kv: KvDtype) -> f64 {
        match self {
            Self::Attention { kv_heads, key_dim, value_dim, .. } => {
                kv.bytes(kv_heads as f64, key_dim as f64) + kv.bytes(kv_heads as f64, value_dim as f64)
            }
            // 512 bytes, four 32-bit scales, and 64 rotary elements that stay 16 bit.
            Self::Latent { rank, rope_dim, .. } if kv == KvDtype::Fp8DsMla => {
                rank as f64 + (rank as f64 / 128.0).ceil() * 4.0 + rope_dim as f64 * 2.0
            }
            Self::Latent { rank, rope_dim, .. } => kv.bytes(1.0, rank as f64 + rope_dim as f64),
            Self::State { .. } | Self::Nothing => 0.0,
        }
    }

    /// The same on each of `tp` GPUs.
    pub(crate) fn kv_bytes_per_gpu(self, kv: KvDtype, tp: u32) -> f64 {
        self.kv_bytes(kv) / self.shares(tp)
    }

    /// Tokens of a context that this layer keeps.
    pub(crate) fn kept(self, context: f64) -> f64 {
        match self {
            Self::Attention { window: Some(window), .. } => context.min(window as f64),
            _ => context,
        }
    }

    /// GPUs that each hold their own share of this layer's memory; the rest hold copies.
    fn shares(self, tp: u32) -> f64 {
        let tp = u64::from(tp.max(1));
        match self {
            Self::Attention { kv_heads, .. } => tp.min(kv_heads.max(1)) as f64,
            Self::Latent { .. } | Self::Nothing => 1.0,
            Self::State { .. } => tp as f64,
        }
    }
}

impl Tensor {
    /// Bytes of all copies, scales included.
    pub fn bytes(&self) -> Bytes {
        self.format.bytes(self.rows, self.cols, self.copies)
    }

    fn shares(&self, tp: u32) -> f64 {
        let tp = u64::from(tp.max(1));
        match self.split {
            Split::Even => tp as f64,
            Split::KvHeads(heads) => tp.min(heads.max(1)) as f64,
            Split::Copied => 1.0,
        }
    }
}

/// Weight bytes that one step reads, by what decides how much of them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct StepWeights {
    /// Read by every step, whatever its batch: attention, dense perceptrons, shared experts, norms.
    pub(crate) always: f64,
    /// Routed experts: the share read grows with the batch.
    pub(crate) experts: f64,
    /// The output projection, tied or not.
    pub(crate) head: f64,
    /// The embedding table where it is not also the head: a row a token.
    pub(crate) lookup: f64,
}

impl ModelShape {
    /// Bytes of all weights, scales included.
    pub fn weight_bytes(&self) -> Bytes {
        Bytes(self.tensors.iter().map(|tensor| tensor.bytes().get()).sum())
    }

    /// Bytes of weights that each of `tp` GPUs holds.
    pub fn weight_bytes_per_gpu(&self, tp: u32) -> Bytes {
        Bytes(self.tensors.iter().map(|tensor| tensor.bytes().get() / tensor.shares(tp)).sum())
    }

    /// Bytes of weights that one step of `tokens` tokens must read, on all GPUs together.
    ///
    /// Experts are read only when some token is sent to them: 1 − (1 − k/E)^tokens of them, with
    /// tokens spread evenly. The embedding is counted whole, as is usual; see [`crate::Counting`].
    pub fn weight_bytes_read(&self, tokens: Tokens) -> Bytes {
        let weights = self.step_weights(1);
        Bytes(
            weights.always
                + weights.head
                + weights.lookup
                + weights.experts * self.experts_touched(tokens).get(),
        )
    }

    /// The share of routed experts that `tokens` tokens touch, 1 without experts.
    pub fn experts_touched(&self, tokens: Tokens) -> intriage_case::Ratio {
        let touched = self
            .experts()
            .map_or(1.0, |(experts, used)| expert_share(used as f64 / experts.max(1) as f64, tokens.get()));
        intriage_case::Ratio(touched)
    }

    /// Bytes that one more token costs while no window is full yet, on all GPUs together.
    pub fn kv_bytes_per_token(&self, kv: KvDtype) -> Bytes {
        Bytes(self.layers.iter().map(|layer| layer.kv_bytes(kv)).sum())
    }

    /// Bytes that one more token costs when all windows are full.
    pub fn kv_bytes_per_token_beyond_windows(&self, kv: KvDtype) -> Bytes {
        let unbounded = |layer: &&Layer| !matches!(layer, Layer::Attention { window: Some(_), .. });
        Bytes(self.layers.iter().filter(unbounded).map(|layer| layer.kv_bytes(kv)).sum())
    }

    /// Bytes that a sequence of `context` tokens holds: windows bound their layers, states are constant.
    pub fn kv_bytes(&self, context: Tokens, kv: KvDtype) -> Bytes {
        self.kv_bytes_per_gpu(context, kv, 1)
    }

    /// The same on each of `tp` GPUs: copies where there are more GPUs than KV heads, and always for
    /// latent attention.
    pub fn kv_bytes_per_gpu(&self, context: Tokens, kv: KvDtype, tp: u32) -> Bytes {
        let context = context.get().max(0.0);
        let growing: f64 =
            self.layers.iter().map(|layer| layer.kept(context) * layer.kv_bytes_per_gpu(kv, tp)).sum();
        Bytes(growing + self.state_bytes(tp).get())
    }

    /// Constant bytes a sequence on each of `tp` GPUs, for recurrent layers; 16-bit elements, so twice
    /// that where the engine keeps states as 32 bit.
    pub fn state_bytes(&self, tp: u32) -> Bytes {
        let bytes = |layer: &Layer| match *layer {
            Layer::State { recurrent, convolution } => {
                (recurrent as f64 + convolution as f64) * 2.0 / layer.shares(tp)
            }
            _ => 0.0,
        };
        Bytes(self.layers.iter().map(bytes).sum())
    }

    pub(crate) fn step_weights(&self, tp: u32) -> StepWeights {
        let tied = self.tied_embeddings();
        let mut sum = StepWeights::default();
        for tensor in &self.tensors {
            let bytes = tensor.bytes().get() / tensor.shares(tp);
            match tensor.module {
                Module::Expert => sum.experts += bytes,
                Module::Head => sum.head += bytes,
                Module::Embedding if tied => sum.head += bytes,
                Module::Embedding => sum.lookup += bytes,
                _ => sum.always += bytes,
            }
        }
        sum
    }
}

/// Share of experts touched when each of `tokens` tokens picks a share `picked` of them evenly.
pub(crate) fn expert_share(picked: f64, tokens: f64) -> f64 {
    1.0 - (1.0 - picked.clamp(0.0, 1.0)).powf(tokens.max(0.0))
}
