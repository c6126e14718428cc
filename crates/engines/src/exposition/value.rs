//! Numbers: sample values and timestamps.

use super::cursor::{Cursor, Stop};
use super::problem::ProblemKind;

/// The time a server attached to a sample, in seconds since the Unix epoch.
///
/// The text format writes whole milliseconds and OpenMetrics seconds with a fraction; both end up here as
/// seconds. A double keeps present-day times to a quarter of a microsecond.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Timestamp {
    seconds: f64,
}

impl Timestamp {
    /// Seconds since the Unix epoch; always finite.
    #[must_use]
    pub fn unix_seconds(self) -> f64 {
        self.seconds
    }

    /// Milliseconds since the Unix epoch, rounded to the nearest; senseless times saturate.
    #[must_use]
    pub fn unix_millis(self) -> i64 {
        (self.seconds * 1000.0).round() as i64
    }

    /// Corrects a number that was read before the format was known: it was in milliseconds.
    pub(super) fn was_millis(&mut self) {
        self.seconds /= 1000.0;
    }
}

/// Reads a sample value.
#[inline]
pub(super) fn read_value(cursor: &mut Cursor<'_>) -> Result<f64, Stop> {
    let start = cursor.position();
    match cursor.take_word() {
        "" => Err(Stop { at: start, what: ProblemKind::ValueMissing }),
        word => number(word).ok_or(Stop { at: start, what: ProblemKind::ValueNotANumber }),
    }
}

/// Reads a timestamp in whatever unit the format has, and says whether it is written as a whole number.
pub(super) fn read_timestamp(cursor: &mut Cursor<'_>) -> Result<(Timestamp, bool), Stop> {
    let start = cursor.position();
    let word = cursor.take_word();
    let seconds = number(word)
        .filter(|seconds| seconds.is_finite())
        .ok_or(Stop { at: start, what: ProblemKind::TimestampNotANumber })?;
    let whole = word.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'-'));
    Ok((Timestamp { seconds }, whole))
}

/// Reads a decimal number, `NaN`, `Inf`, `+Inf` or `-Inf`, the words in any case. What the standard library takes is
/// what both formats allow; it knows no hexadecimal numbers. (A hand-written path for short decimals such as `15.0`
/// made a whole scrape 5 % faster, which is not worth its lines.)
#[inline]
fn number(word: &str) -> Option<f64> {
    word.parse().ok()
}
