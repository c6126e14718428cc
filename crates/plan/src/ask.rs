//! What is asked of a plan, and what no plan can be made for.

use intriage_case::{Objective, PerSecond, Ratio, Requests, Tokens};
use intriage_simulate::Lengths;

use crate::assumptions::LENGTH_VARIATION;
use crate::deployed::Deployed;
use crate::measured::Measured;

/// Everything a plan depends on.
#[derive(Debug, Clone)]
pub struct Ask {
    /// The model on its GPUs; without it a plan knows only what was measured.
    pub deployed: Option<Deployed>,
    /// What was measured on a running server, where a case was given.
    pub measured: Option<Measured>,
    /// The engine's limits, where told.
    pub limits: EngineLimits,
    /// What has to be served.
    pub traffic: Traffic,
    /// What the users expect; never empty after [`Ask::check`].
    pub objectives: Vec<Objective>,
    /// What the plan leaves room for.
    pub headroom: Headroom,
    /// Price of one GPU for an hour, in any currency.
    pub price: Option<f64>,
    /// Decides every random draw.
    pub seed: u64,
}

/// Limits of the engine; what is not told is the engine's default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EngineLimits {
    /// Longest prompt and answer together, in tokens.
    pub window: Option<u32>,
    /// Sequences in one step at most.
    pub max_sequences: Option<u32>,
    /// Tokens in one step at most.
    pub token_budget: Option<u32>,
}

/// What has to be served.
#[derive(Debug, Clone, PartialEq)]
pub struct Traffic {
    /// Requests a second at peak, all instances together.
    pub rate: PerSecond<Requests>,
    /// Mean prompt length.
    pub isl: Tokens,
    /// Mean answer length.
    pub osl: Tokens,
    /// Lengths of prompts, as seen; log-normal where nothing was seen.
    pub prompts: Option<Lengths>,
    /// Lengths of answers, as seen.
    pub answers: Option<Lengths>,
    /// Coefficient of variation of lengths that were not seen.
    pub variation: Ratio,
    /// Share of an average prompt that is found in the prefix cache.
    pub prefix_share: Ratio,
}

impl Traffic {
    /// Random arrivals of requests with these mean lengths.
    pub fn of(rate: PerSecond<Requests>, isl: Tokens, osl: Tokens) -> Self {
        Self {
            rate,
            isl,
            osl,
            prompts: None,
            answers: None,
            variation: LENGTH_VARIATION,
            prefix_share: Ratio(0.0),
        }
    }

    /// Prompt tokens that have to be computed for an average request.
    pub(crate) fn computed(&self) -> Tokens {
        Tokens(self.isl.get() * (1.0 - self.prefix_share.get()))
    }

    /// Tokens that all prompts begin with.
    pub(crate) fn shared(&self) -> Tokens {
        Tokens(self.isl.get() * self.prefix_share.get())
    }

    /// Distributions of prompt and answer lengths within a window.
    pub(crate) fn lengths(&self, window: u32) -> (Lengths, Lengths) {
        let draw = |mean: Tokens, seen: &Option<Lengths>, most: u32| match seen {
            Some(seen) => seen.clone(),
            None => Lengths::LogNormal { mean, variation: self.variation, most: most.max(1) },
        };
        let osl = self.osl.get().ceil() as u32;
        (
            draw(self.isl, &self.prompts, window.saturating_sub(osl)),
            draw(self.osl, &self.answers, window.saturating_sub(1)),
        )
    }
}

/// What a plan leaves room for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Headroom {
    /// This share of the capacity stays spare at peak.
    Spare(Ratio),
    /// Demand may grow by this share.
    Growth(Ratio),
}

/// A question without sense, by the flag that asks it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AskError {
    /// A number that must be positive is not, or is no number.
    #[error("{flag} is {value}: {wanted}")]
    Number {
        /// The flag.
        flag: &'static str,
        /// What it was given.
        value: f64,
        /// What it may be.
        wanted: &'static str,
    },
    /// More stages than layers.
    #[error("--pp {pp} needs at least as many layers; the model has {layers}")]
    Stages {
        /// Stages asked for.
        pp: u32,
        /// Layers of the model.
        layers: usize,
    },
    /// The GPUs cannot share the attention heads.
    #[error("--tp {tp} does not divide the model's {heads} attention heads; possible are {possible}")]
    Heads {
        /// GPUs asked for.
        tp: u32,
        /// Attention heads.
        heads: u64,
        /// Numbers up to 64 that divide them.
        possible: String,
    },
    /// The lengths do not fit the window.
    #[error("--isl {isl} and --osl {osl} together exceed the window of {window} tokens ({source_of_window})")]
    Window {
        /// Prompt length in tokens.
        isl: f64,
        /// Answer length in tokens.
        osl: f64,
        /// The window in tokens.
        window: u64,
        /// Who says so.
        source_of_window: &'static str,
    },
    /// The asked window is longer than the model can be.
    #[error("--max-model-len {asked} exceeds the model's own {limit} positions")]
    WindowBeyondModel {
        /// What was asked.
        asked: u32,
        /// What the config allows.
        limit: u64,
    },
    /// Nothing says what would serve.
    #[error("{0}")]
    Nothing(&'static str),
}

impl Ask {
    /// Refuses questions that have no answer; what merely cannot work is for [`crate::plan`] to say.
    pub fn check(&self) -> Result<(), AskError> {
        let traffic = &self.traffic;
        let positive = "a number from 1 to 100,000,000 is needed";
        let length = "a length of 1 to 100,000,000 tokens is needed";
        let share = "a share below 1 is needed, such as 25% or 0.25";
        number(
            "--rate",
            traffic.rate.0.get(),
            1e-6..=1e9,
            "0.000001 to 1,000,000,000 requests a second are possible",
        )?;
        number("--isl", traffic.isl.get(), 1.0..=1e8, length)?;
        number("--osl", traffic.osl.get(), 1.0..=1e8, length)?;
        number("--cv", traffic.variation.get(), 0.0..=5.0, "between 0 (all alike) and 5")?;
        number("--prefix-share", traffic.prefix_share.get(), 0.0..=0.999, share)?;
        match self.headroom {
            Headroom::Spare(kept) => number("--spare", kept.get(), 0.0..=0.99, share)?,
            Headroom::Growth(growth) => {
                number(
                    "--growth",
                    growth.get(),
                    0.0..=100.0,
                    "a share of 0 to 100 is needed, such as 25% or 0.25",
                )?;
            }
        }
        if let Some(price) = self.price {
            number(
                "--price",
                price,
                0.0..=1e9,
                "a price of one GPU for an hour is needed, at most 1,000,000,000",
            )?;
        }
        let EngineLimits { window, max_sequences, token_budget } = self.limits;
        for (flag, limit) in [
            ("--max-model-len", window),
            ("--max-num-seqs", max_sequences),
            ("--max-num-batched-tokens", token_budget),
        ] {
            number(flag, limit.map_or(1.0, f64::from), 1.0..=1e8, positive)?;
        }
        if let Some(deployed) = &self.deployed {
            deployed.check()?;
        } else if self.measured.is_none() {
            return Err(AskError::Nothing("--model and --gpu are needed, or a case to plan from"));
        }
        self.check_window()
    }

    fn check_window(&self) -> Result<(), AskError> {
        let own = self.deployed.as_ref().and_then(|deployed| deployed.model.max_positions);
        if let (Some(asked), Some(limit)) = (self.limits.window, own)
            && u64::from(asked) > limit
        {
            return Err(AskError::WindowBeyondModel { asked, limit });
        }
        let measured = self.measured.as_ref().and_then(|measured| measured.limits.window);
        let (window, source_of_window) = match (self.limits.window, measured, own) {
            (Some(asked), _, _) => (u64::from(asked), "--max-model-len"),
            (None, Some(seen), _) => (u64::from(seen), "of the case"),
            (None, None, Some(own)) => (own, "of the model"),
            (None, None, None) => return Ok(()),
        };
        let (isl, osl) = (self.traffic.isl.get(), self.traffic.osl.get());
        if isl + osl > window as f64 {
            return Err(AskError::Window { isl, osl, window, source_of_window });
        }
        Ok(())
    }
}

pub(crate) fn number(
    flag: &'static str,
    value: f64,
    range: std::ops::RangeInclusive<f64>,
    wanted: &'static str,
) -> Result<(), AskError> {
    if range.contains(&value) { Ok(()) } else { Err(AskError::Number { flag, value, wanted }) }
}
