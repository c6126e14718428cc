//! One moment of one card.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ClockReasons;
use crate::{Bytes, Celsius, Hertz, Millis, Ratio, Watts};

/// One moment of one card; what the card does not tell is absent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GpuSample {
    /// When; absent where the tool gives no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Millis>,
    /// Which card.
    pub index: u32,
    /// Share of the last interval in which some kernel ran; not how busy the card was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub util: Option<Ratio>,
    /// Share of the last interval in which memory was read or written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_util: Option<Ratio>,
    /// Board power.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power: Option<Watts>,
    /// SM clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sm_clock: Option<Hertz>,
    /// Memory clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_clock: Option<Hertz>,
    /// Temperature of the chip.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<Celsius>,
    /// Temperature of the memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_temperature: Option<Celsius>,
    /// Memory in use, by anybody.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_used: Option<Bytes>,
    /// Why the clocks are where they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasons: Option<ClockReasons>,
    /// Share of the interval in which power held the clocks down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_held: Option<Ratio>,
    /// Share of the interval in which heat held the clocks down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thermal_held: Option<Ratio>,
    /// PCIe generation of the link now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pcie_generation: Option<u32>,
    /// PCIe lanes of the link now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pcie_width: Option<u32>,
    /// Bytes the card has sent over PCIe since the driver started; a counter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pcie_sent: Option<Bytes>,
    /// Bytes the card has received over PCIe since the driver started; a counter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pcie_received: Option<Bytes>,
}
