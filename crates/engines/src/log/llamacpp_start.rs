//! llama.cpp's server and Ollama: rows for failed starts, deaths and hangs. llama.cpp read at b21e4de745 (2026-08-22, after
//! b10586), Ollama at fb3076099 (2026-08-21); Ollama's ranges were read off its tags up to v0.32.15. Since 0.30.0 Ollama runs
//! llama.cpp's own server, so its log holds every line of llama.cpp below; before, it held those of libllama and ggml.
//! Left out because cuda.rs or launch.rs find the same words: "CUDA driver version is insufficient", "no CUDA-capable
//! device is detected", "ddress already in use" (Ollama's port), "Illegal instruction", "Segmentation fault".

use super::signature::{LogKind, Signature, Wording};
use crate::Engine;
use crate::Meaning::{self, *};

const ARGUMENTS: Wording = Wording::Code("ggml-org/llama.cpp:common/arg.cpp");
const COMMON: Wording = Wording::Code("ggml-org/llama.cpp:common/common.cpp");
const DOWNLOAD: Wording = Wording::Code("ggml-org/llama.cpp:common/download.cpp");
const SERVER: Wording = Wording::Code("ggml-org/llama.cpp:tools/server/server.cpp");
const CONTEXT: Wording = Wording::Code("ggml-org/llama.cpp:tools/server/server-context.cpp");
const MODEL: Wording = Wording::Code("ggml-org/llama.cpp:src/llama-model.cpp");
const LOADER: Wording = Wording::Code("ggml-org/llama.cpp:src/llama-model-loader.cpp");
const LLAMA_CONTEXT: Wording = Wording::Code("ggml-org/llama.cpp:src/llama-context.cpp");
const GGUF: Wording = Wording::Code("ggml-org/llama.cpp:ggml/src/gguf.cpp");
const CUDA: Wording = Wording::Code("ggml-org/llama.cpp:ggml/src/ggml-cuda/ggml-cuda.cu");

const LOADED: &str = "0.01.531.102 I srv  llama_server: model loaded";
const LOADS: &str = "0.00.031.563 I srv    load_model: loading model 'SmolLM2-135M-Instruct.Q4_1.gguf'";
const META: &str = "llama_model_loader: loaded meta data with 34 key-value pairs and 389 tensors from /models/x.gguf (version GGUF V3 (latest))";
const BUFFER: &str = "llama_context:      CUDA0 compute buffer size =   258.50 MiB";
const DEVICES: &str = "ggml_cuda_init: found 1 CUDA devices:";
const SYSTEM: &str = "system_info: n_threads = 16 (n_threads_batch = 16) / 32 | CUDA : ARCHS = 500,600,610,700,750,800,860,890,900 | USE_GRAPHS = 1";

const fn row(meaning: Meaning, text: &'static str) -> Signature {
    Signature::new(LogKind::Engine(Engine::LlamaCpp), meaning, text)
}

pub(super) const SIGNATURES: &[Signature] = &[
    // ---- The command line. All of these are written to stderr without llama.cpp's prefix.
    row(BadArgument, "error: invalid argument: ").from(
        ARGUMENTS,
        "error: invalid argument: --flash-attention",
        SYSTEM,
    ),
    row(BadArgument, "error while handling argument \"").from(
        ARGUMENTS,
        "error while handling argument \"--flash-attn\": error: unknown value for --flash-attn: '-c'",
        SYSTEM,
    ),
    row(BadArgument, "error while handling environment variable \"").from(
        ARGUMENTS,
        "error while handling environment variable \"LLAMA_ARG_CTX_SIZE\": stoi",
        SYSTEM,
    ),
    row(BadArgument, "invalid value for main_gpu: ").from(
        Wording::Code("ggml-org/llama.cpp:src/llama.cpp"),
        "llama_prepare_model_devices: invalid value for main_gpu: 1 (available devices: 1)",
        META,
    ),
    row(BadArgument, "CLIP cannot be used as main model, use it with --mmproj instead").from(
        Wording::Code("ggml-org/llama.cpp:src/llama.cpp"),
        "llama_model_load: error loading model: CLIP cannot be used as main model, use it with --mmproj instead",
        META,
    ),
    row(BadArgument, "(hint: maybe wrong base model?)").from(
        Wording::Code("ggml-org/llama.cpp:src/llama-adapter.cpp"),
        "llama_adapter_lora_init: failed to apply lora adapter: LoRA tensor 'blk.32.attn_q.weight' does not exist in base model (hint: maybe wrong base model?)",
        META,
    ),
    // "V cache quantization requires flash_attn" up to about b10200, then "quantized V cache requires flash_attn to be
    // enabled".
    row(BadArgument, "V cache quantization requires flash_attn").from(
        LLAMA_CONTEXT,
        "llama_init_from_model: V cache quantization requires flash_attn",
        "llama_context: flash_attn    = auto",
    ),
    row(BadArgument, "quantized V cache requires flash_attn to be enabled").from(
        LLAMA_CONTEXT,
        "llama_init_from_model: quantized V cache requires flash_attn to be enabled",
        "llama_context: flash_attn    = auto",
    ),
    row(AttentionUnsupported, "quantized V cache was requested, but this requires Flash Attention").from(
        LLAMA_CONTEXT,
        "llama_init_from_model: failed to initialize the context: quantized V cache was requested, but this requires Flash Attention",
        "llama_context: flash_attn    = auto",
    ),

    // ---- Starts that ended.
    row(StartFailed, "exiting due to model loading error").from(
        SERVER,
        "0.00.431.102 E srv  llama_server: exiting due to model loading error",
        LOADED,
    ),
    row(StartFailed, "exiting due to HTTP server error").from(
        SERVER,
        "0.00.031.102 E srv  llama_server: exiting due to HTTP server error",
        LOADED,
    ),
    row(StartFailed, "failed to load model, '").from(
        CONTEXT,
        "srv    load_model: failed to load model, '/models/x.gguf'",
        LOADS,
    ),
    row(StartFailed, "failed to create context with model '").from(
        COMMON,
        "0.01.289.818 E cmn  common_init_: failed to create context with model '/models/x.gguf'",
        LOADS,
    ),
    row(StartFailed, "failed to load multimodal model, '").from(
        CONTEXT,
        "0.01.289.818 E srv    load_model: failed to load multimodal model, '/models/mmproj.gguf'",
        LOADS,
    ),
    row(StartFailed, "failed to load draft model, '").from(
        CONTEXT,
        "0.01.289.818 E srv    load_model: failed to load draft model, '/models/draft.gguf'",
        LOADS,
    ),
    row(PortInUse, "couldn't bind HTTP server socket, hostname: ").from(
        Wording::Code("ggml-org/llama.cpp:tools/server/server-http.cpp"),
        "0.00.031.102 E srv         start: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 8080",
        "0.00.031.102 I srv         start: binding port with default address family",
    ),
    // An older wording, which llamafile has, too.
    row(PortInUse, "couldn't bind to server socket").from(
        Wording::Incident("mozilla-ai/llamafile#81"),
        "couldn't bind to server socket: hostname=127.0.0.1 port=8080",
        "llama server listening at http://127.0.0.1:8080",
    ),
    row(EnvironmentBroken, "no backends are loaded. hint: use ggml_backend_load()").from(
        Wording::Code("ggml-org/llama.cpp:src/llama.cpp"),
        "llama_model_load_from_file_impl: no backends are loaded. hint: use ggml_backend_load() or ggml_backend_load_all() to load a backend before calling this function",
        "load_backend: loaded CUDA backend from /app/libggml-cuda.so",
    ),

    // ---- The model.
    row(ModelUnknown, "unknown model architecture: '").from(
        MODEL,
        "llama_model_load: error loading model: error loading model architecture: unknown model architecture: 'mllama'",
        "llama_model_loader: - kv   0:                       general.architecture str              = llama",
    ),
    row(ModelUnknown, "unknown pre-tokenizer type: '").from(
        Wording::Code("ggml-org/llama.cpp:src/llama-vocab.cpp"),
        "llama_model_load: error loading model: error loading model vocabulary: unknown pre-tokenizer type: 'deepseek-r1-qwen'",
        "load: missing pre-tokenizer type, using: 'default'",
    ),
    row(ModelUnknown, "unknown projector type: ").from(
        Wording::Code("ggml-org/llama.cpp:tools/mtmd/clip.cpp"),
        "clip_init: failed to load model '/models/mmproj.gguf': load_hparams: unknown projector type: qwen3vl_merger",
        "clip_model_loader: model name:   Qwen2.5 VL",
    ),
    // The file was made for a newer release, which reads more tensors.
    row(ModelUnknown, "wrong number of tensors; expected ").from(
        LOADER,
        "llama_model_load: error loading model: done_getting_tensors: wrong number of tensors; expected 292, got 291",
        META,
    ),
    row(ModelUnknown, "but this software only supports up to version ").from(
        GGUF,
        "gguf_init_from_file_impl: this GGUF file is version 4 but this software only supports up to version 3",
        META,
    ),
    // A quantized type this release does not know yet, or no longer: Q4_0_4_4 and its kin were taken out.
    row(QuantizationUnsupported, " has invalid ggml type ").from(
        GGUF,
        "gguf_init_from_file_impl: tensor 'blk.0.ffn_down.weight' has invalid ggml type 39. should be in [0, 39)",
        "llama_model_loader: - type mxfp4:   72 tensors",
    ),
    row(ModelFiles, "failed to open GGUF file '").from(
        GGUF,
        "gguf_init_from_file: failed to open GGUF file '/models/x.gguf' (No such file or directory)",
        META,
    ),
    // Not a GGUF file at all: a pointer of Git LFS, a page of HTML, weights of another format.
    row(ModelFiles, "invalid magic characters: '").from(
        GGUF,
        "gguf_init_from_file_impl: invalid magic characters: 'vers', expected 'GGUF'",
        META,
    ),
    row(ModelFiles, " is corrupted or incomplete").with(" data is not within the file bounds, ").from(
        Wording::Code("ggml-org/llama.cpp:src/llama-model-loader.h"),
        "llama_model_load: error loading model: tensor 'blk.31.ffn_up.weight' data is not within the file bounds, model is corrupted or incomplete",
        META,
    ),
    row(ModelFiles, "llama_model_loader: failed to load model from ").from(
        LOADER,
        "llama_model_load: error loading model: llama_model_loader: failed to load model from /models/x.gguf",
        META,
    ),
    row(ModelFiles, "failed to load GGUF split from ").from(
        LOADER,
        "llama_model_load: error loading model: llama_model_loader: failed to load GGUF split from /models/x-00002-of-00003.gguf",
        "llama_model_loader: additional 2 GGUFs metadata loaded.",
    ),
    row(ModelFiles, "illegal split file idx: ").from(
        LOADER,
        "llama_model_load: error loading model: illegal split file idx: 1 (file: /models/x-00002-of-00003.gguf), model must be loaded with the first split",
        "llama_model_loader: additional 2 GGUFs metadata loaded.",
    ),
    row(ModelFiles, "error loading model: missing tensor '").from(
        LOADER,
        "llama_model_load: error loading model: missing tensor 'output_norm.weight'",
        META,
    ),
    row(ModelFiles, "no GGUF files found in repository ").from(
        DOWNLOAD,
        "get_hf_plan: no GGUF files found in repository meta-llama/Llama-3.1-8B-Instruct",
        META,
    ),
    row(ModelFiles, "required file is not available in cache (offline mode): ").from(
        DOWNLOAD,
        "common_download_file_single: required file is not available in cache (offline mode): /root/.cache/llama.cpp/x.gguf",
        META,
    ),
    row(HubUnreachable, "download failed after ").with(" attempts").from(
        DOWNLOAD,
        "common_download_file_single_online: download failed after 3 attempts",
        "common_download_file_single_online: retrying after 2 seconds...",
    ),
    row(HubAuth, "GET failed (401)").from(
        Wording::Code("ggml-org/llama.cpp:common/hf-cache.cpp"),
        "get_repo_files: error: GET failed (401): Invalid username or password.",
        "get_repo_files: using cached commit",
    ),

    // ---- Memory.
    // A buffer of the host's memory has "CPU" in its name.
    row(GpuOutOfMemory, "error loading model: unable to allocate ").without("CPU").from(
        MODEL,
        "llama_model_load: error loading model: unable to allocate CUDA0 buffer",
        "llama_model_load: error loading model: unable to allocate CPU buffer",
    ),
    // Not the line "failed to allocate CUDA0 buffer of size": the server tries again without pipelining after that one.
    row(GpuOutOfMemory, "failed to allocate compute ").with(" buffers").from(
        LLAMA_CONTEXT,
        "llama_init_from_model: failed to initialize the context: failed to allocate compute pp buffers",
        BUFFER,
    ),
    // What it was told to put on the GPU does not fit; it goes on as told, and mostly dies.
    row(GpuOutOfMemory, "CUDA error: out of memory").from(
        CUDA,
        "CUDA error: out of memory",
        DEVICES,
    ),
    row(KvExhausted, "Context size has been exceeded. off = ").from(
        CONTEXT,
        "0.12.538.661 E srv        decode: Context size has been exceeded. off = 0, n_batch = 1, ret = 1",
        "0.12.538.661 W srv        decode: failed to find free space in the KV cache, retrying with smaller batch size, off = 0, n_batch = 256, ret = 1",
    ),

    // ---- GPU and build.
    row(RunsOnCpu, "failed to initialize CUDA: ").without("driver version is insufficient").from(
        CUDA,
        "ggml_cuda_init: failed to initialize CUDA: no CUDA-capable device is detected",
        DEVICES,
    ),
    // Written where layers were asked for and no backend has a device: the build has no support, or no GPU is visible.
    row(RunsOnCpu, "warning: no usable GPU found, --gpu-layers option will be ignored").from(
        ARGUMENTS,
        "warning: no usable GPU found, --gpu-layers option will be ignored",
        "load_tensors: offloaded 33/33 layers to GPU",
    ),
    row(RunsOnCpu, "llama.cpp was compiled without support for GPU offload. ").from(
        ARGUMENTS,
        "warning: llama.cpp was compiled without support for GPU offload. Setting the main GPU has no effect.",
        SYSTEM,
    ),
    row(NoKernelImage, "has no device code compatible with CUDA arch ").from(
        Wording::Code("ggml-org/llama.cpp:ggml/src/ggml-cuda/common.cuh"),
        "/src/ggml-cuda/mmq.cuh:2671: ERROR: CUDA kernel mul_mat_q has no device code compatible with CUDA arch 700. ggml-cuda.cu was compiled for: 750,800,860",
        SYSTEM,
    ),

    // ---- Aborts.
    row(CppException, "GGML_ASSERT(").with(") failed").from(
        Wording::Code("ggml-org/llama.cpp:ggml/include/ggml.h"),
        "ggml.c:4044: GGML_ASSERT(view_src == NULL || data_size == 0 || data_size + view_offs <= ggml_nbytes(view_src)) failed",
        META,
    ),

    // ---- Templates.
    row(TemplateError, "chat template parsing error: ").from(
        CONTEXT,
        "0.01.531.102 E srv          init: init: chat template parsing error: Expected closing statement at row 3",
        "0.01.531.102 I srv          init: chat template, example_format: '<|im_start|>system'",
    ),
    row(TemplateError, "error: the supplied chat template is not supported: ").from(
        ARGUMENTS,
        "error: the supplied chat template is not supported: llama4",
        "0.01.531.102 I srv          init: chat template, example_format: '<|im_start|>system'",
    ),

    // ---- Ready, in releases up to about b9500; later ones have the row that is there.
    row(Ready, "main: server is listening on http").from(
        SERVER,
        "main: server is listening on http://127.0.0.1:8080 - starting the main loop",
        "main: binding port with default address family",
    ),

    // ---- Harmless.
    row(Harmless, "the full capacity of the model will not be utilized")
        .because("the window is shorter than the one the model was trained with, as somebody chose; it costs nothing")
        .from(
            LLAMA_CONTEXT,
            "llama_context: n_ctx_seq (4096) < n_ctx_train (131072) -- the full capacity of the model will not be utilized",
            "llama_context: n_ctx_seq (65536) > n_ctx_train (32768) -- possible training context overflow",
        ),
    row(Harmless, "this is probably a bug in the model. its type will be overridden")
        .because("a token's type is wrong in the file and is put right while loading")
        .from(
            Wording::Code("ggml-org/llama.cpp:src/llama-vocab.cpp"),
            "load: control-looking token: 128247 '</s>' was not control-type; this is probably a bug in the model. its type will be overridden",
            "load: special tokens cache size = 256",
        ),
    row(Harmless, "is not in special_eog_ids - the tokenizer config may be incorrect")
        .because("the token that ends answers is added to the list by the line itself")
        .from(
            Wording::Code("ggml-org/llama.cpp:src/llama-vocab.cpp"),
            "load: special_eos_id is not in special_eog_ids - the tokenizer config may be incorrect",
            "load: printing all EOG tokens:",
        ),
];
