//! JSON bodies: the same bytes but for the texts that are hidden.

use serde::de::IgnoredAny;

use crate::Redactor;
use crate::hits::MASK;
use crate::names::{Meaning, Named};

/// The body without what must be hidden; `None` where it is no JSON.
pub(crate) fn redact(redactor: &Redactor, body: &str) -> Option<String> {
    serde_json::from_str::<IgnoredAny>(body).ok()?;
    let mut walk =
        Walk { redactor, body, written: String::with_capacity(body.len()), frames: Vec::new(), named: None };
    let mut at = 0;
    while at < body.len() {
        at = walk.token(at);
    }
    Some(walk.written)
}

/// A list or an object that is open.
struct Frame {
    /// In an object: whether the next text is a name.
    names_next: Option<bool>,
    /// What its members are, by the name it stands behind.
    named: Option<Named>,
    /// In `{"name": "HF_TOKEN", "value": …}`: what the value is.
    value: Option<Named>,
    /// Whether the text that follows says so.
    says_name: bool,
}

struct Walk<'a> {
    redactor: &'a Redactor,
    body: &'a str,
    written: String,
    frames: Vec<Frame>,
    /// What the next value is, by the name before it.
    named: Option<Named>,
}

impl Walk<'_> {
    /// Writes the token at a place, redacted; says where the next one begins. The body is valid JSON.
    fn token(&mut self, at: usize) -> usize {
        let rest = &self.body[at..];
        match rest.as_bytes()[0] {
            b'"' => {
                let length = text_length(rest);
                self.text(&rest[..length]);
                at + length
            }
            open @ (b'{' | b'[') => {
                let named = self.take_named();
                if let Some(length) = self.ids(rest, named) {
                    return at + length;
                }
                self.written.push(char::from(open));
                // Members of a secret are secrets at any depth; those of other things only in lists.
                let kept = open == b'[' || matches!(named, Some(Named { meaning: Meaning::Secret(_), .. }));
                self.frames.push(Frame {
                    names_next: (open == b'{').then_some(true),
                    named: named.filter(|_| kept),
                    value: None,
                    says_name: false,
                });
                at + 1
            }
            close @ (b'}' | b']') => {
                self.frames.pop();
                self.written.push(char::from(close));
                at + 1
            }
            b',' => {
                if let Some(Frame { names_next: Some(next), .. }) = self.frames.last_mut() {
                    *next = true;
                }
                self.written.push(',');
                at + 1
            }
            b':' | b' ' | b'\t' | b'\r' | b'\n' => {
                self.written.push(char::from(rest.as_bytes()[0]));
                at + 1
            }
            _ => {
                let ends = |c: char| matches!(c, ',' | '}' | ']' | ' ' | '\t' | '\r' | '\n');
                let word = &rest[..rest.find(ends).unwrap_or(rest.len())];
                let secret = matches!(self.take_named(), Some(Named { meaning: Meaning::Secret(_), .. }));
                if secret && word.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
                    self.written.extend(["\"", MASK, "\""]);
                } else {
                    self.written.push_str(word);
                }
                at + word.len().max(1)
            }
        }
    }

    /// What the value that begins here is.
    fn take_named(&mut self) -> Option<Named> {
        self.named.take().or_else(|| self.frames.last().and_then(|frame| frame.named))
    }

    /// A name or a value, with its quotes.
    fn text(&mut self, quoted: &str) {
        // What JSON allows and Rust's text does not, half a surrogate pair, is looked at as it is written.
        let inside = &quoted[1..quoted.len() - 1];
        let decoded = serde_json::from_str::<String>(quoted).unwrap_or_else(|_| inside.to_owned());
        let is_name = matches!(self.frames.last(), Some(Frame { names_next: Some(true), .. }));
        let named = if is_name { None } else { self.take_named() };
        let changed = self.redactor.named(named, &decoded, self.redactor.scope());
        if let Some(frame) = self.frames.last_mut() {
            if is_name {
                let paired = if decoded == "value" { frame.value } else { None };
                self.named = paired.or_else(|| self.redactor.meaning(&decoded)).or(frame.named);
                frame.names_next = Some(false);
            } else if frame.says_name {
                frame.value = self.redactor.meaning(&decoded);
            }
            frame.says_name = is_name && matches!(decoded.as_str(), "name" | "key");
        }
        match changed {
            None => self.written.push_str(quoted),
            Some(text) => self.written.push_str(&serde_json::Value::from(text).to_string()),
        }
    }

    /// A list of token ids becomes a list of one text, over as many lines; says how long it was.
    fn ids(&mut self, rest: &str, named: Option<Named>) -> Option<usize> {
        let Some(Named { meaning: Meaning::Prompt { .. }, .. }) = named else { return None };
        let allowed =
            |byte: &u8| byte.is_ascii_digit() || byte.is_ascii_whitespace() || b"[],-".contains(byte);
        let mut depth = 0_usize;
        for (i, byte) in rest.bytes().enumerate() {
            match byte {
                b'[' => depth += 1,
                b']' => depth -= 1,
                byte if !allowed(&byte) => return None,
                _ => {}
            }
            if depth == 0 {
                let numbers =
                    rest[..i].split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty()).count();
                let lines = rest[..i].matches('\n').count();
                if numbers == 0 {
                    return None;
                }
                self.written.extend(["[\"[", &numbers.to_string(), " ids]\"", &"\n".repeat(lines), "]"]);
                return Some(i + 1);
            }
        }
        None
    }
}

/// The length of the text that begins here, quotes included.
fn text_length(rest: &str) -> usize {
    let mut escaped = false;
    for (i, byte) in rest.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return i + 1,
            _ => {}
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use crate::Redactor;

    fn json(body: &str) -> String {
        Redactor::new().json(body)
    }

    #[test]
    fn secrets_are_masked_at_any_depth_and_the_rest_keeps_its_bytes() {
        let body = "{ \"api_key\": [\"k1\", {\"v\": \"k2\"}],\n  \"n\": 1e5, \"big\": 12345678901234567890123, \"password\": 12345,\n  \"max_tokens\": 7, \"ok\": true }";
        let hidden = "{ \"api_key\": [\"[redacted]\", {\"v\": \"[redacted]\"}],\n  \"n\": 1e5, \"big\": 12345678901234567890123, \"password\": \"[redacted]\",\n  \"max_tokens\": 7, \"ok\": true }";
        assert_eq!(json(body), hidden);
        assert_eq!(json(hidden), hidden);
    }

    #[test]
    fn texts_inside_are_taken_as_text() {
        let body = r#"{"cmd":"vllm serve --api-key letmein","inner":"{\"token\":\"x\",\"hf_token\":\"abc\"}","10.0.0.7:80":{}}"#;
        let hidden = r#"{"cmd":"vllm serve --api-key [redacted]","inner":"{\"token\":\"[redacted]\",\"hf_token\":\"[redacted]\"}","ip-1:80":{}}"#;
        assert_eq!(json(body), hidden);
    }

    #[test]
    fn prompts_become_their_length() {
        let body =
            r#"{"model":"m","messages":[{"role":"user","content":"grüß dich"}],"prompt":[1,2,3],"tokens":7}"#;
        let hidden = r#"{"model":"m","messages":[{"role":"user","content":"[9 characters]"}],"prompt":["[3 ids]"],"tokens":7}"#;
        assert_eq!(json(body), hidden);
        assert_eq!(json(hidden), hidden);
        assert_eq!(Redactor::new().keep_prompts().json(body), body);
    }

    #[test]
    fn a_name_and_its_value_may_stand_side_by_side() {
        let body = r#"{"env":[{"name":"HF_TOKEN","value":"letmein"},{"name":"N","value":"3"}]}"#;
        let hidden = r#"{"env":[{"name":"HF_TOKEN","value":"[redacted]"},{"name":"N","value":"3"}]}"#;
        assert_eq!(json(body), hidden);
        assert_eq!(Redactor::new().text(body), hidden);
        assert_eq!(json(hidden), hidden);
    }

    #[test]
    fn what_is_no_json_is_text() {
        assert_eq!(json("password=hunter2 {"), "password=[redacted] {");
        assert_eq!(json("\"half a pair \\ud800 of 10.0.0.9\""), "\"half a pair \\\\ud800 of ip-1\"");
    }
}
