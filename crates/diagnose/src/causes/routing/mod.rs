//! Several engines behind one address, and the wrong one gets the work.

mod engines;
mod replica_load_imbalance;
mod unready_replica_in_rotation;

use super::Cause;

/// The causes of this class, in the order of the catalogue.
pub(super) const CAUSES: &[&Cause] = &[&replica_load_imbalance::CAUSE, &unready_replica_in_rotation::CAUSE];
