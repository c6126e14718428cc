//! What was rolled out: configuration that is not in force, defaults that an upgrade changed.

mod change;
mod config_not_applied;
mod effects;
mod engine_default_change;

pub(crate) use config_not_applied::unfelt;

use super::Cause;

pub(super) const CAUSES: &[&Cause] = &[&engine_default_change::CAUSE, &config_not_applied::CAUSE];
