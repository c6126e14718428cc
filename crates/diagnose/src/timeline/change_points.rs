//! Where a series changes its level and stays there: two-pass E-divisive with Student's t.
//!
//! The method of Apache Otava (Fleming and others, "Hunter", ICPE 2023; the division of Matteson and James, 2013): divide
//! where the energy distance between the sides is greatest as long as the t-test passes at ten times the limit, then take
//! away the weakest point until all that are left pass the limit. No randomness: the same series gives the same points.
//! On top of it stand guards for short series: a side of a few samples is suspected at most, one of one or two is a
//! spike and no level, and a straight rise is told as one.

use super::energy::Distances;
use super::student::{Stretch, t_test};

/// Samples that are looked at together; the next look begins half as many later.
const WINDOW: usize = 50;
/// How much weaker the points of the first pass may be.
const FIRST_PASS: f64 = 10.0;

/// What counts as a change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rule {
    /// Largest probability of a change by chance.
    pub(crate) p: f64,
    /// Fewest samples on each side of a change that is sure.
    pub(crate) sure_side: usize,
    /// Fewest samples on each side of a change that is suspected; fewer are a spike.
    pub(crate) least_side: usize,
    /// Least change, as a part of the smaller level.
    pub(crate) size: f64,
}

/// What a change looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// From one level to another, with enough samples on both sides.
    Step,
    /// A step with only a few samples on one side.
    Suspected,
    /// A straight line fits both sides better than two levels: a trend.
    Ramp,
}

/// A change of level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ChangePoint {
    /// The first sample of the new level.
    pub(crate) at: usize,
    /// Mean of the level before, back to the change before it.
    pub(crate) before: f64,
    /// Mean of the level after, up to the next change.
    pub(crate) after: f64,
    /// Probability of such a difference by chance, by Student's t.
    pub(crate) p: f64,
    /// What it looks like.
    pub(crate) shape: Shape,
}

/// The changes of a series, in order. A series with a value that is no number has none.
pub(crate) fn change_points(values: &[f64], rule: &Rule) -> Vec<ChangePoint> {
    if values.iter().any(|v| !v.is_finite()) {
        return Vec::new();
    }
    let mut kept: Vec<usize> = (0..values.len()).collect();
    loop {
        let levels: Vec<f64> = kept.iter().map(|&i| values[i]).collect();
        let mut at = divisions(&levels, FIRST_PASS * rule.p);
        merge(&levels, &mut at, rule);
        // A spike is no level, and it must not blur the levels around it.
        if let Some((from, to)) = spike(levels.len(), &at, rule.least_side) {
            kept.drain(from..to);
            continue;
        }
        let ramps = ramps(&levels, &at);
        let told = |(i, is_ramp): (usize, bool)| {
            let point = told(&levels, &at, i, is_ramp, rule);
            // A spike at the change belongs to the level it is closer to.
            let (from, to) = (kept[point.at - 1] + 1, kept[point.at]);
            let follows = |i: &usize| (values[*i] - point.after).abs() < (values[*i] - point.before).abs();
            ChangePoint { at: (from..to).find(follows).unwrap_or(to), ..point }
        };
        return ramps.into_iter().enumerate().map(told).collect();
    }
}

/// All points that the first pass finds, window by window.
fn divisions(values: &[f64], p: f64) -> Vec<usize> {
    let mut all: Vec<usize> = Vec::new();
    let mut start = 0;
    while start < values.len() {
        let end = values.len().min(start + WINDOW);
        let found = divide(&values[start..end], p);
        let last = found.last().map_or(0, |at| at + start);
        all.extend(found.iter().map(|at| at + start));
        start = last.max(start + WINDOW / 2);
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// Divides the stretch of the greatest distance as long as the division passes the test.
fn divide(values: &[f64], p: f64) -> Vec<usize> {
    let distances = Distances::of(values);
    let mut at: Vec<usize> = Vec::new();
    loop {
        let bounds = bounds(values.len(), &at);
        let candidates = bounds.windows(2).filter_map(|w| distances.best_division(w[0], w[1]));
        let Some((_, tau)) = candidates.reduce(|best, next| if next.0 > best.0 { next } else { best }) else {
            return at;
        };
        let place = at.partition_point(|&known| known < tau);
        at.insert(place, tau);
        if test(values, &at, place) > p {
            at.remove(place);
            return at;
        }
    }
}

/// Takes away the weakest point until all that are left pass.
fn merge(values: &[f64], at: &mut Vec<usize>, rule: &Rule) {
    loop {
        let weakest = |key: &dyn Fn(usize) -> f64| {
            (0..at.len()).map(|i| (key(i), i)).reduce(|a, b| if b.0 > a.0 { b } else { a })
        };
        let chance = weakest(&|i| test(values, at, i)).filter(|(p, _)| *p >= rule.p);
        let small = || weakest(&|i| -size(values, at, i)).filter(|(size, _)| -size < rule.size);
        let Some((_, remove)) = chance.or_else(small) else { return };
        at.remove(remove);
    }
}

/// The shortest stretch between two points (or an end), if it has fewer samples than `least` and is not all there is.
fn spike(n: usize, at: &[usize], least: usize) -> Option<(usize, usize)> {
    let stretches = bounds(n, at);
    let stretches = stretches.windows(2).map(|w| (w[0], w[1])).filter(|_| !at.is_empty());
    stretches.min_by_key(|(from, to)| to - from).filter(|(from, to)| to - from < least)
}

fn told(values: &[f64], at: &[usize], i: usize, is_ramp: bool, rule: &Rule) -> ChangePoint {
    let (left, right) = sides(values, at, i);
    let shape = if is_ramp {
        Shape::Ramp
    } else if left.len().min(right.len()) < rule.sure_side {
        Shape::Suspected
    } else {
        Shape::Step
    };
    let (before, after) = (Stretch::of(left), Stretch::of(right));
    ChangePoint { at: at[i], before: before.mean, after: after.mean, p: t_test(before, after), shape }
}

/// The points with both ends.
fn bounds(n: usize, at: &[usize]) -> Vec<usize> {
    [0].into_iter().chain(at.iter().copied()).chain([n]).collect()
}

/// The stretches on both sides of a point, up to the next points.
fn sides<'v>(values: &'v [f64], at: &[usize], i: usize) -> (&'v [f64], &'v [f64]) {
    let from = i.checked_sub(1).map_or(0, |j| at[j]);
    let to = at.get(i + 1).copied().unwrap_or(values.len());
    (&values[from..at[i]], &values[at[i]..to])
}

fn test(values: &[f64], at: &[usize], i: usize) -> f64 {
    let (left, right) = sides(values, at, i);
    let (before, after) = (Stretch::of(left), Stretch::of(right));
    // Means of equal values differ in their last digit.
    let scale = before.mean.abs().max(after.mean.abs());
    if (before.mean - after.mean).abs() <= 1e-12 * scale { 1.0 } else { t_test(before, after) }
}

/// The change as a part of the smaller level; from nothing to something is infinite.
fn size(values: &[f64], at: &[usize], i: usize) -> f64 {
    let (left, right) = sides(values, at, i);
    let (before, after) = (Stretch::of(left).mean, Stretch::of(right).mean);
    (after - before).abs() / before.abs().min(after.abs())
}

/// Which points are parts of a straight rise or fall: a run of points in one direction, or a point alone, that one line
/// fits better than its levels do.
fn ramps(values: &[f64], at: &[usize]) -> Vec<bool> {
    let rises = |i: usize| {
        let (left, right) = sides(values, at, i);
        Stretch::of(right).mean > Stretch::of(left).mean
    };
    let alone = |i: usize| line_fits_better(values, at, i, i + 1);
    let mut all = Vec::with_capacity(at.len());
    while all.len() < at.len() {
        let first = all.len();
        let run = (first..at.len()).take_while(|&i| rises(i) == rises(first)).count();
        let is_ramp = line_fits_better(values, at, first, first + run);
        all.extend((first..first + run).map(|i| is_ramp || alone(i)));
    }
    all
}

/// Whether one straight line fits the stretches around the points `first..end` better than a level each, by what is left
/// for each degree of freedom: levels and their places are chosen, too.
fn line_fits_better(values: &[f64], at: &[usize], first: usize, end: usize) -> bool {
    let bounds = bounds(values.len(), at);
    let squares = |stretch: &[f64]| {
        let s = Stretch::of(stretch);
        s.deviation.powi(2) * s.n as f64
    };
    let levels: f64 = bounds[first..end + 2].windows(2).map(|w| squares(&values[w[0]..w[1]])).sum();
    let all = &values[bounds[first]..bounds[end + 1]];
    let (mean, middle) = (Stretch::of(all).mean, (all.len() as f64 - 1.0) / 2.0);
    let (mut along, mut across) = (0.0, 0.0);
    for (i, value) in all.iter().enumerate() {
        let x = i as f64 - middle;
        along += x * x;
        across += x * (value - mean);
    }
    let chosen = 2 * (end - first) + 1;
    let free = |chosen: usize| all.len().saturating_sub(chosen).max(1) as f64;
    (squares(all) - across * across / along) / free(2) < levels / free(chosen)
}

#[cfg(test)]
#[path = "change_points_tests.rs"]
mod tests;
