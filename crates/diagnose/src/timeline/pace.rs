//! How fast an engine usually works, as the intervals of the window show it.

use intriage_case::Signal;
use intriage_engines::Observed;

use super::gains::Gains;
use super::intervals::Interval;
use super::median;
use crate::evidence::Evidence;

/// How fast the engine usually works.
#[derive(Clone, Copy)]
pub(super) struct Pace {
    /// Seconds to compute a prompt token, at most.
    pub(super) prompt: Option<f64>,
    /// Mean gap between tokens in the middle interval.
    pub(super) gap: f64,
    /// Mean time to first token in the middle interval.
    pub(super) first_token: f64,
    /// Steps a second in the middle interval with any.
    pub(super) steps: Option<f64>,
}

impl Pace {
    pub(super) fn of(e: &Evidence<'_>, intervals: &[Interval]) -> Self {
        let middle = |of: fn(&Interval) -> Option<f64>| median(intervals.iter().filter_map(of).collect());
        // Both are booked when a request ends, so they are of the same requests. The middle one, because a stop makes
        // some of them long.
        let lengths = Gains::of_histogram(e.observed, Signal::TokensPromptEach);
        let computed = Gains::of_histogram(e.observed, Signal::TokensUncachedEach);
        let length = |i: usize| lengths.mean(i).or_else(|| computed.mean(i));
        let each = intervals.iter().filter_map(|i| Some(i.prefill? / length(i.index)?));
        let told = median(each.filter(|s| s.is_finite() && *s > 0.0).collect());
        let paces = [told.or_else(|| in_its_life(e.observed)), fastest(intervals)];
        Self {
            prompt: paces.into_iter().flatten().reduce(f64::min),
            gap: middle(|i| i.itl).unwrap_or(0.0),
            first_token: middle(|i| i.ttft).unwrap_or(0.0),
            steps: middle(|i| Some(i.steps.filter(|n| *n > 0.0)? / i.seconds)),
        }
    }
}

/// The fewest seconds for a prompt token that were seen. Prompts are booked at their first token: those of an interval
/// were computed in it and in the one before, if that saw work, too.
fn fastest(intervals: &[Interval]) -> Option<f64> {
    let worked = |i: &Interval| [i.generated, i.prompt_tokens].into_iter().flatten().any(|n| n > 0.0);
    let pairs = intervals.windows(2).filter(|pair| worked(&pair[0]) && pair[0].end == pair[1].start);
    let each = pairs.filter_map(|pair| Some((pair[0].seconds + pair[1].seconds) / pair[1].computed?));
    each.filter(|seconds| seconds.is_finite()).reduce(f64::min)
}

/// Seconds to compute a prompt token over the life of the process.
fn in_its_life(observed: &Observed) -> Option<f64> {
    let total = |signal| Some(observed.histograms(signal, None)?.into_iter().flatten().next_back()?.sum());
    let pace = total(Signal::LatencyPrefill)? / total(Signal::TokensPromptEach)?;
    (pace.is_finite() && pace > 0.0).then_some(pace)
}
