//! Errors and rejections: the request, deliberate shedding, or a dying engine?

use super::Cause;

mod client_request_rejected;
mod engine_crash_5xx;

/// The causes of this class, in the order of the catalogue.
pub(super) const CAUSES: &[&Cause] = &[
    &client_request_rejected::CAUSE,
    &engine_crash_5xx::CAUSE,
];
