//! The engine is well; what lies between it and its clients is not.

mod between;
mod detours;
mod network_path_latency;
mod proxy_response_buffering;

use super::Cause;

/// The causes of this class, in the order of the catalogue.
pub(super) const CAUSES: &[&Cause] = &[&proxy_response_buffering::CAUSE, &network_path_latency::CAUSE];
