//! What a plan takes for granted where nobody told it otherwise, each with its source.

use intriage_case::{Bytes, Ratio, Seconds, Tokens};
use intriage_physics::Gpu;

/// `--gpu-memory-utilization` of vLLM from 0.20 on.
pub(crate) const UTILISATION: Ratio = Ratio(0.92);

/// CUDA graphs of one vLLM instance: 0.98 GiB in `fixtures/h200/vllm-h200-healthy30` (8B, 51 sizes).
pub(crate) const GRAPHS: Bytes = Bytes(1_073_741_824.0);

/// Host work that every step waits for. A step of 4 sequences took 5.2 ms on an H200
/// (`fixtures/recordings/vllm-h200-maxseqs4`), 4.5 ms of it explained by bandwidth.
pub(crate) const HOST_PER_STEP: Seconds = Seconds(0.7e-3);

/// Scheduling, sampling and detokenizing of one more sequence in a step, from the same recordings.
pub(crate) const HOST_PER_SEQUENCE: Seconds = Seconds(10e-6);

/// Steps alike differ by so much; seen on the H200.
pub(crate) const STEP_NOISE: Ratio = Ratio(0.05);

/// Tokens in a KV block, vLLM's default.
pub(crate) const BLOCK: Tokens = Tokens(16.0);

/// Coefficient of variation of lengths where no histogram tells it.
pub(crate) const LENGTH_VARIATION: Ratio = Ratio(0.5);

/// Sequences beyond which the share of experts that a step reads no longer matters.
pub(crate) const TYPICAL_BATCH: u32 = 64;

/// vLLM's defaults by size of the GPU: token budget and sequence cap (0.8.4 and later).
pub(crate) fn engine_defaults(gpu: &Gpu) -> (u32, u32) {
    let large = gpu.memory.get() >= 70.0 * 1_073_741_824.0 && !gpu.id.contains("a100");
    if large { (8192, 1024) } else { (2048, 256) }
}

/// The middle of a range of achieved shares.
pub(crate) fn middle((low, high): (Ratio, Ratio)) -> Ratio {
    Ratio(f64::midpoint(low.get(), high.get()))
}
