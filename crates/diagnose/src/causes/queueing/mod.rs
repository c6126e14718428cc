//! Requests wait before they run: which limit binds?

use super::Cause;

mod kv_capacity_limited_queue;
mod max_num_seqs_limited_queue;
mod token_budget_limited_queue;

/// The causes of this class, in the order of the catalogue.
pub(super) const CAUSES: &[&Cause] = &[
    &kv_capacity_limited_queue::CAUSE,
    &max_num_seqs_limited_queue::CAUSE,
    &token_budget_limited_queue::CAUSE,
];
