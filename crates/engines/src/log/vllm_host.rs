//! Lines vLLM writes about its host: files, threads, memory nodes, where weights lie and how long transfers take.

use super::signature::{LogKind, Numbered, Signature, Wording};
use crate::Engine;
use crate::Meaning::{self, *};

const fn row(meaning: Meaning, text: &'static str) -> Signature {
    Signature::new(LogKind::Engine(Engine::Vllm), meaning, text)
}

const ULIMIT: &str = "(APIServer pid=5545) WARNING 11-15 07:16:41 [system_utils.py:299] Found ulimit of 20000 and failed to automatically increase with error current limit exceeds maximum limit. This can cause fd limit errors like `OSError: [Errno 24] Too many open files`. Consider increasing with ulimit -n";
const MOONCAKE: Wording = Wording::Code(
    "vllm-project/vllm:vllm/distributed/kv_transfer/kv_connector/v1/mooncake/mooncake_connector.py",
);
const CHUNKED: &str = "(APIServer pid=5545) INFO 11-15 07:16:41 [scheduler.py:252] Chunked prefill is enabled with max_num_batched_tokens=8192.";

pub(super) const SIGNATURES: &[Signature] = &[
    // Weights and transfers.
    row(WeightsLoaded, "Loading weights took").since("0.8.0").from(
        Wording::Recording("lab/frozen/server.log"),
        "(Worker pid=30029) INFO 11-15 06:28:47 [default_loader.py:501] Loading weights took 0.38 seconds",
        "Loading safetensors checkpoint shards:   0% Completed | 0/1 [00:00<?, ?it/s]",
    ),
    row(CheckpointStorage, "Filesystem type for checkpoints:").since("0.20.0").from(
        Wording::Recording("lab/frozen/server.log"),
        "(Worker pid=30029) INFO 11-15 06:28:46 [weight_utils.py:1108] Filesystem type for checkpoints: EXT4. Checkpoint size: 0.25 GiB. Available RAM: 21.31 GiB.",
        "Loading safetensors checkpoint shards:   0% Completed | 0/1 [00:00<?, ?it/s]",
    ),
    row(ModelLoaded, "Model loading took").since("0.8.0").from(
        Wording::Knowledge("engines.md 1.7"),
        "Model loading took 14.99 GiB memory and 512.30 seconds",
        "(Worker pid=30029) INFO 11-15 06:28:47 [default_loader.py:501] Loading weights took 0.38 seconds",
    ),
    // The bar gives seconds a file where one takes more than a second, files a second otherwise.
    row(ShardsSlow, "Loading safetensors checkpoint shards").with("s/it]").from(
        Wording::Recording("lab/idle/server.log"),
        "Loading safetensors checkpoint shards: 100% Completed | 1/1 [00:01<00:00,  1.45s/it]",
        "Loading safetensors checkpoint shards:   0% Completed | 0/1 [00:00<?, ?it/s]",
    ),
    row(KvTransferTimed, "Time to init xfer:").from(
        Wording::Incident("ai-dynamo/dynamo#1314"),
        "Time to init xfer: 1800.3110489808023 ms",
        "(EngineCore pid=5722) INFO 11-15 07:17:04 [core.py:402] init engine (profile, create kv cache, warmup model) took 0.54 s",
    ),
    row(KvTransferTimed, "Total time for write:").from(
        Wording::Incident("ai-dynamo/dynamo#1314"),
        "Total time for write: 1803.43 ms",
        "0.03.803.294 I slot print_timing: id  3 | task 2 |       total time =    1507.86 ms /    49 tokens",
    ),
    // Every ten seconds of a server that hands its KV cache over; the first part of the line has how long one took.
    row(KvTransferRate, "Throughput (MB/s)=").with("KV Transfer metrics: ").numbered(Numbered::Amount).since("0.11.1").from(
        Wording::Code("vllm-project/vllm:vllm/distributed/kv_transfer/kv_connector/v1/nixl/stats.py"),
        "(APIServer pid=9) INFO 08-17 02:47:32 [metrics.py:103] KV Transfer metrics: Num successful transfers=64, Avg xfer time (ms)=38.7, P90 xfer time (ms)=61.2, Avg post time (ms)=6.7, P90 post time (ms)=9.1, Avg MB per transfer=167.0, Throughput (MB/s)=4319.1, Avg number of descriptors=1785.0",
        "(APIServer pid=9) INFO 08-17 02:47:32 [metrics.py:103] KV Transfer metrics: Num successful transfers=0, Avg xfer time (ms)=0, P90 xfer time (ms)=0, Avg post time (ms)=0, P90 post time (ms)=0, Avg MB per transfer=0, Throughput (MB/s)=0, Avg number of descriptors=0",
    ),
    // KV caches that did not arrive.
    row(KvTransferFailed, "NIXL transfer failure: ").since("0.11.1").from(
        Wording::Code("vllm-project/vllm:vllm/distributed/kv_transfer/kv_connector/v1/nixl/base_worker.py"),
        "(EngineCore pid=9) ERROR 08-17 02:47:32 [base_worker.py:1260] NIXL transfer failure: transfer_failed | Context: {'remote_engine_id': 'a'}",
        "(APIServer pid=9) INFO 08-17 02:47:32 [metrics.py:103] KV Transfer metrics: Num successful transfers=64, Avg xfer time (ms)=38.7",
    ),
    row(KvTransferFailed, "nixlBackendError: ").from(
        Wording::Code("ai-dynamo/nixl:src/bindings/python/nixl_bindings.cpp"),
        "nixl._bindings.nixlBackendError: NIXL_ERR_BACKEND",
        "(EngineCore pid=9) INFO 08-17 02:47:32 [nixl_connector.py:70] NIXL is available",
    ),
    row(KvTransferFailed, "Error processing Mooncake xfer request: ").since("0.12.0").from(
        MOONCAKE,
        "(EngineCore pid=9) ERROR 08-17 02:47:32 [mooncake_connector.py:1484] Error processing Mooncake xfer request: timed out",
        "(EngineCore pid=9) INFO 08-17 02:47:32 [mooncake_connector.py:1181] Initializing Mooncake Transfer Engine worker a",
    ),
    row(KvTransferFailed, "pulling kv_caches for ").with(" failed: ").since("0.12.0").from(
        MOONCAKE,
        "(EngineCore pid=9) ERROR 08-17 02:47:32 [mooncake_connector.py:2405] pulling kv_caches for ['cmpl-1'] failed: transfer failed",
        "(EngineCore pid=9) DEBUG 08-17 02:47:32 [mooncake_connector.py:2390] pulling kv_caches for ['cmpl-1'] finished",
    ),
    row(KvTransferFailed, "LMCache ERROR: The number of retrieved").from(
        Wording::Incident("LMCache/LMCache#1690"),
        "(RayWorkerWrapper pid=999) [2025-09-25 00:42:06,089] LMCache ERROR: The number of retrieved tokens is less than the expected number of tokens!",
        "(RayWorkerWrapper pid=999) [2025-09-25 00:42:06,089] LMCache INFO: Retrieved 32 out of 32 out of total 32 tokens",
    ),
    // The host.
    row(FileLimitLow, "Found ulimit of").since("0.6.6").from(
        Wording::Recording("h200/vllm-h200-eager8/server.log"),
        ULIMIT,
        "OSError: [Errno 24] Too many open files",
    ),
    row(FileLimitReached, "Too many open files").without("Found ulimit of").from(
        Wording::Recording("h200/vllm-h200-eager8/server.log"),
        "OSError: [Errno 24] Too many open files",
        ULIMIT,
    ),
    row(ThreadsSet, "Reducing Torch threads from").from(
        Wording::Recording("lab/frozen/server.log"),
        "(EngineCore pid=29839) INFO 11-15 06:28:48 [torch_utils.py:295] Reducing Torch threads from 2 to 1 for serving. Set OMP_NUM_THREADS in the external environment to override.",
        CHUNKED,
    ),
    row(ThreadsBound, "VLLM_CPU_OMP_THREADS_BIND=").since("0.21.0").from(
        Wording::Recording("lab/frozen/server.log"),
        "(EngineCore pid=29839) INFO 11-15 06:28:36 [ompmultiprocessing.py:185] \tVLLM_CPU_OMP_THREADS_BIND='auto', auto_setup=True, skip_setup=False",
        "(EngineCore pid=29839) INFO 11-15 06:28:36 [ompmultiprocessing.py:185] \tlocal_rank=0, core ids=[0]",
    ),
    row(NumaBound, "NUMA binding: Using MEMBIND policy").from(
        Wording::Recording("lab/frozen/server.log"),
        "[W1115 06:28:46.009392610 utils.cpp:68] Warning: NUMA binding: Using MEMBIND policy for memory allocation on the NUMA nodes (0). Memory allocations will be strictly bound to these NUMA nodes. (function init_cpu_memory_env)",
        "[W1115 07:16:58.172549736 socket.cpp:207] [c10d] The hostname of the client socket cannot be retrieved. err=-3",
    ),
];
