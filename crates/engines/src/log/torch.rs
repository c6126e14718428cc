//! Lines of PyTorch and Python, the same below every engine.

use super::signature::{LogKind, Signature, Wording};
use crate::Meaning::{self, *};

const fn row(meaning: Meaning, text: &'static str) -> Signature {
    Signature::new(LogKind::Torch, meaning, text)
}

pub(super) const SIGNATURES: &[Signature] = &[
    row(GpuOutOfMemory, "CUDA out of memory").from(
        Wording::Knowledge("engines.md 1.7, startup OOM"),
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
        "Out of memory even after retracting all other requests",
    ),
    row(CudaError, "CUDA error").from(
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
