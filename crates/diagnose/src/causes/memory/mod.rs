//! Memory pressure: weights, KV pool, or workspace outside the pool?

use super::Cause;

mod preemption_thrash;

/// The causes of this class, in the order of the catalogue.
pub(super) const CAUSES: &[&Cause] = &[
    &preemption_thrash::CAUSE,
];
