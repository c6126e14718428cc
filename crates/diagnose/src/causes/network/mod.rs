//! The engine is well; what lies between it and its clients, or between its GPUs, is not.

mod between;
mod blocked;
mod collective_transport_fallback;
mod detours;
mod kv_transfer_failure;
mod network_path_latency;
mod peers;
mod proxy_response_buffering;
mod proxy_timeout_or_keepalive_race;

pub(super) use between::{clients_are_later, pieces_come_together, seen, way_impact};
pub(crate) use blocked::silent_hops;

use super::Cause;

/// The causes of this class, in the order of the catalogue.
pub(super) const CAUSES: &[&Cause] = &[
    &proxy_response_buffering::CAUSE,
    &network_path_latency::CAUSE,
    &proxy_timeout_or_keepalive_race::CAUSE,
    &collective_transport_fallback::CAUSE,
    &kv_transfer_failure::CAUSE,
];
