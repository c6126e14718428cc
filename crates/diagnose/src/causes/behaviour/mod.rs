//! Wrong or unexpected output, as far as metrics show it.

mod missing_stop_token_runaway;

use super::Cause;

/// The causes of this class, in the order of the catalogue.
pub(super) const CAUSES: &[&Cause] = &[&missing_stop_token_runaway::CAUSE];
