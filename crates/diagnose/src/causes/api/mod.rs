//! Errors and rejections: the request, deliberate shedding, or a dying engine?

use super::Cause;


/// The causes of this class, in the order of the catalogue.
pub(super) const CAUSES: &[&Cause] = &[];
