//! Instants as the collector stamped them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Seconds;

/// An instant: milliseconds since the Unix epoch, on the clock of the machine that collected.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Millis(pub u64);

impl Millis {
    /// Time from `earlier` to `self`; negative if the clock went back.
    pub fn since(self, earlier: Self) -> Seconds {
        Seconds((self.0 as f64 - earlier.0 as f64) / 1000.0)
    }

    /// Seconds since the Unix epoch.
    pub fn unix(self) -> Seconds {
        Seconds(self.0 as f64 / 1000.0)
    }
}
