//! The routes that tell about the server.

use http::{Response, StatusCode};
use serde_json::{Map, Value, json};

use crate::engine::Policy;
use crate::serve::ServeConfig;
use crate::serve::api::ask;
use crate::serve::api::error::ApiError;
use crate::serve::api::reply::{Body, json_reply};
use crate::serve::api::{State, adapter_name};
use crate::serve::tokenizer;

/// The release whose manners are simulated.
pub(super) const VERSION: &str = "0.32.0";

pub(super) fn models(state: &State) -> Value {
    let config = &state.config;
    let identity = &config.identity;
    let card = |id: &str, parent: Option<&str>| {
        json!({
            "id": id, "object": "model", "created": state.created.0 / 1000, "owned_by": "vllm",
            "root": identity.checkpoint, "parent": parent, "max_model_len": config.window(),
        })
    };
    let adapters =
        (0..config.adapters).map(|i| card(&adapter_name(&identity.model, i), Some(&identity.model)));
    let mut data = vec![card(&identity.model, None)];
    data.extend(adapters);
    json!({"object": "list", "data": data})
}

/// vLLM's dev-mode route: as structure with `config_format=json`, else as one line of text.
pub(super) fn server_info(config: &ServeConfig, query: Option<&str>) -> Value {
    let settings = settings(config);
    let as_json = query.is_some_and(|q| q.split('&').any(|pair| pair == "config_format=json"));
    let value = if as_json { Value::Object(settings) } else { Value::String(one_line(&settings)) };
    json!({"vllm_config": value, "vllm_env": {"VLLM_SERVER_DEV_MODE": true}})
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
            "enforce_eager": config.identity.eager, "seed": config.seed,
        }),
    );
    part(
        "scheduler_config",
        json!({
            "max_num_seqs": engine.max_sequences, "max_num_batched_tokens": engine.token_budget,
            "enable_chunked_prefill": engine.chunked_prefill, "policy": policy, "scheduling_policy": policy,
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

pub(super) fn tokenize(state: &State, body: &[u8]) -> Result<Response<Body>, ApiError> {
    let fields = ask::object(body)?;
    state.known_model(ask::model(&fields)?.as_deref())?;
    let tokens = ask::tokenize(&fields)?;
    let with_text = fields.get("return_token_strs").and_then(Value::as_bool).unwrap_or(false);
    let strings = with_text
        .then(|| tokens.iter().map(|t| tokenizer::decode(&[*t]).unwrap_or_default()).collect::<Vec<_>>());
    let value = json!({
        "count": tokens.len(), "max_model_len": state.config.window(), "tokens": tokens, "token_strs": strings,
    });
    Ok(json_reply(StatusCode::OK, &value))
}

pub(super) fn detokenize(state: &State, body: &[u8]) -> Result<Response<Body>, ApiError> {
    let fields = ask::object(body)?;
    state.known_model(ask::model(&fields)?.as_deref())?;
    let prompt = tokenizer::decode(&ask::token_ids(&fields)?)
        .map_err(|id| ApiError::value("tokens", format!("token id {id} is out of vocabulary")))?;
    Ok(json_reply(StatusCode::OK, &json!({"prompt": prompt})))
}
