//! vLLM's flags that matter to a diagnosis; underscored spellings are the names its config dumps use.

use crate::Setting::*;
use crate::dialect::Flag;
use crate::dialect::FlagValue::{Number, Switch, Text};

pub(super) const FLAGS: &[Flag] = &[
    Flag { names: &["--max-num-seqs"], setting: MaxSequences, value: Number },
    Flag { names: &["--max-num-batched-tokens"], setting: TokenBudget, value: Number },
    Flag { names: &["--max-model-len", "max_seq_len"], setting: ContextWindow, value: Number },
    Flag { names: &["--enable-prefix-caching"], setting: PrefixCaching, value: Switch(true) },
    Flag { names: &["--no-enable-prefix-caching"], setting: PrefixCaching, value: Switch(false) },
    Flag { names: &["--enforce-eager"], setting: EagerMode, value: Switch(true) },
    Flag { names: &["--no-enforce-eager"], setting: EagerMode, value: Switch(false) },
    Flag { names: &["--max-cudagraph-capture-size"], setting: GraphMaxBatch, value: Number },
    Flag { names: &["--device", "device_config"], setting: Device, value: Text },
    Flag { names: &["--tensor-parallel-size", "-tp"], setting: TensorParallel, value: Number },
    Flag { names: &["--pipeline-parallel-size", "-pp"], setting: PipelineParallel, value: Number },
    Flag { names: &["--data-parallel-size", "-dp"], setting: DataParallel, value: Number },
    Flag { names: &["num_gpu_blocks"], setting: KvBlocks, value: Number },
    Flag { names: &["--num-gpu-blocks-override"], setting: KvBlocksOverride, value: Number },
    Flag { names: &["--block-size"], setting: KvBlockSize, value: Number },
    Flag { names: &["--kv-cache-memory-bytes", "--kv-cache-memory"], setting: KvBytes, value: Number },
    Flag { names: &["--kv-cache-dtype", "cache_dtype"], setting: KvDtype, value: Text },
    Flag { names: &["--gpu-memory-utilization"], setting: MemoryFraction, value: Number },
    Flag { names: &["--load-format"], setting: LoadFormat, value: Text },
    Flag { names: &["--quantization", "-q"], setting: Quantization, value: Text },
    Flag { names: &["--enable-chunked-prefill"], setting: ChunkedPrefill, value: Switch(true) },
    Flag { names: &["--no-enable-chunked-prefill"], setting: ChunkedPrefill, value: Switch(false) },
    Flag { names: &["--long-prefill-token-threshold"], setting: LongPrefillThreshold, value: Number },
    Flag { names: &["--async-scheduling"], setting: AsyncScheduling, value: Switch(true) },
    Flag { names: &["--no-async-scheduling"], setting: AsyncScheduling, value: Switch(false) },
    Flag { names: &["--speculative-config"], setting: Speculation, value: Text },
    Flag { names: &["num_speculative_tokens"], setting: SpeculativeTokens, value: Number },
    Flag { names: &["--max-num-queued-reqs"], setting: QueueLimit, value: Number },
    Flag { names: &["--max-loras"], setting: MaxLoras, value: Number },
    Flag { names: &["--api-server-count"], setting: ApiServers, value: Number },
    Flag { names: &["--stream-interval"], setting: StreamInterval, value: Number },
    Flag { names: &["--scheduling-policy"], setting: SchedulingPolicy, value: Text },
    Flag { names: &["--cpu-offload-gb"], setting: CpuOffload, value: Number },
    Flag { names: &["--model", "model_tag"], setting: Model, value: Text },
    Flag { names: &["--served-model-name"], setting: ServedModel, value: Text },
    Flag { names: &["--dtype"], setting: Dtype, value: Text },
    // Developer mode lists them as `GPU 0: NVIDIA H100 80GB HBM3`, one a line.
    Flag { names: &["nvidia_gpu_models"], setting: GpuModel, value: Text },
];
