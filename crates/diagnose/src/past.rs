//! How old a kernel's line is: its log reaches back to the start of the machine, and a fault of last week is none of now.

use intriage_case::{Millis, Seconds, Signal};
use intriage_engines::{LogEvent, LogTime};

use crate::evidence::Evidence;
use crate::thresholds::Limit;

/// How long before the window an event clearly lies, in words; `None` where it may belong to it or has no time.
pub(crate) fn past(e: &Evidence<'_>, event: &LogEvent) -> Option<String> {
    past_time(e, event.written)
}

/// The date of a line in words where the case has no window that would tell its age.
pub(crate) fn undated(e: &Evidence<'_>, written: Option<LogTime>) -> Option<String> {
    let at = written.filter(|_| begin(e).is_none())?.at;
    Some(format!("dated {at}, and no look at the server tells how long ago that is"))
}

/// As [`past`], of a time.
pub(crate) fn past_time(e: &Evidence<'_>, written: Option<LogTime>) -> Option<String> {
    let (written, begin) = (written?, begin(e)?);
    // The latest it can have been.
    let latest = Millis(written.at.0.saturating_add((written.within.get() * 1000.0) as u64));
    let before = |instant: Millis| instant.since(latest).get();
    let ago = in_words(begin.since(written.at));
    if before(begin) <= 0.0 {
        return None;
    }
    let started = server_started(e, begin);
    if let Some(start) = started.filter(|start| before(*start) > e.limit(Limit::BeforeStart)) {
        return Some(format!(
            "{ago} before the window, {} before the server started",
            in_words(start.since(written.at))
        ));
    }
    (before(begin) > e.limit(Limit::OldEvent)).then(|| format!("{ago} before the window"))
}

/// The first moment anything was looked at.
fn begin(e: &Evidence<'_>) -> Option<Millis> {
    let scraped = e.observed.times.first().copied();
    let failed = e.observed.failed.first().map(|(at, _)| *at);
    let looked = e.observed.host.as_ref().and_then(|host| host.began);
    [scraped, failed, looked].into_iter().flatten().min()
}

/// When the server that runs started: by its own word, else by the kernel's of its first process. A start in the window
/// counts as its beginning: what ended the server before it lies in the window, too.
fn server_started(e: &Evidence<'_>, begin: Millis) -> Option<Millis> {
    let said = e.observed.series(Signal::ProcessStart, None, None).and_then(|series| series.last());
    let said = said.filter(|seconds| *seconds > 0.0).map(|seconds| Millis((seconds * 1000.0) as u64));
    // Later than the window can be no start: the figures of several processes were added up.
    let said = said.filter(|start| e.observed.times.last().is_some_and(|end| start <= end));
    let processes = e.observed.host.iter().flat_map(|host| &host.processes).filter(|p| p.running);
    said.or_else(|| processes.filter_map(|p| p.started).min()).map(|start| start.min(begin))
}

/// A length of time as people say it of the past.
fn in_words(time: Seconds) -> String {
    const STEPS: [(f64, &str); 3] = [(86_400.0, "days"), (3600.0, "hours"), (60.0, "minutes")];
    let seconds = time.get();
    let step = STEPS.into_iter().find(|(scale, _)| seconds >= 2.0 * scale);
    step.map_or_else(
        || format!("{seconds:.0} seconds"),
        |(scale, name)| format!("{:.0} {name}", seconds / scale),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_of_time_has_one_unit() {
        let told =
            [(30.0, "30 seconds"), (600.0, "10 minutes"), (90_000.0, "25 hours"), (300_000.0, "3 days")];
        for (seconds, words) in told {
            assert_eq!(in_words(Seconds(seconds)), words);
        }
    }
}
