//! Lines of PyTorch and Python, the same below every engine.

use super::signature::{LogKind, Signature, Wording};
use crate::Meaning::{self, *};

const fn row(meaning: Meaning, text: &'static str) -> Signature {
    Signature::new(LogKind::Torch, meaning, text)
}

pub(super) const SIGNATURES: &[Signature] = &[
    row(GpuOutOfMemory, "CUDA out of memory").without("warming up sampler").from(
        Wording::Knowledge("engines.md 1.7, startup OOM"),
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
        "Out of memory even after retracting all other requests",
    ),
    row(Ready, "Application startup complete.").from(
        Wording::Recording("lab/killed/server.log"),
        "INFO:     Application startup complete.",
        "INFO:     Waiting for application startup.",
    ),
    // Written when it is told to stop, and when its engine died: what stands before it tells which.
    row(ShuttingDown, "INFO:     Shutting down").from(
        Wording::Code("encode/uvicorn:uvicorn/server.py"),
        "INFO:     Shutting down",
        "INFO:     Waiting for application startup.",
    ),
    // A rank waits for another one that does not come: a hang, ended after its limit.
    row(WatchdogFired, "Watchdog caught collective operation timeout").from(
        Wording::Code("pytorch/pytorch:torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp"),
        "[rank1]:[E203 10:15:10.123456789 ProcessGroupNCCL.cpp:632] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=3, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600012 milliseconds before timing out.",
        "[rank1]: ProcessGroupNCCL initialization options: size: 2, global rank: 1, TIMEOUT(ms): 600000",
    ),
    // A warning of what may come to pass is no error: vLLM's of too few files quotes one at every start.
    row(ErrorTold, "Error: ").without("WARNING ").latest().from(
        Wording::Knowledge("engines.md 1.7, startup OOM"),
        "ValueError: Free memory on device cuda:0 (70.1/79.1 GiB) on startup is less than desired GPU memory utilization (0.92, 72.8 GiB).",
        "ERROR 11-15 03:53:10 [core.py:1512] EngineCore encountered a fatal error.",
    ),
    row(ErrorTold, "  Value error, ").latest().from(
        Wording::Code("pydantic/pydantic-core:src/errors/types.rs"),
        "  Value error, User-specified max_model_len (131072) is greater than the derived max_model_len (max_position_embeddings=32768)",
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig",
    ),
    row(ErrorTold, ": error: ").latest().from(
        Wording::Code("python/cpython:Lib/argparse.py"),
        "vllm: error: unrecognized arguments: --max-num-seq 4",
        "0.12.538.661 E srv    send_error: task id = 162, error: request (20001 tokens) exceeds the available context size (2048 tokens), try increasing it",
    ),
    row(CudaError, "CUDA error").without("This may lead to incorrect model outputs").from(
        Wording::Knowledge("causes.json engine-crash-5xx"),
        "CUDA error: illegal memory access",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
    ),
    row(LeakedShared, "leaked shared_memory objects").from(
        Wording::Recording("lab/killed/server.log"),
        "/root/.pyenv/versions/3.11.7/lib/python3.11/multiprocessing/resource_tracker.py:254: UserWarning: resource_tracker: There appear to be 1 leaked shared_memory objects to clean up at shutdown",
        "  warnings.warn('resource_tracker: There appear to be %d '",
    ),
];
