//! From a diagnosis to what its remedies would do.

use intriage_diagnose::{Diagnosis, Prediction, Status};
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
    let predicted = trials.into_iter().map(|trial| Prediction {
        cause: cause.clone(),
        change: trial.says,
        provided: trial.provided,
        ..what_if(&calibration, &[trial.change])
    });
    Foresight::Predicted(predicted.collect())
}
