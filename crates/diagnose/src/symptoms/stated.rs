//! Stated objectives as a yardstick: each speaks for its own metric and quantile, and for nothing else.

use intriage_case::ObjectiveMetric;

use super::{Aspect, Harm, Symptom, Yardstick};
use crate::clients::Clients;
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
    /// None is missed, and one cannot be judged.
    Open,
}

/// The objectives on these metrics.
pub(super) fn stated<'a>(e: &'a Evidence<'_>, metrics: &[ObjectiveMetric]) -> Stated<'a> {
    let on = |o: &&ObjectiveResult| o.asked.is_some_and(|asked| metrics.contains(&asked.metric));
    let all = || e.objectives.iter().filter(on);
    if let Some(missed) = all().find(|o| o.met == Some(false)) {
        return Stated::Missed(missed);
    }
    match all().next() {
        Some(_) if all().any(|o| o.met.is_none()) => Stated::Open,
        Some(met) => Stated::Met(met),
        None => Stated::Nothing,
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

/// A missed objective is always felt somewhere: where no part of its metric hurts by itself, the largest one does.
pub(super) fn blame_missed(e: &Evidence<'_>, all: &mut [Symptom]) {
    for missed in e.objectives.iter().filter(|o| o.met == Some(false)) {
        let Some(metric) = missed.asked.map(|asked| asked.metric) else { continue };
        let parts = parts_of(e, metric);
        let hurts = |s: &Symptom| s.harm == Harm::Hurts && parts.iter().any(|(part, _)| *part == s.aspect);
        if all.iter().any(hurts) {
            continue;
        }
        // Of equal parts the first: where none was measured that is the one which stands for the metric.
        let largest = parts.iter().rev().max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((aspect, time)) = largest else { continue };
        if let Some(symptom) = all.iter_mut().find(|s| s.aspect == *aspect) {
            *symptom = Symptom::new(*aspect, Harm::Hurts, Yardstick::Objective, in_words(missed))
                .costs(e.account.share_of_life(*time));
        }
    }
}

/// The parts of a metric with their times in seconds; first the one that stands for it where none is known.
fn parts_of(e: &Evidence<'_>, metric: ObjectiveMetric) -> Vec<(Aspect, f64)> {
    let a = &e.account;
    let time = |part: Option<crate::account::Part>| part.map_or(0.0, |p| p.value);
    let later = e.clients.as_ref().map_or(0.0, Clients::later);
    let first_token = [
        (Aspect::Prefill, time(a.prefill)),
        (Aspect::Queue, time(a.queue)),
        (Aspect::FrontEnd, time(a.frontend)),
        (Aspect::Network, later),
        (Aspect::Delivery, 0.0),
    ];
    let token = [
        (Aspect::DecodeStep, time(a.step)),
        (Aspect::Interference, time(a.interference)),
        (Aspect::Stalls, time(a.stalls)),
        (Aspect::HostGap, time(a.host)),
    ];
    match metric {
        ObjectiveMetric::Queue => vec![(Aspect::Queue, time(a.queue))],
        ObjectiveMetric::Ttft => first_token.to_vec(),
        ObjectiveMetric::Itl | ObjectiveMetric::Tpot => token.to_vec(),
        ObjectiveMetric::E2e => {
            let tokens = a.decode.zip(a.itl).and_then(|(decode, itl)| (itl > 0.0).then_some(decode / itl));
            let of_answer = |(aspect, each): (Aspect, f64)| (aspect, each * tokens.unwrap_or(1.0));
            token.map(of_answer).into_iter().chain(first_token).collect()
        }
        ObjectiveMetric::Errors => vec![(Aspect::Errors, 0.0)],
    }
}
