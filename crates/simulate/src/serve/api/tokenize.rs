//! The routes of the tokenizer.

use http::{Response, StatusCode};
use serde_json::{Value, json};

use crate::serve::api::State;
use crate::serve::api::ask;
use crate::serve::api::error::ApiError;
use crate::serve::api::reply::{Body, json_reply};
use crate::serve::tokenizer;

pub(super) fn encode(state: &State, body: &[u8]) -> Result<Response<Body>, ApiError> {
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

pub(super) fn decode(state: &State, body: &[u8]) -> Result<Response<Body>, ApiError> {
    let fields = ask::object(body)?;
    state.known_model(ask::model(&fields)?.as_deref())?;
    let prompt = tokenizer::decode(&ask::token_ids(&fields)?)
        .map_err(|id| ApiError::value("tokens", format!("token id {id} is out of vocabulary")))?;
    Ok(json_reply(StatusCode::OK, &json!({"prompt": prompt})))
}
