//! Why a card's clocks are where they are.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// NVML's clock-event reasons (once called throttle reasons) as the driver's bit mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ClockReasons(pub u64);

/// Bit, name as `nvidia-smi -q` prints it. Source: `nvml.h`, `nvmlClocksEventReason*`.
const NAMES: [(ClockReasons, &str); 9] = [
    (ClockReasons::IDLE, "Idle"),
    (ClockReasons::CLOCKS_SETTING, "Applications Clocks Setting"),
    (ClockReasons::POWER_CAP, "SW Power Cap"),
    (ClockReasons::HARDWARE_SLOWDOWN, "HW Slowdown"),
    (ClockReasons::SYNC_BOOST, "Sync Boost"),
    (ClockReasons::SOFTWARE_THERMAL, "SW Thermal Slowdown"),
    (ClockReasons::HARDWARE_THERMAL, "HW Thermal Slowdown"),
    (ClockReasons::POWER_BRAKE, "HW Power Brake Slowdown"),
    (ClockReasons::DISPLAY, "Display Clock Setting"),
];

impl ClockReasons {
    /// Nothing runs: the clocks are low to save power.
    pub const IDLE: Self = Self(0x1);
    /// Somebody set the clocks.
    pub const CLOCKS_SETTING: Self = Self(0x2);
    /// The power limit holds them.
    pub const POWER_CAP: Self = Self(0x4);
    /// The hardware protects itself, for heat or power.
    pub const HARDWARE_SLOWDOWN: Self = Self(0x8);
    /// Kept in step with other cards.
    pub const SYNC_BOOST: Self = Self(0x10);
    /// The driver holds them for heat.
    pub const SOFTWARE_THERMAL: Self = Self(0x20);
    /// The hardware holds them for heat.
    pub const HARDWARE_THERMAL: Self = Self(0x40);
    /// The power supply asked to brake.
    pub const POWER_BRAKE: Self = Self(0x80);
    /// A display holds them.
    pub const DISPLAY: Self = Self(0x100);
    /// Heat, seen by the driver or by the hardware.
    pub const THERMAL: Self = Self(0x60);

    /// Whether any of `other`'s reasons is among these.
    pub const fn any_of(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// These and `other`'s.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The reason `nvidia-smi -q` calls so.
    pub fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|(_, known)| *known == name).map(|(bit, _)| *bit)
    }
}

impl fmt::Display for ClockReasons {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names = NAMES.iter().filter(|(bit, _)| self.any_of(*bit)).map(|(_, name)| *name);
        f.write_str(names.next().unwrap_or("none"))?;
        names.try_for_each(|name| write!(f, ", {name}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_is_read_aloud_and_found_by_its_names() {
        assert_eq!(ClockReasons(0x24).to_string(), "SW Power Cap, SW Thermal Slowdown");
        assert_eq!(ClockReasons(0).to_string(), "none");
        for (bit, name) in NAMES {
            assert_eq!(ClockReasons::named(name), Some(bit));
            assert_eq!(bit.to_string(), name);
        }
        assert!(ClockReasons(0x48).any_of(ClockReasons::THERMAL));
        assert!(!ClockReasons(0x5).any_of(ClockReasons::THERMAL));
    }
}
