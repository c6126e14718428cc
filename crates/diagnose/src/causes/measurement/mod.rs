//! Can the figures be trusted?

mod telemetry_definition_gap;

use super::Cause;

/// The causes of this class, in the order of the catalogue.
pub(super) const CAUSES: &[&Cause] = &[&telemetry_definition_gap::CAUSE];
