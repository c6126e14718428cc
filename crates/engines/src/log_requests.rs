//! Requests as the lines of a log tell them, for engines whose metrics keep totals only.
//!
//! llama.cpp writes the times of every request into its log, stamped from the start of the process. The output tokens of those
//! lines add up to what its scrapes count: a scrape lies behind the line with which the sum reaches its counter and before
//! the next. That dates the whole log by the clock of the scrapes.

use std::collections::BTreeSet;

use intriage_case::{Histogram, Millis, Series, Signal};

use crate::log::LogSeries;
use crate::observed::{Instance, Observed, Track, TrackData};

/// One observation a line, and what a source of it is called.
const EACH: [(Signal, &str); 6] = [
    (Signal::LatencyPrefill, "prompt eval time (log)"),
    (Signal::LatencyDecode, "eval time (log)"),
    (Signal::LatencyTpot, "eval time per token (log)"),
    (Signal::LatencyE2e, "total time (log)"),
    (Signal::TokensUncachedEach, "computed prompt tokens (log)"),
    (Signal::TokensOutputEach, "output tokens (log)"),
];
/// Times that leave out the wait for a slot, which no line tells.
const WITHOUT_QUEUE: [Signal; 2] = [Signal::LatencyTtft, Signal::LatencyE2e];
/// How far a scrape may be stamped from the moment its counters were read, in milliseconds.
const SCRAPE_TAKES: i64 = 2_000;
/// The smallest bound of a bucket and the ratio of each to the one before: up to 10⁵, quantiles within a seventh.
const FIRST_BOUND: f64 = 1e-3;
const BOUND_RATIO: f64 = 1.15;
const BOUNDS: i32 = 133;
/// What ends the name of a source that is a log.
const FROM_LOG: &str = " (log)";

/// Tracks of what the metrics do not tell and the log does; none where log and scrapes do not fit together.
pub(crate) fn told_by_log(observed: &Observed) -> Vec<Track> {
    let Some(offset) = offset(observed) else { return Vec::new() };
    let lines = |signal| line_values(observed, signal, offset);
    let missing = |signal: &Signal| observed.tracks(*signal).next().is_none();
    let waits = observed.series(Signal::RequestsWaiting, None, None).and_then(|s| s.max()) != Some(0.0);
    let mut tracks = Vec::new();
    for (signal, name) in EACH.into_iter().filter(|(signal, _)| missing(signal)) {
        if WITHOUT_QUEUE.contains(&signal) && waits {
            continue;
        }
        tracks.push(track(signal, name, histograms(&observed.times, &lines(signal))));
    }
    if missing(&Signal::LatencyTtft) && !waits {
        let first = histograms(&observed.times, &lines(Signal::LatencyPrefill));
        tracks.push(track(Signal::LatencyTtft, "prompt eval time (log)", first));
    }
    for (signal, of, name) in [
        (Signal::RequestsFinished, Signal::TokensOutputEach, "lines with an eval time (log)"),
        (Signal::RequestsErrors, Signal::RequestsErrors, "lines of refused requests (log)"),
    ] {
        let lines = lines(of);
        // No line of a refusal does not tell that none was made: only one kind of them is known.
        if missing(&signal) && !lines.is_empty() {
            tracks.push(track(signal, name, counter(&observed.times, &lines)));
        }
    }
    tracks
}

/// What to add to the log's times to get those of the scrapes, in milliseconds.
///
/// The log may begin later than the process, so how many tokens came before its first line is not known. That is found from
/// behind: a log is taken with its scrapes, so the last fit is the right one.
fn offset(observed: &Observed) -> Option<i64> {
    let lines = only(observed, Signal::TokensGenerated)?;
    let counted = observed.series(Signal::TokensGenerated, None, None)?;
    let last = counted.last()?;
    let times = lines.series.times();
    let written: Vec<(i64, f64)> = lines.series.known().map(|(i, sum)| (millis(times[i]), sum)).collect();
    let before = written.iter().rev().map(|(_, sum)| last - sum);
    before.filter(|before| *before >= 0.0).find_map(|before| offset_if(observed, &counted, &written, before))
}

/// The same if so many tokens came before the first line; `None` where lines and scrapes do not fit together.
fn offset_if(observed: &Observed, counted: &Series, written: &[(i64, f64)], before: f64) -> Option<i64> {
    let (mut low, mut high) = (None::<i64>, None::<i64>);
    let mut met = BTreeSet::new();
    for (i, count) in counted.known().map(|(i, count)| (i, count - before)) {
        let at = millis(observed.times[i]);
        let behind = written.partition_point(|(_, sum)| *sum <= count);
        let line = behind.checked_sub(1).map(|k| written[k]);
        // Tokens that no line tells: the log is of another process, or it does not reach so far.
        if line.map_or(0.0, |(_, sum)| sum) != count && count >= 0.0 {
            return None;
        }
        if let Some((line, _)) = line {
            met.insert(behind);
            high = Some(high.map_or(at.saturating_sub(line), |most| most.min(at.saturating_sub(line))));
        }
        if let Some((line, _)) = written.get(behind) {
            low = Some(low.map_or(at.saturating_sub(*line), |least| least.max(at.saturating_sub(*line))));
        }
    }
    // One count alone fits anywhere; two that differ do not.
    match (low, high) {
        (Some(low), Some(high)) if met.len() > 1 && low <= high.saturating_add(SCRAPE_TAKES) => {
            Some(low.midpoint(high))
        }
        _ => None,
    }
}

/// The one series of a signal; `None` where several logs or engines tell it.
fn only(observed: &Observed, signal: Signal) -> Option<&LogSeries> {
    let mut all = observed.log.series.iter().filter(|one| one.signal == signal);
    all.next().filter(|_| all.next().is_none())
}

/// What each line tells, at the scrapes' clock.
fn line_values(observed: &Observed, signal: Signal, offset: i64) -> Vec<(i64, f64)> {
    let Some(lines) = only(observed, signal) else { return Vec::new() };
    lines
        .series
        .known()
        .map(|(i, value)| (millis(lines.series.times()[i]).saturating_add(offset), value))
        .collect()
}

/// Up to each scrape, all lines before it; each line is looked at once.
fn histograms(times: &[Millis], lines: &[(i64, f64)]) -> TrackData {
    let bounds: Vec<f64> = (0..BOUNDS).map(|n| FIRST_BOUND * BOUND_RATIO.powi(n)).collect();
    let mut within = vec![0.0; bounds.len() + 1];
    let (mut sum, mut next) = (0.0, lines.iter().peekable());
    let state = |at: &Millis| {
        while let Some((_, value)) = next.next_if(|(line, _)| *line <= millis(*at)) {
            within[bounds.partition_point(|bound| bound < value)] += 1.0;
            sum += value;
        }
        let mut count = 0.0;
        let ends = bounds.iter().copied().chain([f64::INFINITY]);
        let buckets = ends.zip(&within).map(|(bound, n)| {
            count += n;
            (bound, count)
        });
        let buckets = buckets.collect();
        Some(Histogram::new(buckets, sum, count))
    };
    TrackData::Histograms(times.iter().map(state).collect())
}

/// Up to each scrape, the number of lines before it.
fn counter(times: &[Millis], lines: &[(i64, f64)]) -> TrackData {
    let count = |at: &Millis| Some(lines.partition_point(|(line, _)| *line <= millis(*at)) as f64);
    TrackData::Values(Series::new(times.to_vec(), times.iter().map(count).collect()))
}

impl Observed {
    /// Whether a signal is told by the lines of a log and not by the metrics.
    pub fn is_told_by_log(&self, signal: Signal) -> bool {
        self.metric(signal).is_some_and(|name| name.ends_with(FROM_LOG))
    }
}

fn track(signal: Signal, metric: &'static str, data: TrackData) -> Track {
    Track { signal, instance: Instance::default(), key: None, metric, data }
}

fn millis(at: Millis) -> i64 {
    i64::try_from(at.0).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use intriage_case::{Case, LogText, Scrape, ScrapeOutcome};

    use super::*;
    use crate::observed::read;

    const START: u64 = 1_794_709_609_000;

    /// A server that answers a request of 10 tokens every second, seen every two seconds, its log stamped from its start.
    fn case(deferred: u32, log_tokens: u32) -> Case {
        let scrape = |i: u64| {
            let (at, counted) = (START + 500 + 2000 * i, 20 * i);
            let page = format!(
                "llamacpp:tokens_predicted_total {counted}\nllamacpp:tokens_predicted_seconds_total {}\nllamacpp:requests_processing 1\nllamacpp:requests_deferred {deferred}\n",
                counted as f64 * 0.05
            );
            Scrape { at: Millis(at), outcome: ScrapeOutcome::Body(page.into_bytes()) }
        };
        let mut log = "0.00.001.000 I srv  llama_server: initializing ...\n".to_owned();
        for i in 1..=8_u32 {
            let stamp = format!("0.{:02}.100.000", i + 3);
            let _ = write!(
                log,
                "{stamp} I slot print_timing: id  0 | task {i} | prompt eval time =     400.00 ms /    80 tokens (    5.00 ms per token,   200.00 tokens per second)\n\
                 {stamp} I slot print_timing: id  0 | task {i} |        eval time =     500.00 ms /    {log_tokens} tokens (   50.00 ms per token,    20.00 tokens per second)\n\
                 {stamp} I slot print_timing: id  0 | task {i} |       total time =     900.00 ms /    90 tokens\n"
            );
            if i % 4 == 0 {
                let _ = writeln!(
                    log,
                    "{stamp} E srv    send_error: task id = 9{i}, error: request (9000 tokens) exceeds the available context size (2048 tokens), try increasing it"
                );
            }
        }
        let log = LogText { name: "server.log".into(), text: log };
        Case { scrapes: (0..4).map(scrape).collect(), logs: vec![log], ..Case::default() }
    }

    fn gained(observed: &Observed, signal: Signal) -> Option<Histogram> {
        let states = observed.histograms(signal, None)?;
        Some(states.last()?.as_ref()?.since(states.first()?.as_ref()?).0)
    }

    #[test]
    fn the_lines_of_the_window_are_its_requests() {
        let observed = read(&case(0, 10));
        let prefill = gained(&observed, Signal::LatencyPrefill).unwrap();
        assert_eq!(prefill.count(), 6.0);
        assert!((prefill.mean().unwrap() - 0.4).abs() < 1e-9);
        assert!(prefill.quantile(0.95).unwrap().surely_within(0.47));
        assert_eq!(gained(&observed, Signal::LatencyTtft).unwrap().count(), 6.0);
        assert_eq!(gained(&observed, Signal::TokensUncachedEach).unwrap().mean(), Some(80.0));
        let total = |signal| observed.series(signal, None, None).unwrap().counter().unwrap().delta;
        assert_eq!((total(Signal::RequestsFinished), total(Signal::RequestsErrors)), (6.0, 1.0));
    }

    #[test]
    fn a_log_that_begins_later_than_the_process_fits_as_well() {
        let mut case = case(0, 10);
        let text = case.logs[0].text.clone();
        case.logs[0].text =
            text.split_inclusive('\n').take(1).chain(text.split_inclusive('\n').skip(7)).collect();
        // The two requests that are not in the log came before the window.
        let late: Vec<Scrape> = case.scrapes.drain(1..).collect();
        case.scrapes = late;
        assert_eq!(gained(&read(&case), Signal::LatencyPrefill).unwrap().count(), 4.0);
    }

    #[test]
    fn first_tokens_are_not_told_where_requests_wait_for_a_slot() {
        let observed = read(&case(2, 10));
        assert!(gained(&observed, Signal::LatencyTtft).is_none());
        assert!(gained(&observed, Signal::LatencyPrefill).is_some());
    }

    #[test]
    fn the_log_of_another_process_tells_nothing_of_this_window() {
        let observed = read(&case(0, 11));
        assert!(gained(&observed, Signal::LatencyPrefill).is_none());
    }
}
