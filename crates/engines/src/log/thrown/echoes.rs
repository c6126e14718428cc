//! Exceptions that only say that another process or another part failed, or that somebody asked for the end.

/// Words of such exceptions, and the source that raises them.
pub(super) const ECHOES: &[(&str, &str)] = &[
    ("EngineDeadError", "vllm-project/vllm:vllm/v1/engine/exceptions.py"),
    ("Engine core initialization failed", "vllm-project/vllm:vllm/v1/engine/utils.py"),
    ("Engine process failed to start", "vllm-project/vllm:vllm/engine/multiprocessing/client.py"),
    (
        "WorkerProc initialization failed due to an exception",
        "vllm-project/vllm:vllm/v1/executor/multiproc_executor.py",
    ),
    ("cancelled", "vllm-project/vllm:vllm/distributed/device_communicators/shm_broadcast.py"),
    ("Executor failed.", "vllm-project/vllm:vllm/v1/engine/core.py"),
    ("Worker failed with error", "vllm-project/vllm:vllm/v1/executor/multiproc_executor.py"),
    (
        "Initialization failed. Please see the error messages above",
        "sgl-project/sglang:python/sglang/srt/entrypoints/engine.py",
    ),
    ("scheduler died during initialization", "sgl-project/sglang:python/sglang/srt/entrypoints/engine.py"),
    ("Executor worker returned error", "NVIDIA/TensorRT-LLM:tensorrt_llm/executor/proxy.py"),
    ("CancelledError", "python/cpython:Lib/asyncio/exceptions.py"),
    ("KeyboardInterrupt", "python/cpython:Objects/exceptions.c"),
    ("SystemExit", "python/cpython:Objects/exceptions.c"),
    ("BrokenPipeError", "python/cpython:Objects/exceptions.c"),
    ("ConnectionResetError", "python/cpython:Objects/exceptions.c"),
    ("EOFError", "python/cpython:Lib/multiprocessing/connection.py"),
    ("ClientDisconnect", "encode/starlette:starlette/requests.py"),
];

/// Exceptions of a lookup: what is thrown while one is handled says more.
const LOOKUPS: [&str; 9] = [
    "KeyError",
    "AttributeError",
    "IndexError",
    "StopIteration",
    "StopAsyncIteration",
    "ModuleNotFoundError",
    "LookupError",
    "Empty",
    "EntryNotFoundError",
];

/// Whether an exception of this type and message is an echo.
pub(super) fn is_echo(kind: &str, message: &str) -> bool {
    let named = |text: &str| {
        kind.ends_with(text) || message.starts_with(text) || message.contains(text) && text.contains(' ')
    };
    ECHOES.iter().any(|(text, _)| named(text))
}

/// Whether an exception of this type is a lookup that failed.
pub(super) fn is_lookup(kind: &str) -> bool {
    let name = kind.rsplit('.').next().unwrap_or(kind);
    LOOKUPS.contains(&name)
}
