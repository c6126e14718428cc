//! Text-generation-inference: rows for failed starts, deaths and hangs. Read at db931fcf (2026-01-08); ranges were read off
//! its tags up to v3.3.7. What ends the launcher or the router is written as Rust writes an error of `main`: by the name of
//! its variant, not by its sentence. Left out because launch.rs finds it: "ddress already in use".

use super::signature::{LogKind, Signature, Wording};
use crate::Engine;
use crate::Meaning::{self, *};

const LAUNCHER: Wording = Wording::Code("huggingface/text-generation-inference:launcher/src/main.rs");
const ROUTER: Wording = Wording::Code("huggingface/text-generation-inference:router/src/server.rs");
const BACKEND: Wording = Wording::Code("huggingface/text-generation-inference:backends/v3/src/lib.rs");
const INFER: Wording = Wording::Code("huggingface/text-generation-inference:router/src/infer/mod.rs");
const HUB: Wording =
    Wording::Code("huggingface/text-generation-inference:server/text_generation_server/utils/hub.py");
const MODELS: Wording =
    Wording::Code("huggingface/text-generation-inference:server/text_generation_server/models/__init__.py");

const STARTS: &str =
    "2024-05-01T01:17:02.618817Z  INFO shard-manager: text_generation_launcher: Starting shard rank=0";
const WAITS: &str = "2024-05-01T01:17:02.618817Z  INFO shard-manager: text_generation_launcher: Waiting for shard to be ready... rank=0";
const DOWNLOADED: &str = "2024-03-06T17:53:22.335714Z  INFO download: text_generation_launcher: Successfully downloaded weights for m";
const WARMS: &str = "2024-05-01T01:17:02.618817Z  INFO text_generation_router_v3: backends/v3/src/lib.rs:125: Warming up model";

const fn row(meaning: Meaning, text: &'static str) -> Signature {
    Signature::new(LogKind::Engine(Engine::Tgi), meaning, text)
}

pub(super) const SIGNATURES: &[Signature] = &[
    // ---- Starts that ended. "Error: ShardFailed" and "Error: WebserverFailed" are deaths.
    row(StartFailed, "Error: ShardCannotStart").from(LAUNCHER, "Error: ShardCannotStart", STARTS),
    row(StartFailed, "Error: DownloadError").from(LAUNCHER, "Error: DownloadError", DOWNLOADED),
    row(StartFailed, "Download encountered an error: ").since("0.3.0").from(
        LAUNCHER,
        "2024-03-06T17:53:22.335714Z ERROR download: text_generation_launcher: Download encountered an error: ",
        DOWNLOADED,
    ),
    row(StartFailed, "Error: WebserverCannotStart").from(
        LAUNCHER,
        "Error: WebserverCannotStart",
        "2024-05-01T01:17:02.618817Z  INFO text_generation_launcher: Starting Webserver",
    ),
    row(StartFailed, "Error when initializing model").since("0.2.1").from(
        Wording::Code("huggingface/text-generation-inference:server/text_generation_server/server.py"),
        "2024-05-01T01:17:02.618817Z ERROR text_generation_launcher: Error when initializing model",
        STARTS,
    ),
    // The router tries the model out, and its error holds what Python said.
    row(StartFailed, "Warmup(Generation(").since("0.9.2").from(
        BACKEND,
        "Error: Backend(Warmup(Generation(\"Not enough memory to handle 4096 prefill tokens. You need to decrease `--max-batch-prefill-tokens`\")))",
        WARMS,
    ),
    row(NoRoomForKv, "Backend(NotEnoughMemory(").since("2.1.0").from(
        BACKEND,
        "Error: Backend(NotEnoughMemory(131072))",
        "2024-05-01T01:17:02.618817Z  INFO text_generation_router_v3: backends/v3/src/lib.rs:137: Setting max batch total tokens to 43808",
    ),

    // ---- Deaths.
    row(EngineDied, " crashed").with("text_generation_launcher: Shard ").since("0.9.0").from(
        LAUNCHER,
        "2025-08-29T14:40:17.288163Z ERROR text_generation_launcher: Shard 0 crashed",
        WAITS,
    ),
    row(EngineDied, "Webserver Crashed").since("0.2.0").from(
        LAUNCHER,
        "2024-05-01T01:17:02.618817Z ERROR text_generation_launcher: Webserver Crashed",
        "2024-05-01T01:17:02.618817Z  INFO text_generation_launcher: Starting Webserver",
    ),
    row(HostKilled, "Shard process was signaled to shutdown with signal 9").since("0.9.0").from(
        LAUNCHER,
        "2024-05-01T01:17:02.618817Z ERROR shard-manager: text_generation_launcher: Shard process was signaled to shutdown with signal 9 rank=0",
        "2024-05-01T01:17:02.618817Z ERROR shard-manager: text_generation_launcher: Shard process was signaled to shutdown with signal 6 rank=0",
    ),
    // Signal 4 is an illegal instruction: processors without AVX2, or a virtual machine that hides it.
    row(CpuInstruction, "Shard process was signaled to shutdown with signal 4").since("0.9.0").from(
        LAUNCHER,
        "2024-03-06T17:53:31.052444Z ERROR shard-manager: text_generation_launcher: Shard process was signaled to shutdown with signal 4 rank=0",
        "2024-05-01T01:17:02.618817Z ERROR shard-manager: text_generation_launcher: Shard process was signaled to shutdown with signal 6 rank=0",
    ),
    row(CppException, "Shard process was signaled to shutdown with signal 11").since("0.9.0").from(
        LAUNCHER,
        "2024-05-01T01:17:02.618817Z ERROR shard-manager: text_generation_launcher: Shard process was signaled to shutdown with signal 11 rank=0",
        "2024-05-01T01:17:02.618817Z ERROR shard-manager: text_generation_launcher: Shard process was signaled to shutdown with signal 9 rank=0",
    ),

    // ---- The command line and the GPUs.
    row(BadArgument, "Error: ArgumentValidation(").since("0.9.2").from(
        LAUNCHER,
        "Error: ArgumentValidation(\"`max_input_tokens`(4096) must be < `max_total_tokens`(2048)\")",
        "2024-05-01T01:17:02.618817Z  INFO text_generation_launcher: Default `max_input_tokens` to 4095",
    ),
    row(ParallelismUnfit, "Error: NotEnoughCUDADevices(").since("2.0.3").from(
        LAUNCHER,
        "Error: NotEnoughCUDADevices(\"`sharded` is true but only found 1 CUDA devices\")",
        "2024-05-01T01:17:02.618817Z  INFO text_generation_launcher: Sharding model on 2 processes",
    ),
    row(ParallelismUnfit, "Each process is one gpu").since("0.2.0").from(
        Wording::Code("huggingface/text-generation-inference:server/text_generation_server/utils/dist.py"),
        "AssertionError: Each process is one gpu",
        "2024-05-01T01:17:02.618817Z  INFO text_generation_launcher: Sharding model on 2 processes",
    ),
    row(ParallelismUnfit, "sharded is not supported for AutoModel").from(
        MODELS,
        "NotImplementedError: sharded is not supported for AutoModel",
        STARTS,
    ),
    row(PortInUse, "Failed to bind to ").with("text_generation_router").since("3.1.0").from(
        ROUTER,
        "2025-02-01T01:17:02.618817Z ERROR text_generation_router::server: router/src/server.rs:2325: Failed to bind to 0.0.0.0:80: Address already in use (os error 98)",
        WARMS,
    ),

    // ---- The model.
    row(ModelUnknown, "ValueError: Unsupported model type ").since("0.4.2").from(
        MODELS,
        "ValueError: Unsupported model type qwen3_next",
        "2024-05-01T01:17:02.618817Z  INFO text_generation_launcher: Using attention flashinfer - Prefix caching true",
    ),
    row(ModelUnknown, "Could not determine model type for ").since("1.4.1").from(
        MODELS,
        "RuntimeError: Could not determine model type for m revision None",
        STARTS,
    ),
    row(QuantizationUnsupported, " quantization is not supported for AutoModel").from(
        MODELS,
        "NotImplementedError: awq quantization is not supported for AutoModel",
        STARTS,
    ),
    row(AttentionUnsupported, " requires Flash Attention enabled models.").from(
        MODELS,
        "NotImplementedError: Sharded Mistral requires Flash Attention enabled models.",
        STARTS,
    ),
    row(AttentionUnsupported, "GPU with CUDA capability ").with(" is not supported").from(
        Wording::Code("huggingface/text-generation-inference:server/text_generation_server/layers/attention/cuda.py"),
        "ImportError: GPU with CUDA capability 7 0 is not supported",
        STARTS,
    ),
    row(ModelFiles, "No local weights found in ").since("0.7.0").from(
        HUB,
        "FileNotFoundError: No local weights found in /data/m with extension .safetensors",
        DOWNLOADED,
    ),
    // With "at revision" it goes on with weights of PyTorch.
    row(ModelFiles, " weights found for model ").with(" and revision ").from(
        HUB,
        "huggingface_hub.errors.EntryNotFoundError: No .bin weights found for model m and revision None.",
        "2024-05-01T01:17:02.618817Z  WARN text_generation_launcher: No safetensors weights found for model m at revision None. Downloading PyTorch weights.",
    ),
    row(ModelFiles, "RuntimeError: weight ").with(" does not exist").since("0.9.0").from(
        Wording::Code("huggingface/text-generation-inference:server/text_generation_server/utils/weights.py"),
        "RuntimeError: weight model.layers.0.self_attn.q_proj.weight does not exist",
        STARTS,
    ),

    // ---- Requests.
    row(TemplateError, "Template error: ").with("text_generation_router").from(
        INFER,
        "2024-05-01T01:17:02.618817Z ERROR chat_completions: text_generation_router::infer: router/src/infer/mod.rs:118: Template error: syntax error: Conversation roles must alternate user/assistant/user/assistant/... (in <string>:1)",
        "2024-05-01T01:17:02.618817Z  INFO text_generation_router::server: router/src/server.rs:1687: Using chat template from chat_template.json",
    ),
    row(QueueFull, "Model is overloaded").from(
        INFER,
        "2024-05-01T01:17:02.618817Z ERROR generate: text_generation_router::infer: router/src/infer/mod.rs:118: Model is overloaded",
        WARMS,
    ),
    row(Ready, ": Connected").with("text_generation_router").since("0.2.0").from(
        ROUTER,
        "2024-05-01T01:17:02.618817Z  INFO text_generation_router::server: router/src/server.rs:2302: Connected",
        WARMS,
    ),
];
