//! Instants as traces write them.

use intriage_case::Seconds;
use intriage_simulate::Nanos;

/// Days before each month of a year that is not a leap year.
const BEFORE: [u64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];

/// Seconds since anything, `5` or `5.25`.
pub(super) fn seconds(text: &str) -> Option<Nanos> {
    let seconds: f64 = text.parse().ok()?;
    // Above this, nanoseconds do not fit.
    (0.0..1e10).contains(&seconds).then(|| Nanos::from_seconds(Seconds(seconds)))
}

/// A date and a time of day, `2023-11-16 18:17:03.9799600`, with or without `T`, `Z` or an offset as `+02:00`.
pub(super) fn date(text: &str) -> Option<Nanos> {
    let (date, time) = text.split_once([' ', 'T'])?;
    let (time, west) = offset(time)?;
    let [year, month, day] = numbers(date, '-')?;
    let (whole, fraction) = time.split_once('.').unwrap_or((time, ""));
    let [hour, minute, second] = numbers(whole, ':')?;
    let month_days = BEFORE.get(usize::try_from(month.checked_sub(1)?).ok()?)?;
    let inside = (1970..2200).contains(&year) && (1..=31).contains(&day);
    if !inside || hour > 24 || minute > 59 || second > 60 {
        return None;
    }
    let leaps = |year: u64| year / 4 - year / 100 + year / 400;
    let is_leap = leaps(year) > leaps(year - 1);
    let days = (year - 1970) * 365 + leaps(year - 1) - leaps(1969)
        + month_days
        + u64::from(is_leap && month > 2)
        + day
        - 1;
    let seconds = i64::try_from(days * 86_400 + hour * 3600 + minute * 60 + second).ok()? + west;
    let nanos = u64::try_from(seconds).ok()?.checked_mul(1_000_000_000)?;
    nanos.checked_add(nanoseconds(fraction)?).map(Nanos)
}

/// A time without its offset, and the seconds to add to it.
fn offset(time: &str) -> Option<(&str, i64)> {
    let time = time.trim_end_matches('Z');
    let Some(at) = time.find(['+', '-']) else {
        return Some((time, 0));
    };
    let (time, offset) = time.split_at_checked(at)?;
    let [hours, minutes] = numbers(offset.get(1..)?, ':')?;
    let seconds = i64::try_from(hours.min(24) * 3600 + minutes.min(59) * 60).ok()?;
    Some((time, if offset.starts_with('+') { -seconds } else { seconds }))
}

fn numbers<const N: usize>(text: &str, between: char) -> Option<[u64; N]> {
    let all: Option<Vec<_>> =
        text.split(between).map(|part| part.parse::<u32>().ok().map(u64::from)).collect();
    all?.try_into().ok()
}

/// A fraction of a second; digits beyond the ninth do not count.
fn nanoseconds(fraction: &str) -> Option<u64> {
    if !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    format!("{fraction:0<9}").get(..9)?.parse().ok()
}
