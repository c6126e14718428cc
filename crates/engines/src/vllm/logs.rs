//! The resolved settings in vLLM's log lines.

use crate::Setting::*;
use crate::dialect::LogValue;

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
    // V0 counts blocks; from 0.7 it writes the device's name in place of `GPU`.
    LogValue { line: "# GPU blocks: ", after: "# GPU blocks: ", setting: KvBlocks, scale: 1.0 },
    LogValue { line: "# cuda blocks: ", after: "# cuda blocks: ", setting: KvBlocks, scale: 1.0 },
    LogValue { line: "# CUDA blocks: ", after: "# CUDA blocks: ", setting: KvBlocks, scale: 1.0 },
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
    // V0 divides by 2^30 and calls it GB.
    LogValue { line: "Loading model weights took ", after: "took ", setting: WeightBytes, scale: GIB },
    LogValue { line: "Graph capturing finished in ", after: "took ", setting: GraphBytes, scale: GIB },
    LogValue {
        line: "init engine (profile, create kv cache",
        after: "took ",
        setting: InitSeconds,
        scale: 1.0,
    },
    LogValue { line: "torch.compile took ", after: "took ", setting: CompileSeconds, scale: 1.0 },
];
