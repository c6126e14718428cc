//! Instants: as the collector stamped them, and nanoseconds within one run.

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

/// An instant since the start of a run, or a length of time, in whole nanoseconds: a run is the same on any machine.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// The start of a run.
    pub const ZERO: Self = Self(0);
    /// Never: later than any instant of a run.
    pub const NEVER: Self = Self(u64::MAX);

    /// From seconds; negative or not-a-number gives zero, too large gives [`Nanos::NEVER`].
    pub fn from_seconds(seconds: Seconds) -> Self {
        // A cast from f64 saturates at both ends.
        Self((seconds.get() * 1e9).round() as u64)
    }

    /// As seconds.
    pub fn seconds(self) -> Seconds {
        Seconds(self.0 as f64 / 1e9)
    }

    /// The time from `earlier` to here; zero if it lies later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

impl std::ops::Add for Nanos {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}
