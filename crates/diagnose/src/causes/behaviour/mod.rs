//! Wrong or unexpected output, as far as metrics show it.

mod missing_stop_token_runaway;
mod silent_context_truncation;

use super::Cause;

/// The causes of this class, in the order of the catalogue.
pub(super) const CAUSES: &[&Cause] = &[&missing_stop_token_runaway::CAUSE, &silent_context_truncation::CAUSE];
