//! What must not get into a case: keys and tokens in settings the server shows.

use serde_json::Value;

/// What stands where a secret stood.
pub(crate) const MASK: &str = "[redacted]";

/// Keys whose text values are secrets.
pub(crate) fn is_secret(key: &str) -> bool {
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
    masked_words(line, ' ')
}

/// Masks the secrets in a `/proc/<pid>/cmdline`, whose words are parted by NUL and may be JSON or whole command lines.
pub(crate) fn process_command_line(line: &str) -> String {
    let masked = masked_words(line, '\0');
    let words = masked.split('\0').map(|word| {
        if word.starts_with('{') {
            let body = json_body(word);
            // Only where something was masked: the text stays the process's own otherwise.
            if body.contains(MASK) { body } else { word.to_owned() }
        } else if word.contains(' ') {
            masked_words(word, ' ')
        } else {
            word.to_owned()
        }
    });
    words.collect::<Vec<_>>().join("\0")
}

fn masked_words(line: &str, parted_by: char) -> String {
    let mut hide_next = false;
    let words = line.split(parted_by).map(|word| {
        if hide_next && !word.is_empty() {
            hide_next = false;
            return MASK.to_owned();
        }
        match word.split_once('=') {
            // Also `HF_TOKEN=X`, as `env` and shells take it.
            Some((name, _)) if is_secret(name) => format!("{name}={MASK}"),
            None if word.starts_with("--") && is_secret(word) => {
                hide_next = true;
                word.to_owned()
            }
            _ => word.to_owned(),
        }
    });
    words.collect::<Vec<_>>().join(&parted_by.to_string())
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

    #[test]
    fn a_running_process_shows_no_secret_in_any_argument() {
        let line = "sh\0-c\0HF_TOKEN=s1 vllm serve m --api-key s2\0--config\0{\"api_key\": \"s3\"}\0--api-key\0s4 s5\0--x\0{\"a\": 1}\0";
        let masked = process_command_line(line);
        for secret in ["s1", "s2", "s3", "s4", "s5"] {
            assert!(!masked.contains(secret), "{masked:?}");
        }
        assert!(masked.starts_with("sh\0-c\0") && masked.ends_with("\0--x\0{\"a\": 1}\0"), "{masked:?}");
    }
}
