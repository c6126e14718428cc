//! What must not get into a case: keys and tokens in settings the server shows.

use serde_json::Value;

const MASK: &str = "[redacted]";

/// Keys whose text values are secrets.
fn is_secret(key: &str) -> bool {
    let key = key.to_ascii_lowercase().replace('-', "_");
    let marks = ["api_key", "apikey", "password", "passwd", "secret", "credential", "authorization"];
    marks.iter().any(|m| key.contains(m))
        || key.ends_with("_token")
        || key == "token"
        || key.ends_with("access_key")
}

/// Masks secrets in a JSON body; a body that is not JSON is returned as it is.
pub(crate) fn json_body(body: &str) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(body) else { return body.to_owned() };
    mask(&mut value, false, 0);
    value.to_string()
}

fn mask(value: &mut Value, secret: bool, depth: usize) {
    // Deeper than any configuration: drop it rather than recurse on.
    if depth > 64 {
        *value = Value::Null;
        return;
    }
    match value {
        Value::String(text) if secret && !text.is_empty() => *text = MASK.into(),
        Value::Array(items) => items.iter_mut().for_each(|v| mask(v, secret, depth + 1)),
        Value::Object(map) => {
            map.iter_mut().for_each(|(key, v)| mask(v, secret || is_secret(key), depth + 1));
        }
        _ => {}
    }
}

/// Masks the values of secret flags: `--api-key X`, `--hf-token=X`.
pub fn command_line(line: &str) -> String {
    let mut hide_next = false;
    let words = line.split(' ').map(|word| {
        if hide_next && !word.is_empty() {
            hide_next = false;
            return MASK.to_owned();
        }
        let Some(name) = word.strip_prefix("--") else { return word.to_owned() };
        match name.split_once('=') {
            Some((name, _)) if is_secret(name) => format!("--{name}={MASK}"),
            None if is_secret(name) => {
                hide_next = true;
                word.to_owned()
            }
            _ => word.to_owned(),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_tokens_are_masked_and_token_counts_are_not() {
        let body = r#"{"api_key":"k1","hf_token":"k2","max_tokens":7,"tokenizer":"t","nested":{"admin_api_key":["k3"]}}"#;
        let masked = json_body(body);
        for secret in ["k1", "k2", "k3"] {
            assert!(!masked.contains(secret), "{masked}");
        }
        assert!(masked.contains("\"max_tokens\":7") && masked.contains("\"tokenizer\":\"t\""));
    }

    #[test]
    fn flags_keep_their_names_and_lose_their_secrets() {
        let line = "vllm serve m --api-key sk-1 --hf-token=sk-2 --max-num-seqs 4";
        assert_eq!(
            command_line(line),
            "vllm serve m --api-key [redacted] --hf-token=[redacted] --max-num-seqs 4"
        );
    }
}
