//! Memory pressure: weights, KV pool, or workspace outside the pool?

mod preemption_thrash;
mod runtime_oom_non_kv;
mod start;
mod vram_co_tenant_or_orphan;
mod weights_leave_no_kv;

use super::Cause;

/// The causes of this class, in the order of the catalogue.
pub(super) const CAUSES: &[&Cause] = &[
    &weights_leave_no_kv::CAUSE,
    &preemption_thrash::CAUSE,
    &runtime_oom_non_kv::CAUSE,
    &vram_co_tenant_or_orphan::CAUSE,
];
