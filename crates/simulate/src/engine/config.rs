//! What an engine can do, as its operator set it.

use intriage_case::{Ratio, Tokens};

use crate::engine::StepTime;

/// An engine's configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineConfig {
    /// Sequences in one step at most.
    pub max_sequences: u32,
    /// Tokens in one step at most.
    pub token_budget: u32,
    /// Whether a long prompt may be computed over several steps.
    pub chunked_prefill: bool,
    /// Whether the next step is planned while one runs: the host's work overlaps with the GPU's, and a
    /// request admitted now is computed one step later.
    pub plans_ahead: bool,
    /// Tokens in a KV block.
    pub block_tokens: u32,
    /// Blocks of the KV pool.
    pub pool_blocks: u32,
    /// Whether computed blocks are kept for prompts that begin alike.
    pub prefix_cache: bool,
    /// Who goes first.
    pub policy: Policy,
    /// Longest prompt and answer together, in tokens.
    pub context_window: u32,
    /// Requests that may wait; more are refused.
    pub queue_limit: Option<u32>,
    /// Adapters that can be in one batch; requests for others wait aside.
    pub max_adapters: u32,
    /// Draft tokens and their fate.
    pub speculation: Option<Speculation>,
    /// How long a step takes.
    pub step: StepTime,
}

/// Who goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// First come, first served.
    Fcfs,
    /// The smallest priority number first, then first come.
    Priority,
}

/// Speculative decoding.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speculation {
    /// Tokens drafted for a sequence in each step.
    pub draft_tokens: u32,
    /// How likely each drafted token is accepted after the one before was.
    pub acceptance: Ratio,
}

/// A configuration no engine can run with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A limit is zero.
    #[error("{0} is zero: nothing could ever run")]
    Zero(&'static str),
    /// The pool cannot hold a single request.
    #[error("a KV pool of {blocks} blocks holds no prompt and answer at all")]
    PoolTooSmall {
        /// Blocks of the pool.
        blocks: u32,
    },
}

impl EngineConfig {
    /// Whether an engine can run with it.
    pub fn check(&self) -> Result<(), ConfigError> {
        let limits = [
            ("the sequence cap", self.max_sequences),
            ("the token budget", self.token_budget),
            ("the block size", self.block_tokens),
            ("the context window", self.context_window),
        ];
        if let Some((name, _)) = limits.into_iter().find(|(_, limit)| *limit == 0) {
            return Err(ConfigError::Zero(name));
        }
        if self.window() < 2 {
            return Err(ConfigError::PoolTooSmall { blocks: self.pool_blocks });
        }
        Ok(())
    }

    /// Tokens the KV pool holds.
    pub fn pool_tokens(&self) -> Tokens {
        Tokens(f64::from(self.pool_blocks) * f64::from(self.block_tokens))
    }

    /// Blocks that so many tokens take.
    pub(crate) const fn blocks_for(&self, tokens: u32) -> u32 {
        tokens.div_ceil(self.block_tokens)
    }

    /// Longest prompt and answer that fit the window and, alone, the pool.
    pub(crate) fn window(&self) -> u32 {
        self.context_window.min(self.pool_blocks.saturating_mul(self.block_tokens))
    }
}
