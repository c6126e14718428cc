//! The card itself: heat, power, its links, its memory.

mod cards;
mod gpu_ecc_xid_fault;
mod gpu_power_or_capability_limit;
mod gpu_thermal_throttle;
mod notes;
mod nvlink_degraded;
mod pcie_link_downgrade;
mod signs;
mod straggler_gpu_or_rank;

use super::Cause;

pub(crate) use cards::busy_clocks;
pub(crate) use notes::machine_notes;

pub(super) const CAUSES: &[&Cause] = &[
    &gpu_thermal_throttle::CAUSE,
    &gpu_power_or_capability_limit::CAUSE,
    &pcie_link_downgrade::CAUSE,
    &nvlink_degraded::CAUSE,
    &gpu_ecc_xid_fault::CAUSE,
    &straggler_gpu_or_rank::CAUSE,
];
