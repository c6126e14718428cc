//! How long one engine step takes.

use intriage_case::{Ratio, Seconds};

use crate::random::Random;
use crate::time::Nanos;

/// The time of a step as a sum of what is in it, with noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepTime {
    /// Every step: reading the weights, launching, scheduling.
    pub base: Seconds,
    /// Each prompt token computed.
    pub per_prompt_token: Seconds,
    /// Each sequence in the step.
    pub per_sequence: Seconds,
    /// Each token of context read.
    pub per_context_token: Seconds,
    /// Each token drafted and checked by speculation.
    pub per_draft_token: Seconds,
    /// Coefficient of variation of the whole.
    pub noise: Ratio,
    /// What the first steps cost on top.
    pub warm_up: Option<WarmUp>,
    /// Pauses of the host between steps.
    pub hiccup: Option<Hiccup>,
}

/// The first steps after a start compile and capture: each costs less than the one before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WarmUp {
    /// On top of the first step.
    pub first: Seconds,
    /// What is left of it from one step to the next.
    pub decay: Ratio,
}

/// Now and then the host does not come back in time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hiccup {
    /// Share of steps that wait.
    pub share: Ratio,
    /// How long, on average.
    pub pause: Seconds,
}

/// What is in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StepLoad {
    /// Prompt tokens computed.
    pub prompt_tokens: u64,
    /// Sequences.
    pub sequences: u64,
    /// Context tokens read.
    pub context_tokens: u64,
    /// Tokens drafted and checked.
    pub draft_tokens: u64,
}

impl StepTime {
    /// A step that costs the same whatever is in it.
    pub const fn constant(base: Seconds) -> Self {
        Self {
            base,
            per_prompt_token: Seconds(0.0),
            per_sequence: Seconds(0.0),
            per_context_token: Seconds(0.0),
            per_draft_token: Seconds(0.0),
            noise: Ratio(0.0),
            warm_up: None,
            hiccup: None,
        }
    }

    /// The expected time of a step, without noise, warm-up or hiccups.
    pub fn expected(&self, load: StepLoad) -> Seconds {
        Seconds(
            self.base.0
                + self.per_prompt_token.0 * load.prompt_tokens as f64
                + self.per_sequence.0 * load.sequences as f64
                + self.per_context_token.0 * load.context_tokens as f64
                + self.per_draft_token.0 * load.draft_tokens as f64,
        )
    }

    /// The time of the `index`-th step; at least a microsecond, so that virtual time always moves.
    pub fn sample(&self, load: StepLoad, index: u64, random: &mut Random) -> Nanos {
        let mut seconds = self.expected(load).0;
        if self.noise.0 > 0.0 {
            seconds *= random.lognormal(self.noise.0);
        }
        if let Some(warm_up) = self.warm_up {
            seconds += warm_up.first.0 * warm_up.decay.0.powf(index as f64);
        }
        if let Some(hiccup) = self.hiccup
            && random.chance(hiccup.share.0)
        {
            seconds += hiccup.pause.0 * random.exponential();
        }
        Nanos::from_seconds(Seconds(seconds)).max(Nanos(1000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: StepTime = StepTime {
        base: Seconds(0.005),
        per_prompt_token: Seconds(20e-6),
        per_sequence: Seconds(10e-6),
        per_context_token: Seconds(10e-9),
        ..StepTime::constant(Seconds(0.0))
    };

    #[test]
    fn a_step_is_the_sum_of_its_parts() {
        let load = StepLoad { prompt_tokens: 512, sequences: 10, context_tokens: 10_000, draft_tokens: 0 };
        assert!((STEP.expected(load).0 - 0.015_44).abs() < 1e-9);
    }

    #[test]
    fn warm_up_fades_and_time_always_moves() {
        let step = StepTime { warm_up: Some(WarmUp { first: Seconds(2.0), decay: Ratio(0.5) }), ..STEP };
        let mut random = Random::new(1, "step");
        let times: Vec<u64> = (0..20).map(|i| step.sample(StepLoad::default(), i, &mut random).0).collect();
        assert!(times[0] > 2_000_000_000 && times[1] < times[0] && times[19] < 6_000_000);
        let nothing = StepTime::constant(Seconds(-1.0));
        assert_eq!(nothing.sample(StepLoad::default(), 0, &mut random), Nanos(1000));
    }
}
