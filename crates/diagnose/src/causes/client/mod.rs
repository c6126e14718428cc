//! Who asks: how much, how often again, after how long, and how it is measured.

mod client_side_bottleneck;
mod halves;
mod retry_storm;
mod upstream_pipeline_latency;
mod workload_mix_shift;

use super::Cause;

/// The causes of this class, in the order of the catalogue.
pub(super) const CAUSES: &[&Cause] = &[
    &client_side_bottleneck::CAUSE,
    &workload_mix_shift::CAUSE,
    &retry_storm::CAUSE,
    &upstream_pipeline_latency::CAUSE,
];
