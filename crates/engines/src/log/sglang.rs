//! SGLang's lines.

use super::signature::{LogKind, Signature, Wording};
use crate::Engine;
use crate::Meaning::{self, *};

const LINES: &str = "engines.md 2, logs";

const fn row(meaning: Meaning, text: &'static str) -> Signature {
    Signature::new(LogKind::Engine(Engine::Sglang), meaning, text)
}

pub(super) const SIGNATURES: &[Signature] = &[
    row(Preempted, "KV cache pool is full. Retract requests").from(
        Wording::Knowledge(LINES),
        "KV cache pool is full. Retract requests. #retracted_reqs: 3, #new_token_ratio: 0.41 -> 0.62",
        "Memory pool end. avail mem=12.01 GB",
    ),
    row(KvExhausted, "Out of memory even after retracting all other requests").from(
        Wording::Knowledge(LINES),
        "Out of memory even after retracting all other requests",
        "KV cache pool is full. Retract requests. #retracted_reqs: 3, #new_token_ratio: 0.41 -> 0.62",
    ),
    row(Ready, "The server is fired up and ready to roll").from(
        Wording::Code("sgl-project/sglang:python/sglang/srt/entrypoints/http_server.py"),
        "[2025-06-01 10:01:10] The server is fired up and ready to roll!",
        "Health check failed. Server couldn't get a response from detokenizer",
    ),
    row(EngineDied, "Scheduler hit an exception").from(
        Wording::Code("sgl-project/sglang:python/sglang/srt/managers/scheduler.py"),
        "[2025-06-01 10:06:00 TP0] Scheduler hit an exception: Traceback (most recent call last):",
        "KV cache pool is full. Retract requests. #retracted_reqs: 3, #new_token_ratio: 0.41 -> 0.62",
    ),
    row(NoRoomForKv, "Not enough memory. Please try to increase --mem-fraction-static").from(
        Wording::Knowledge(LINES),
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
        "Load weight end. elapsed=9.10, mem usage=15.00 GB.",
    ),
    row(MemoryUnbalanced, "The memory capacity is unbalanced").from(
        Wording::Knowledge(LINES),
        "The memory capacity is unbalanced",
        "max_total_num_tokens=931104, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=2048, context_len=8192, available_gpu_mem=12.01 GB",
    ),
    row(WorkerSilent, "Health check failed. Server couldn't get a response").from(
        Wording::Knowledge(LINES),
        "Health check failed. Server couldn't get a response from detokenizer",
        "The server is fired up and ready to roll!",
    ),
    row(PromptTooLong, "is longer than the model's context length").from(
        Wording::Knowledge(LINES),
        "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
        "The decoder prompt (length 1025) is longer than the maximum model length of 1024.",
    ),
    row(WeightsLoaded, "Load weight end. elapsed=").from(
        Wording::Knowledge(LINES),
        "Load weight end. elapsed=9.10, mem usage=15.00 GB.",
        "Memory pool end. avail mem=12.01 GB",
    ),
    row(GraphsOff, "cuda graph: False").with("Decode batch").from(
        Wording::Knowledge("causes.json cuda-graph-miss"),
        "Decode batch, #running-req: 2, #token: 512, token usage: 0.01, cuda graph: False, gen throughput (token/s): 35.10, #queue-req: 0",
        "Decode batch, #running-req: 2, #token: 512, token usage: 0.01, cuda graph: True, gen throughput (token/s): 210.10, #queue-req: 0",
    ),
];
