//! How many requests a load has sent by when, and when it has sent so many.

use intriage_case::Seconds;

use super::{Curve, Rate, ShapeError, within};

/// A rate over time. A unit stream stretched by its inverse has that rate, whatever its distribution.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Intensity {
    Flat(f64),
    Ramp { from: f64, to: f64, over: f64, curve: Curve },
    Steps(Vec<(f64, f64)>),
}

impl Intensity {
    pub(super) fn flat(rate: Rate) -> Result<Self, ShapeError> {
        if rate.0.0 > 0.0 {
            return Ok(Self::Flat(rate.0.0));
        }
        Err(ShapeError::Number { what: "the rate", wanted: "more than zero", got: rate.0.0 })
    }

    pub(super) fn ramp(from: Rate, to: Rate, over: Seconds, curve: Curve) -> Result<Self, ShapeError> {
        let least = match curve {
            Curve::Linear => 0.0,
            Curve::Exponential => f64::MIN_POSITIVE,
        };
        for rate in [from, to] {
            let wanted = "finite and not negative (more than zero for an exponential one)";
            within("a rate of a ramp", rate.0.0, least..f64::INFINITY, wanted)?;
        }
        if from.0.0 + to.0.0 <= 0.0 {
            return Err(ShapeError::Nothing("a ramp from zero to zero"));
        }
        within("the time of a ramp", over.0, 1e-9..f64::INFINITY, "more than zero and finite")?;
        Ok(Self::Ramp { from: from.0.0, to: to.0.0, over: over.0, curve })
    }

    pub(super) fn steps(steps: &[(Rate, Seconds)]) -> Result<Self, ShapeError> {
        for (rate, time) in steps {
            within("the rate of a step", rate.0.0, 0.0..f64::INFINITY, "zero or more and finite")?;
            within("the time of a step", time.0, 0.0..f64::INFINITY, "zero or more and finite")?;
        }
        if steps.iter().all(|(rate, time)| rate.0.0 * time.0 <= 0.0) {
            return Err(ShapeError::Nothing("a list of steps without a rate"));
        }
        Ok(Self::Steps(steps.iter().map(|(rate, time)| (rate.0.0, time.0)).collect()))
    }

    /// Seconds after which so many requests have come; `None` where they never do.
    pub(super) fn when(&self, count: f64) -> Option<f64> {
        match self {
            Self::Flat(rate) => Some(count / rate),
            Self::Ramp { from, to, over, curve } => {
                let steepness = (to / from).ln();
                let (within, all) = match curve {
                    // The root of from·t + (to - from)·t²/(2·over) = count, in the form that loses no digits.
                    Curve::Linear => {
                        let root = (from * from + 2.0 * (to - from) / over * count).max(0.0).sqrt();
                        (2.0 * count / (from + root), over * f64::midpoint(*from, *to))
                    }
                    Curve::Exponential if steepness.abs() < 1e-9 => (count / from, over * from),
                    Curve::Exponential => (
                        over / steepness * (count * steepness / (from * over)).ln_1p(),
                        (to - from) * over / steepness,
                    ),
                };
                let beyond = count - all;
                match () {
                    () if count <= 0.0 => Some(0.0),
                    () if beyond < 0.0 => Some(within.min(*over)),
                    () => (*to > 0.0).then(|| over + beyond / to),
                }
            }
            Self::Steps(steps) => {
                let (mut left, mut start) = (count, 0.0);
                for (rate, time) in steps {
                    if left < rate * time {
                        return Some(start + left / rate);
                    }
                    left -= rate * time;
                    start += time;
                }
                None
            }
        }
    }
}
