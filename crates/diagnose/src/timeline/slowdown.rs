//! Changes of level in the time of a token or of a first token that the load does not explain.

use intriage_case::{Millis, Seconds};

use super::change_points::{ChangePoint, Rule, Shape, change_points};
use super::events::{Event, EventKind, when};
use super::intervals::Interval;
use super::mean;
use crate::evidence::Evidence;
use crate::thresholds::Limit;

/// Slow stretches of the window.
pub(super) fn slowdowns(e: &Evidence<'_>, intervals: &[Interval]) -> Vec<Event> {
    let mut found = of_tokens(e, intervals);
    found.extend(of_first_tokens(e, intervals));
    found
}

/// What counts as a change of level.
pub(super) fn rule(e: &Evidence<'_>) -> Rule {
    Rule {
        p: e.limit(Limit::ChangeChance),
        sure_side: e.limit(Limit::ChangeSide) as usize,
        least_side: e.limit(Limit::ChangeSuspected) as usize,
        size: e.limit(Limit::ChangeSize),
    }
}

/// The gap between tokens; it follows the batch and the prompts in it.
fn of_tokens(e: &Evidence<'_>, intervals: &[Interval]) -> Vec<Event> {
    let known: Vec<&Interval> = intervals.iter().filter(|i| i.itl.is_some()).collect();
    let levels = Levels::of(e, &known, |i| i.itl);
    let explained = |slow: &[&Interval], calm: &[&Interval], times: f64| {
        let prompts = ratio(slow, calm, |i| i.rate(i.prompt_tokens));
        let more = |part: Option<f64>| part.is_some_and(|part| part >= enough(times));
        let piled_up = more(ratio(slow, calm, Interval::batch));
        more(prompts) || (piled_up && (load_grew(e, slow, calm) || !slower_at_once(e, slow, calm, times)))
    };
    let stretches = levels.slow(true).into_iter();
    stretches
        .filter(|s| !explained(levels.part(s.range), levels.part(s.calm), s.times()))
        .map(|s| levels.event(EventKind::SlowTokens, &s, "a token took"))
        .collect()
}

/// What a part of the load must have grown by to explain that something takes so many times as long: half of that, as what
/// else grows with the load is not seen.
fn enough(times: f64) -> f64 {
    1.0 + (times - 1.0) / 2.0
}

/// Whether more was asked of the server. Near its limit a little more makes much of a difference.
fn load_grew(e: &Evidence<'_>, slow: &[&Interval], calm: &[&Interval]) -> bool {
    let grew = |of: fn(&Interval) -> Option<f64>| {
        ratio(slow, calm, of).is_some_and(|part| part >= e.limit(Limit::LoadGrew))
    };
    grew(|i| i.rate(i.arrivals)) || grew(|i| i.rate(i.prompt_tokens))
}

/// Whether tokens were already slow when the batch was still as before: then requests pile up because they are slow, and
/// are not slow because they are many.
fn slower_at_once(e: &Evidence<'_>, slow: &[&Interval], calm: &[&Interval], times: f64) -> bool {
    let Some(first) = slow.first() else { return false };
    let (Some(batch), Some(time)) = (first.running_before, first.itl) else { return false };
    let near = |i: &&&Interval| {
        i.running_before.is_some_and(|other| (other - batch).abs() <= e.limit(Limit::ChangeSize) * batch)
    };
    let alike = mean(calm.iter().filter(near).filter_map(|i| i.itl));
    alike.is_some_and(|alike| time >= alike * enough(times))
}

/// The time to first token; it follows prompts and arrivals, and where requests wait the queue tells.
fn of_first_tokens(e: &Evidence<'_>, intervals: &[Interval]) -> Vec<Event> {
    let known: Vec<&Interval> = intervals.iter().filter(|i| i.ttft.is_some()).collect();
    let levels = Levels::of(e, &known, |i| i.ttft);
    let explained = |slow: &[&Interval], calm: &[&Interval], times: f64| {
        let waited = mean(slow.iter().filter_map(|i| i.waiting));
        let prompt = ratio(slow, calm, |i| Some(i.prompt_tokens? / i.first_tokens?));
        let more = |part: Option<f64>| part.is_some_and(|part| part >= enough(times));
        waited.is_some_and(|n| n >= e.limit(Limit::NobodyWaits))
            || more(prompt)
            || more(ratio(slow, calm, Interval::batch))
            || load_grew(e, slow, calm)
    };
    let stretches = levels.slow(false).into_iter();
    stretches
        .filter(|s| !explained(levels.part(s.range), levels.part(s.calm), s.times()))
        .map(|s| levels.event(EventKind::SlowFirstTokens, &s, "a first token took"))
        .collect()
}

/// A series of intervals cut into levels.
struct Levels<'a> {
    known: &'a [&'a Interval],
    points: Vec<ChangePoint>,
}

/// A slow stretch and the calm one it is compared with, as ranges of known intervals.
struct Slow {
    range: (usize, usize),
    calm: (usize, usize),
    before: f64,
    after: f64,
    shape: Shape,
}

impl Slow {
    fn times(&self) -> f64 {
        self.after / self.before
    }
}

impl<'a> Levels<'a> {
    fn of(e: &Evidence<'_>, known: &'a [&'a Interval], of: fn(&Interval) -> Option<f64>) -> Self {
        let values: Vec<f64> = known.iter().filter_map(|i| of(i)).collect();
        Self { known, points: change_points(&values, &rule(e)) }
    }

    fn part(&self, range: (usize, usize)) -> &[&'a Interval] {
        &self.known[range.0..range.1]
    }

    /// From each rise to the next fall; and, where `at_first` says so, from the beginning to a fall that no rise came
    /// before: then what follows is the calm part.
    fn slow(&self, at_first: bool) -> Vec<Slow> {
        let bound = |i: usize| self.points.get(i).map_or(self.known.len(), |point| point.at);
        let begin = |i: usize| i.checked_sub(1).map_or(0, bound);
        let rises = |i: usize| self.points.get(i).is_some_and(|point| point.after > point.before);
        let mut found = Vec::new();
        let mut i = 0;
        while i < self.points.len() {
            let point = self.points[i];
            if rises(i) {
                // Further rises belong to it.
                let last = (i..self.points.len()).take_while(|&j| rises(j)).last().unwrap_or(i);
                let run = &self.points[i..=last];
                let shape =
                    if run.iter().any(|p| p.shape == Shape::Ramp) { Shape::Ramp } else { point.shape };
                found.push(Slow {
                    range: (point.at, bound(last + 1)),
                    calm: (begin(i), point.at),
                    before: point.before,
                    after: self.points[last].after,
                    shape,
                });
                // The fall behind it ends it.
                i = last + 1;
            } else if i == 0 && at_first {
                found.push(Slow {
                    range: (0, point.at),
                    calm: (point.at, bound(1)),
                    before: point.after,
                    after: point.before,
                    shape: point.shape,
                });
            }
            i += 1;
        }
        found.retain(|slow| slow.shape != Shape::Suspected);
        found
    }

    fn event(&self, kind: EventKind, slow: &Slow, what: &str) -> Event {
        let part = self.part(slow.range);
        let (start, end) = bounds(part);
        let open = slow.range.1 == self.known.len();
        let (now, usual) = (Seconds(slow.after), Seconds(slow.before));
        let compared = if slow.range.0 == 0 {
            format!("{what} {now}, and {usual} afterwards")
        } else if slow.shape == Shape::Ramp {
            format!("{what} longer and longer: {usual} before, {now} at last")
        } else {
            format!("{what} {now} instead of {usual}")
        };
        let says = format!("{} {compared}, and the load does not explain it", when(start, end, open));
        Event::new(kind, start, end, says).size(now).usual(usual).open(open)
    }
}

fn bounds(part: &[&Interval]) -> (Millis, Millis) {
    (part.first().map_or(Millis(0), |i| i.start), part.last().map_or(Millis(0), |i| i.end))
}

/// Mean of one stretch over that of another; `None` where either is not known or the calm one is zero.
fn ratio(slow: &[&Interval], calm: &[&Interval], of: impl Fn(&Interval) -> Option<f64>) -> Option<f64> {
    let level = |part: &[&Interval]| mean(part.iter().filter_map(|i| of(i)));
    let ratio = level(slow)? / level(calm)?;
    ratio.is_finite().then_some(ratio)
}
