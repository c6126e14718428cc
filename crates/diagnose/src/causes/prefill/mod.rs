//! The first token is late without a queue.

use super::Cause;

mod cold_start_warmup;
mod frontend_input_processing_bound;
mod long_prompt_compute_bound;
mod prefix_cache_ineffective;

/// The causes of this class, in the order of the catalogue.
pub(super) const CAUSES: &[&Cause] = &[
    &long_prompt_compute_bound::CAUSE,
    &prefix_cache_ineffective::CAUSE,
    &cold_start_warmup::CAUSE,
    &frontend_input_processing_bound::CAUSE,
];
