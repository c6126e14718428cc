//! Stated objectives as a yardstick: each speaks for its own metric and quantile, and for nothing else.

use intriage_case::ObjectiveMetric;

use crate::diagnosis::ObjectiveResult;
use crate::evidence::Evidence;

/// What the objectives on some metrics say.
pub(super) enum Stated<'a> {
    /// None was given.
    Nothing,
    /// All are met.
    Met(&'a ObjectiveResult),
    /// This one is missed.
    Missed(&'a ObjectiveResult),
    /// None is missed, and this one cannot be judged.
    Open(&'a ObjectiveResult),
}

/// The objectives on these metrics.
pub(super) fn stated<'a>(e: &'a Evidence<'_>, metrics: &[ObjectiveMetric]) -> Stated<'a> {
    let on = |o: &&ObjectiveResult| o.asked.is_some_and(|asked| metrics.contains(&asked.metric));
    let all = || e.objectives.iter().filter(on);
    if let Some(missed) = all().find(|o| o.met == Some(false)) {
        return Stated::Missed(missed);
    }
    match (all().find(|o| o.met.is_none()), all().next()) {
        (Some(open), _) => Stated::Open(open),
        (None, Some(met)) => Stated::Met(met),
        (None, None) => Stated::Nothing,
    }
}

/// `objective ttft.p95 ≤ 500 ms is missed: between 750 ms and 1.00 s`.
pub(super) fn in_words(result: &ObjectiveResult) -> String {
    let how = match result.met {
        Some(true) => "met",
        Some(false) => "missed",
        None => "not to be judged",
    };
    format!("objective {} is {how}: {}", result.objective, result.measured)
}
