//! What a deployment answers when it is asked about itself; one source for the server and for rehearsals.

use intriage_case::Millis;
use serde_json::{Map, Value, json};

use crate::engine::Policy;
use crate::serve::{ServeConfig, adapter_name};

/// The release whose metrics and answers are imitated, marked as an imitation.
const VERSION: &str = "0.32.0+simulated";

/// The body of `/version`.
pub(crate) fn version() -> Value {
    json!({ "version": VERSION })
}

/// The body of `/v1/models`; `created` is the server's start.
pub(crate) fn models(config: &ServeConfig, created: Millis) -> Value {
    let identity = &config.identity;
    let card = |id: &str, parent: Option<&str>| {
        json!({
            "id": id, "object": "model", "created": created.0 / 1000, "owned_by": "intriage-simulate",
            "root": identity.checkpoint, "parent": parent, "max_model_len": config.window(),
        })
    };
    let adapters =
        (0..config.adapters).map(|i| card(&adapter_name(&identity.model, i), Some(&identity.model)));
    let mut data = vec![card(&identity.model, None)];
    data.extend(adapters);
    json!({"object": "list", "data": data})
}

/// The body of vLLM's developer-mode `/server_info`: as structure with `config_format=json`, else as
/// one line of text.
pub(crate) fn server_info(config: &ServeConfig, query: Option<&str>) -> Value {
    let settings = settings(config);
    let as_json = query.is_some_and(|q| q.split('&').any(|pair| pair == "config_format=json"));
    let value = if as_json { Value::Object(settings) } else { Value::String(one_line(&settings)) };
    json!({
        "vllm_config": value,
        "vllm_env": {"VLLM_SERVER_DEV_MODE": true},
        "system_env": {"nvidia_gpu_models": format!("GPU 0: {}", config.identity.gpu)},
    })
}

fn settings(config: &ServeConfig) -> Map<String, Value> {
    let Some(engine) = config.fleet.engines.first() else { return Map::new() };
    let policy = match engine.policy {
        Policy::Fcfs => "fcfs",
        Policy::Priority => "priority",
    };
    let mut settings = Map::new();
    let mut part = |name: &str, value: Value| settings.insert(name.into(), value);
    part(
        "model_config",
        json!({
            "model": config.identity.checkpoint, "max_model_len": config.window(),
            "dtype": "bfloat16", "enforce_eager": config.identity.eager, "seed": config.seed,
        }),
    );
    part(
        "scheduler_config",
        json!({
            "max_num_seqs": engine.max_sequences, "max_num_batched_tokens": engine.token_budget,
            "enable_chunked_prefill": engine.chunked_prefill, "async_scheduling": engine.plans_ahead,
            "policy": policy, "scheduling_policy": policy,
            "max_num_queued_reqs": engine.queue_limit,
        }),
    );
    part(
        "cache_config",
        json!({
            "block_size": engine.block_tokens, "num_gpu_blocks": engine.pool_blocks,
            "enable_prefix_caching": engine.prefix_cache, "cache_dtype": "auto",
        }),
    );
    part(
        "parallel_config",
        json!({
            "data_parallel_size": config.fleet.engines.len(), "tensor_parallel_size": 1, "pipeline_parallel_size": 1,
        }),
    );
    part("load_config", json!({"load_format": "auto"}));
    part("device_config", json!({"device": "cuda"}));
    if let Some(speculation) = engine.speculation {
        part(
            "speculative_config",
            json!({"method": "ngram", "num_speculative_tokens": speculation.draft_tokens}),
        );
    }
    if config.adapters > 0 {
        part("lora_config", json!({"max_loras": engine.max_adapters}));
    }
    settings
}

/// `max_num_seqs=4, enable_prefix_caching=True, …`, as Python prints it.
fn one_line(settings: &Map<String, Value>) -> String {
    let parts = settings.values().filter_map(Value::as_object).flatten();
    let fields = parts.map(|(name, value)| match value {
        Value::Bool(on) => format!("{name}={}", if *on { "True" } else { "False" }),
        Value::Null => format!("{name}=None"),
        Value::String(text) => format!("{name}='{}'", text.replace(['\'', '\\'], "_")),
        other => format!("{name}={other}"),
    });
    fields.collect::<Vec<_>>().join(", ")
}
