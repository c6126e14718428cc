//! Tokens are slow, or throughput is low.

use super::Cause;


/// The causes of this class, in the order of the catalogue.
pub(super) const CAUSES: &[&Cause] = &[];
