//! Chat templates, wherever a folder keeps them; only their hashes leave this file.

use intriage_case::Bytes;
use intriage_case::model::ChatTemplate;
use serde_json::Value;

use super::folder::sha256;

/// Older checkpoints keep the template here.
pub(super) const TOKENIZER_CONFIG: &str = "tokenizer_config.json";
/// Newer ones in a file of its own.
const JINJA: &str = "chat_template.jinja";
const JSON: &str = "chat_template.json";

/// Whether a file is there for its template alone.
pub(super) fn is_file(name: &str) -> bool {
    name == JINJA || name == JSON
}

/// The templates in a file.
pub(super) fn in_file(name: &str, bytes: &[u8]) -> Vec<ChatTemplate> {
    if name == JINJA {
        return vec![template(None, name, bytes)];
    }
    if name != JSON && name != TOKENIZER_CONFIG {
        return Vec::new();
    }
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else { return Vec::new() };
    match value.get("chat_template") {
        Some(Value::String(text)) => vec![template(None, name, text.as_bytes())],
        // `[{"name": "default", "template": "…"}, …]`
        Some(Value::Array(list)) => {
            let named =
                list.iter().filter_map(|t| Some((t.get("name")?.as_str()?, t.get("template")?.as_str()?)));
            named.map(|(own, text)| template(Some(own.to_owned()), name, text.as_bytes())).collect()
        }
        _ => Vec::new(),
    }
}

fn template(name: Option<String>, from: &str, text: &[u8]) -> ChatTemplate {
    ChatTemplate { name, from: from.to_owned(), sha256: sha256(text), size: Bytes(text.len() as f64) }
}
