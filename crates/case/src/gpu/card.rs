//! One card as it stood when it was looked at.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ClockReasons;
use crate::{Bytes, Celsius, Hertz, Ratio, Seconds, Watts};

/// One card as it stood; what it does not tell is absent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GpuCard {
    /// Its number as the driver counts.
    pub index: u32,
    /// Product name, such as `NVIDIA H200`.
    pub name: Option<String>,
    /// Its name for life, such as `GPU-5f3c…`.
    pub uuid: Option<String>,
    /// Where it sits, such as `00000000:19:00.0`.
    pub pci: Option<String>,
    /// The NUMA node it hangs on.
    pub numa_node: Option<u32>,
    /// The CPUs close to it, as a list such as `0-31,64-95`.
    pub near_cpus: Option<String>,
    /// All its memory.
    pub memory: Option<Bytes>,
    /// Memory in use, by anybody.
    pub memory_used: Option<Bytes>,
    /// Share of the last interval in which some kernel ran.
    pub util: Option<Ratio>,
    /// SM clock, now and at most.
    pub sm_clock: NowAndMost<Hertz>,
    /// Memory clock, now and at most.
    pub memory_clock: NowAndMost<Hertz>,
    /// Why the clocks are where they are.
    pub reasons: Option<ClockReasons>,
    /// How long each reason has held them down.
    pub held_for: HeldFor,
    /// Performance state: 0 is full speed.
    pub performance_state: Option<u32>,
    /// Board power.
    pub power: Option<Watts>,
    /// Its limits of power.
    pub power_limits: PowerLimits,
    /// Temperature of the chip.
    pub temperature: Option<Celsius>,
    /// Temperature of the memory.
    pub memory_temperature: Option<Celsius>,
    /// Where the hardware slows the chip down.
    pub slowdown_at: Option<Celsius>,
    /// Degrees left until it does, as newer cards tell themselves; their hottest spot counts, which is hotter
    /// than `temperature` under load.
    pub heat_left: Option<Celsius>,
    /// Where it does for the memory.
    pub memory_slowdown_at: Option<Celsius>,
    /// PCIe generation, now and at most; an idle link is slow to save power.
    pub pcie_generation: NowAndMost<u32>,
    /// PCIe lanes, now and at most.
    pub pcie_width: NowAndMost<u32>,
    /// PCIe packets sent again since the driver started.
    pub pcie_replays: Option<u64>,
    /// Memory errors.
    pub ecc: EccErrors,
    /// Its NVLinks.
    pub nvlinks: Vec<NvLink>,
    /// Whether it is cut into MIG slices.
    pub mig: Option<bool>,
    /// `Default`, `ExclusiveProcess` or `Prohibited`.
    pub compute_mode: Option<String>,
    /// Whether the driver stays loaded without a client.
    pub persistence: Option<bool>,
    /// Processes that compute on it; `None` where the list is hidden, as inside many containers.
    pub processes: Option<Vec<GpuProcess>>,
}

/// A value now, and the most the card and its slot allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct NowAndMost<T> {
    /// Now.
    #[serde(default)]
    pub now: Option<T>,
    /// At most.
    #[serde(default)]
    pub most: Option<T>,
}

impl<T> NowAndMost<T> {
    /// Both, where both are known.
    pub fn both(self) -> Option<(T, T)> {
        self.now.zip(self.most)
    }
}

/// How long each reason has held the clocks down since the driver started.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HeldFor {
    /// The power limit.
    pub power_cap: Option<Seconds>,
    /// Heat, by the driver.
    pub software_thermal: Option<Seconds>,
    /// Heat, by the hardware.
    pub hardware_thermal: Option<Seconds>,
    /// The power supply's brake.
    pub power_brake: Option<Seconds>,
}

/// A card's limits of power.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PowerLimits {
    /// In force.
    pub enforced: Option<Watts>,
    /// As sold.
    pub default: Option<Watts>,
    /// The least that can be set.
    pub least: Option<Watts>,
    /// The most that can be set.
    pub most: Option<Watts>,
}

/// A card's memory errors: since the driver started (volatile) and in its life (aggregate).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EccErrors {
    /// Whether error correction is on.
    pub enabled: Option<bool>,
    /// Corrected since the driver started.
    pub volatile_corrected: Option<u64>,
    /// Not corrected since the driver started.
    pub volatile_uncorrected: Option<u64>,
    /// Corrected in its life.
    pub aggregate_corrected: Option<u64>,
    /// Not corrected in its life.
    pub aggregate_uncorrected: Option<u64>,
    /// Rows replaced for errors that were corrected.
    pub remapped_corrected: Option<u64>,
    /// Rows replaced for errors that were not.
    pub remapped_uncorrected: Option<u64>,
    /// Whether a replacement waits for a reset.
    pub remap_pending: Option<bool>,
    /// Whether a replacement failed.
    pub remap_failed: Option<bool>,
}

/// One NVLink of a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NvLink {
    /// Its number.
    pub link: u32,
    /// Whether it is up.
    pub active: Option<bool>,
    /// Packets sent again.
    pub replays: Option<u64>,
    /// Recoveries.
    pub recoveries: Option<u64>,
    /// Checksum errors.
    pub crc_errors: Option<u64>,
}

impl NvLink {
    /// Packets repeated, recovered or lost since the driver started.
    pub fn errors(&self) -> u64 {
        [self.replays, self.recoveries, self.crc_errors].into_iter().flatten().fold(0, u64::saturating_add)
    }
}

/// A process that holds GPU memory.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GpuProcess {
    /// Its id on the host.
    pub pid: u32,
    /// Its name, such as `VLLM::EngineCore`.
    pub name: String,
    /// The memory it holds.
    pub memory: Option<Bytes>,
}
