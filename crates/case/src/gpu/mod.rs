//! What was seen of the GPUs: each card as it stood, and samples over the window.
//!
//! NVML is a library and not a text, so its answers are kept as they came, with units. Other tools' texts
//! (`nvidia-smi -q`, `dmon`, DCGM's metrics) are read into the same types by `intriage-engines`.

mod card;
mod reasons;
mod sample;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use card::{EccErrors, GpuCard, GpuProcess, GpuVendor, HeldFor, NowAndMost, NvLink, PowerLimits};
pub use reasons::ClockReasons;
pub use sample::GpuSample;

/// What one look at the GPUs of a machine brought.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GpuSurvey {
    /// Who was asked, such as `NVML 13.580.65`.
    pub source: String,
    /// The kernel driver's version.
    pub driver: Option<String>,
    /// The newest CUDA the driver speaks, such as `13.0`.
    pub cuda: Option<String>,
    /// The cards in the order of their index, as they stood at the end of the window.
    pub cards: Vec<GpuCard>,
    /// The cards as they stood at its beginning, so that counters can be seen to grow; empty after a single look.
    pub before: Vec<GpuCard>,
    /// How each two cards reach each other.
    pub paths: Vec<GpuPath>,
    /// Samples in order of time.
    pub samples: Vec<GpuSample>,
}

/// What lies between two cards, as `nvidia-smi topo -m` would name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GpuPath {
    /// The index of one card.
    pub from: u32,
    /// The index of the other.
    pub to: u32,
    /// `PIX`, `PXB`, `PHB`, `NODE` or `SYS`: ever farther apart on PCIe.
    pub through: String,
    /// Whether they also reach each other over NVLink, directly or through a switch.
    pub nvlink: Option<bool>,
}
