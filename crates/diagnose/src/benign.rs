//! Conditions that look alarming and are not. They never raise a finding; they explain a gauge.

use crate::diagnosis::Named;
use crate::evidence::Evidence;

/// The benign conditions this case shows.
pub(crate) fn benign(_e: &Evidence<'_>) -> Vec<Named> {
    Vec::new()
}
