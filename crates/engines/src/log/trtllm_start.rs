//! TensorRT-LLM and Triton: rows for failed starts, deaths and hangs. TensorRT-LLM could not be fetched (too large); each of its
//! wordings was read in one stored version of the file. Triton's core read at 73aad7c (2026-06-09), its server at e1db8a603
//! (2026-08-19).

use super::signature::{LogKind, Signature, Wording};
use crate::Engine;
use crate::Meaning::{self, *};

const PROXY: Wording = Wording::Code("NVIDIA/TensorRT-LLM:tensorrt_llm/executor/proxy.py");
const WORKER: Wording = Wording::Code("NVIDIA/TensorRT-LLM:tensorrt_llm/executor/worker.py");
const CREATOR: Wording =
    Wording::Code("NVIDIA/TensorRT-LLM:tensorrt_llm/_torch/pyexecutor/py_executor_creator.py");

const EXECUTOR: Wording =
    Wording::Code("NVIDIA/TensorRT-LLM:cpp/tensorrt_llm/batch_manager/trtGptModelInflightBatching.cpp");
/// Not public: the words as its documentation and its users give them.
const TENSORRT: Wording = Wording::Library("libnvinfer.so.10");

const STEP: &str = "[01/16/2026-06:20:17] [TRT-LLM] [RANK 0] [I] iter = 5559, host_step_time = 62.5ms, num_scheduled_requests: 5";
const LIMITS: &str =
    "[02/14/2025-09:38:53] [TRT-LLM] [I] max_seq_len=131072, max_num_requests=2048, max_num_tokens=8192";
const BANNER: &str = "[TensorRT-LLM] TensorRT LLM version: 1.2.0";
const LOADED: &str =
    "I0221 15:25:20.252918 3002 model_lifecycle.cc:849] \"successfully loaded 'postprocessing'\"";

const fn row(meaning: Meaning, text: &'static str) -> Signature {
    Signature::new(LogKind::Engine(Engine::TensorRtLlm), meaning, text)
}

pub(super) const SIGNATURES: &[Signature] = &[
    // ---- Starts that ended. The first is each rank's own and stands with its traceback; the others are the leader's.
    row(StartFailed, "Failed to initialize executor on rank ").from(
        WORKER,
        "[01/16/2026-06:20:17] [TRT-LLM] [RANK 1] [E] Failed to initialize executor on rank 1: Unknown architecture for AutoModelForCausalLM: FooForCausalLM",
        LIMITS,
    ),
    row(StartFailed, "Executor worker returned error").from(
        PROXY,
        "RuntimeError: Executor worker returned error",
        LIMITS,
    ),
    row(StartFailed, "Executor worker initialization error: ").from(
        PROXY,
        "[01/16/2026-06:20:17] [TRT-LLM] [E] Executor worker initialization error: Traceback (most recent call last):",
        LIMITS,
    ),
    // A rank ended without a word: killed, or aborted in C++.
    row(StartFailed, "Executor worker died during initialization").from(
        PROXY,
        "[01/16/2026-06:20:17] [TRT-LLM] [E] Executor worker died during initialization.",
        LIMITS,
    ),
    row(GpuOutOfMemory, "Executor creation failed due to insufficient GPU memory.").from(
        CREATOR,
        "RuntimeError: Executor creation failed due to insufficient GPU memory.",
        "[01/16/2026-06:20:17] [TRT-LLM] [I] Peak memory during memory usage profiling (torch + non-torch): 20.00 GiB",
    ),
    row(CollectiveFailed, "Executor creation failed with NCCL error: ").from(
        CREATOR,
        "RuntimeError: Executor creation failed with NCCL error: Failed, NCCL error /src/tensorrt_llm/opUtils.cpp:88 'unhandled cuda error (run with NCCL_DEBUG=INFO for details)'",
        LIMITS,
    ),
    row(ModelUnknown, "Unknown architecture for AutoModelFor").from(
        Wording::Code("NVIDIA/TensorRT-LLM:tensorrt_llm/_torch/models/modeling_auto.py"),
        "ValueError: Unknown architecture for AutoModelForCausalLM: FooForCausalLM",
        BANNER,
    ),
    // Before the model is loaded. launch.rs finds the words behind it where the port is taken.
    row(PortInUse, "RuntimeError: Failed to bind socket to ").with("ddress already in use").from(
        Wording::Code("NVIDIA/TensorRT-LLM:tensorrt_llm/commands/serve.py"),
        "RuntimeError: Failed to bind socket to 0.0.0.0:8000: [Errno 98] Address already in use",
        "INFO:     Uvicorn running on http://0.0.0.0:8000 (Press CTRL+C to quit)",
    ),

    // ---- Deaths.
    // An exception of the runtime in C++, at the start and later. What failed stands behind it.
    row(CppException, "[TensorRT-LLM][ERROR] Assertion failed: ").from(
        Wording::Code("NVIDIA/TensorRT-LLM:cpp/include/tensorrt_llm/common/tllmException.h"),
        "[TensorRT-LLM][ERROR] Assertion failed: Failed to deserialize cuda engine. (/src/tensorrt_llm/cpp/tensorrt_llm/runtime/tllmRuntime.cpp:239)",
        "[TensorRT-LLM][INFO] KV cache block reuse is disabled",
    ),
    // A step failed: the requests in it end with an error, and the server goes on if CUDA does.
    row(ServingFailed, "Encountered an error in forward").with(" function: ").from(
        EXECUTOR,
        "[TensorRT-LLM][ERROR] Encountered an error in forwardAsync function: [TensorRT-LLM][ERROR] CUDA runtime error in ::cudaMallocAsync(ptr, n, mMemPool->getPool(), mCudaStream->get()): out of memory",
        STEP,
    ),
    row(LoraRank, "low_rank must be smaller than mMaxLowRank").from(
        Wording::Code("NVIDIA/TensorRT-LLM:cpp/tensorrt_llm/kernels/lora/lora.cpp"),
        "[TensorRT-LLM][ERROR] Assertion failed: Invalid low_rank (1024). low_rank must be smaller than mMaxLowRank (64) (/src/tensorrt_llm/runtime/loraUtils.cpp:120)",
        STEP,
    ),
    row(ParallelismUnfit, "mpiSize == tp * pp").from(
        Wording::Code("NVIDIA/TensorRT-LLM:cpp/tensorrt_llm/runtime/worldConfig.cpp"),
        "[TensorRT-LLM][ERROR] Assertion failed: mpiSize == tp * pp (/src/cpp/tensorrt_llm/runtime/worldConfig.cpp:80)",
        BANNER,
    ),
    row(NoRoomForKv, "must be large enough to process at least 1 sequence to completion").from(
        Wording::Code("NVIDIA/TensorRT-LLM:cpp/tensorrt_llm/batch_manager/kvCacheManager.cpp"),
        "[TensorRT-LLM][ERROR] Assertion failed: maxTokensInPagedKvCache (693) must be large enough to process at least 1 sequence to completion (i.e. must be larger than beam_width (1) * tokensPerBlock (64) * maxBlocksPerSeq (32))",
        BANNER,
    ),
    // ---- Engine files. They hold for the release of TensorRT and the card they were built with.
    row(EngineFileUnfit, "The engine plan file is not compatible with this version of TensorRT").from(
        TENSORRT,
        "[TensorRT-LLM][ERROR] 6: The engine plan file is not compatible with this version of TensorRT, expecting library version 9.2.0.5 got 9.3.0.1, please rebuild.",
        BANNER,
    ),
    row(EngineFileUnfit, "Serialization assertion stdVersionRead == ").from(
        TENSORRT,
        "[TensorRT-LLM][ERROR] 1: [stdArchiveReader.cpp::StdArchiveReader::32] Error Code 1: Serialization (Serialization assertion stdVersionRead == kSERIALIZATION_VERSION failed.Version tag does not match. Note: Current Version: 226, Serialized Engine Version: 228)",
        BANNER,
    ),
    row(EngineFileUnfit, "The engine plan file is generated on an incompatible device").from(
        TENSORRT,
        "[TensorRT-LLM][ERROR] 6: The engine plan file is generated on an incompatible device, expecting compute 8.6 got compute 8.0, please rebuild.",
        BANNER,
    ),
    row(CrashDump, "Encountered an error in forward function: ").from(
        Wording::Code("NVIDIA/TensorRT-LLM:tensorrt_llm/_torch/pyexecutor/py_executor.py"),
        "[01/16/2026-06:20:17] [TRT-LLM] [RANK 0] [E] Encountered an error in forward function: CUDA error: an illegal memory access was encountered",
        STEP,
    ),

    // ---- Triton.
    row(StartFailed, "error: creating server: ").from(
        Wording::Code("triton-inference-server/server:src/main.cc"),
        "error: creating server: Internal - failed to load all models",
        "I0106 09:06:35.300590 12615 server.cc:312] \"Waiting for in-flight requests to complete.\"",
    ),
    row(StartFailed, "failed to load '").with("' version ").from(
        Wording::Code("triton-inference-server/core:src/model_repository_manager/model_lifecycle.cc"),
        "E0106 09:06:35.300590 12615 model_lifecycle.cc:654] \"failed to load 'tensorrt_llm' version 1: Internal: unexpected error when creating modelInstanceState: [json.exception.type_error.302] type must be array, but is number\"",
        LOADED,
    ),
    row(StartFailed, "unexpected error when creating modelInstanceState: ").from(
        Wording::Code("NVIDIA/TensorRT-LLM:triton_backend/inflight_batcher_llm/src/model_instance_state.cc"),
        "E0106 09:06:35.300590 12615 backend_model.cc:719] \"ERROR: Failed to create instance: unexpected error when creating modelInstanceState: [TensorRT-LLM][ERROR] CUDA runtime error in ::cudaMallocAsync(ptr, n): out of memory\"",
        LOADED,
    ),
    row(PortInUse, "Socket '").with("' already in use").from(
        Wording::Code("triton-inference-server/server:src/http_server.cc"),
        "E0106 09:06:35.300590 12615 main.cc:282] \"failed to start HTTP service: Unavailable - Socket '0.0.0.0:8000' already in use \"",
        "I0106 09:06:35.300590 12615 http_server.cc:4971] \"Started HTTPService at 0.0.0.0:8000\"",
    ),
    row(Ready, "Started HTTPService at ").from(
        Wording::Code("triton-inference-server/server:src/http_server.cc"),
        "I0106 09:06:35.300590 12615 http_server.cc:4971] \"Started HTTPService at 0.0.0.0:8000\"",
        LOADED,
    ),

    // ---- Harmless.
    row(Harmless, "this may harm ").with("Found worker process ")
        .because("the next line clears the binding; it is written wherever the system tells a set of cores, which is everywhere")
        .from(
            WORKER,
            "[01/16/2026-06:20:17] [TRT-LLM] [W] Found worker process 4711 was bound to {0, 1, 2, 3}, this may harm performance.",
            "[01/16/2026-06:20:17] [TRT-LLM] [W] Will clear the cpu affinity",
        ),
];
