//! What a deployment answers when it is asked about itself.

use serde_json::{Value, json};

use crate::setup::Setup;

/// The release whose metrics and answers are imitated, marked as an imitation.
pub const VERSION: &str = "0.32.0+simulated";

/// The body of `/version`.
pub fn version() -> Value {
    json!({ "version": VERSION })
}

/// The body of `/v1/models`.
pub fn models(setup: &Setup) -> Value {
    let window = setup.fleet.engines.first().map_or(0, |e| e.context_window);
    json!({
        "object": "list",
        "data": [{
            "id": setup.identity.model,
            "object": "model",
            "owned_by": "intriage-simulate",
            "root": setup.identity.checkpoint,
            "parent": null,
            "max_model_len": window,
        }],
    })
}

/// The body of `/server_info?config_format=json`, which vLLM gives in its developer mode.
pub fn server_info(setup: &Setup) -> Value {
    let Some(engine) = setup.fleet.engines.first() else { return json!({}) };
    json!({
        "vllm_config": {
            "model_config": {
                "model": setup.identity.checkpoint,
                "dtype": "bfloat16",
                "max_model_len": engine.context_window,
                "enforce_eager": setup.identity.eager,
            },
            "cache_config": {
                "block_size": engine.block_tokens,
                "num_gpu_blocks": engine.pool_blocks,
                "enable_prefix_caching": engine.prefix_cache,
                "cache_dtype": "auto",
            },
            "scheduler_config": {
                "max_num_seqs": engine.max_sequences,
                "max_num_batched_tokens": engine.token_budget,
                "enable_chunked_prefill": engine.chunked_prefill,
                "max_num_queued_reqs": engine.queue_limit,
            },
            "parallel_config": {
                "tensor_parallel_size": 1,
                "data_parallel_size": setup.fleet.engines.len(),
            },
            "load_config": { "load_format": "auto" },
            "device_config": { "device": "cuda" },
            "lora_config": { "max_loras": engine.max_adapters },
            "speculative_config": engine.speculation.map(|s| json!({
                "num_speculative_tokens": s.draft_tokens,
            })),
        },
        "system_env": { "nvidia_gpu_models": format!("GPU 0: {}", setup.identity.gpu) },
    })
}
