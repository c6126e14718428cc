//! SGLang: rows for failed starts, deaths and hangs. Read at sgl-project/sglang cce0a1244b5 (2026-08-23, after v0.5.18);
//! ranges were read off its tags up to v0.5.18. Left out because vllm_start.rs, launch.rs or hub.rs find the same words:
//! "are not supported for now.", "Cannot find any model weights with", "Cannot find the config file for",
//! "is not supported for the current GPU. Minimum", "Unknown quantization method: ", "is not divisible by weight
//! quantization block", "Quantization method specified in the model config (", "ddress already in use".

use super::signature::{LogKind, Signature, Wording};
use crate::Engine;
use crate::Meaning::{self, *};

const ENGINE: Wording = Wording::Code("sgl-project/sglang:python/sglang/srt/entrypoints/engine.py");
const HTTP: Wording = Wording::Code("sgl-project/sglang:python/sglang/srt/entrypoints/http_server.py");
const TOKENIZER: Wording =
    Wording::Code("sgl-project/sglang:python/sglang/srt/managers/tokenizer_manager.py");
const WATCHDOG: Wording = Wording::Code("sgl-project/sglang:python/sglang/srt/utils/watchdog.py");
const ALLOCATION: Wording = Wording::Code("sgl-project/sglang:python/sglang/srt/mem_cache/allocation.py");
const ARGUMENTS: Wording = Wording::Code("sgl-project/sglang:python/sglang/srt/server_args.py");
const MODEL_CONFIG: Wording = Wording::Code("sgl-project/sglang:python/sglang/srt/configs/model_config.py");
const MODEL_CLASS: Wording = Wording::Code("sgl-project/sglang:python/sglang/srt/model_loader/utils.py");
const ATTENTION: Wording =
    Wording::Code("sgl-project/sglang:python/sglang/srt/layers/attention/attention_registry.py");
const COMMON: Wording = Wording::Code("sgl-project/sglang:python/sglang/srt/utils/common.py");
const PREFILL: Wording = Wording::Code("sgl-project/sglang:python/sglang/srt/disaggregation/prefill.py");
const DECODE: Wording = Wording::Code("sgl-project/sglang:python/sglang/srt/disaggregation/decode.py");
const TRANSFER: Wording = Wording::Code("sgl-project/sglang:python/sglang/srt/disaggregation/common/conn.py");

const FIRED_UP: &str = "[2025-06-01 10:01:10] The server is fired up and ready to roll!";
const ARGS: &str =
    "[2025-06-01 10:00:00] server_args=ServerArgs(model_path='m', tp_size=1, watchdog_timeout=300)";
const WEIGHTS: &str = "[2025-08-04 10:10:08] Load weight end. type=XLMRobertaModel, dtype=torch.float16, avail mem=77.66 GB, mem usage=1.18 GB.";
const GRAPHS: &str = "[2025-06-01 10:00:40 TP0] Capture cuda graph begin. This can take up to several minutes. avail mem=9.62 GB";
const POOL: &str = "[2025-08-04 10:10:08] Memory pool end. avail mem=74.76 GB";
const BATCH: &str = "[2025-06-01 10:05:00 TP0] Prefill batch, #new-seq: 1, #new-token: 512, #cached-token: 0, token usage: 0.01, #running-req: 2, #queue-req: 0";

const fn row(meaning: Meaning, text: &'static str) -> Signature {
    Signature::new(LogKind::Engine(Engine::Sglang), meaning, text)
}

pub(super) const SIGNATURES: &[Signature] = &[
    // ---- Deaths.
    // Before 0.4.4 it was spelled "proces". Written by the parent, whichever child died: the cause stands above it.
    row(EngineDied, "Received sigquit from a child proces").from(
        ENGINE,
        "[2025-08-08 09:09:09] Received sigquit from a child process. It usually means the child failed.",
        FIRED_UP,
    ),
    row(EngineDied, "SIGQUIT received. signum=").from(
        TOKENIZER,
        "[2026-01-10 12:00:05] SIGQUIT received. signum=3, frame=<frame at 0x7f>. It usually means one child failed.",
        FIRED_UP,
    ),
    row(EngineDied, "okenizerManager hit an exception: ").from(
        TOKENIZER,
        "[2026-01-10 12:00:05] TokenizerManager hit an exception: Traceback (most recent call last):",
        FIRED_UP,
    ),
    row(EngineDied, "DataParallelController hit an exception: ").from(
        Wording::Code("sgl-project/sglang:python/sglang/srt/managers/data_parallel_controller.py"),
        "[2026-01-10 12:00:05] DataParallelController hit an exception: Traceback (most recent call last):",
        FIRED_UP,
    ),
    // The other nodes wait for their children and write it at every end, an orderly one, too.
    row(EngineDied, "Scheduler or DataParallelController ").with("terminated with ").without("terminated with 0").from(
        ENGINE,
        "[2026-01-10 12:00:05] Scheduler or DataParallelController 4711 terminated with -9",
        "[2026-01-10 12:00:05] Scheduler or DataParallelController 4711 terminated with 0",
    ),
    row(EngineDied, "Triggering SIGQUIT for cleanup...").since("0.5.10").from(
        WATCHDOG,
        "[2026-04-01 12:00:05] Subprocess scheduler_0 (pid=4711) crashed with exit code -6. Triggering SIGQUIT for cleanup...",
        FIRED_UP,
    ),
    row(HostKilled, "Triggering SIGQUIT for cleanup...").with(" crashed with exit code -9.").since("0.5.10").from(
        WATCHDOG,
        "[2026-04-01 12:00:05] Subprocess scheduler_0 (pid=4711) crashed with exit code -9. Triggering SIGQUIT for cleanup...",
        "[2026-04-01 12:00:05] Subprocess scheduler_0 (pid=4711) crashed with exit code -6. Triggering SIGQUIT for cleanup...",
    ),
    row(CrashDump, "Dumping requests before crash. ").from(
        TOKENIZER,
        "[2026-01-10 12:00:06] Dumping requests before crash. self.crash_dump_folder='/tmp/crash'",
        FIRED_UP,
    ),

    // ---- Hangs. "Watchdog timeout (self.watchdog_timeout=300)" up to 0.5.6, with the name before it since 0.5.7. A soft
    // one only writes stacks; it hangs all the same, but for a detokenizer, which is silent where nobody asks anything.
    row(WatchdogFired, "(self.watchdog_timeout=").without("DetokenizerManager").since("0.3.5").from(
        WATCHDOG,
        "[2026-02-01 12:05:00 TP0] Scheduler watchdog timeout (self.watchdog_timeout=300, self.soft=False)",
        "[2026-02-01 12:05:00] DetokenizerManager watchdog timeout (self.watchdog_timeout=300, self.soft=True)",
    ),
    row(WorkerSilent, "Weights are not ready after waiting ").from(
        HTTP,
        "[2026-02-01 12:05:00] Weights are not ready after waiting 120 seconds. Consider increasing SGLANG_WAIT_WEIGHTS_READY_TIMEOUT environment variable. Current status: initial_weights_loaded=False",
        "[2026-02-01 12:05:00] Weights are ready after 12.31 seconds",
    ),

    // ---- Starts that ended.
    row(StartFailed, "scheduler died during initialization (exit code: ").since("0.5.10").from(
        ENGINE,
        "RuntimeError: Rank 0 scheduler died during initialization (exit code: 1). If exit code is -9 (SIGKILL), a common cause is the OS OOM killer. Run `dmesg -T | grep -i oom` to check.",
        FIRED_UP,
    ),
    row(HostKilled, "scheduler died during initialization (exit code: -9)").since("0.5.10").from(
        ENGINE,
        "RuntimeError: Rank 0 scheduler died during initialization (exit code: -9). If exit code is -9 (SIGKILL), a common cause is the OS OOM killer. Run `dmesg -T | grep -i oom` to check.",
        "RuntimeError: Rank 0 scheduler died during initialization (exit code: 1). If exit code is -9 (SIGKILL), a common cause is the OS OOM killer. Run `dmesg -T | grep -i oom` to check.",
    ),
    row(StartFailed, "Initialization failed. Please see the error messages above.").from(
        ENGINE,
        "RuntimeError: Initialization failed. Please see the error messages above.",
        FIRED_UP,
    ),
    // The server asked itself for a few tokens and got none.
    row(StartFailed, "Initialization failed. warmup error: ").from(
        HTTP,
        "[2026-09-14 23:19:59] Initialization failed. warmup error: Traceback (most recent call last):",
        FIRED_UP,
    ),
    // Mostly for lack of memory; then torch's row finds that, too.
    row(StartFailed, "Capture cuda graph failed: ").from(
        Wording::Code("sgl-project/sglang:python/sglang/srt/model_executor/runner/decode_cuda_graph_runner.py"),
        "Exception: Capture cuda graph failed: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 5 has a total capacity of 139.80 GiB of which 488.19 MiB is free.",
        GRAPHS,
    ),

    // ---- Memory. An exception in the scheduler, so it takes the server with it.
    row(KvExhausted, "of memory. Try to lower your batch size.").from(
        ALLOCATION,
        "RuntimeError: Prefill out of memory. Try to lower your batch size.",
        POOL,
    ),
    row(KvExhausted, "alloc_req_slots runs out of memory. ").from(
        ALLOCATION,
        "RuntimeError: alloc_req_slots runs out of memory. Please set a smaller number for `--max-running-requests`.",
        POOL,
    ),

    // ---- What model and GPU do not allow.
    row(ContextBeyondModel, "set the env var SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1").from(
        MODEL_CONFIG,
        "ValueError: Warning: User-specified context_length (131072) is greater than the derived context_length (32768). This may lead to incorrect model outputs or CUDA errors. Note that the derived context_length may differ from max_position_embeddings in the model's config. To allow overriding this maximum, set the env var SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1",
        "Warning: User-specified context_length (131072) is greater than the derived context_length (32768). This may lead to incorrect model outputs or CUDA errors.",
    ),
    row(ContextBeyondTraining, "is greater than the derived context_length (").without("To allow overriding this maximum").from(
        MODEL_CONFIG,
        "[2026-01-10 12:00:05] Warning: User-specified context_length (131072) is greater than the derived context_length (32768). This may lead to incorrect model outputs or CUDA errors.",
        ARGS,
    ),
    // With a capital L ("has no SGLang implementation, falling back") the server goes on.
    row(ModelUnknown, "has no SGlang implementation and the Transformers ").from(
        MODEL_CLASS,
        "ValueError: MiniCPMSALAForCausalLM has no SGlang implementation and the Transformers implementation is not compatible with SGLang.",
        "[2026-02-27 03:34:50] Foo3ForCausalLM has no SGLang implementation, falling back to Transformers implementation. Some features may not be supported and performance may not be optimal.",
    ),
    row(ModelUnknown, "Cannot find model module. '").from(
        MODEL_CLASS,
        "ValueError: Cannot find model module. 'Foo4ForCausalLM' is not a registered model in the Transformers library (only relevant if the model is meant to be in Transformers) and 'AutoModel' is not present in the model config's 'auto_map' (relevant if the model is custom).",
        WEIGHTS,
    ),
    row(QuantizationUnsupported, "Invalid quantization method: ").from(
        Wording::Code("sgl-project/sglang:python/sglang/srt/layers/quantization/__init__.py"),
        "ValueError: Invalid quantization method: hqq. Available methods: ['fp8', 'awq', 'gptq']",
        WEIGHTS,
    ),
    row(AttentionUnsupported, "failed to dispatch head_dim ").from(
        Wording::Incident("sgl-project/sglang#1751"),
        "Exception: Capture cuda graph failed: failed to dispatch head_dim 96",
        ARGS,
    ),
    row(AttentionUnsupported, "FlashAttention v3 Backend requires ").from(
        ATTENTION,
        "AssertionError: FlashAttention v3 Backend requires SM>=80 and SM<=90. Please use `--attention-backend flashinfer`.",
        "[2026-01-10 12:00:05] Attention backend not specified. Use fa3 backend by default.",
    ),
    row(AttentionUnsupported, " backend can only be used with ").with("MLA models.").from(
        ATTENTION,
        "ValueError: trtllm_mla backend can only be used with MLA models.",
        "[2026-01-10 12:00:05] Attention backend not specified. Use trtllm_mla backend by default.",
    ),
    row(AttentionUnsupported, "TRTLLM MHA backend for ").from(
        ARGUMENTS,
        "ValueError: TRTLLM MHA backend for decode is only supported on Hopper (SM90), Blackwell (SM100) and (SM120) GPUs. Please use a different decode backend.",
        "[2026-01-10 12:00:05] Attention backend not specified. Use trtllm_mha backend by default.",
    ),
    row(NoGpu, "No accelerator (CUDA, ").since("0.4.4").from(
        COMMON,
        "RuntimeError: No accelerator (CUDA, XPU, HPU, NPU, MUSA, MPS) or platform plugin is available.",
        ARGS,
    ),
    row(ParallelismUnfit, "tp_size must be divisible by number of nodes").from(
        ARGUMENTS,
        "AssertionError: tp_size must be divisible by number of nodes",
        ARGS,
    ),
    row(LoraRank, "LoRA memory pool configuration. Please ensure that the LoRA adapter's rank").from(
        Wording::Code("sgl-project/sglang:python/sglang/srt/lora/lora_manager.py"),
        "ValueError: LoRA adapter sql with rank 64 is incompatible with the current LoRA memory pool configuration. Please ensure that the LoRA adapter's rank is within the configured `--max-lora-rank` and that the target modules are included in `--lora-target-modules`.",
        "[2026-01-10 12:00:05] Using triton as backend of LoRA kernels.",
    ),

    // ---- The environment and the command line.
    // Wheels hold kernels for some generations of GPUs only, and need the CUDA they were built with: the lines below it
    // name the GPU and the library that was not found.
    row(EnvironmentBroken, "[sgl_kernel] CRITICAL: Could not load any common_ops library!").since("0.5.3").from(
        Wording::Code("sgl-project/sglang:python/sglang/kernels/aot/python/sgl_kernel/load_utils.py"),
        "[sgl_kernel] CRITICAL: Could not load any common_ops library!",
        ARGS,
    ),
    row(EnvironmentBroken, "is less than the minimum required version ").with("is installed with version ").from(
        COMMON,
        "Exception: flashinfer_python is installed with version 0.6.15.post1, which is less than the minimum required version 0.6.17. Please uninstall the old version and reinstall the latest version by following the instructions at https://docs.flashinfer.ai/installation.html.",
        ARGS,
    ),
    row(EnvironmentBroken, " with minimum required version ").with(" is not installed. ").from(
        COMMON,
        "Exception: sglang-kernel with minimum required version 0.4.6.post1 is not installed. Please reinstall the latest version with `pip install sglang-kernel --force-reinstall`",
        ARGS,
    ),
    // A port between its processes, not the one for clients: uvicorn says that one.
    row(PortInUse, " is not available in ").with(" seconds. ").since("0.4.9").from(
        Wording::Code("sgl-project/sglang:python/sglang/srt/utils/network.py"),
        "ValueError: dist_init_port at 5000 is not available in 30 seconds. dist_init_port is used by a process already. process.name()='python3' process.cmdline()=['python3'] process.status()='sleeping' pid=4711",
        "port 5000 is in use. Waiting for 15 seconds for dist_init_port to be available. dist_init_port is used by a process already.",
    ),
    row(BadArgument, "served_model_name cannot contain a colon").from(
        ARGUMENTS,
        "AssertionError: served_model_name cannot contain a colon (':') character. The colon is reserved for the 'model:adapter' syntax used in LoRA adapter specification. Invalid value: 'qwen3:8b'",
        ARGS,
    ),
    row(BadArgument, "chunked_prefill_size must be divisible by page_size").from(
        ARGUMENTS,
        "AssertionError: chunked_prefill_size must be divisible by page_size",
        "max_total_num_tokens=931104, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=2048, context_len=8192",
    ),

    // ---- Requests.
    row(PromptTooLong, "Requested token count exceeds the model's maximum context length").from(
        TOKENIZER,
        "ValueError: Requested token count exceeds the model's maximum context length of 8192 tokens. You requested a total of 9100 tokens: 8100 tokens from the input messages and 1000 tokens for the completion.",
        BATCH,
    ),
    row(TemplateError, "This model has no HF chat template and no custom chat encoder").from(
        Wording::Code("sgl-project/sglang:python/sglang/srt/entrypoints/openai/chat_encoding.py"),
        "ValueError: This model has no HF chat template and no custom chat encoder; cannot encode chat messages with 'm'.",
        ARGS,
    ),

    // ---- Prefill and decode apart.
    row(KvTransferFailed, "Prefill transfer failed for request rank=").from(
        PREFILL,
        "[2026-02-26 16:00:13 TP10] Prefill transfer failed for request rank=10 req.rid='05d7da4356e3481b93e3312fa7397608' req.bootstrap_room=887504041590801090 with exception KVTransferError(bootstrap_room=887504041590801090): Decode instance could be dead",
        BATCH,
    ),
    row(KvTransferFailed, "Decode transfer failed for request rank=").from(
        DECODE,
        "[2026-02-26 16:00:13 TP0] Decode transfer failed for request rank=0 decode_req.req.rid='05d7' decode_req.req.bootstrap_room=88750 with exception KVTransferError",
        BATCH,
    ),
    row(KvTransferFailed, "Decode handshake failed for request rank=").from(
        DECODE,
        "[2026-02-26 16:00:13 TP0] Decode handshake failed for request rank=0 decode_req.req.rid='05d7' decode_req.req.bootstrap_room=88750 with exception KVTransferError",
        BATCH,
    ),
    // "Losing connection with prefill instance" from 0.4.7 to 0.5.13.
    row(KvTransferFailed, " connection with prefill instance (bootstrap_addr: ").since("0.4.7").from(
        TRANSFER,
        "[2026-02-26 16:00:13 TP0] Lost connection with prefill instance (bootstrap_addr: 10.0.0.1:8998), 3 requests affected",
        BATCH,
    ),
    row(KvTransferFailed, "failed to register to bootstrap server after ").from(
        TRANSFER,
        "[2026-02-26 16:00:13 TP0] Prefill instance failed to register to bootstrap server after 5 retries",
        "Prefill register attempt 1/5 failed: status 503",
    ),

    // ---- Not failures.
    // The words of vLLM's row plus "kernel".
    row(MoeConfigDefault, "Using default MoE kernel config. ").from(
        Wording::Code("sgl-project/sglang:python/sglang/srt/layers/moe/moe_runner/triton_utils/fused_moe_triton_config.py"),
        "[2026-01-10 12:00:05 TP0] Using default MoE kernel config. Performance might be sub-optimal! Config file not found at /x/E=128,N=768.json, you can create them with https://github.com/sgl-project/sglang/tree/main/benchmark/kernels/fused_moe_triton",
        WEIGHTS,
    ),
    row(Harmless, "Ignore import error when loading sglang.srt.models.")
        .because("one file per model is imported at every start; only the models in that file are missing, and another model is served")
        .from(
            Wording::Code("sgl-project/sglang:python/sglang/srt/models/registry.py"),
            "[2026-01-10 12:00:05] Ignore import error when loading sglang.srt.models.midashenglm: No module named 'torchaudio'",
            "[2026-01-10 12:00:05] Ignore abort_request with empty rid and abort_all=False",
        ),
];
