//! vLLM's log lines: resolved settings and signatures.

use crate::Meaning::{
    Compiling, EngineDied, GpuOutOfMemory, GraphsOff, KernelFallback, NoRoomForKv, Paused, Preempted,
    PromptTooLong, WorkerSilent,
};
use crate::Setting::*;
use crate::dialect::LogValue;
use crate::log::Signature;

const GIB: f64 = 1_073_741_824.0;

pub(super) const VALUES: &[LogValue] = &[
    LogValue {
        line: "Chunked prefill is enabled with max_num_batched_tokens=",
        after: "max_num_batched_tokens=",
        setting: TokenBudget,
        scale: 1.0,
    },
    LogValue {
        line: "Using max model len ",
        after: "Using max model len ",
        setting: ContextWindow,
        scale: 1.0,
    },
    LogValue { line: "KV cache size: ", after: "KV cache size: ", setting: KvCapacity, scale: 1.0 },
    LogValue {
        line: "Overriding num_gpu_blocks=",
        after: "num_gpu_blocks=",
        setting: KvBlocksPossible,
        scale: 1.0,
    },
    LogValue {
        line: "Maximum concurrency for ",
        after: "per request: ",
        setting: MaxConcurrency,
        scale: 1.0,
    },
    LogValue { line: "Available KV cache memory: ", after: "memory: ", setting: KvBytes, scale: GIB },
    LogValue { line: "Model loading took ", after: "took ", setting: WeightBytes, scale: GIB },
    LogValue { line: "Graph capturing finished in ", after: "took ", setting: GraphBytes, scale: GIB },
    LogValue {
        line: "init engine (profile, create kv cache",
        after: "took ",
        setting: InitSeconds,
        scale: 1.0,
    },
    LogValue { line: "torch.compile took ", after: "took ", setting: CompileSeconds, scale: 1.0 },
];

pub(super) const SIGNATURES: &[Signature] = &[
    Signature {
        meaning: EngineDied,
        text: "died unexpectedly",
        example: "(EngineCore pid=9) ERROR 11-15 03:53:10 [multiproc_executor.py:315] Worker proc VllmWorker-0 died unexpectedly (exit code: -9), shutting down executor.",
    },
    Signature {
        meaning: EngineDied,
        text: "EngineCore encountered a fatal error",
        example: "(EngineCore pid=9) ERROR 11-15 03:53:10 [core.py:1512] EngineCore encountered a fatal error.",
    },
    Signature {
        meaning: EngineDied,
        text: "EngineDeadError",
        example: "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.",
    },
    Signature {
        meaning: EngineDied,
        text: "EngineCore failed to start",
        example: "ERROR 05-09 00:49:33 [core.py:489] EngineCore failed to start.",
    },
    Signature {
        meaning: EngineDied,
        text: "AsyncEngineDeadError",
        example: "vllm.engine.async_llm_engine.AsyncEngineDeadError: Background loop has errored already.",
    },
    Signature {
        meaning: EngineDied,
        text: "engine core exited unexpectedly",
        example: "[shutdown] MPClient: engine core exited unexpectedly",
    },
    Signature {
        meaning: GpuOutOfMemory,
        text: "CUDA out of memory",
        example: "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
    },
    Signature {
        meaning: NoRoomForKv,
        text: "No available memory for the cache blocks",
        example: "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.",
    },
    Signature {
        meaning: NoRoomForKv,
        text: "To serve at least one request with the model",
        example: "ValueError: To serve at least one request with the model's max seq len (131072), (16.00 GiB KV cache is needed, which is larger than the available KV cache memory (7.63 GiB).",
    },
    Signature {
        meaning: NoRoomForKv,
        text: "on startup is less than desired GPU memory utilization",
        example: "ValueError: Free memory on device cuda:0 (70.1/79.1 GiB) on startup is less than desired GPU memory utilization (0.92, 72.8 GiB).",
    },
    Signature {
        meaning: WorkerSilent,
        text: "No available shared memory broadcast block found in",
        example: "(EngineCore pid=9) INFO 11-15 03:53:10 [shm_broadcast.py:871] No available shared memory broadcast block found in 60 seconds.",
    },
    Signature {
        meaning: Paused,
        text: "setting pause state to PAUSED",
        example: "(EngineCore pid=9) INFO 11-15 03:53:10 [scheduler.py:2756] setting pause state to PAUSED_NEW",
    },
    Signature {
        meaning: GraphsOff,
        text: "Enforce eager set, disabling torch.compile",
        example: "WARNING 11-15 02:37:41 [vllm.py:1163] Enforce eager set, disabling torch.compile and CUDAGraphs.",
    },
    Signature {
        meaning: GraphsOff,
        text: "Cudagraph is disabled under eager mode",
        example: "INFO 11-15 02:37:41 [vllm.py:1392] Cudagraph is disabled under eager mode",
    },
    Signature {
        meaning: KernelFallback,
        text: "does not have native support for FP8",
        example: "WARNING Your GPU does not have native support for FP8 computation but FP8 quantization is being used.",
    },
    Signature {
        meaning: KernelFallback,
        text: "does not have native support for FP4",
        example: "WARNING Your GPU does not have native support for FP4 computation but FP4 quantization is being used.",
    },
    Signature {
        meaning: Compiling,
        text: "JIT compil",
        example: "WARNING 11-15 02:37:41 [jit_monitor.py:12] JIT compilation happened while serving.",
    },
    Signature {
        meaning: PromptTooLong,
        text: "maximum context length is",
        example: "ValueError: This model's maximum context length is 1024 tokens. However, your prompt contains at least 1025 input tokens.",
    },
    Signature {
        meaning: Preempted,
        text: "is preempted by PreemptionMode",
        example: "WARNING Sequence group 0 is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space.",
    },
];
