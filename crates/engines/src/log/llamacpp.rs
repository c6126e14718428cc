//! The lines of llama.cpp's server and of Ollama around it.

use super::signature::{LogKind, Signature, Wording};
use crate::Engine;
use crate::Meaning::{self, *};

const LINES: &str = "engines.md 5, log hints";

const fn row(meaning: Meaning, text: &'static str) -> Signature {
    Signature::new(LogKind::Engine(Engine::LlamaCpp), meaning, text)
}

pub(super) const SIGNATURES: &[Signature] = &[
    row(PromptTooLong, "exceeds the available context size").from(
        Wording::Recording("recordings/llamacpp-healthy/server.log"),
        "0.12.538.661 E srv    send_error: task id = 162, error: request (20001 tokens) exceeds the available context size (2048 tokens), try increasing it",
        "the slot context (8192) exceeds the training context",
    ),
    row(Ready, "listening on http").with("srv").from(
        Wording::Recording("recordings/llamacpp-healthy/server.log"),
        "0.01.531.163 I srv  llama_server: listening on http://127.0.0.1:8010",
        "0.01.519.939 I srv    load_model: initializing, n_slots = 4, n_ctx_slot = 2048, kv_unified = 'false'",
    ),
    row(GpuOutOfMemory, "cudaMalloc failed: out of memory").from(
        Wording::Code("ggml-org/llama.cpp:ggml/src/ggml-cuda/ggml-cuda.cu"),
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 16384.00 MiB on device 0: cudaMalloc failed: out of memory",
        "load_tensors:        CUDA0 model buffer size =  4437.80 MiB",
    ),
    row(NoRoomForKv, "failed to allocate buffer for kv cache").from(
        Wording::Code("ggml-org/llama.cpp:src/llama-kv-cache.cpp"),
        "llama_init_from_model: failed to initialize the context: failed to allocate buffer for kv cache",
        "llama_kv_cache:      CUDA0 KV buffer size =  1024.00 MiB",
    ),
    row(PrefixLost, "forcing full prompt re-processing").from(
        Wording::Knowledge(LINES),
        "slot update_slots: id 0 | task 9 | forcing full prompt re-processing due to lack of cache data",
        "0.03.815.347 I slot get_availabl: id  3 | task -1 | selected slot by LCP similarity, f_sim_best = 1.000 (> 0.100 thold), f_keep = 0.771",
    ),
    row(ContextBeyondTraining, "exceeds the training context").without("capping").from(
        Wording::Code("ggml-org/llama.cpp:tools/server/server-context.cpp"),
        "srv    load_model: the slot context (4096) exceeds the training context of the model (2048)",
        "0.12.538.661 E srv    send_error: task id = 162, error: request (20001 tokens) exceeds the available context size (2048 tokens), try increasing it",
    ),
    row(ContextReduced, "exceeds the training context").with("capping").from(
        Wording::Code("ggml-org/llama.cpp:tools/server/server-context.cpp"),
        "srv    load_model: the slot context (4096) exceeds the training context of the model (2048) - capping",
        "llama_context: n_ctx_seq (65536) > n_ctx_train (32768) -- possible training context overflow",
    ),
    row(PromptTruncated, "input truncated, n_ctx = ").from(
        Wording::Code("ggml-org/llama.cpp:examples/server/server.cpp"),
        "slot update_slots: id  0 | task 7 | input truncated, n_ctx = 2048, n_keep = 0, n_left = 2048, n_prompt_tokens = 1537",
        "slot update_slots: id  0 | task 0 | new prompt, n_ctx_slot = 2048, n_keep = 0, n_prompt_tokens = 895",
    ),
    row(ContextShifted, "slot context shift").from(
        Wording::Knowledge(LINES),
        "slot context shift",
        "0.01.519.939 I srv    load_model: initializing, n_slots = 4, n_ctx_slot = 2048, kv_unified = 'false'",
    ),
    row(ThreadsSet, "llama threadpool init, n_threads = ").from(
        Wording::Recording("recordings/llamacpp-healthy/server.log"),
        "0.01.289.818 I cmn          init: llama threadpool init, n_threads = 1",
        "0.01.519.939 I srv    load_model: initializing, n_slots = 4, n_ctx_slot = 2048, kv_unified = 'false'",
    ),
    row(RequestAborted, "cancel task, id_task = ").from(
        Wording::Recording("recordings/llamacpp-healthy/server.log"),
        "0.12.538.719 W srv          stop: cancel task, id_task = 162",
        "0.02.295.319 I slot launch_slot_: id  3 | task 2 | processing task, is_child = 0",
    ),
    row(LayersOffloaded, "layers to GPU").with("offloaded ").latest().from(
        Wording::Code("ggml-org/llama.cpp:src/llama-model.cpp"),
        "load_tensors: offloaded 31/33 layers to GPU",
        "load_tensors: offloading 31 repeating layers to GPU",
    ),
    row(LayersOffloaded, "layers offloaded").latest().from(
        Wording::Incident("ollama/ollama#5821"),
        "31/33 layers offloaded",
        "0.01.531.102 I srv  llama_server: model loaded",
    ),
    row(LayersOffloaded, "layers.offload=").latest().from(
        Wording::Incident("ollama/ollama#10823"),
        "memory.available=\"[17.8 GiB]\" layers.offload=49 of 63",
        "memory.available=\"[22.7 GiB]\" memory.required.full=\"23.5 GiB\"",
    ),
    row(OffloadEstimate, "memory.required.full=").from(
        Wording::Incident("ollama/ollama#5821"),
        "memory.available=\"[22.7 GiB]\" memory.required.full=\"23.5 GiB\"",
        "memory.available=\"[17.8 GiB]\" layers.offload=49 of 63",
    ),
];
