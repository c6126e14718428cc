//! What GPU tools print, read into numbers.

mod dmon;
mod smi_q;

use intriage_case::{Bytes, GpuEvidence, Ratio};

/// One second of one GPU, as `nvidia-smi dmon` saw it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct GpuSample {
    /// Which GPU.
    pub index: u32,
    /// Share of the second in which some kernel ran; not how busy the card was.
    pub util: Option<f64>,
    /// Share of the second in which memory was read or written.
    pub memory_util: Option<f64>,
    /// Board power in watts.
    pub power: Option<f64>,
    /// SM clock in MHz.
    pub sm_clock: Option<f64>,
    /// Temperature in °C.
    pub temperature: Option<f64>,
    /// Share of the second in which power held the clocks down.
    pub power_violation: Option<f64>,
    /// Whether heat held the clocks down.
    pub thermal_violation: Option<f64>,
}

/// One card at the moment `nvidia-smi -q` looked at it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GpuCard {
    /// Share of the last interval in which some kernel ran.
    pub util: Option<f64>,
    /// Whether the clocks are low because nothing runs.
    pub idle: Option<bool>,
    /// Whether the power limit holds the clocks down.
    pub power_capped: Option<bool>,
    /// Whether heat or the hardware's own protection holds the clocks down.
    pub slowed_down: Option<bool>,
    /// Power limit in force, in watts.
    pub power_limit: Option<f64>,
    /// Power limit the card was sold with, in watts.
    pub power_limit_default: Option<f64>,
    /// SM clock in MHz.
    pub sm_clock: Option<f64>,
    /// Highest SM clock in MHz.
    pub sm_clock_max: Option<f64>,
    /// PCIe generation, now and at most.
    pub pcie_generation: Option<(u32, u32)>,
    /// PCIe lanes, now and at most.
    pub pcie_width: Option<(u32, u32)>,
    /// Processes that compute on it; `None` where the list is hidden, as inside many containers.
    pub processes: Option<Vec<GpuProcess>>,
}

/// A process that holds GPU memory.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GpuProcess {
    /// Its id on the host.
    pub pid: u32,
    /// Its name, such as `VLLM::EngineCore`.
    pub name: String,
    /// The memory it holds.
    pub memory: Option<Bytes>,
}

/// Everything read from GPU tools.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GpuReadings {
    /// Samples in order of time.
    pub samples: Vec<GpuSample>,
    /// Product name, such as `NVIDIA H200`.
    pub name: Option<String>,
    /// Memory of one GPU.
    pub memory: Option<Bytes>,
    /// Number of GPUs listed.
    pub count: Option<u32>,
    /// Each card as `nvidia-smi -q` lists it.
    pub cards: Vec<GpuCard>,
}

impl GpuReadings {
    /// Mean share of time some kernel ran, over the seconds in which any did.
    ///
    /// Seconds without a kernel are idle time around the load, not gaps inside it.
    pub fn busy_share(&self) -> Option<Ratio> {
        let busy: Vec<f64> = self.samples.iter().filter_map(|s| s.util).filter(|u| *u > 0.0).collect();
        // The first and last second of a load are cut by the sampling.
        let inner = if busy.len() > 4 { &busy[1..busy.len() - 1] } else { &busy[..] };
        Ratio::of(inner.iter().sum(), inner.len() as f64)
    }
}

/// Reads what there is; an unreadable text gives no readings, never an error.
pub(crate) fn read_gpu(evidence: &GpuEvidence) -> GpuReadings {
    let mut readings = GpuReadings::default();
    if let Some(text) = &evidence.dmon {
        readings.samples = dmon::read(text);
    }
    if let Some(text) = &evidence.smi_q {
        smi_q::read(text, &mut readings);
    }
    readings
}
