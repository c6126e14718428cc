//! From a diagnosis to what its remedies would do.

use intriage_case::{Objective, ObjectiveMetric, Statistic};
use intriage_diagnose::{Diagnosis, Estimate, Foreseen, Prediction, Status};
use intriage_engines::Observed;

use crate::calibrate::calibrate;
use crate::foresee::what_if;
use crate::trials::trials;

/// What is expected of the remedies of a diagnosis.
#[derive(Debug, Clone, PartialEq)]
pub enum Foresight {
    /// One prediction a change, the most direct first.
    Predicted(Vec<Prediction>),
    /// Why there is none, as a sentence without its full stop.
    Cannot(String),
    /// Nothing is wrong, or what is wrong is no question of speed.
    NotAsked,
}

impl Foresight {
    /// Writes what is expected into the diagnosis.
    pub fn tell(self, diagnosis: &mut Diagnosis) {
        match self {
            Self::Predicted(all) => diagnosis.predictions = all,
            Self::Cannot(why) => diagnosis.no_prediction = Some(why),
            Self::NotAsked => {}
        }
    }
}

/// Replays a case with the remedies of its primary finding.
pub fn predict(observed: &Observed, diagnosis: &Diagnosis) -> Foresight {
    if diagnosis.verdict.status != Status::Finding {
        return Foresight::NotAsked;
    }
    let fitted = || calibrate(observed).map_err(|why| why.to_string());
    let (calibration, trials) = match trials(observed, diagnosis, fitted) {
        None => return Foresight::NotAsked,
        Some(Err(why)) => return Foresight::Cannot(why),
        Some(Ok(found)) => found,
    };
    let cause = diagnosis.verdict.primary.cause.clone().unwrap_or_default();
    let predicted = trials.into_iter().map(|trial| {
        let prediction = what_if(&calibration, &[trial.change]);
        Prediction {
            cause: cause.clone(),
            change: trial.says,
            provided: trial.provided,
            helps: helps(diagnosis, &prediction),
            ..prediction
        }
    });
    let mut predicted: Vec<Prediction> = predicted.collect();
    // What helps comes first; otherwise the order stays.
    predicted.sort_by_key(|p| !p.helps);
    Foresight::Predicted(predicted)
}

/// Less than this share of a time is no gain.
const GAIN: f64 = 0.05;

/// Whether a missed objective comes nearer; without one, whether anything gets better.
fn helps(diagnosis: &Diagnosis, p: &Prediction) -> bool {
    let better = |before: Estimate, after: Estimate| after.value.value < before.value.value * (1.0 - GAIN);
    let missed =
        diagnosis.objectives.iter().filter(|o| o.met == Some(false)).filter_map(|o| o.asked.as_ref());
    let mut judged = missed
        .filter_map(|o| Some((figure(&p.before, o)?, figure(&p.after, o)?)))
        .map(|(before, after)| better(before, after))
        .peekable();
    if judged.peek().is_some() {
        return judged.any(|better| better);
    }
    better(p.before.ttft.p95, p.after.ttft.p95)
        || better(p.before.itl.p95, p.after.itl.p95)
        || better(p.after.tokens, p.before.tokens)
}

/// The figure an objective bounds, where it is one of those foreseen.
fn figure(foreseen: &Foreseen, objective: &Objective) -> Option<Estimate> {
    let times = match objective.metric {
        ObjectiveMetric::Ttft => &foreseen.ttft,
        ObjectiveMetric::Itl | ObjectiveMetric::Tpot => &foreseen.itl,
        _ => return None,
    };
    match objective.statistic {
        Statistic::Mean => Some(times.mean),
        Statistic::Quantile(q) if q >= 0.98 => Some(times.p99),
        Statistic::Quantile(q) if q >= 0.9 => Some(times.p95),
        Statistic::Quantile(_) => Some(times.p50),
    }
}
