//! The stamps engines, libraries, journals and kernels put in front of a line. Some leave the year out (vLLM:
//! `11-15 02:26:49`, journals: `Nov 15 02:26:49`) and most the zone; [`Calendar`](super::calendar::Calendar) makes
//! instants of them.

use intriage_case::Millis;

/// Milliseconds of a day.
pub(super) const DAY: i64 = 86_400_000;
/// A stamp is looked for this far into a line.
const PREFIX: usize = 96;

/// A stamp as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stamp {
    /// With its year and its zone.
    Full(Millis),
    /// With its year and without a zone, read as if it were UTC.
    Zoneless(Millis),
    /// Month from 1, day from 1, milliseconds of the day.
    Yearless(u32, u32, i64),
    /// Counted from the start of the process.
    SinceStart(Millis),
    /// Counted from the start of the machine.
    SinceBoot(Millis),
}

/// The stamp of a line: at its start, else the first one in its prefix.
pub(super) fn of_line(line: &str) -> Option<Stamp> {
    if let Some((stamp, _)) = leading(line) {
        return Some(stamp);
    }
    let bytes = line.as_bytes();
    let prefix = &bytes[..bytes.len().min(PREFIX)];
    (0..prefix.len())
        .filter(|at| prefix[*at].is_ascii_digit())
        .filter(|at| {
            *at == 0 || !(prefix[*at - 1].is_ascii_alphanumeric() || b"-.:".contains(&prefix[*at - 1]))
        })
        .find_map(|at| {
            let rest = &bytes[at..];
            date_and_time(rest).map(|(stamp, _)| stamp).or_else(|| month_and_day(rest))
        })
}

/// The stamp a line begins with, and where it ends.
pub(super) fn leading(line: &str) -> Option<(Stamp, usize)> {
    let bytes = line.as_bytes();
    date_and_time(bytes)
        .or_else(|| named_month(bytes))
        .or_else(|| since_start(bytes))
        .or_else(|| since_boot(line))
        .or_else(|| human_time(line))
}

/// `2026-11-15T02:26:49.123Z` at the start of these bytes; also with a blank, a comma or an offset.
pub(super) fn full(bytes: &[u8]) -> Option<Millis> {
    match date_and_time(bytes)?.0 {
        Stamp::Full(at) | Stamp::Zoneless(at) => Some(at),
        _ => None,
    }
}

fn date_and_time(bytes: &[u8]) -> Option<(Stamp, usize)> {
    let year = i64::from(number(bytes, 0, 4)?);
    let (month, day) = date(bytes, 5)?;
    if bytes[4] != b'-' || !matches!(bytes.get(10)?, b'T' | b' ') {
        return None;
    }
    let (of_day, mut end) = time(bytes, 11)?;
    let mut at = days(year, month, day) * DAY + of_day;
    let mut zoned = true;
    match bytes.get(end) {
        Some(b'Z') => end += 1,
        Some(sign @ (b'+' | b'-')) => {
            let colon = usize::from(bytes.get(end + 3) == Some(&b':'));
            let hours = number(bytes, end + 1, 2)?;
            let minutes = number(bytes, end + 3 + colon, 2)?;
            let offset = i64::from(hours * 60 + minutes) * 60_000;
            at -= if *sign == b'+' { offset } else { -offset };
            end += 5 + colon;
        }
        _ => zoned = false,
    }
    let at = Millis(u64::try_from(at).ok()?);
    Some((if zoned { Stamp::Full(at) } else { Stamp::Zoneless(at) }, end))
}

/// `11-15 02:26:49` at the start of these bytes.
fn month_and_day(bytes: &[u8]) -> Option<Stamp> {
    let (month, day) = date(bytes, 0)?;
    let (of_day, _) = (bytes.get(5) == Some(&b' ')).then(|| time(bytes, 6))??;
    Some(Stamp::Yearless(month, day, of_day))
}

/// `Nov 15 02:26:49` at the start of these bytes.
fn named_month(bytes: &[u8]) -> Option<(Stamp, usize)> {
    const NAMES: &[u8] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
    let name = bytes.get(..3)?;
    let month = NAMES.chunks_exact(3).position(|month| month == name)? as u32 + 1;
    let day = if bytes.get(4)? == &b' ' { number(bytes, 5, 1)? } else { number(bytes, 4, 2)? };
    let between = bytes[3] == b' ' && bytes.get(6) == Some(&b' ') && (1..=31).contains(&day);
    let (of_day, end) = between.then(|| time(bytes, 7))??;
    Some((Stamp::Yearless(month, day, of_day), end))
}

/// llama.cpp: `0.03.803.226`, minutes, seconds, milliseconds and microseconds since its start.
fn since_start(bytes: &[u8]) -> Option<(Stamp, usize)> {
    let digits = bytes.iter().take(6).take_while(|byte| byte.is_ascii_digit()).count();
    let minutes = (digits > 0).then(|| number(bytes, 0, digits))??;
    let rest = &bytes[digits..];
    let (seconds, millis) = (number(rest, 1, 2)?, number(rest, 4, 3)?);
    number(rest, 8, 3)?;
    let dotted = rest[0] == b'.' && rest[3] == b'.' && rest[7] == b'.' && rest.get(11) == Some(&b' ');
    let at = (u64::from(minutes) * 60 + u64::from(seconds)) * 1000 + u64::from(millis);
    dotted.then_some((Stamp::SinceStart(Millis(at)), digits + 11))
}

/// The kernel: `[   12.345678]`, seconds since its start.
fn since_boot(line: &str) -> Option<(Stamp, usize)> {
    let (inside, _) = line.strip_prefix('[')?.split_once(']')?;
    let (seconds, fraction) = inside.trim_start().split_once('.')?;
    let micros = (fraction.len() == 6).then(|| number(fraction.as_bytes(), 0, 6))??;
    let at = seconds.parse::<u64>().ok()?.checked_mul(1000)?.checked_add(u64::from(micros / 1000))?;
    Some((Stamp::SinceBoot(Millis(at)), inside.len() + 2))
}

/// `dmesg -T`: `[Sun Nov 15 02:26:49 2026]`, in the zone of the machine.
fn human_time(line: &str) -> Option<(Stamp, usize)> {
    let (inside, _) = line.strip_prefix('[')?.split_once(']')?;
    // The day of the week says nothing that the date does not.
    let rest = inside.get(4..).filter(|_| inside.as_bytes()[3] == b' ')?;
    let (Stamp::Yearless(month, day, of_day), end) = named_month(rest.as_bytes())? else { return None };
    let year = rest.get(end..)?.trim().parse::<i64>().ok().filter(|year| (1970..10_000).contains(year))?;
    let at = u64::try_from(days(year, month, day) * DAY + of_day).ok()?;
    Some((Stamp::Zoneless(Millis(at)), inside.len() + 2))
}

/// `MM-DD` at this place.
fn date(bytes: &[u8], at: usize) -> Option<(u32, u32)> {
    let (month, day) = (number(bytes, at, 2)?, number(bytes, at + 3, 2)?);
    let fits = bytes[at + 2] == b'-' && (1..=12).contains(&month) && (1..=31).contains(&day);
    fits.then_some((month, day))
}

/// `HH:MM:SS` at this place, perhaps with a fraction: milliseconds of the day, and where it ends.
fn time(bytes: &[u8], at: usize) -> Option<(i64, usize)> {
    let (hour, minute, second) =
        (number(bytes, at, 2)?, number(bytes, at + 3, 2)?, number(bytes, at + 6, 2)?);
    if bytes[at + 2] != b':' || bytes[at + 5] != b':' || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let mut millis = i64::from((hour * 60 + minute) * 60 + second) * 1000;
    let mut end = at + 8;
    if matches!(bytes.get(end), Some(b'.' | b',')) {
        let digits = bytes[end + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        for (place, unit) in [100, 10, 1].into_iter().enumerate().take(digits) {
            millis += i64::from(bytes[end + 1 + place] - b'0') * unit;
        }
        end += if digits > 0 { 1 + digits } else { 0 };
    }
    Some((millis, end))
}

/// The number of exactly `digits` digits at this place.
fn number(bytes: &[u8], at: usize, digits: usize) -> Option<u32> {
    let digits = bytes.get(at..at.checked_add(digits)?)?;
    digits
        .iter()
        .try_fold(0_u32, |value, byte| byte.is_ascii_digit().then(|| value * 10 + u32::from(byte - b'0')))
}

/// Days from the Unix epoch to a date of the Gregorian calendar, counted in years that begin in March.
pub(super) fn days(year: i64, month: u32, day: u32) -> i64 {
    let year = year - i64::from(month <= 2);
    let month = i64::from((month + 9) % 12);
    let leaps = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leaps + (month * 153 + 2) / 5 + i64::from(day) - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::calendar::{Calendar, Known};
    use super::*;

    const AT: Millis = Millis(1_794_709_609_000);
    const OF_DAY: i64 = 8_809_000;

    #[test]
    fn dates_are_counted_from_the_epoch() {
        assert_eq!((days(1970, 1, 1), days(2000, 2, 29), days(2026, 11, 15)), (0, 11_016, 20_772));
    }

    #[test]
    fn stamps_of_engines_and_runtimes_are_read() {
        for (line, stamp) in [
            (
                "(APIServer pid=1232) INFO 11-15 02:26:49 [loggers.py:335] Engine",
                Stamp::Yearless(11, 15, OF_DAY),
            ),
            ("INFO 11-15 02:26:49 [metrics.py:486] Avg", Stamp::Yearless(11, 15, OF_DAY)),
            ("[2026-11-15 02:26:49 TP0] Decode batch", Stamp::Zoneless(AT)),
            ("2026-11-15T02:26:49Z x", Stamp::Full(AT)),
            ("2026-11-15T04:26:49.000+02:00 x", Stamp::Full(AT)),
            ("(EngineCore pid=5) 2026-11-15 02:26:49,000 - INFO - a", Stamp::Zoneless(AT)),
            ("Nov 15 02:26:49 host vllm[1]: x", Stamp::Yearless(11, 15, OF_DAY)),
            ("0.03.803.226 I slot print_timing", Stamp::SinceStart(Millis(3803))),
            ("12.03.803.226 I slot print_timing", Stamp::SinceStart(Millis(723_803))),
            ("[   12.345678] Xid 79", Stamp::SinceBoot(Millis(12_345))),
            ("[Sun Nov 15 02:26:49 2026] Xid 79", Stamp::Zoneless(AT)),
            ("[Sun Nov  1 02:26:49 2026] Xid 79", Stamp::Zoneless(Millis(AT.0 - 14 * 86_400_000))),
        ] {
            assert_eq!(of_line(line), Some(stamp), "{line}");
        }
        for line in [
            "INFO:     127.0.0.1:1 - \"POST",
            "",
            "[Sun Nov 15 02:26:49 x]",
            "[é",
            "99-99 02:26:49",
            "-11-15 02:26:49",
            "1.2.3.4 x",
        ] {
            assert_eq!(of_line(line), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_survived(line in "\\PC{0,120}", stamps in prop::collection::vec("[0-9\\-:., TZ+\\[\\]a-z]{0,40}", 0..4)) {
            let _ = of_line(&line);
            for stamp in stamps {
                if let Some(stamp) = of_line(&stamp) {
                    for around in [None, Some(Millis(u64::MAX))] {
                        let mut calendar = Calendar::new(Known { around, booted: around });
                        let _ = (calendar.instant(stamp), calendar.written(stamp));
                    }
                }
            }
        }
    }
}
