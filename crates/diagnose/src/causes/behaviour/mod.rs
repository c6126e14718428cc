//! Wrong or unexpected output, as far as metrics show it.

use super::Cause;

mod missing_stop_token_runaway;

/// The causes of this class, in the order of the catalogue.
pub(super) const CAUSES: &[&Cause] = &[
    &missing_stop_token_runaway::CAUSE,
];
