//! Where a series changes its level and stays there: two-pass E-divisive with Student's t.
//!
//! The method of Apache Otava (Fleming and others, "Hunter", ICPE 2023; the division of Matteson and James, 2013): divide
//! where the energy distance between the sides is greatest as long as the t-test passes at ten times the limit, then take
//! away the weakest point until all that are left pass the limit. No randomness: the same series gives the same points.
//! On top of it stand guards for short series: a side of a few samples is suspected at most, one of one or two is a
//! spike and no level, and a straight rise is told as one.

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

/// Sums of |a − b| over all pairs of a series, ready to be taken over any two stretches of it.
struct Distances {
    n: usize,
    /// `(n + 1)²` sums over the first rows and columns.
    sums: Vec<f64>,
}

impl Distances {
    fn of(values: &[f64]) -> Self {
        let n = values.len();
        let mut all = Self { n, sums: vec![0.0; (n + 1) * (n + 1)] };
        for i in 0..n {
            let mut row = 0.0;
            for j in 0..n {
                row += (values[i] - values[j]).abs();
                all.sums[(i + 1) * (n + 1) + j + 1] = all.sums[i * (n + 1) + j + 1] + row;
            }
        }
        all
    }

    /// Sum over pairs of one of `rows` and one of `columns`.
    fn between(&self, rows: (usize, usize), columns: (usize, usize)) -> f64 {
        let sum = |row: usize, column: usize| self.sums[row * (self.n + 1) + column];
        sum(rows.1, columns.1) - sum(rows.0, columns.1) - sum(rows.1, columns.0) + sum(rows.0, columns.0)
    }

    /// The division of a stretch with the greatest distance between what lies before it and what follows, up to any
    /// end; with that distance. `None` for a stretch of one.
    fn best_division(&self, from: usize, to: usize) -> Option<(f64, usize)> {
        let mut best: Option<(f64, usize)> = None;
        for tau in from + 1..to {
            for end in tau + 1..=to {
                let distance = self.energy(from, tau, end);
                if best.is_none_or(|(most, _)| distance > most) {
                    best = Some((distance, tau));
                }
            }
        }
        best
    }

    /// Energy distance of `from..tau` and `tau..end`, weighted by their lengths: twice the mean distance between them
    /// less the mean distances within each.
    fn energy(&self, from: usize, tau: usize, end: usize) -> f64 {
        let (m, n) = ((tau - from) as f64, (end - tau) as f64);
        let within = |a: usize, b: usize| {
            let pairs = (b - a) as f64;
            // Each pair is in the sum twice.
            if b - a < 2 { 0.0 } else { self.between((a, b), (a, b)) / (pairs * (pairs - 1.0)) }
        };
        let across = self.between((from, tau), (tau, end)) / (m * n);
        m * n / (m + n) * (2.0 * across - within(from, tau) - within(tau, end))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize;

    use super::*;

    /// As Otava's defaults: every size counts.
    const ANY_SIZE: Rule = Rule { p: 0.001, sure_side: 5, least_side: 3, size: 0.0 };

    /// Series that were made and recorded, with what Apache Otava 0.8.0 says of each; `made_by` tells how.
    #[derive(Deserialize)]
    struct Compared {
        series: Vec<Sample>,
    }

    #[derive(Deserialize)]
    struct Sample {
        name: String,
        values: Vec<f64>,
        otava: Vec<Theirs>,
        /// Otava with both neighbours of a removed point computed anew.
        otava_both_sides: Vec<Theirs>,
    }

    #[derive(Deserialize)]
    struct Theirs {
        at: usize,
        before: f64,
        after: f64,
        p: f64,
    }

    fn compared() -> Vec<Sample> {
        serde_json::from_str::<Compared>(include_str!("otava.json")).expect("the file is well formed").series
    }

    /// Before the guards for short series.
    fn both_passes(values: &[f64]) -> Vec<usize> {
        let mut at = divisions(values, FIRST_PASS * ANY_SIZE.p);
        merge(values, &mut at, &ANY_SIZE);
        at
    }

    fn found(name: &str) -> Vec<(usize, Shape)> {
        let all = compared();
        let sample = all.iter().find(|sample| sample.name == name).expect("a series of the file");
        change_points(&sample.values, &ANY_SIZE).iter().map(|c| (c.at, c.shape)).collect()
    }

    #[test]
    fn the_points_are_those_of_otava() {
        // Where a point is taken away, Otava as released computes the point behind it and the one after that anew, and the
        // point before keeps the figures of a stretch that is gone. That decides in these series, each with several
        // weak points.
        const STALE: [&str; 5] = [
            "noise_heavy_60",
            "ramp_40",
            "ramp_gentle_60",
            "queue recordings/vllm-h200-maxseqs4",
            "waiting recordings/vllm-h200-longprompt2",
        ];
        for sample in compared() {
            let ours = both_passes(&sample.values);
            let agrees = |theirs: &[Theirs]| {
                ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(a, b)| a.abs_diff(b.at) <= 1)
            };
            assert!(agrees(&sample.otava_both_sides), "{}: {ours:?}", sample.name);
            assert_eq!(agrees(&sample.otava), !STALE.contains(&sample.name.as_str()), "{}", sample.name);
        }
    }

    #[test]
    fn levels_and_probabilities_are_those_of_otava() {
        for sample in compared() {
            let ours = both_passes(&sample.values);
            for (i, theirs) in sample.otava_both_sides.iter().enumerate() {
                let point = told(&sample.values, &ours, i, false, &ANY_SIZE);
                let near = |a: f64, b: f64| (a - b).abs() <= 1e-5 * a.abs().max(b.abs()) + 1e-12;
                assert!(near(point.before, theirs.before) && near(point.after, theirs.after), "{point:?}");
                // Three digits of theirs are kept; below 1e-15 ours is nothing but rounding.
                assert!((point.p - theirs.p).abs() <= 0.01 * theirs.p + 1e-14, "{point:?} {}", theirs.p);
            }
        }
    }

    #[test]
    fn steps_are_found_where_they_are() {
        use Shape::*;
        assert_eq!(found("step_up_20_20"), [(20, Step)]);
        assert_eq!(found("plateau_20_10_20"), [(20, Step), (30, Step)]);
        assert_eq!(found("stairs_12_12_12"), [(12, Step), (24, Step)]);
        assert_eq!(found("long_300"), [(110, Step), (170, Step)]);
        assert_eq!(found("zero_then_work"), [(10, Step)]);
        assert_eq!(found("tokens lab/frozen"), [(6, Step)]);
    }

    #[test]
    fn noise_and_spikes_are_no_change() {
        for name in ["noise_60", "noise_heavy_60", "constant_30", "spike_one_sample", "spike_two_samples"] {
            assert_eq!(found(name), [], "{name}");
        }
        for name in ["recordings/vllm-h200-healthy", "lab/healthy-poisson", "lab/runaway-control"] {
            assert_eq!(found(&format!("itl {name}")), [], "{name}");
        }
    }

    #[test]
    fn a_spike_does_not_hide_the_step_beside_it() {
        let mut values: Vec<f64> =
            (0..24).map(|i| if i < 12 { 1.0 } else { 2.0 } + 0.01 * f64::from(i % 3)).collect();
        values.push(40.0);
        let points = change_points(&values, &ANY_SIZE);
        assert_eq!(points.iter().map(|c| (c.at, c.shape)).collect::<Vec<_>>(), [(12, Shape::Step)]);
    }

    #[test]
    fn few_samples_on_a_side_are_suspected_at_most() {
        assert_eq!(found("short_6_6"), [(6, Shape::Step)]);
        assert_eq!(found("short_4_8"), [(4, Shape::Suspected)]);
        assert_eq!(found("late_37_3"), [(37, Shape::Suspected)]);
    }

    #[test]
    fn a_straight_rise_is_a_ramp() {
        for name in ["ramp_40", "queue recordings/vllm-h200-maxseqs4", "queue h200/vllm-h200-pair-maxseqs8"] {
            let found = found(name);
            assert!(
                !found.is_empty() && found.iter().all(|(_, shape)| *shape == Shape::Ramp),
                "{name} {found:?}"
            );
        }
    }

    #[test]
    fn a_small_change_does_not_count_where_size_matters() {
        let sample = &compared()[2];
        assert_eq!(sample.name, "step_small_30_30");
        assert_eq!(change_points(&sample.values, &ANY_SIZE).len(), 1);
        assert_eq!(change_points(&sample.values, &Rule { size: 0.25, ..ANY_SIZE }).len(), 0);
    }

    /// Any number there is, common ones more often.
    fn any_value() -> impl Strategy<Value = f64> {
        prop_oneof![8 => -1e3..1e3, 1 => proptest::num::f64::ANY, 1 => Just(f64::NAN), 1 => Just(f64::INFINITY)]
    }

    proptest! {
        #[test]
        fn a_constant_series_has_no_change(value in -1e9..1e9, n in 0usize..80) {
            prop_assert!(change_points(&vec![value; n], &ANY_SIZE).is_empty());
        }

        #[test]
        fn nothing_brings_it_down(values in prop::collection::vec(any_value(), 0..70)) {
            for point in change_points(&values, &ANY_SIZE) {
                prop_assert!(point.at > 0 && point.at < values.len());
            }
        }

        #[test]
        fn a_series_that_begins_later_changes_later(
            noise in prop::collection::vec(-1.0f64..1.0, 48), by in 1usize..10, size in 4.0f64..40.0,
        ) {
            let series = |before: usize| -> Vec<f64> {
                let level = |i: usize| if i < before { 10.0 } else { 10.0 + size };
                noise[..before + 12].iter().enumerate().map(|(i, n)| level(i) + n).collect()
            };
            // Noise may shift a point by a sample, and look like another change.
            let changes_at = |place: usize| {
                change_points(&series(place), &ANY_SIZE).iter().any(|c| c.at.abs_diff(place) <= 1)
            };
            prop_assert!(changes_at(14) && changes_at(14 + by));
        }

        #[test]
        fn the_unit_does_not_matter(values in prop::collection::vec(1.0f64..100.0, 0..60)) {
            let points = |factor: f64| -> Vec<usize> {
                let scaled: Vec<f64> = values.iter().map(|v| v * factor).collect();
                change_points(&scaled, &ANY_SIZE).iter().map(|c| c.at).collect()
            };
            prop_assert_eq!(points(1.0), points(1024.0));
        }
    }
}
