//! From stamps to instants.
//!
//! A missing year is the one that brings the stamp nearest to the scrapes of the same case; a missing zone is taken for
//! UTC, as containers have it. Without scrapes no year is known: times are then right among themselves only
//! ([`LogClock::Undated`]). What a kernel counts from its start is dated by that start, where a snapshot tells it.

use intriage_case::{Millis, Seconds};

use super::stamp::{DAY, Stamp, days};

/// The year of stamps whose year nobody tells: a leap year, so that every date exists.
const UNDATED: i64 = 1972;
/// The end of the year 9999: what lies behind it is no time of a scrape.
const LAST: i64 = 253_402_300_800_000;
/// How far a zone can be from UTC.
const ANY_ZONE: Seconds = Seconds(14.0 * 3600.0);
/// How far the clock of the kernel's log may run from the wall clock in weeks: nobody sets it right.
const BOOT_DRIFT: Seconds = Seconds(60.0);

/// What the times of a log are counted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogClock {
    /// The Unix epoch: the line tells its date, or the year was found from the scrapes.
    Wall,
    /// The first of January of an unknown year: right among themselves only.
    Undated,
    /// The start of the process (llama.cpp) or of the machine (kernel).
    SinceStart,
}

/// When a line was written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogTime {
    /// On the wall clock.
    pub at: Millis,
    /// How far off that may be: stamps without a zone are read as UTC.
    pub within: Seconds,
}

/// What is known of the times of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Known {
    /// When it was collected: its end.
    pub(crate) around: Option<Millis>,
    /// When the serving machine started.
    pub(crate) booted: Option<Millis>,
}

/// Turns stamps of one log, in order, into instants.
pub(super) struct Calendar {
    known: Known,
    year: i64,
    last: i64,
}

impl Calendar {
    /// For a log of a case of which this is known.
    pub(super) const fn new(known: Known) -> Self {
        Self { known, year: UNDATED, last: 0 }
    }

    /// The instant of a stamp.
    pub(super) fn instant(&mut self, stamp: Stamp) -> (Millis, LogClock) {
        match stamp {
            Stamp::Full(at) | Stamp::Zoneless(at) => (at, LogClock::Wall),
            Stamp::SinceStart(at) | Stamp::SinceBoot(at) => (at, LogClock::SinceStart),
            Stamp::Yearless(month, day, of_day) => {
                let in_year = |year: i64| days(year, month, day) * DAY + of_day;
                if let Some(around) =
                    self.known.around.and_then(|at| i64::try_from(at.0).ok()).filter(|at| *at < LAST)
                {
                    let year = 1970 + around / (365 * DAY + DAY / 4);
                    let nearest =
                        (year - 1..=year + 1).map(in_year).min_by_key(|at| (at - around).unsigned_abs());
                    return (Millis(nearest.unwrap_or_default().max(0) as u64), LogClock::Wall);
                }
                // From December to January: half a year back is a year forward.
                if in_year(self.year) < self.last - 183 * DAY {
                    self.year += 1;
                }
                self.last = in_year(self.year);
                (Millis((self.last - days(UNDATED, 1, 1) * DAY) as u64), LogClock::Undated)
            }
        }
    }

    /// When a line was written, on the wall clock, and how far off that may be; `None` where nothing tells the date.
    pub(super) fn written(&mut self, stamp: Stamp) -> Option<LogTime> {
        let exact = |at| Some(LogTime { at, within: Seconds(0.0) });
        match stamp {
            Stamp::Full(at) => exact(at),
            Stamp::SinceBoot(after) => {
                let at = Millis(self.known.booted?.0.checked_add(after.0)?);
                // Behind the end of the window: the log of another start, or of another machine.
                let fits = self.known.around.is_none_or(|end| at.since(end) <= BOOT_DRIFT);
                fits.then_some(LogTime { at, within: BOOT_DRIFT })
            }
            Stamp::Zoneless(_) | Stamp::Yearless(..) => match self.instant(stamp) {
                (at, LogClock::Wall) => Some(LogTime { at, within: ANY_ZONE }),
                _ => None,
            },
            Stamp::SinceStart(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Millis = Millis(1_794_709_609_000);
    const OF_DAY: i64 = 8_809_000;

    fn around(at: Millis) -> Known {
        Known { around: Some(at), booted: None }
    }

    #[test]
    fn a_missing_year_is_the_one_nearest_to_the_scrapes() {
        let mut calendar = Calendar::new(around(AT));
        assert_eq!(calendar.instant(Stamp::Yearless(11, 15, OF_DAY)), (AT, LogClock::Wall));
        // The scrapes were made on New Year's Day; the log began the day before.
        let mut calendar = Calendar::new(around(Millis((days(2027, 1, 1) * DAY) as u64)));
        let eve = Millis((days(2026, 12, 31) * DAY) as u64);
        assert_eq!(calendar.instant(Stamp::Yearless(12, 31, 0)), (eve, LogClock::Wall));
    }

    #[test]
    fn without_a_year_times_are_right_among_themselves_over_new_year() {
        let mut calendar = Calendar::new(Known::default());
        let (before, clock) = calendar.instant(Stamp::Yearless(12, 31, DAY - 1000));
        let (after, _) = calendar.instant(Stamp::Yearless(1, 1, 1000));
        assert_eq!(clock, LogClock::Undated);
        assert_eq!(after.since(before).get(), 2.0);
    }

    #[test]
    fn what_a_kernel_counts_from_its_start_has_a_date_where_that_is_known() {
        let known = Known { around: Some(AT), booted: Some(Millis(AT.0 - 100_000)) };
        let written = |known, seconds: u64| {
            Calendar::new(known).written(Stamp::SinceBoot(Millis(seconds * 1000))).map(|time| time.at)
        };
        assert_eq!(written(known, 40), Some(Millis(AT.0 - 60_000)));
        // Later than the case: another start's log.
        assert_eq!(written(known, 4000), None);
        assert_eq!(written(around(AT), 40), None);
        assert_eq!(Calendar::new(known).written(Stamp::SinceStart(Millis(40))), None);
    }

    #[test]
    fn a_time_without_a_zone_may_be_half_a_day_off() {
        let written = |known, stamp| Calendar::new(known).written(stamp);
        let zoneless = LogTime { at: AT, within: ANY_ZONE };
        assert_eq!(written(Known::default(), Stamp::Zoneless(AT)), Some(zoneless));
        assert_eq!(written(around(AT), Stamp::Yearless(11, 15, OF_DAY)), Some(zoneless));
        assert_eq!(written(Known::default(), Stamp::Yearless(11, 15, OF_DAY)), None);
        assert_eq!(written(Known::default(), Stamp::Full(AT)).unwrap().within, Seconds(0.0));
    }
}
