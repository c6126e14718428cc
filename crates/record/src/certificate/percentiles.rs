//! Which percentiles were asked for, and whether there are answers enough for them.

use intriage_case::{Objective, ObjectiveMetric, Statistic};
use schemars::JsonSchema;
use serde::Serialize;

use super::advice::advice;
use super::checks::check;
use super::{Check, CheckName};
use crate::header::Declared;
use crate::tally::{GroupKey, GroupTally, Tally};

/// Samples that must lie beyond a percentile before it is certified: p99 needs 1,000 answers, p95 200, p90 100, p50 20.
///
/// The number of samples beyond a quantile is binomial with this mean, so its standard deviation is about √10 = 3.2. The
/// 95 % interval by order statistics then reaches 6.2 ranks to either side of the quantile, which leaves both of its
/// ends inside the sample. With one sample beyond it, as with p99 of 100 answers, the interval has no upper end.
pub const SAMPLES_BEYOND: f64 = 10.0;

/// What `--metric-percentiles` asks of each percentile. Other times have no name there.
const OF_A_LIST: [ObjectiveMetric; 4] =
    [ObjectiveMetric::Ttft, ObjectiveMetric::Itl, ObjectiveMetric::Tpot, ObjectiveMetric::E2e];

/// Answers a quantile (0 to 1) needs to be certified. Of a quantile below the median the lower side is the short one.
pub fn answers_needed(quantile: f64) -> u64 {
    let beyond = quantile.min(1.0 - quantile).max(f64::MIN_POSITIVE);
    // 1 − 0.99 is a little less than 0.01: without the subtraction p99 would need 1,001.
    (SAMPLES_BEYOND / beyond - 1e-6).ceil() as u64
}

/// A percentile somebody asked for: by an objective, or by `--metric-percentiles`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AskedPercentile {
    /// Of what.
    pub metric: ObjectiveMetric,
    /// Which, from 0 to 100.
    pub percentile: f64,
    /// The class of requests; absent for all requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Answers it needs.
    pub needs: u64,
    /// Answers there were. Token gaps of one answer depend on each other, so an answer counts once for them, too.
    pub answers: u64,
    /// Whether there were enough.
    pub certified: bool,
}

/// Every percentile that was asked for, once.
pub(super) fn asked(tally: &Tally) -> Vec<AskedPercentile> {
    let declared = &tally.declared;
    let empty = GroupTally::default();
    let group = |key| tally.groups.get(&key).unwrap_or(&empty);
    let all = group(GroupKey::All);
    let mut asked = Vec::new();
    for objective in &declared.objectives {
        add_objective(&mut asked, objective, None, all);
    }
    for (place, (name, own)) in declared.classes.iter().enumerate() {
        // A single class has no group of its own: it is all requests.
        let (class, tally) = if declared.classes.len() > 1 {
            (Some(name), group(GroupKey::Class(u16::try_from(place).unwrap_or(u16::MAX))))
        } else {
            (None, all)
        };
        for objective in own {
            add_objective(&mut asked, objective, class, tally);
        }
    }
    for percentile in &declared.percentiles {
        for metric in OF_A_LIST {
            // Answers of one token have no pace: a list of percentiles does not ask for it.
            if metric == ObjectiveMetric::Ttft || answers_with(all, metric).is_some_and(|n| n > 0) {
                add(&mut asked, metric, percentile / 100.0, None, all);
            }
        }
    }
    asked
}

fn add_objective(
    to: &mut Vec<AskedPercentile>,
    objective: &Objective,
    class: Option<&String>,
    group: &GroupTally,
) {
    if let Statistic::Quantile(quantile) = objective.statistic {
        add(to, objective.metric, quantile, class, group);
    }
}

fn add(
    to: &mut Vec<AskedPercentile>,
    metric: ObjectiveMetric,
    quantile: f64,
    class: Option<&String>,
    group: &GroupTally,
) {
    let Some(answers) = answers_with(group, metric) else { return };
    let needs = answers_needed(quantile);
    let one = AskedPercentile {
        metric,
        percentile: (quantile * 1e8).round() / 1e6,
        class: class.cloned(),
        needs,
        answers,
        certified: answers >= needs,
    };
    if !to.contains(&one) {
        to.push(one);
    }
}

/// Answers that have this figure; `None` for what the client does not measure.
fn answers_with(group: &GroupTally, metric: ObjectiveMetric) -> Option<u64> {
    Some(match metric {
        ObjectiveMetric::Ttft => group.ttft.len(),
        ObjectiveMetric::Itl => group.itl.len().min(group.ttft.len()),
        ObjectiveMetric::Tpot => group.tpot.len(),
        ObjectiveMetric::E2e => group.e2e.len(),
        ObjectiveMetric::Queue | ObjectiveMetric::Errors => return None,
    })
}

/// Fails for a percentile that was asked for and has too few answers; never for another one.
pub(super) fn samples(tally: &Tally, asked: &[AskedPercentile]) -> Check {
    let name = CheckName::Samples;
    let all = tally.groups.get(&GroupKey::All);
    let answers = all.map_or(0, |all| all.ttft.len());
    if asked.is_empty() {
        return check(name, None, format!("{} answers; no percentile was asked for", grouped(answers)));
    }
    let short = sentences(&tally.declared, all, asked);
    if short.is_empty() {
        let most = asked.iter().map(|one| one.needs).max().unwrap_or(0);
        let seen = format!("{} answers, {} are needed", grouped(answers), grouped(most));
        return check(name, true, seen);
    }
    check(name, false, short.join("; "))
}

/// One sentence for each percentile with too few answers, its metrics together.
fn sentences(declared: &Declared, all: Option<&GroupTally>, asked: &[AskedPercentile]) -> Vec<String> {
    let mut groups: Vec<(&AskedPercentile, Vec<&'static str>)> = Vec::new();
    for one in asked.iter().filter(|one| !one.certified) {
        let same = |(other, _): &&mut (&AskedPercentile, _)| {
            other.percentile == one.percentile && other.class == one.class && other.answers == one.answers
        };
        match groups.iter_mut().find(same) {
            Some((_, names)) => names.push(word(one.metric)),
            None => groups.push((one, vec![word(one.metric)])),
        }
    }
    let sentence = |(one, names): (&AskedPercentile, Vec<&'static str>)| {
        let class = one.class.as_ref().map_or_else(String::new, |name| format!(" of class {name}"));
        format!(
            "p{} of {}{class} needs {} answers, there were {}{}",
            one.percentile,
            listed(&names),
            grouped(one.needs),
            grouped(one.answers),
            advice(declared, all, one).map_or_else(String::new, |flag| format!(": {flag}")),
        )
    };
    groups.into_iter().map(sentence).collect()
}

const fn word(metric: ObjectiveMetric) -> &'static str {
    match metric {
        ObjectiveMetric::Ttft => "TTFT",
        ObjectiveMetric::Itl => "ITL",
        ObjectiveMetric::Tpot => "TPOT",
        ObjectiveMetric::E2e => "E2E",
        ObjectiveMetric::Queue => "queue time",
        ObjectiveMetric::Errors => "errors",
    }
}

fn listed(names: &[&str]) -> String {
    match names {
        [front @ .., last] if !front.is_empty() => format!("{} and {last}", front.join(", ")),
        _ => names.concat(),
    }
}

fn grouped(n: u64) -> String {
    intriage_case::Quantity::new(n as f64, intriage_case::Unit::Count).to_string()
}
