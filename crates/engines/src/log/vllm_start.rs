//! What vLLM says when it refuses to start. Every row was read off the package installed in the lab (0.32), older ones off its tags.

use super::signature::{LogKind, Signature, Wording};
use crate::Engine;
use crate::Meaning::{self, *};

const MODEL: Wording = Wording::Code("vllm-project/vllm:vllm/config/model.py");
const PARALLEL: Wording = Wording::Code("vllm-project/vllm:vllm/config/parallel.py");
const SCHEDULER: Wording = Wording::Code("vllm-project/vllm:vllm/config/scheduler.py");
const CUDA: Wording = Wording::Code("vllm-project/vllm:vllm/platforms/cuda.py");
const CONFIG: Wording = Wording::Code("vllm-project/vllm:vllm/config/vllm.py");
const REGISTRY: Wording = Wording::Code("vllm-project/vllm:vllm/model_executor/models/registry.py");
const LOADER: Wording = Wording::Code("vllm-project/vllm:vllm/model_executor/model_loader/default_loader.py");
const WEIGHTS: Wording = Wording::Code("vllm-project/vllm:vllm/model_executor/model_loader/weight_utils.py");
const BLOCKS: Wording =
    Wording::Code("vllm-project/vllm:vllm/model_executor/layers/quantization/utils/fp8_utils.py");

const LENGTH: &str = "(APIServer pid=5545) INFO 11-15 07:16:41 [model.py:1745] Using max model len 8192";
const RANKS: &str = "(EngineCore pid=5722) INFO 11-15 07:16:58 [parallel_state.py:1500] world_size=2 rank=0 local_rank=0 backend=nccl";
const CASTS: &str =
    "(APIServer pid=5545) WARNING 11-15 07:16:41 [model.py:2000] Casting torch.bfloat16 to torch.float16.";
const RESOLVED: &str =
    "(APIServer pid=5545) INFO 11-15 07:16:41 [model.py:514] Resolved architecture: LlamaForCausalLM";
const BACKEND: &str = "(EngineCore pid=5722) INFO 11-15 07:16:58 [cuda.py:372] Using FLASH_ATTN attention backend out of potential backends: ['FLASH_ATTN', 'TRITON_ATTN']";
const LOADED: &str =
    "(Worker pid=30029) INFO 11-15 06:28:47 [default_loader.py:501] Loading weights took 0.38 seconds";

const fn row(meaning: Meaning, text: &'static str) -> Signature {
    Signature::new(LogKind::Engine(Engine::Vllm), meaning, text)
}

pub(super) const SIGNATURES: &[Signature] = &[
    // ---- Deaths and hangs.
    row(EngineDied, "MQLLMEngine is already dead").since("0.6.0").until("0.10.2").from(
        Wording::Code("vllm-project/vllm:vllm/entrypoints/launcher.py"),
        "CRITICAL 02-25 11:11:34 launcher.py:101] MQLLMEngine is already dead, terminating server process",
        "(EngineCore pid=1401) INFO 11-15 02:46:30 [core.py:1499] [shutdown] EngineCore: exiting busy loop",
    ),
    row(EngineDied, "Engine process (pid ").with(") died.").since("0.6.4").until("0.10.2").from(
        Wording::Code("vllm-project/vllm:vllm/engine/multiprocessing/client.py"),
        "ERROR 12-06 14:09:37 client.py:282] RuntimeError('Engine process (pid 16470) died.')",
        "(EngineCore pid=1401) INFO 11-15 02:46:30 [core.py:1499] [shutdown] EngineCore: exiting busy loop",
    ),
    // A step that takes longer than VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS is called a hang.
    row(WatchdogFired, "TimeoutError: RPC call to ").with(" timed out.").since("0.8.3").from(
        Wording::Code("vllm-project/vllm:vllm/v1/executor/multiproc_executor.py"),
        "(EngineCore pid=9) ERROR 11-15 03:53:10 [core.py:1512] TimeoutError: RPC call to execute_model timed out.",
        "(EngineCore pid=1401) INFO 11-15 02:46:30 [core.py:1499] [shutdown] EngineCore: exiting busy loop",
    ),
    // The card.
    row(NoGpu, "Failed to infer device type").from(
        Wording::Code("vllm-project/vllm:vllm/config/device.py"),
        "RuntimeError: Failed to infer device type, please set the environment variable `VLLM_LOGGING_LEVEL=DEBUG` to turn on verbose logging to help debug the issue.",
        "INFO 11-15 07:16:41 [__init__.py:232] Automatically detected platform cuda.",
    ),
    // CUDA_VISIBLE_DEVICES is empty, or names a card that is not there.
    row(NoGpu, "is out of bounds for 0 devices").until("0.31.0").from(
        Wording::Recording("starts/no-card/server.log"),
        "(EngineCore pid=3469) ERROR 11-18 11:36:36 [core.py:1330] AssertionError: DP adjusted local rank 0 is out of bounds for 0 devices.",
        "AssertionError: DP adjusted local rank 3 is out of bounds for 2 devices.",
    ),
    row(NoGpu, "NVMLError_InvalidArgument: Invalid Argument").from(
        Wording::Recording("starts/wrong-card/server.log"),
        "(APIServer pid=3154) vllm.third_party.pynvml.NVMLError_InvalidArgument: Invalid Argument",
        "vllm.third_party.pynvml.NVMLError_NotSupported: Not Supported",
    ),
    row(DtypeUnsupported, "Bfloat16 is only supported on GPUs with compute capability").from(
        CUDA,
        "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your Tesla T4 GPU has compute capability 7.5.",
        CASTS,
    ),
    row(QuantizationUnsupported, "is not supported for the current GPU. Minimum").from(
        CONFIG,
        "ValueError: The quantization method fp8 is not supported for the current GPU. Minimum capability: 80. Current capability: 75.",
        "Your GPU does not have native support for FP8 computation but",
    ),
    row(QuantizationUnsupported, "Quantization scheme is not supported for").from(
        Wording::Code("vllm-project/vllm:vllm/model_executor/layers/quantization/compressed_tensors/compressed_tensors.py"),
        "RuntimeError: Quantization scheme is not supported for the current GPU. Min capability: 80. Current capability: 70.",
        "INFO 11-15 02:27:54 [compressed_tensors_wNa16.py:95] Using MarlinLinearKernel for CompressedTensorsWNA16",
    ),
    row(QuantizationUnsupported, "quantization is currently not supported in").from(
        Wording::Code("vllm-project/vllm:vllm/platforms/interface.py"),
        "ValueError: awq_marlin quantization is currently not supported in rocm.",
        "Your GPU does not have native support for FP8 computation but",
    ),
    row(AttentionUnsupported, "No valid attention backend found for").from(
        CUDA,
        "ValueError: No valid attention backend found for cuda with AttentionSelectorConfig(head_size=512, dtype=torch.bfloat16). Reasons: {FLASH_ATTN: [head_size not supported]}.",
        BACKEND,
    ),
    row(AttentionUnsupported, "is not valid for this configuration. Reason:").with("Selected backend").from(
        CUDA,
        "ValueError: Selected backend AttentionBackendEnum.FLASHINFER is not valid for this configuration. Reason: ['compute capability not supported']",
        BACKEND,
    ),
    row(AttentionUnsupported, "No valid MLA prefill backend found").from(
        Wording::Code("vllm-project/vllm:vllm/platforms/interface.py"),
        "ValueError: No valid MLA prefill backend found with MLAPrefillSelectorConfig(dtype=torch.bfloat16). Reasons: {}.",
        BACKEND,
    ),
    row(AttentionUnsupported, "FlashAttention only supports Ampere GPUs or newer").from(
        Wording::Code("Dao-AILab/flash-attention:csrc/flash_attn/flash_api.cpp"),
        "RuntimeError: FlashAttention only supports Ampere GPUs or newer.",
        BACKEND,
    ),
    row(AttentionUnsupported, "is not supported by ").with("Supported head sizes are").until("0.12.0").from(
        Wording::Incident("vllm-project/vllm#22193"),
        "ValueError: Head size 40 is not supported by MLACommon. Supported head sizes are: [576].",
        BACKEND,
    ),
    // The model.
    row(ModelUnknown, "are not supported for now.").with("Model architectures").from(
        REGISTRY,
        "ValueError: Model architectures ['Qwen9ForCausalLM'] are not supported for now. Supported architectures: dict_keys(['AquilaModel'])",
        RESOLVED,
    ),
    row(ModelUnknown, "is not supported in-tree anymore").from(
        REGISTRY,
        "ValueError: Model architecture MotifForCausalLM is not supported in-tree anymore. Please install the plugin",
        RESOLVED,
    ),
    row(ModelUnknown, "is not supported by ROCm for now").from(
        Wording::Code("vllm-project/vllm:vllm/platforms/rocm.py"),
        "ValueError: Model architecture 'Phi3SmallForCausalLM' is not supported by ROCm for now.",
        RESOLVED,
    ),
    row(RemoteCode, "Failed to load the model config. If the model is a custom model").from(
        Wording::Code("vllm-project/vllm:vllm/transformers_utils/config.py"),
        "RuntimeError: Failed to load the model config. If the model is a custom model not yet available in the HuggingFace transformers library, consider setting `trust_remote_code=True` in LLM or using the `--trust-remote-code` flag in the CLI.",
        RESOLVED,
    ),
    row(ModelFiles, "Cannot find any model weights with").from(
        LOADER,
        "RuntimeError: Cannot find any model weights with `/models/m`",
        LOADED,
    ),
    row(ModelFiles, "Weight files referenced in index but missing").from(
        WEIGHTS,
        "FileNotFoundError: Weight files referenced in index but missing: ['model-00002-of-00004.safetensors']",
        LOADED,
    ),
    row(ModelFiles, "Following weights were not initialized from checkpoint").from(
        LOADER,
        "ValueError: Following weights were not initialized from checkpoint: {'model.layers.0.mlp.gate_up_proj.weight'}",
        LOADED,
    ),
    row(ModelFiles, "Cannot find the config file for").from(
        WEIGHTS,
        "ValueError: Cannot find the config file for awq",
        LOADED,
    ),
    row(ModelFiles, "Invalid repository ID or local directory specified").from(
        Wording::Code("vllm-project/vllm:vllm/transformers_utils/config.py"),
        "  Value error, Invalid repository ID or local directory specified: '/models/m'.",
        RESOLVED,
    ),
    // A frame of a traceback: a pointer of Git LFS reads as a header of exabytes, and ends in a MemoryError.
    row(ModelFiles, "in parse_safetensors_file_metadata").from(
        Wording::Code("vllm-project/vllm:vllm/transformers_utils/utils.py"),
        "  File \"/opt/vllm/transformers_utils/utils.py\", line 113, in parse_safetensors_file_metadata",
        LOADED,
    ),
    row(LoraRank, "is greater than max_lora_rank").from(
        Wording::Code("vllm-project/vllm:vllm/lora/peft_helper.py"),
        "ValueError: LoRA rank 64 is greater than max_lora_rank 16.",
        "INFO 11-15 07:16:41 [lora.py:10] max_lora_rank=16",
    ),
    // The command line.
    row(ContextBeyondModel, "is greater than the derived max_model_len").from(
        MODEL,
        "  Value error, User-specified max_model_len (131072) is greater than the derived max_model_len (max_position_embeddings=8192 or model_max_length=None in model's config.json).",
        LENGTH,
    ),
    row(ParallelismUnfit, "must be divisible by tensor parallel size").from(
        MODEL,
        "  Value error, Total number of attention heads (9) must be divisible by tensor parallel size (2).",
        RANKS,
    ),
    row(AttentionUnsupported, "Sinks are only supported in FlashAttention").from(
        Wording::Code("vllm-project/vllm:vllm/v1/attention/backends/flash_attn.py"),
        "AssertionError: Sinks are only supported in FlashAttention 3",
        "(EngineCore pid=9) INFO 08-06 22:10:34 [cuda.py:323] Using Flash Attention backend on V1 engine.",
    ),
    row(ParallelismUnfit, "size_k must divisible by BLOCK_SIZE_K").from(
        Wording::Incident("vllm-project/vllm#17604"),
        "RuntimeError: size_k must divisible by BLOCK_SIZE_K",
        RANKS,
    ),
    row(ParallelismUnfit, " is not divisible by ").with("AssertionError: ").from(
        Wording::Code("vllm-project/vllm:vllm/distributed/utils.py"),
        "AssertionError: 151851 is not divisible by 2",
        RANKS,
    ),
    row(ParallelismUnfit, "is larger than the number of available GPUs (").with("World size").from(
        PARALLEL,
        "  Value error, World size (8) is larger than the number of available GPUs (4) in this node.",
        RANKS,
    ),
    row(ParallelismUnfit, "is not divisible by weight quantization block").from(
        BLOCKS,
        "ValueError: Weight output_partition_size = 1368 is not divisible by weight quantization block_n = 128.",
        RANKS,
    ),
    row(ParallelismUnfit, "is not divisible by min_thread").from(
        Wording::Code("vllm-project/vllm:vllm/model_executor/layers/quantization/utils/marlin_utils.py"),
        "ValueError: Weight output_size_per_partition = 4304 is not divisible by min_thread_n = 64. Consider reducing tensor_parallel_size or running with --quantization gptq.",
        RANKS,
    ),
    row(BadArgument, "Quantization method specified in the model config (").from(
        MODEL,
        "  Value error, Quantization method specified in the model config (fp8) does not match the quantization method specified in the `quantization` argument (awq).",
        RESOLVED,
    ),
    row(BadArgument, "Unknown quantization method: ").from(
        MODEL,
        "ValueError: Unknown quantization method: fp9. Must be one of ['awq', 'fp8'].",
        RESOLVED,
    ),
    row(BadArgument, "is not supported for quantization method").from(
        CONFIG,
        "ValueError: torch.bfloat16 is not supported for quantization method gptq. Supported dtypes: [torch.float16]",
        CASTS,
    ),
    row(BadArgument, "is smaller than max_model_len (").with("max_num_batched_tokens").from(
        SCHEDULER,
        "  Value error, max_num_batched_tokens (2048) is smaller than max_model_len (8192). This effectively limits the maximum sequence length to max_num_batched_tokens",
        LENGTH,
    ),
    row(BadArgument, "must be greater than or equal to max_num_seqs (").from(
        SCHEDULER,
        "  Value error, max_num_batched_tokens (128) must be greater than or equal to max_num_seqs (256).",
        LENGTH,
    ),
    row(BadArgument, "appears path-like, but doesn't exist!").from(
        Wording::Code("vllm-project/vllm:vllm/renderers/chat_utils.py"),
        "ValueError: The supplied chat template string (./no.jinja) appears path-like, but doesn't exist!",
        "Detected the chat template content format to be 'string'. You can set `--chat-template-content-format` to override this.",
    ),
    row(BadArgument, "looks like a file path, but it failed to be opened").until("0.8.0").from(
        Wording::Incident("vllm-project/vllm#7780"),
        "ValueError: The supplied chat template (./no.jinja) looks like a file path, but it failed to be opened. Reason: [Errno 2] No such file or directory",
        RESOLVED,
    ),
    // pydantic's heading; what is wrong stands below it, and has rows of its own where it is common.
    row(ConfigurationRefused, "validation error for ").with("Config").from(
        Wording::Code("pydantic/pydantic-core:src/errors/validation_exception.rs"),
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig",
        "ERROR 1 validation error for ChatCompletionRequest",
    ),
];
