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

/// As people read it, to the second: `2026-11-15 02:26:49 UTC`.
impl std::fmt::Display for Millis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seconds = self.0 / 1000;
        let (days, of_day) = (seconds / 86_400, seconds % 86_400);
        let (year, month, day) = date(days);
        let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
        write!(f, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
    }
}

/// Year, month and day of a number of days since the first of January 1970.
const fn date(days: u64) -> (u64, u64, u64) {
    // The calendar repeats every 400 years. Counted from a first of March, the leap day is the last of its year.
    const ERA: u64 = 400 * 365 + 97;
    let days = days + 719_468;
    let (era, in_era) = (days / ERA, days % ERA);
    let year = (in_era - in_era / 1460 + in_era / 36_524 - in_era / (ERA - 1)) / 365;
    let in_year = in_era - (year * 365 + year / 4 - year / 100);
    // From March on, months have 31, 30, 31, 30, 31 days, twice, and then what is left.
    let month = (in_year * 5 + 2) / 153;
    let day = in_year - (month * 153 + 2) / 5 + 1;
    if month < 10 { (era * 400 + year, month + 3, day) } else { (era * 400 + year + 1, month - 9, day) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_reads_as_a_date() {
        for (ms, text) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_400_000, "2000-02-29 00:00:00 UTC"),
            (951_868_800_000, "2000-03-01 00:00:00 UTC"),
            (1_794_709_609_999, "2026-11-15 02:26:49 UTC"),
            (4_107_542_399_000, "2100-02-28 23:59:59 UTC"),
            (4_107_542_400_000, "2100-03-01 00:00:00 UTC"),
        ] {
            assert_eq!(Millis(ms).to_string(), text);
        }
        // A broken stamp is still a text.
        assert!(Millis(u64::MAX).to_string().ends_with(" UTC"));
    }

    #[test]
    fn a_day_later_is_the_next_date() {
        let is_leap =
            |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for days in 0..300_000 {
            assert_eq!(date(days), (year, month, day));
            let last = match month {
                2 => 28 + u64::from(is_leap(year)),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            (year, month, day) = match (month, day) {
                (12, 31) => (year + 1, 1, 1),
                (month, day) if day == last => (year, month + 1, 1),
                (month, day) => (year, month, day + 1),
            };
        }
    }
}
