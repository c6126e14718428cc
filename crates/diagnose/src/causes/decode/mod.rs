//! Tokens are slow, or throughput is low.

use super::Cause;

mod cuda_graph_miss;

/// The causes of this class, in the order of the catalogue.
pub(super) const CAUSES: &[&Cause] = &[
    &cuda_graph_miss::CAUSE,
];
