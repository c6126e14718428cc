//! Silences in which prompts were read, where an engine keeps no distribution of the gaps between tokens.

use intriage_case::Signal;

use super::events::Event;
use super::intervals::Interval;
use super::pace::Pace;
use crate::evidence::Evidence;
use crate::thresholds::Limit;

/// A stretch without a step that ended with prompts, while somebody else was in the server or came.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Reading {
    /// How long no step ended.
    pub(crate) seconds: f64,
    /// Prompt tokens counted at its end.
    pub(crate) tokens: f64,
}

/// Silences of at least [`Limit::PublishedTtft`] that prompts explain and others had to sit through.
pub(super) fn readings(e: &Evidence<'_>, intervals: &[Interval], standstills: &[Event]) -> Vec<Reading> {
    let buckets = e.histogram(Signal::LatencyItl).is_some_and(|gaps| gaps.has_buckets());
    if buckets || !standstills.is_empty() {
        return Vec::new();
    }
    let pace = Pace::of(e, intervals).prompt.unwrap_or(0.0);
    let silent = |i: &Interval| i.steps == Some(0.0) && i.held().is_some_and(|held| held >= 1.0);
    let mut found = Vec::new();
    let mut from = 0;
    while from < intervals.len() {
        let run = intervals[from..].iter().take_while(|i| silent(i)).count();
        if let Some(end) = intervals.get(from + run).filter(|_| run > 0) {
            let seconds: f64 = intervals[from..from + run].iter().map(|i| i.seconds).sum();
            let tokens = end.computed.unwrap_or(0.0);
            let explained = tokens * pace >= e.limit(Limit::StepExplains) * seconds;
            let others = end.held().is_some_and(|held| held >= 2.0);
            if tokens > 0.0 && explained && others && seconds >= e.limit(Limit::PublishedTtft) {
                found.push(Reading { seconds, tokens });
            }
        }
        from += run + 1;
    }
    found
}
