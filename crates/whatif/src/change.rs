//! Changes the model can make.

use intriage_case::{Ratio, Tokens};
use intriage_simulate::workload::SharedPrefix;

use crate::lengths::scaled;
use crate::replay::Model;
use crate::setup::MOST_BLOCKS;

/// A change to a server or to its load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Change {
    /// Sequences in one step at most.
    SequenceCap(u32),
    /// Tokens in one step at most.
    TokenBudget(u32),
    /// Tokens the KV pool holds.
    Pool(Tokens),
    /// The prefix cache switched on, this share of every prompt being text that others begin with too.
    PrefixCache(Ratio),
    /// So many servers alike, the load spread evenly.
    Replicas(u32),
    /// Arrivals against those of the window.
    Arrivals(Ratio),
    /// Prompts against those of the window, in length.
    Prompts(Ratio),
    /// Answers against those of the window, in length.
    Answers(Ratio),
}

/// A model with a change made: the server, how many of it, and arrivals against those of the window.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Altered {
    pub(crate) model: Model,
    pub(crate) replicas: u32,
    pub(crate) arrivals: f64,
}

impl Altered {
    /// The model with all the changes made, in order.
    pub(crate) fn from(model: &Model, changes: &[Change]) -> Self {
        let mut altered = Self { model: model.clone(), replicas: 1, arrivals: 1.0 };
        for change in changes {
            altered.make(*change);
        }
        altered
    }

    fn make(&mut self, change: Change) {
        let Model { engine, class, .. } = &mut self.model;
        match change {
            Change::SequenceCap(cap) => engine.max_sequences = cap.max(1),
            Change::TokenBudget(budget) => engine.token_budget = budget.max(1),
            Change::Pool(tokens) => {
                let blocks = tokens.get() / f64::from(engine.block_tokens);
                engine.pool_blocks = blocks.clamp(1.0, MOST_BLOCKS) as u32;
            }
            Change::PrefixCache(share) => {
                engine.prefix_cache = true;
                let tokens = class.prompt.mean().get() * share.get().clamp(0.0, 1.0);
                class.prefix = Some(SharedPrefix { groups: 1, tokens: tokens.round() as u32 });
            }
            Change::Replicas(n) => self.replicas = n.clamp(1, 64),
            Change::Arrivals(factor) => self.arrivals = factor.get().clamp(0.0, 100.0),
            Change::Prompts(factor) => class.prompt = scaled(&class.prompt, factor.get().clamp(0.0, 100.0)),
            Change::Answers(factor) => class.answer = scaled(&class.answer, factor.get().clamp(0.0, 100.0)),
        }
    }
}
