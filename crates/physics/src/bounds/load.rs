//! What one engine step works on.

use intriage_case::Tokens;

use crate::model::Layer;

/// What one engine step works on: decoding sequences and pieces of prompts, mixed as they come.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StepLoad {
    /// Runs of consecutive tokens to compute.
    pub(super) runs: Vec<Run>,
}

/// `sequences` alike, each computing `new` tokens after `past`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Run {
    pub(super) sequences: f64,
    pub(super) new: f64,
    pub(super) past: f64,
    sampled: bool,
}

impl StepLoad {
    /// `batch` sequences with `context` tokens each, one new token a sequence.
    pub fn decode(batch: u32, context: Tokens) -> Self {
        Self::default().with_decode(batch, context)
    }

    /// One prompt of `new` tokens after `cached` ones, to its end.
    pub fn prefill(new: Tokens, cached: Tokens) -> Self {
        Self::default().with_chunk(new, cached, true)
    }

    /// Adds `batch` decoding sequences whose mean context is `context` tokens.
    #[must_use]
    pub fn with_decode(mut self, batch: u32, context: Tokens) -> Self {
        // The new token reads itself too, but the difference is nothing against the context.
        let past = clean(context);
        self.runs.push(Run { sequences: f64::from(batch), new: 1.0, past, sampled: true });
        self
    }

    /// Adds a piece of one prompt: `new` tokens after `past`; `last` where it ends the prompt, so
    /// that one token is sampled.
    #[must_use]
    pub fn with_chunk(mut self, new: Tokens, past: Tokens, last: bool) -> Self {
        self.runs.push(Run { sequences: 1.0, new: clean(new), past: clean(past), sampled: last });
        self
    }

    /// Tokens computed in the step.
    pub fn tokens(&self) -> Tokens {
        Tokens(self.runs.iter().map(|run| run.sequences * run.new).sum())
    }

    /// Sequences that get a token out of the step.
    pub(super) fn sampled(&self) -> f64 {
        self.runs.iter().filter(|run| run.sampled && run.new > 0.0).map(|run| run.sequences).sum()
    }
}

/// Lengths come from configs and metrics: what is no length counts as none.
fn clean(tokens: Tokens) -> f64 {
    if tokens.get().is_finite() { tokens.get().max(0.0) } else { 0.0 }
}

impl Run {
    /// Pairs of a new token and a token it looks at, in one layer and one sequence.
    pub(super) fn pairs(self, layer: Layer) -> f64 {
        let full = |past: f64| self.new * past + self.new * self.new / 2.0;
        match layer {
            Layer::Attention { window: Some(window), .. } => {
                // Tokens before the window fills see all, those after see the window.
                let growing = (window as f64 - self.past).clamp(0.0, self.new);
                growing * self.past + growing * growing / 2.0 + (self.new - growing) * window as f64
            }
            Layer::Attention { .. } | Layer::Latent { .. } => full(self.past),
            Layer::State { .. } | Layer::Nothing => 0.0,
        }
    }
}
