//! Times of records: text, or a number of seconds, milliseconds, microseconds or nanoseconds.

use intriage_case::Millis;
use serde_json::Value;

use crate::log::stamp::{self, DAY, days};

/// The time a field tells.
pub(super) fn of_field(value: &Value) -> Option<Millis> {
    match value {
        Value::Number(number) => since_epoch(number.as_f64()?),
        Value::String(text) if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') => {
            since_epoch(text.parse().ok()?)
        }
        Value::String(text) => stamp::full(text.as_bytes()),
        _ => None,
    }
}

/// The unit is told by the size: all that is written today lies between 2001 and 2286.
fn since_epoch(number: f64) -> Option<Millis> {
    let unit = match number {
        1e9..1e10 => 1e-3,
        1e12..1e13 => 1.0,
        1e15..1e16 => 1e3,
        1e18..1e19 => 1e6,
        _ => return None,
    };
    Some(Millis((number / unit).round() as u64))
}

/// `2026-11-15T02:26:49.500Z`
pub(super) fn written(at: Millis) -> Option<String> {
    let at = i64::try_from(at.0).ok()?;
    let (day, of_day) = (at.div_euclid(DAY), at.rem_euclid(DAY));
    let guess = 1970 + day / 366;
    let year = (guess..guess + 30).rev().find(|year| days(*year, 1, 1) <= day)?;
    let month = (1..=12).rev().find(|month| days(year, *month, 1) <= day)?;
    let of_month = day - days(year, month, 1) + 1;
    let (seconds, millis) = (of_day / 1000, of_day % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    Some(format!("{year:04}-{month:02}-{of_month:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_number_is_in_the_unit_its_size_allows() {
        let at = Some(Millis(1_794_709_609_500));
        for value in [
            json!(1_794_709_609.5),
            json!(1_794_709_609_500_u64),
            json!("1794709609500"),
            json!("1794709609500000000"),
            json!("2026-11-15T02:26:49.5Z"),
        ] {
            assert_eq!(of_field(&value), at, "{value}");
        }
        assert_eq!(of_field(&json!(7)), None);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_as_the_same(at in 1_000_000_000_000_u64..9_999_999_999_999) {
            let text = written(Millis(at)).unwrap_or_default();
            prop_assert_eq!(stamp::full(text.as_bytes()), Some(Millis(at)));
        }
    }
}
