//! Errors and rejections: the request, deliberate shedding, or a dying engine?

mod client_request_rejected;
mod engine_crash_5xx;
mod overload_shedding;

use super::Cause;

/// The causes of this class, in the order of the catalogue.
pub(super) const CAUSES: &[&Cause] =
    &[&client_request_rejected::CAUSE, &overload_shedding::CAUSE, &engine_crash_5xx::CAUSE];
