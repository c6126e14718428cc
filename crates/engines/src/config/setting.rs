//! Engine-neutral names for the settings a diagnosis asks about.

use std::fmt;

use intriage_case::{Quantity, Unit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A setting, whatever the engine calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Setting {
    /// Most sequences in the batch.
    MaxSequences,
    /// Most tokens in one engine step.
    TokenBudget,
    /// Longest prompt plus output, in tokens.
    ContextWindow,
    /// Whether prompt prefixes are reused.
    PrefixCaching,
    /// Whether CUDA graphs are switched off.
    EagerMode,
    /// Largest batch with a captured CUDA graph.
    GraphMaxBatch,
    /// What the model runs on, such as `cuda` or `cpu`.
    Device,
    /// GPUs one layer is spread over.
    TensorParallel,
    /// GPUs the layers are spread over.
    PipelineParallel,
    /// Engines behind one address.
    DataParallel,
    /// Blocks in the KV pool.
    KvBlocks,
    /// Blocks forced by hand.
    KvBlocksOverride,
    /// Blocks the memory would hold where a number was forced by hand.
    KvBlocksPossible,
    /// Tokens per block.
    KvBlockSize,
    /// Tokens in the KV pool.
    KvCapacity,
    /// Bytes in the KV pool.
    KvBytes,
    /// KV data type.
    KvDtype,
    /// Bytes of weights per GPU.
    WeightBytes,
    /// Bytes taken by CUDA graphs.
    GraphBytes,
    /// Share of GPU memory the engine may take.
    MemoryFraction,
    /// Full-length requests the pool can hold.
    MaxConcurrency,
    /// How weights are loaded; `dummy` means made-up weights.
    LoadFormat,
    /// Weight quantization.
    Quantization,
    /// Whether long prompts are cut into chunks.
    ChunkedPrefill,
    /// Longest chunk of one prompt per step, in tokens.
    LongPrefillThreshold,
    /// Whether scheduling overlaps with the GPU's work.
    AsyncScheduling,
    /// Speculative decoding, as configured.
    Speculation,
    /// Tokens proposed per round.
    SpeculativeTokens,
    /// Most requests allowed to wait.
    QueueLimit,
    /// Most requests accepted at once.
    ConcurrencyLimit,
    /// Adapters in one batch.
    MaxLoras,
    /// API server processes.
    ApiServers,
    /// Tokens per streamed event.
    StreamInterval,
    /// Order of admission.
    SchedulingPolicy,
    /// How much output is reserved at admission (SGLang).
    ScheduleConservativeness,
    /// Capacity policy (TensorRT-LLM).
    CapacityPolicy,
    /// Whether finished sequences leave the batch at once.
    ContinuousBatching,
    /// Layers on the GPU (llama.cpp).
    GpuLayers,
    /// CPU threads that compute in step.
    Threads,
    /// Host memory for weights, in GiB.
    CpuOffload,
    /// Model name or path.
    Model,
    /// The names clients call the model by.
    ServedModel,
    /// Data type of weights and activations.
    Dtype,
    /// The GPU's name.
    GpuModel,
    /// Seconds the engine took to initialise.
    InitSeconds,
    /// Seconds spent compiling.
    CompileSeconds,
}

impl Setting {
    /// What its numbers count, where that is bytes: those nobody reads as they stand.
    pub const fn unit(self) -> Option<Unit> {
        match self {
            Self::KvBytes | Self::WeightBytes | Self::GraphBytes => Some(Unit::Bytes),
            _ => None,
        }
    }

    /// A value of it as people say it: `4.00 GiB` rather than 4294967296.
    pub fn shown(self, value: &SettingValue) -> String {
        match (self.unit(), value) {
            (Some(unit), SettingValue::Number(number)) => Quantity::new(*number, unit).to_string(),
            _ => value.to_string(),
        }
    }
}

/// A setting's value; in JSON a number, a boolean or a text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SettingValue {
    /// A number, in the setting's unit.
    Number(f64),
    /// On or off.
    Switch(bool),
    /// Anything else.
    Text(String),
}

impl SettingValue {
    /// Reads what engines write: `8192`, `True`, `None` (no value), `'auto'`, `<LoadFormat.AUTO: 'auto'>`.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let member = text.trim().strip_prefix('<').and_then(|text| text.strip_suffix('>')?.split_once(": "));
        let text = member.map_or(text, |(_, value)| value).trim().trim_matches(['\'', '"']);
        match text {
            "" | "None" | "null" | "none" => None,
            "True" | "true" => Some(Self::Switch(true)),
            "False" | "false" => Some(Self::Switch(false)),
            _ => Some(match text.parse::<f64>() {
                Ok(number) if number.is_finite() => Self::Number(number),
                _ => Self::Text(text.to_owned()),
            }),
        }
    }

    /// The number, where it is one.
    pub fn number(&self) -> Option<f64> {
        if let Self::Number(n) = self { Some(*n) } else { None }
    }

    /// The switch, where it is one.
    pub fn switch(&self) -> Option<bool> {
        if let Self::Switch(on) = self { Some(*on) } else { None }
    }

    /// The text, where it is one.
    pub fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }
}

impl fmt::Display for SettingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Switch(true) => f.write_str("on"),
            Self::Switch(false) => f.write_str("off"),
            Self::Text(text) => f.write_str(text),
        }
    }
}
