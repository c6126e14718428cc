//! LMDeploy: rows for failed starts, deaths and hangs. Read at 1263d5cd8 (2026-08-21); ranges were read off its tags up to
//! v0.16.0. Its own lines read "2024-07-26 12:13:24,537 - lmdeploy - ERROR - file.py:1 - words"; TurboMind's begin with "[TM]".

use super::signature::{LogKind, Signature, Wording};
use crate::Engine;
use crate::Meaning::{self, *};

const CHECK: Wording = Wording::Code("InternLM/lmdeploy:lmdeploy/pytorch/check_env/base.py");
const CHECK_CUDA: Wording = Wording::Code("InternLM/lmdeploy:lmdeploy/pytorch/check_env/cuda.py");
const EXECUTOR: Wording = Wording::Code("InternLM/lmdeploy:lmdeploy/pytorch/engine/executor/base.py");
const PATCH: Wording = Wording::Code("InternLM/lmdeploy:lmdeploy/pytorch/models/patch.py");

const BACKEND: &str = "2024-07-26 12:13:24,537 - lmdeploy - INFO - input backend=turbomind, backend_config=TurbomindEngineConfig(model_name='glm4', model_format=None, tp=2)";
const HINT: &str = "HINT:    Please open http://0.0.0.0:23333 in a browser for detailed api usage!!!";
const TM: &str = "[TM][INFO] Barrier(2)";

const fn row(meaning: Meaning, text: &'static str) -> Signature {
    Signature::new(LogKind::Engine(Engine::Lmdeploy), meaning, text)
}

pub(super) const SIGNATURES: &[Signature] = &[
    // ---- What it checks before it starts. The reason is written in red on the line below.
    row(EnvironmentBroken, "<Triton> check failed!").since("0.7.0").from(
        CHECK,
        "2025-11-26 12:13:24,537 - lmdeploy - ERROR - base.py:55 - <Triton> check failed!",
        BACKEND,
    ),
    row(EnvironmentBroken, "<PyTorch> check failed!").since("0.7.0").from(
        CHECK,
        "2025-11-26 12:13:24,537 - lmdeploy - ERROR - base.py:55 - <PyTorch> check failed!",
        BACKEND,
    ),
    // The configuration could not be read by the Transformers that are installed: mostly too old for the model, or a path
    // that is not there. The line above has the exception.
    row(ConfigurationRefused, "<transformers> check failed!").since("0.7.0").from(
        CHECK,
        "2025-11-26 12:13:24,537 - lmdeploy - ERROR - base.py:55 - <transformers> check failed!",
        BACKEND,
    ),
    row(ConfigurationRefused, "<Model> check failed!").since("0.7.0").from(
        CHECK,
        "2025-11-26 12:13:24,537 - lmdeploy - ERROR - base.py:55 - <Model> check failed!",
        BACKEND,
    ),
    row(ParallelismUnfit, "<Dist> check failed!").since("0.7.0").from(
        CHECK,
        "2025-11-26 12:13:24,537 - lmdeploy - ERROR - base.py:55 - <Dist> check failed!",
        BACKEND,
    ),
    row(BadArgument, "<Engine> check failed!").since("0.7.0").from(
        CHECK,
        "2025-11-26 12:13:24,537 - lmdeploy - ERROR - base.py:55 - <Engine> check failed!",
        BACKEND,
    ),
    // In small letters, as PyTorch does not write it.
    row(NoGpu, "cuda is not available.").since("0.9.0").from(
        CHECK_CUDA,
        "cuda is not available.",
        "CUDA is not available",
    ),
    row(QuantizationUnsupported, "model_format=fp8 requires sm>=9.0.").since("0.9.0").from(
        CHECK_CUDA,
        "model_format=fp8 requires sm>=9.0.",
        BACKEND,
    ),

    // ---- The model.
    row(ModelUnknown, "Can not found rewrite for ").since("0.6.0").from(
        PATCH,
        "RuntimeError: Can not found rewrite for architectures: ['FooForCausalLM']",
        BACKEND,
    ),
    row(ModelUnknown, " support has been removed from LMDeploy. ").from(
        PATCH,
        "RuntimeError: Baichuan (BaichuanForCausalLM) support has been removed from LMDeploy. Please use an older LMDeploy release or migrate to a newer supported model family.",
        BACKEND,
    ),
    row(ModelUnknown, "turbomind does not support ").with("Plz try pytorch engine instead.").since("0.4.0").from(
        Wording::Code("InternLM/lmdeploy:lmdeploy/turbomind/turbomind.py"),
        "AssertionError: turbomind does not support /models/m. Plz try pytorch engine instead.",
        "2024-07-26 12:13:24,537 - lmdeploy - WARNING - archs.py:41 - Fallback to pytorch engine because '/models/m' not supported by turbomind engine.",
    ),
    row(PartFallback, "Fallback to pytorch engine because ").since("0.3.0").from(
        Wording::Code("InternLM/lmdeploy:lmdeploy/archs.py"),
        "2024-07-26 12:13:24,537 - lmdeploy - WARNING - archs.py:41 - Fallback to pytorch engine because '/models/m' not supported by turbomind engine.",
        BACKEND,
    ),

    // ---- Memory.
    row(NoRoomForKv, "No enough gpu memory for kv cache.").since("0.3.0").from(
        EXECUTOR,
        "RuntimeError: No enough gpu memory for kv cache.",
        "2025-11-26 12:13:24,537 - lmdeploy - WARNING - base.py:402 - No enough memory. Update max_prefill_token_num=4096",
    ),
    row(NoRoomForKv, "No enough gpu memory for runtime.").since("0.3.0").from(
        EXECUTOR,
        "RuntimeError: No enough gpu memory for runtime.",
        "2025-11-26 12:13:24,537 - lmdeploy - WARNING - base.py:402 - No enough memory. Update max_prefill_token_num=4096",
    ),
    row(NoRoomForKv, "No enough gpu memory for state cache. ").from(
        EXECUTOR,
        "AssertionError: No enough gpu memory for state cache. Please reduce max_batch_size.",
        BACKEND,
    ),
    // Up to 0.7.3; later "[TM][FATAL]", and "CUDA error: out of memory" behind it.
    row(GpuOutOfMemory, "[TM][ERROR] CUDA runtime error: out of memory").until("0.7.3").from(
        Wording::Code("InternLM/lmdeploy:src/turbomind/utils/cuda_utils.h"),
        "RuntimeError: [TM][ERROR] CUDA runtime error: out of memory /opt/lmdeploy/src/turbomind/utils/memory_utils.cu:32",
        TM,
    ),
    row(CudaError, "[TM][ERROR] CUDA runtime error: ").without("out of memory").until("0.7.3").from(
        Wording::Code("InternLM/lmdeploy:src/turbomind/utils/cuda_utils.h"),
        "RuntimeError: [TM][ERROR] CUDA runtime error: misaligned address /opt/lmdeploy/src/turbomind/models/llama/LlamaBatch.cc:1153",
        "RuntimeError: [TM][ERROR] CUDA runtime error: out of memory /opt/lmdeploy/src/turbomind/utils/memory_utils.cu:32",
    ),

    // ---- Deaths.
    // It aborts behind this line.
    row(CppException, "[TM][FATAL]").since("0.8.0").from(
        Wording::Code("InternLM/lmdeploy:src/turbomind/core/logger.cc"),
        "[TM][FATAL][2026-08-01 12:00:00.000][allocator.cc:37] Check failed: ec == 0 (2 vs. 0) ",
        TM,
    ),
    row(EngineDied, "Received custom termination signal from sub processing, exiting...").since("0.7.2").from(
        Wording::Code("InternLM/lmdeploy:lmdeploy/pytorch/engine/executor/mp_executor.py"),
        "2025-11-26 12:13:24,537 - lmdeploy - ERROR - mp_executor.py:282 - Received custom termination signal from sub processing, exiting...",
        HINT,
    ),
    row(EngineDied, "PyTorch ZMQ engine process is not alive.").since("0.14.0").from(
        Wording::Code("InternLM/lmdeploy:lmdeploy/pytorch/engine/mp_engine/zmq_rpc.py"),
        "2026-08-01 12:13:24,537 - lmdeploy - ERROR - zmq_rpc.py:62 - PyTorch ZMQ engine process is not alive.",
        HINT,
    ),
    row(EngineDied, "EngineLoop wait_tasks failed.").since("0.12.0").from(
        Wording::Code("InternLM/lmdeploy:lmdeploy/pytorch/engine/engine_loop.py"),
        "2026-08-01 12:13:24,537 - lmdeploy - ERROR - engine_loop.py:639 - EngineLoop wait_tasks failed.",
        HINT,
    ),
    row(EngineDied, "Server process ").with(" exited with code ").since("0.15.0").from(
        Wording::Code("InternLM/lmdeploy:lmdeploy/serve/openai/launch_server.py"),
        "2026-08-01 12:13:24,537 - lmdeploy - ERROR - launch_server.py:180 - Server process 4711 exited with code 1",
        HINT,
    ),
    row(StartFailed, "PyTorch ZMQ engine process exited before publishing RPC server port.").from(
        Wording::Code("InternLM/lmdeploy:lmdeploy/pytorch/engine/mp_engine/zmq_engine.py"),
        "RuntimeError: PyTorch ZMQ engine process exited before publishing RPC server port.",
        HINT,
    ),
    // Only with several servers on one host; with one, uvicorn says it.
    row(PortInUse, "ValueError: Port ").with(" is not available").since("0.12.3").from(
        Wording::Code("InternLM/lmdeploy:lmdeploy/serve/openai/launch_server.py"),
        "ValueError: Port 23333 is not available",
        HINT,
    ),
];
