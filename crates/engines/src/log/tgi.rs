//! Lines of text-generation-inference: its launcher, its router and the shards they start.
//! Ranges were read off its tags up to 3.3.7.

use super::signature::{LogKind, Signature, Wording};
use crate::Engine;
use crate::Meaning::{self, *};

const LAUNCHER: &str = "huggingface/text-generation-inference:launcher/src/main.rs";
const VALIDATION: &str = "huggingface/text-generation-inference:router/src/validation.rs";
const CAUSAL: &str =
    "huggingface/text-generation-inference:server/text_generation_server/models/flash_causal_lm.py";

/// Written at every healthy start, close to what is written where a shard dies.
const STARTS: &str = "INFO shard-manager: text_generation_launcher: Starting shard rank=0";
const TOTAL: &str =
    "INFO text_generation_router: router/src/main.rs:354: Setting max batch total tokens to 43808";

const fn row(meaning: Meaning, text: &'static str) -> Signature {
    Signature::new(LogKind::Engine(Engine::Tgi), meaning, text)
}

pub(super) const SIGNATURES: &[Signature] = &[
    row(EngineDied, "Shard process was signaled to shutdown with signal ").since("0.9.0").from(
        Wording::Code(LAUNCHER),
        "ERROR shard-manager: text_generation_launcher: Shard process was signaled to shutdown with signal 9 rank=0",
        "INFO shard-manager: text_generation_launcher: Shard terminated rank=0",
    ),
    row(StartFailed, "failed to start").with("text_generation_launcher: Shard ").since("0.9.0").from(
        Wording::Code(LAUNCHER),
        "ERROR text_generation_launcher: Shard 0 failed to start",
        STARTS,
    ),
    // The start tries the longest prefill it allows, and stops where that does not fit.
    row(NoRoomForKv, "You need to decrease `--max-batch-prefill-tokens`").since("0.9.4").from(
        Wording::Code(CAUSAL),
        "RuntimeError: Not enough memory to handle 4096 prefill tokens. You need to decrease `--max-batch-prefill-tokens`",
        "INFO text_generation_launcher: Default `max_batch_prefill_tokens` to 4096",
    ),
    row(KernelFallback, "Could not import Flash Attention enabled models").since("0.5.0").from(
        Wording::Code("huggingface/text-generation-inference:server/text_generation_server/models/__init__.py"),
        "WARN shard-manager: text_generation_launcher: Could not import Flash Attention enabled models: CUDA is not available",
        "INFO text_generation_launcher: Using Attention = flashinfer",
    ),
    row(GraphsOff, "Cuda Graphs are disabled (CUDA_GRAPHS=").since("2.0.2").from(
        Wording::Code(CAUSAL),
        "INFO text_generation_launcher: Cuda Graphs are disabled (CUDA_GRAPHS=None).",
        "INFO text_generation_launcher: Cuda Graphs are enabled for sizes [1, 2, 4, 8, 16, 32]",
    ),
    row(PrefixCachingOff, "Using prefix caching = False").since("2.3.0").from(
        Wording::Code("huggingface/text-generation-inference:server/text_generation_server/models/globals.py"),
        "INFO text_generation_launcher: Using prefix caching = False",
        "INFO text_generation_launcher: Using prefix caching = True",
    ),
    row(PromptTooLong, "`inputs` tokens + `max_new_tokens` must be <= ").since("0.4.0").from(
        Wording::Code(VALIDATION),
        "`inputs` tokens + `max_new_tokens` must be <= 2048. Given: 4375 `inputs` tokens and 100 `max_new_tokens`",
        TOTAL,
    ),
    row(PromptTooLong, "`inputs` must have less than ").with("tokens").since("0.4.0").from(
        Wording::Code(VALIDATION),
        "`inputs` must have less than 4096 tokens. Given: 5000",
        "`inputs` cannot be empty",
    ),
];
