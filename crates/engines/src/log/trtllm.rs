//! TensorRT-LLM's lines: those of its Python executor and of the C++ runtime below.

use super::signature::{LogKind, Signature, Wording};
use crate::Engine;
use crate::Meaning::{self, *};

const EXECUTOR: &str = "NVIDIA/TensorRT-LLM:tensorrt_llm/_torch/pyexecutor/py_executor.py";
const KV_MANAGER: &str = "NVIDIA/TensorRT-LLM:cpp/tensorrt_llm/batch_manager/kvCacheManager.cpp";
const REQUEST: &str = "NVIDIA/TensorRT-LLM:cpp/include/tensorrt_llm/batch_manager/llmRequest.h";
const CUDA: &str = "NVIDIA/TensorRT-LLM:cpp/include/tensorrt_llm/common/cudaUtils.h";

const STEP: &str = "[01/16/2026-06:20:17] [TRT-LLM] [RANK 0] [I] iter = 5559, host_step_time = 62.5ms, num_scheduled_requests: 5";
const LIMITS: &str =
    "[02/14/2025-09:38:53] [TRT-LLM] [I] max_seq_len=131072, max_num_requests=2048, max_num_tokens=8192";

const fn row(meaning: Meaning, text: &'static str) -> Signature {
    Signature::new(LogKind::Engine(Engine::TensorRtLlm), meaning, text)
}

pub(super) const SIGNATURES: &[Signature] = &[
    row(WatchdogFired, "Hang detected on rank ").with("PyExecutor").from(
        Wording::Code(EXECUTOR),
        "[TRT-LLM] [E] Hang detected on rank 0 in PyExecutor.",
        STEP,
    ),
    row(GpuOutOfMemory, "CUDA runtime error in ").with("out of memory").from(
        Wording::Code(CUDA),
        "[TensorRT-LLM][ERROR] CUDA runtime error in ::cudaMalloc(ptr, n): out of memory",
        "[TensorRT-LLM][ERROR] CUDA runtime error in cudaDeviceSynchronize(): an illegal memory access was encountered",
    ),
    // Some models leave only requests with pictures out of the cache, and say so in the same words.
    row(PrefixCachingOff, "KV cache block reuse is disabled").without("multimodal").from(
        Wording::Code(KV_MANAGER),
        "[TensorRT-LLM][INFO] KV cache block reuse is disabled",
        "[TRT-LLM] [W] Inkling: KV cache block reuse is disabled for multimodal requests.",
    ),
    row(PromptTooLong, "exceeds maximum input length (").with("Prompt length").from(
        Wording::Code(REQUEST),
        "Prompt length (30) exceeds maximum input length (0). Set log level to info and check TRTGptModel logs for how maximum input length is set",
        LIMITS,
    ),
    row(PromptTooLong, "should not exceed max_num_tokens (").with("prompt length").from(
        Wording::Code("NVIDIA/TensorRT-LLM:tensorrt_llm/llmapi/llm.py"),
        "The sum of prompt length (38049.0), query length (0) should not exceed max_num_tokens (32768)",
        LIMITS,
    ),
];
