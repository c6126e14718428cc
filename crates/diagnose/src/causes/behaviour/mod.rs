//! Wrong or unexpected output, as far as metrics show it.

use super::Cause;


/// The causes of this class, in the order of the catalogue.
pub(super) const CAUSES: &[&Cause] = &[];
