//! vLLM's `/tokenize`, by words.

use serde_json::{Value, json};

use crate::config::Config;
use crate::prompt::Prompt;

/// Largest token id.
const VOCABULARY: u64 = 128_000;

/// Counts the tokens of a prompt or of messages; a chat has the template's tokens too.
pub(super) fn answer(body: &[u8], config: &Config) -> Result<Value, String> {
    let body: Value = serde_json::from_slice(body).map_err(|why| format!("the body does not fit: {why}"))?;
    let mut tokens = Vec::new();
    match (body.get("prompt"), body.get("messages")) {
        (Some(Value::String(prompt)), _) => words(prompt, &mut tokens),
        (None, Some(Value::Array(messages))) => {
            for message in messages {
                match message.get("content") {
                    Some(Value::String(text)) => words(text, &mut tokens),
                    Some(Value::Array(parts)) => {
                        parts
                            .iter()
                            .filter_map(|part| part.get("text")?.as_str())
                            .for_each(|t| words(t, &mut tokens));
                    }
                    _ => {}
                }
            }
        }
        _ => return Err("wants a prompt, which is a text, or messages".into()),
    }
    tokens.extend((0..config.template_tokens).map(|index| u64::from(index % 10)));
    Ok(
        json!({"count": tokens.len(), "max_model_len": config.max_model_len, "tokens": tokens, "token_strs": null}),
    )
}

fn words(text: &str, tokens: &mut Vec<u64>) {
    tokens.extend(text.split_ascii_whitespace().map(|word| Prompt::of(word).hash % VOCABULARY));
}
