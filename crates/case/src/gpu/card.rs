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
    /// Who made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor: Option<GpuVendor>,
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
    /// What the driver advises for it, such as `Reset`; absent where it advises nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery_action: Option<String>,
    /// The last Xid the driver reported, where a tool keeps it; zero for none since it looks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_xid: Option<u32>,
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

impl GpuCard {
    /// Takes from another look at the same card what this one lacks; its number and what is known of it stay.
    pub fn fill(&mut self, other: &Self) {
        fn absent<T: Clone>(mine: &mut Option<T>, theirs: Option<&T>) {
            if mine.is_none() {
                *mine = theirs.cloned();
            }
        }
        absent(&mut self.vendor, other.vendor.as_ref());
        absent(&mut self.name, other.name.as_ref());
        absent(&mut self.uuid, other.uuid.as_ref());
        absent(&mut self.pci, other.pci.as_ref());
        absent(&mut self.numa_node, other.numa_node.as_ref());
        absent(&mut self.near_cpus, other.near_cpus.as_ref());
        absent(&mut self.memory, other.memory.as_ref());
        absent(&mut self.memory_used, other.memory_used.as_ref());
        absent(&mut self.util, other.util.as_ref());
        self.sm_clock.fill(other.sm_clock);
        self.memory_clock.fill(other.memory_clock);
        absent(&mut self.reasons, other.reasons.as_ref());
        absent(&mut self.performance_state, other.performance_state.as_ref());
        absent(&mut self.power, other.power.as_ref());
        self.power_limits.fill(&other.power_limits);
        absent(&mut self.temperature, other.temperature.as_ref());
        absent(&mut self.memory_temperature, other.memory_temperature.as_ref());
        absent(&mut self.slowdown_at, other.slowdown_at.as_ref());
        absent(&mut self.heat_left, other.heat_left.as_ref());
        absent(&mut self.memory_slowdown_at, other.memory_slowdown_at.as_ref());
        self.pcie_generation.fill(other.pcie_generation);
        self.pcie_width.fill(other.pcie_width);
        absent(&mut self.pcie_replays, other.pcie_replays.as_ref());
        self.ecc.fill(&other.ecc);
        absent(&mut self.recovery_action, other.recovery_action.as_ref());
        absent(&mut self.last_xid, other.last_xid.as_ref());
        absent(&mut self.processes, other.processes.as_ref());
    }
}

/// Who makes GPUs that inference runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GpuVendor {
    /// NVIDIA.
    Nvidia,
    /// AMD.
    Amd,
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

    fn fill(&mut self, other: Self) {
        self.now = self.now.take().or(other.now);
        self.most = self.most.take().or(other.most);
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

impl PowerLimits {
    fn fill(&mut self, other: &Self) {
        self.enforced = self.enforced.or(other.enforced);
        self.default = self.default.or(other.default);
        self.least = self.least.or(other.least);
        self.most = self.most.or(other.most);
    }
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
    /// Whether errors of the chip's own memory passed what the vendor allows in a life.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sram_threshold_exceeded: Option<bool>,
}

impl EccErrors {
    fn fill(&mut self, other: &Self) {
        self.enabled = self.enabled.or(other.enabled);
        self.volatile_corrected = self.volatile_corrected.or(other.volatile_corrected);
        self.volatile_uncorrected = self.volatile_uncorrected.or(other.volatile_uncorrected);
        self.aggregate_corrected = self.aggregate_corrected.or(other.aggregate_corrected);
        self.aggregate_uncorrected = self.aggregate_uncorrected.or(other.aggregate_uncorrected);
        self.remapped_corrected = self.remapped_corrected.or(other.remapped_corrected);
        self.remapped_uncorrected = self.remapped_uncorrected.or(other.remapped_uncorrected);
        self.remap_pending = self.remap_pending.or(other.remap_pending);
        self.remap_failed = self.remap_failed.or(other.remap_failed);
        self.sram_threshold_exceeded = self.sram_threshold_exceeded.or(other.sram_threshold_exceeded);
    }
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
