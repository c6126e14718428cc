//! Can the figures be trusted?

use super::Cause;


/// The causes of this class, in the order of the catalogue.
pub(super) const CAUSES: &[&Cause] = &[
];
