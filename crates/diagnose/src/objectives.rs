//! The user's objectives against what was measured.

use intriage_case::{Objective, ObjectiveMetric, Seconds, Signal, Statistic};

use crate::diagnosis::ObjectiveResult;
use crate::evidence::Evidence;
use crate::thresholds::Limit;

/// How each objective fared. A quantile is only judged where its bucket lies on one side of the limit.
pub(crate) fn judge_objectives(e: &Evidence<'_>) -> Vec<ObjectiveResult> {
    e.intent.objectives.iter().map(|o| judge_one(e, o)).collect()
}

/// By the server's figures, and by the clients' where they saw enough: what either misses is missed.
fn judge_one(e: &Evidence<'_>, objective: &Objective) -> ObjectiveResult {
    let by_server = judge_by_server(e, objective);
    let enough = e.clients.as_ref().ok().filter(|c| c.answered as f64 >= e.limit(Limit::MeanSample));
    match enough.and_then(|c| c.measured(objective.metric, objective.statistic)) {
        Some(seen) if seen > objective.limit && by_server.met != Some(false) => ObjectiveResult {
            met: Some(false),
            measured: format!("{} at the clients, {} at the server", Seconds(seen), by_server.measured),
            ..by_server
        },
        _ => by_server,
    }
}

fn judge_by_server(e: &Evidence<'_>, objective: &Objective) -> ObjectiveResult {
    let result = |met, measured| ObjectiveResult {
        objective: objective.to_string(),
        met,
        measured,
        asked: Some(*objective),
    };
    if objective.metric == ObjectiveMetric::Errors {
        return match e.failed_share() {
            Some(share) => result(Some(share.get() <= objective.limit), share.to_string()),
            None => result(None, e.observed.why_missing(Signal::HttpResponses)),
        };
    }
    let signal = signal_of(objective.metric);
    let Some(histogram) = e.histogram(signal).filter(|h| h.count() > 0.0) else {
        return result(None, e.observed.why_missing(signal));
    };
    match objective.statistic {
        Statistic::Mean => match histogram.mean() {
            Some(mean) => result(Some(mean <= objective.limit), Seconds(mean).to_string()),
            None => result(None, e.observed.why_missing(signal)),
        },
        Statistic::Quantile(q) => match histogram.quantile(q) {
            None => result(None, format!("{} keeps no buckets of {signal}", e.observed.engine_name())),
            Some(bounds) => {
                let measured = format!("between {} and {}", Seconds(bounds.low), upper(bounds.high));
                let met = if bounds.surely_within(objective.limit) {
                    Some(true)
                } else if bounds.surely_above(objective.limit) {
                    Some(false)
                } else {
                    // The limit falls inside the bucket: only the mean can still decide that it is missed.
                    histogram.mean().filter(|m| *m > objective.limit).map(|_| false)
                };
                result(met, measured)
            }
        },
    }
}

fn upper(high: f64) -> String {
    if high.is_finite() { Seconds(high).to_string() } else { "without end".into() }
}

/// The signal an objective bounds.
pub(crate) fn signal_of(metric: ObjectiveMetric) -> Signal {
    match metric {
        ObjectiveMetric::Ttft => Signal::LatencyTtft,
        ObjectiveMetric::Itl => Signal::LatencyItl,
        ObjectiveMetric::Tpot => Signal::LatencyTpot,
        ObjectiveMetric::E2e => Signal::LatencyE2e,
        ObjectiveMetric::Queue => Signal::LatencyQueue,
        ObjectiveMetric::Errors => Signal::HttpResponses,
    }
}
