//! When requests come, in shapes that are all healthy.

use crate::draw::base::{between, log_between};
use crate::random::Random;
use crate::rehearse::Window;

/// The shape of a load. Times are shares of the observer's window where nothing else is said.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shape {
    /// At one rate; the gaps' coefficient of variation is 1 for Poisson, more for bursts.
    Steady {
        /// Coefficient of variation of the gaps.
        variation: f64,
    },
    /// On and off.
    IdleGaps {
        /// Seconds with requests.
        on: f64,
        /// Seconds without.
        off: f64,
    },
    /// From one share of the rate to another while it is watched.
    Ramp {
        /// At the window's start.
        from: f64,
        /// At its end.
        to: f64,
    },
    /// Nothing comes before this part of the window.
    Starts {
        /// When.
        at: f64,
    },
    /// Nothing comes after this part of the window.
    Stops {
        /// When.
        at: f64,
    },
    /// So many clients as the rate takes, each asking again after this many seconds.
    Closed {
        /// Seconds from answer to next request.
        think: f64,
    },
    /// A job hands in all its requests at once: its queue is its plan.
    Job,
}

impl Shape {
    /// Any shape.
    pub fn draw(random: &mut Random) -> Self {
        match random.below(100) {
            0..30 => Self::Steady { variation: between(random, 0.5, 1.0) },
            30..45 => Self::bursty(random),
            45..55 => Self::idle_gaps(random),
            55..68 => Self::ramp(random),
            68..76 => Self::Starts { at: between(random, 0.1, 0.45) },
            76..84 => Self::Stops { at: between(random, 0.55, 0.9) },
            84..95 => Self::Closed { think: log_between(random, 0.05, 0.6) },
            _ => Self::Job,
        }
    }

    /// A shape in which requests come by themselves through the whole window.
    pub(crate) fn draw_open(random: &mut Random) -> Self {
        match random.below(100) {
            0..65 => Self::Steady { variation: between(random, 0.5, 1.0) },
            65..82 => Self::bursty(random),
            _ => Self::ramp(random),
        }
    }

    fn bursty(random: &mut Random) -> Self {
        Self::Steady { variation: between(random, 1.4, 2.2) }
    }

    fn idle_gaps(random: &mut Random) -> Self {
        Self::IdleGaps { on: between(random, 3.0, 7.0), off: between(random, 2.0, 6.0) }
    }

    fn ramp(random: &mut Random) -> Self {
        let (from, to) = (between(random, 0.25, 0.6), 1.0);
        if random.chance(0.5) { Self::Ramp { from, to } } else { Self::Ramp { from: to, to: from } }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Steady { variation } if variation > 1.2 => "bursty",
            Self::Steady { .. } => "steady",
            Self::IdleGaps { .. } => "idle gaps",
            Self::Ramp { .. } => "ramp",
            Self::Starts { .. } => "starts",
            Self::Stops { .. } => "stops",
            Self::Closed { .. } => "closed loop",
            Self::Job => "batch job",
        }
    }

    /// Instants of requests in seconds from the start of the load to the end of the window; none for a closed loop.
    pub(crate) fn instants(self, rate: f64, window: Window, random: &mut Random) -> Vec<f64> {
        let (from, length) = (window.from.0, window.length.0);
        let end = from + length;
        let variation = match self {
            Self::Closed { .. } => return Vec::new(),
            // As much as it gets done in the window, and then it is over.
            Self::Job => return vec![from + 0.1 * length; (rate * length) as usize],
            Self::Steady { variation } => variation,
            _ => 1.0,
        };
        let mut made = Vec::new();
        // Time that passes at the full rate; where the rate is lower, less of it passes.
        let mut gap = random.gamma(variation) / rate;
        for (start, stop, share) in self.pieces(from, end) {
            let mut at = start;
            while share > 0.0 && at + gap / share < stop {
                at += gap / share;
                made.push(at);
                gap = random.gamma(variation) / rate;
            }
            gap -= (stop - at) * share;
        }
        made
    }

    /// Times with one share of the rate each: start, end, share.
    fn pieces(self, from: f64, end: f64) -> Vec<(f64, f64, f64)> {
        let inside = |share: f64| share.mul_add(end - from, from);
        match self {
            Self::Steady { .. } | Self::Closed { .. } | Self::Job => vec![(0.0, end, 1.0)],
            Self::Starts { at } => vec![(inside(at), end, 1.0)],
            Self::Stops { at } => vec![(0.0, inside(at), 1.0)],
            Self::IdleGaps { on, off } => {
                let starts = (0_u32..).map(|n| f64::from(n) * (on + off)).take_while(|start| *start < end);
                starts
                    .flat_map(|start| [(start, start + on, 1.0), (start + on, start + on + off, 0.0)])
                    .map(|(start, stop, share)| (start.min(end), stop.min(end), share))
                    .collect()
            }
            Self::Ramp { from: first, to: last } => {
                const STEPS: u32 = 12;
                let step = |n: u32| f64::from(n) / f64::from(STEPS);
                let share = |n: u32| (last - first).mul_add(step(n), first);
                let ramp = (0..STEPS).map(|n| (inside(step(n)), inside(step(n + 1)), share(n)));
                std::iter::once((0.0, from, first)).chain(ramp).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use intriage_case::Seconds;

    use super::*;

    const WINDOW: Window = Window { from: Seconds(20.0), length: Seconds(40.0), every: Seconds(1.0) };

    fn instants(shape: Shape) -> Vec<f64> {
        shape.instants(50.0, WINDOW, &mut Random::new(3, "load"))
    }

    #[test]
    fn every_shape_comes_in_order_and_keeps_its_rate() {
        let count = |shape, expected: f64| {
            let all = instants(shape);
            assert!(all.windows(2).all(|w| w[0] <= w[1]) && all.iter().all(|t| (0.0..=60.0).contains(t)));
            assert!((all.len() as f64 / expected - 1.0).abs() < 0.12, "{shape:?}: {}", all.len());
        };
        count(Shape::Steady { variation: 0.5 }, 3000.0);
        count(Shape::Steady { variation: 2.0 }, 3000.0);
        count(Shape::IdleGaps { on: 6.0, off: 4.0 }, 1800.0);
        count(Shape::Ramp { from: 0.5, to: 1.0 }, 500.0 + 1458.0);
        count(Shape::Starts { at: 0.25 }, 1500.0);
        count(Shape::Stops { at: 0.5 }, 2000.0);
        count(Shape::Job, 2000.0);
        assert!(instants(Shape::Closed { think: 1.0 }).is_empty());
    }

    #[test]
    fn nothing_comes_in_a_gap() {
        let all = instants(Shape::IdleGaps { on: 6.0, off: 4.0 });
        assert!(all.iter().all(|t| t % 10.0 < 6.0));
    }
}
