//! The first token is late without a queue.

mod cold_start_warmup;
mod frontend_input_processing_bound;
mod long_prompt_compute_bound;
mod prefill_chunk_budget_too_small;
mod prefix_cache_ineffective;

pub(crate) use prefill_chunk_budget_too_small::cut_into_steps;
pub(crate) use prefix_cache_ineffective::is_switched_off as prefix_caching_is_off;

use super::Cause;

/// The causes of this class, in the order of the catalogue.
pub(super) const CAUSES: &[&Cause] = &[
    &long_prompt_compute_bound::CAUSE,
    &prefix_cache_ineffective::CAUSE,
    &prefill_chunk_budget_too_small::CAUSE,
    &cold_start_warmup::CAUSE,
    &frontend_input_processing_bound::CAUSE,
];
