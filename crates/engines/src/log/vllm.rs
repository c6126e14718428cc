//! vLLM's lines. First releases were read off its tags up to 0.27.1; a row without one is older than 0.4, or its words are put together.

use super::signature::{LogKind, Numbered, Signature, Wording};
use crate::Engine;
use crate::Meaning::{self, *};

const LINES: &str = "engines.md 1.7";
const SEEN: &str = "observed.md 4";

const fn row(meaning: Meaning, text: &'static str) -> Signature {
    Signature::new(LogKind::Engine(Engine::Vllm), meaning, text)
}

/// What a healthy server writes when it is told to stop: close to what it writes when it dies.
const STOPS: &str =
    "(EngineCore pid=1401) INFO 11-15 02:46:30 [core.py:1499] [shutdown] EngineCore: exiting busy loop";
const REFUSES: &str = "(APIServer pid=22793) ERROR 11-15 06:23:21 [serving.py:929] vllm.exceptions.QueueOverflowError: The engine is currently busy and cannot accept new requests. Please try again later or on a different instance.";
const ACCOUNT: &str = "(EngineCore pid=5722) INFO 11-15 07:17:02 [gpu_worker.py:857] Free memory on device (139.29/139.8 GiB) on startup. Desired GPU memory utilization is (0.92, 128.62 GiB).";
const TACTICS: &str = "(EngineCore pid=5722) WARNING 11-15 07:17:02 [kernel_warmup.py:258] No FlashInfer autotune cache entries found.Falling back to default tactics.";
const MONITOR: &str = "(EngineCore pid=5722) INFO 11-15 07:17:02 [jit_monitor.py:79] Kernel JIT monitor activated; monitored JIT compilations during inference will use mode=warn.";
const BLOCKS: &str = "(EngineCore pid=4851) INFO 11-15 07:15:28 [kv_cache_utils.py:2115] Overriding num_gpu_blocks=58224 with num_gpu_blocks_override=1200";
const TEMPLATE: &str = "(APIServer pid=5545) INFO 11-15 07:17:04 [hf.py:540] Detected the chat template content format to be 'string'. You can set `--chat-template-content-format` to override this.";
const RUNNER: &str = "(APIServer pid=28702) WARNING 11-15 06:28:26 [vllm.py:725] Model Runner V2 requires Triton; using the V1 model runner instead.";
const PARALLEL: &str = "(EngineCore pid=5722) INFO 11-15 07:16:58 [parallel_state.py:1615] world_size=1 rank=0 local_rank=0 distributed_init_method=tcp://192.0.2.2:42447 backend=nccl";

pub(super) const SIGNATURES: &[Signature] = &[
    // The process.
    row(EngineDied, "died unexpectedly").since("0.8.5").from(
        Wording::Recording("lab/killed/server.log"),
        "(EngineCore pid=24796) ERROR 11-15 06:25:31 [multiproc_executor.py:315] Worker proc VllmWorker-0 died unexpectedly (exit code: -9), shutting down executor.",
        "(EngineCore pid=24796) INFO 11-15 06:25:31 [multiproc_executor.py:486] [shutdown] Executor: all workers exited gracefully",
    ),
    row(EngineDied, "EngineCore encountered a fatal error").since("0.8.5").from(
        Wording::Recording("lab/killed/server.log"),
        "(EngineCore pid=24796) ERROR 11-15 06:25:31 [core.py:1512] EngineCore encountered a fatal error.",
        STOPS,
    ),
    // Also the older AsyncEngineDeadError and MQEngineDeadError.
    row(EngineDied, "EngineDeadError").from(
        Wording::Recording("h200/vllm-h200-killed/server.log"),
        "(APIServer pid=1515) ERROR 11-15 07:12:13 [async_llm.py:704] vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.",
        REFUSES,
    ),
    row(ServingFailed, "AsyncLLM output_handler failed").since("0.8.5").from(
        Wording::Code("vllm-project/vllm:vllm/v1/engine/async_llm.py"),
        "(APIServer pid=1515) ERROR 11-15 07:12:13 [async_llm.py:704] AsyncLLM output_handler failed.",
        "(APIServer pid=1515) INFO 11-15 07:12:13 [async_llm.py:120] Using default chat sampling params",
    ),
    row(EngineDied, "AsyncLLM output_handler failed").since("0.8.5").from(
        Wording::Recording("h200/vllm-h200-killed/server.log"),
        "(APIServer pid=1515) ERROR 11-15 07:12:13 [async_llm.py:704] AsyncLLM output_handler failed.",
        "(APIServer pid=22793) ERROR 11-15 06:23:21 [serving.py:929] Error in chat completion stream generator.",
    ),
    row(StartFailed, "EngineCore failed to start").since("0.8.5").from(
        Wording::Knowledge(LINES),
        "ERROR 05-09 00:49:33 [core.py:489] EngineCore failed to start.",
        STOPS,
    ),
    row(StartFailed, "Engine core initialization failed").since("0.8.4").from(
        Wording::Knowledge(LINES),
        "Engine core initialization failed.",
        "(EngineCore pid=5722) INFO 11-15 07:17:04 [core.py:402] init engine (profile, create kv cache, warmup model) took 0.54 s",
    ),
    row(EngineDied, "engine core exited unexpectedly").since("0.23.0").from(
        Wording::Knowledge(LINES),
        "[shutdown] MPClient: engine core exited unexpectedly",
        "(APIServer pid=1232) INFO 11-15 02:46:30 [core_client.py:630] [shutdown] MPClient: stopping engine manager",
    ),
    row(EngineDied, "Background loop").with("errored").until("0.10.2").from(
        Wording::Knowledge(LINES),
        "AsyncEngineDeadError: Background loop … errored",
        "Background loop is running",
    ),
    row(CrashDump, "Dumping input data for V1 LLM engine").since("0.9.2").from(
        Wording::Recording("lab/killed/server.log"),
        "(EngineCore pid=24796) ERROR 11-15 06:25:31 [dump_input.py:72] Dumping input data for V1 LLM engine (v0.32.0) with config: model='smollm2-135m', speculative_config=None, tokenizer='smollm2-135m'",
        "(EngineCore pid=5722) INFO 11-15 07:16:58 [core.py:120] Initializing a V1 LLM engine (v0.32.0) with config: model='l8b'",
    ),
    row(WorkerSilent, "No available shared memory broadcast block found in").from(
        Wording::Knowledge(SEEN),
        "(EngineCore pid=9) INFO 11-15 03:53:10 [shm_broadcast.py:871] No available shared memory broadcast block found in 60 seconds.",
        "ValueError: No available memory for the cache blocks.",
    ),
    row(Paused, "setting pause state to PAUSED").since("0.12.0").from(
        Wording::Recording("lab/paused/server.log"),
        "(EngineCore pid=26917) INFO 11-15 06:27:30 [scheduler.py:2756] setting pause state to PAUSED_NEW",
        "(EngineCore pid=26917) INFO 11-15 06:27:40 [scheduler.py:2756] setting pause state to UNPAUSED",
    ),
    row(ShuttingDown, "[shutdown] API server: shutdown triggered").since("0.23.0").from(
        Wording::Recording("recordings/vllm-cpu-healthy/server.log"),
        "(APIServer pid=1232) INFO 11-15 02:46:30 [launcher.py:254] [shutdown] API server: shutdown triggered",
        "(APIServer pid=1232) INFO 11-15 02:46:30 [launcher.py:254] [shutdown] API server: engine client stopped",
    ),
    row(KilledAtShutdown, "force killing remaining processes").since("0.23.0").from(
        Wording::Recording("lab/killed/server.log"),
        "(APIServer pid=24528) WARNING 11-15 06:25:32 [utils.py:648] [shutdown] Process manager: force killing remaining processes count=1",
        "(APIServer pid=1232) INFO 11-15 02:46:30 [utils.py:640] [shutdown] Process manager: send sigterm to process EngineCore",
    ),
    // Memory.
    row(NoRoomForKv, "No available memory for the cache blocks").from(
        Wording::Knowledge(LINES),
        "ValueError: No available memory for the cache blocks. Try increasing",
        "(EngineCore pid=5722) INFO 11-15 07:17:02 [gpu_worker.py:560] Available KV cache memory: 113.72 GiB",
    ),
    row(NoRoomForKv, "To serve at least one request with the model").since("0.7.0").from(
        Wording::Knowledge(LINES),
        "ValueError: To serve at least one request with the model's max seq len (131072), (16.00 GiB KV cache is needed, which is larger than the available KV cache memory (7.63 GiB).",
        "(EngineCore pid=5722) INFO 11-15 07:17:02 [kv_cache_utils.py:2177] Maximum concurrency for 8,192 tokens per request: 113.66x",
    ),
    row(NoRoomForKv, "tokens that can be stored in KV cache (").until("0.10.2").from(
        Wording::Code("vllm-project/vllm:vllm/worker/worker.py"),
        "ValueError: The model's max seq len (131072) is larger than the maximum number of tokens that can be stored in KV cache (28528). Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.",
        "(EngineCore pid=5722) INFO 11-15 07:17:02 [kv_cache_utils.py:2177] GPU KV cache size: 931,104 tokens",
    ),
    row(WarmupOutOfMemory, "CUDA out of memory occurred when warming up sampler").since("0.8.0").from(
        Wording::Code("vllm-project/vllm:vllm/v1/worker/gpu_model_runner.py"),
        "RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests. Please try lowering `max_num_seqs` or `gpu_memory_utilization` when initializing the engine.",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
    ),
    row(MemoryTaken, "on startup is less than desired GPU memory utilization").from(
        Wording::Knowledge(LINES),
        "ValueError: Free memory on device cuda:0 (70.1/79.1 GiB) on startup is less than desired GPU memory utilization (0.92, 72.8 GiB).",
        ACCOUNT,
    ),
    row(MemoryMoved, "Error in memory profiling. Initial free memory").from(
        Wording::Knowledge(LINES),
        "Error in memory profiling. Initial free memory 70.1 GiB",
        ACCOUNT,
    ),
    row(KvPoolForced, "Overriding num_gpu_blocks=").since("0.4.2").from(
        Wording::Recording("h200/vllm-h200-kv1200/server.log"),
        BLOCKS,
        "(EngineCore pid=5722) INFO 11-15 07:17:02 [kv_cache_utils.py:2177] GPU KV cache size: 931,104 tokens",
    ),
    row(Preempted, "is preempted by PreemptionMode").since("0.4.3").until("0.10.2").from(
        Wording::Knowledge(LINES),
        "Sequence group 224 is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space.",
        "--preemption-mode is not supported by the V1 Engine. Falling back to V0.",
    ),
    // V0 writes one line for fifty preemptions; its end counts them all.
    row(Preempted, "total_num_cumulative_preemption=").numbered(Numbered::Amount).since("0.4.3").until("0.10.2").from(
        Wording::Incident("huggingface/open-r1#339"),
        "total_num_cumulative_preemption=51",
        "total_num_cumulative_preemption=0",
    ),
    // Speed.
    row(GraphsOff, "Enforce eager set, disabling torch.compile").since("0.17.0").from(
        Wording::Recording("h200/vllm-h200-eager8/server.log"),
        "(APIServer pid=5545) WARNING 11-15 07:16:41 [vllm.py:1163] Enforce eager set, disabling torch.compile and CUDAGraphs. This is equivalent to setting -cc.mode=none -cc.cudagraph_mode=none",
        "(EngineCore pid=5722) INFO 11-15 07:17:02 [monitor.py:81] torch.compile took 9.31 s in total",
    ),
    row(GraphsOff, "Cudagraph is disabled under eager mode").since("0.10.1").from(
        Wording::Recording("h200/vllm-h200-eager8/server.log"),
        "(APIServer pid=5545) INFO 11-15 07:16:41 [vllm.py:1392] Cudagraph is disabled under eager mode",
        "(EngineCore pid=5722) INFO 11-15 07:17:02 [model_runner.py:512] Graph capturing finished in 3 secs, took 0.57 GiB",
    ),
    row(CompileOff, "Inductor compilation was disabled by user settings").since("0.12.0").from(
        Wording::Recording("h200/vllm-h200-eager8/server.log"),
        "(APIServer pid=5545) WARNING 11-15 07:16:41 [vllm.py:1213] Inductor compilation was disabled by user settings, optimizations settings that are only active during inductor compilation will be ignored.",
        "(EngineCore pid=5722) INFO 11-15 07:17:02 [monitor.py:81] torch.compile took 9.31 s in total",
    ),
    row(KernelFallback, "does not have native support for FP8").since("0.5.1").from(
        Wording::Knowledge(LINES),
        "Your GPU does not have native support for FP8 computation but",
        TACTICS,
    ),
    row(KernelFallback, "does not have native support for FP4").since("0.9.0").from(
        Wording::Knowledge(LINES),
        "Your GPU does not have native support for FP4 computation but",
        TACTICS,
    ),
    row(KernelFallback, "quantization is not fully optimized yet").from(
        Wording::Incident("casper-hansen/AutoAWQ#545"),
        "awq quantization is not fully optimized yet. The speed can be slower than non-quantized models",
        TACTICS,
    ),
    row(MoeConfigDefault, "Using default MoE config").since("0.6.3").from(
        Wording::Incident("vllm-project/vllm#44688"),
        "Using default MoE config. Performance might be sub-optimal!",
        TACTICS,
    ),
    row(PartFallback, "requires Triton; using the").since("0.22.0").from(
        Wording::Recording("lab/frozen/server.log"),
        RUNNER,
        "(EngineCore pid=5722) INFO 11-15 07:16:58 [gpu_worker.py:301] Using V2 Model Runner",
    ),
    row(LibraryMissing, "is not found in LD_PRELOAD").since("0.18.0").from(
        Wording::Recording("lab/frozen/server.log"),
        "(Worker pid=30029) WARNING 11-15 06:28:46 [cpu_worker.py:114] libtcmalloc is not found in LD_PRELOAD. For best performance, please follow the section `set LD_PRELOAD` in https://docs.vllm.ai/en/latest/getting_started/installation/cpu/ to setup required pre-loaded libraries.",
        "LD_PRELOAD=/usr/lib/libtcmalloc.so.4",
    ),
    row(Compiling, "JIT compilation during inference").since("0.21.0").from(
        Wording::Knowledge("diagnosis-peers.md, symptom splits"),
        "jit_monitor: Triton kernel JIT compilation during inference",
        MONITOR,
    ),
    row(Compiling, "This causes a latency spike; consider extending warmup").since("0.21.0").from(
        Wording::Incident("syv-ai/qwen38-27b-rtx3090#155"),
        "jit_monitor: This causes a latency spike; consider extending warmup",
        MONITOR,
    ),
    row(PrefixCachingOff, "enable_prefix_caching=False").from(
        Wording::Incident("Blackwellboy/model-serving-minefield#trap-47"),
        "enable_prefix_caching=False",
        "enable_prefix_caching=True",
    ),
    row(CustomAllReduceOff, "Custom allreduce is disabled").from(
        Wording::Knowledge("causes.json tp-communication-bound"),
        "Custom allreduce is disabled ... more than two PCIe-only GPUs",
        PARALLEL,
    ),
    // Settings.
    row(FlagOverridden, "is not supported by the V1 Engine. Falling back to V0").since("0.8.0").until("0.11.0").from(
        Wording::Incident("vllm-project/vllm#18115"),
        "--preemption-mode is not supported by the V1 Engine. Falling back to V0.",
        TACTICS,
    ),
    row(FlagOverridden, "attention block size forced to").from(
        Wording::Incident("radianvector/inferlint#live-0.28"),
        "attention block size forced to 784 tokens (requested 16)",
        BLOCKS,
    ),
    row(VariableUnknown, "Unknown vLLM environment variable detected: ").since("0.17.0").from(
        Wording::Code("vllm-project/vllm:vllm/platforms/interface.py"),
        "(APIServer pid=31967) WARNING 11-16 01:27:43 [interface.py:1457] Unknown vLLM environment variable detected: VLLM_MADE_UP_SETTING",
        "Set the environment variable VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 to allow it",
    ),
    row(ContextReduced, "Auto-fit max_model_len: reduced from").since("0.14.0").from(
        Wording::Knowledge("engines.md 1.8"),
        "Auto-fit max_model_len: reduced from 131072 to 65536",
        "(APIServer pid=5545) INFO 11-15 07:16:41 [model.py:1745] Using max model len 8192",
    ),
    row(DtypeChanged, "Reset SSM cache type to").since("0.26.0").from(
        Wording::Recording("recordings/vllm-cpu-healthy/server.log"),
        "(APIServer pid=1232) WARNING 11-15 02:44:55 [cpu.py:317] Reset SSM cache type to float32 for accelerated GDN mamba backend 'none'.",
        "(EngineCore pid=29839) INFO 11-15 06:28:48 [utils.py:301] Using LBHNC KV cache layout.",
    ),
    row(SamplingOverridden, "sampling parameters have been overridden").since("0.8.2").from(
        Wording::Knowledge(LINES),
        "Default sampling parameters have been overridden by the model's",
        BLOCKS,
    ),
    row(ChatTemplateMissing, "default chat template is no longer allowed").from(
        Wording::Knowledge(LINES),
        "As of transformers v4.44, default chat template is no longer allowed",
        TEMPLATE,
    ),
    row(ChatTemplateFormat, "--chat-template-content-format").with("You specified").from(
        Wording::Knowledge(LINES),
        "You specified --chat-template-content-format openai",
        TEMPLATE,
    ),
    row(GrammarUnset, "guided_decoding=None").from(
        Wording::Incident("vllm-project/vllm#13847"),
        "without guided_decoding_backend: guided_decoding=None in the request log",
        "guided_decoding_backend: xgrammar",
    ),
    row(StatsOff, "disabling stats logging").since("0.10.2").from(
        Wording::Knowledge(LINES),
        "AsyncLLM created with api_server_count more than 1; disabling stats logging to avoid incomplete stats.",
        "(APIServer pid=5545) INFO 11-15 07:16:41 [api_server.py:210] Supported tasks: ['generate']",
    ),
    row(DevelopmentEndpoints, "Development endpoints are enabled!").since("0.9.2").from(
        Wording::Recording("lab/paused/server.log"),
        "(APIServer pid=26546) WARNING 11-15 06:27:01 [__init__.py:44] SECURITY WARNING: Development endpoints are enabled! This should NOT be used in production!",
        "(APIServer pid=28702) INFO 11-15 06:28:56 [factories.py:210] Scale-out endpoints are disabled. Restart vllm serve with --enable-scale-out to enable them.",
    ),
    // Requests.
    row(PromptTooLong, "maximum context length is").from(
        Wording::Recording("recordings/vllm-cpu-toolong/server.log"),
        "(APIServer pid=5249) ERROR 11-15 03:32:03 [api_router.py:75] Error in create_messages: This model's maximum context length is 1024 tokens. However, your prompt contains at least 1025 input tokens, which exceeds this limit even without any output tokens.",
        "(APIServer pid=5545) INFO 11-15 07:16:41 [model.py:1745] Using max model len 8192",
    ),
    row(PromptTooLong, "is longer than the maximum model length of").from(
        Wording::Knowledge(LINES),
        "The decoder prompt (length 1025) is longer than the maximum model length of 1024.",
        "(APIServer pid=5545) INFO 11-15 07:16:41 [model.py:1745] Using max model len 8192",
    ),
    row(ModelNotServed, "The model `").with("` does not exist.").from(
        Wording::Code("vllm-project/vllm:vllm/entrypoints/openai/models/serving.py"),
        "ERROR 11-15 03:32:03 [serving_chat.py:140] Error with model error=ErrorInfo(message='The model `gpt-4` does not exist.', type='NotFoundError', param='model', code=404)",
        "(APIServer pid=5545) INFO 11-15 07:16:41 [model.py:1745] Using max model len 8192",
    ),
    row(RequestAborted, "Aborted request").since("0.6.0").from(
        Wording::Knowledge(LINES),
        "Aborted request chatcmpl-1.",
        "(APIServer pid=9) INFO 11-15 02:47:32 [request_logger.py:65] Received request chatcmpl-1: params: SamplingParams(n=1)",
    ),
    row(QueueFull, "QueueOverflowError:").since("0.29.0").from(
        Wording::Recording("lab/shedding/server.log"),
        REFUSES,
        "(APIServer pid=22793) ERROR 11-15 06:23:21 [serving.py:929]     raise QueueOverflowError()",
    ),
];
