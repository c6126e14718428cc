//! When it is sent.
//!
//! A [`Schedule`] is the same everywhere under one seed; shard `j` of `n` sends the arrivals whose index leaves `j`
//! when divided by `n`.

mod intensity;
pub mod trace;

use std::sync::Arc;

use intriage_case::{PerSecond, Requests, Seconds};
use intriage_simulate::workload::{ArrivalTimes, Traced};
use intriage_simulate::{Arrivals, Nanos, Random};

use self::intensity::Intensity;

/// A rate of requests.
pub type Rate = PerSecond<Requests>;

/// The shape of a load.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// Request k at exactly k / rate.
    Constant {
        /// Requests per second; infinite sends all at once.
        rate: Rate,
    },
    /// Independent clients.
    Poisson {
        /// Requests per second; infinite sends all at once.
        rate: Rate,
    },
    /// Gaps from a gamma distribution.
    Gamma {
        /// Requests per second; infinite sends all at once.
        rate: Rate,
        /// The shape of the distribution, as vLLM's `--burstiness`: 1 is Poisson, less is burstier, more smoother.
        burstiness: f64,
    },
    /// A Poisson stream with a crowd on top every so often, the first after half that time.
    Bursts {
        /// Requests per second of the stream.
        rate: Rate,
        /// From one crowd to the next.
        every: Seconds,
        /// Requests that come at once.
        size: u32,
    },
    /// From one rate to another, then at the other for ever.
    Ramp {
        /// Requests per second at the start.
        from: Rate,
        /// Requests per second at the end.
        to: Rate,
        /// How long it takes.
        over: Seconds,
        /// The way between.
        curve: Curve,
        /// How regular the arrivals are.
        distribution: Distribution,
    },
    /// One rate after the other, then nothing. A rate of zero is a pause.
    Steps {
        /// Requests per second, and for how long.
        steps: Vec<(Rate, Seconds)>,
        /// How regular the arrivals are.
        distribution: Distribution,
    },
    /// As recorded.
    Trace {
        /// The rows, in order.
        rows: Arc<[Traced]>,
        /// Time runs so many times as fast.
        speed: f64,
    },
}

/// The way of a ramp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Curve {
    /// The rate grows by as much each second.
    Linear,
    /// The rate grows by the same factor each second.
    Exponential,
}

/// How regular arrivals are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    /// As regular as can be.
    Constant,
    /// Independent clients.
    Poisson,
    /// Gaps from a gamma distribution of this shape: below 1 burstier than Poisson, above smoother.
    Gamma(f64),
}

/// Why a shape cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ShapeError {
    /// A number out of range.
    #[error("{what} must be {wanted}, not {got}")]
    Number {
        /// Which number.
        what: &'static str,
        /// What it has to be.
        wanted: &'static str,
        /// What it is.
        got: f64,
    },
    /// Nothing would ever come.
    #[error("{0} has no request")]
    Nothing(&'static str),
}

/// One arrival.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// Its number, from 0: the session of this number is sent.
    pub index: u64,
    /// When, since the start.
    pub at: Nanos,
    /// Tokens of prompt and answer, where a trace tells.
    pub lengths: Option<(u32, u32)>,
    /// Keys of its prompt's blocks of 512 tokens, where a trace tells.
    pub blocks: Vec<u64>,
}

/// Arrivals in order of time.
#[derive(Debug, Clone)]
pub struct Schedule {
    kind: Kind,
    random: Random,
    index: u64,
}

#[derive(Debug, Clone)]
enum Kind {
    /// A unit stream stretched by an intensity.
    Stretched {
        intensity: Intensity,
        distribution: Distribution,
        count: f64,
    },
    Drawn(ArrivalTimes),
    Trace {
        rows: Arc<[Traced]>,
        speed: f64,
    },
}

impl Schedule {
    /// The arrivals of a shape.
    pub fn new(shape: Shape, seed: u64) -> Result<Self, ShapeError> {
        let stretched = |intensity, distribution| Kind::Stretched { intensity, distribution, count: 0.0 };
        let kind = match shape {
            Shape::Constant { rate } => stretched(Intensity::flat(rate)?, Distribution::Constant),
            Shape::Poisson { rate } => stretched(Intensity::flat(rate)?, Distribution::Poisson),
            Shape::Gamma { rate, burstiness } => {
                stretched(Intensity::flat(rate)?, Distribution::Gamma(burstiness).check()?)
            }
            Shape::Ramp { from, to, over, curve, distribution } => {
                stretched(Intensity::ramp(from, to, over, curve)?, distribution.check()?)
            }
            Shape::Steps { steps, distribution } => {
                stretched(Intensity::steps(&steps)?, distribution.check()?)
            }
            Shape::Bursts { rate, every, size } => {
                within("the rate", rate.0.0, 0.0..f64::INFINITY, "zero or more and finite")?;
                within(
                    "the time between bursts",
                    every.0,
                    1e-3..1e9,
                    "between a millisecond and 1e9 seconds",
                )?;
                if size == 0 {
                    return Err(ShapeError::Nothing("a burst of size 0"));
                }
                Kind::Drawn(ArrivalTimes::new(Arrivals::Bursts { rate, every, size }))
            }
            Shape::Trace { rows, speed } => {
                within("the speed of a trace", speed, 1e-6..1e6, "between 1e-6 and 1e6")?;
                Kind::Trace { rows, speed }
            }
        };
        Ok(Self { kind, random: Random::new(seed, "arrivals"), index: 0 })
    }
}

impl Iterator for Schedule {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        let index = self.index;
        let plain = |at| Arrival { index, at, lengths: None, blocks: Vec::new() };
        let arrival = match &mut self.kind {
            Kind::Stretched { intensity, distribution, count } => {
                let so_far = match distribution {
                    // From the number, not by adding: no drift over days.
                    Distribution::Constant => index as f64,
                    Distribution::Poisson => *count + self.random.exponential(),
                    Distribution::Gamma(shape) => *count + self.random.gamma(shape.sqrt().recip()),
                };
                *count = so_far;
                plain(Nanos::from_seconds(Seconds(intensity.when(so_far)?)))
            }
            Kind::Drawn(times) => plain(times.next(&mut self.random)?),
            Kind::Trace { rows, speed } => {
                let row = rows.get(usize::try_from(index).ok()?)?;
                let at =
                    if *speed == 1.0 { row.at } else { Nanos((row.at.0 as f64 / *speed).round() as u64) };
                Arrival { index, at, lengths: row.lengths, blocks: row.blocks.clone() }
            }
        };
        self.index += 1;
        Some(arrival)
    }
}

impl Distribution {
    fn check(self) -> Result<Self, ShapeError> {
        match self {
            // Below this, the gaps underflow to nothing but zeros.
            Self::Gamma(shape) => within("burstiness", shape, 1e-3..1e9, "between 0.001 and 1e9"),
            _ => Ok(()),
        }
        .map(|()| self)
    }
}

/// Refuses what is not in a range, and not-a-number.
fn within(
    what: &'static str,
    got: f64,
    range: std::ops::Range<f64>,
    wanted: &'static str,
) -> Result<(), ShapeError> {
    if range.contains(&got) { Ok(()) } else { Err(ShapeError::Number { what, wanted, got }) }
}

#[cfg(test)]
mod tests;
