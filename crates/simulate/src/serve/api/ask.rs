//! What a client asks for: the body of `/v1/completions` and `/v1/chat/completions`.
//!
//! Sampling parameters, `stop`, `logprobs`, tools and unknown fields are accepted and ignored.

use serde_json::{Map, Value};

use crate::serve::api::error::ApiError;
use crate::serve::tokenizer::{self, MESSAGE_END, MESSAGE_START};

/// Prompts in one request.
const MOST_PROMPTS: usize = 256;
/// Answer length of `/v1/completions` where none is asked for, in tokens.
const COMPLETION_TOKENS: u32 = 16;

/// Where a stream tells how many tokens there were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Usage {
    /// Nowhere.
    Never,
    /// In a chunk of its own after the last token.
    AtEnd,
    /// There, and in every chunk.
    Always,
}

/// A request that makes sense by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ask {
    /// The model named, if any.
    pub(super) model: Option<String>,
    /// Prompts as tokens; one for a chat.
    pub(super) prompts: Vec<Vec<u32>>,
    /// The longest answer allowed, in tokens; `None` for as long as the window lasts.
    pub(super) max_tokens: Option<u32>,
    /// The shortest answer wanted, in tokens.
    pub(super) min_tokens: u32,
    /// The model's own end does not count.
    pub(super) ignore_eos: bool,
    pub(super) stream: bool,
    /// Where a stream tells how many tokens there were.
    pub(super) usage: Usage,
    pub(super) priority: i32,
    /// Prompts under different salts share no cache.
    pub(super) cache_salt: Option<String>,
    /// Length of the model's own answer, in tokens, for a client that plays a known workload:
    /// `vllm_xargs.answer_tokens`, which a real vLLM accepts and does not use.
    pub(super) answer_tokens: Option<u32>,
}

impl Ask {
    /// Reads a body; `chat` tells the two routes apart.
    pub(super) fn read(body: &[u8], chat: bool) -> Result<Self, ApiError> {
        let fields = object(body)?;
        let prompts = if chat { vec![messages(&fields)?] } else { prompts(&fields)? };
        let options = match field(&fields, "stream_options") {
            Some(Value::Object(options)) => options.clone(),
            Some(_) => return Err(ApiError::invalid(Some("stream_options"), "stream_options is an object")),
            None => Map::new(),
        };
        let stream = switch(&fields, "stream")?;
        if !stream && !options.is_empty() {
            return Err(ApiError::value(
                "stream_options",
                "Stream options can only be defined when `stream=True`.",
            ));
        }
        if let Some(n) = integer(&fields, "n")?
            && n != 1
        {
            return Err(ApiError::value(
                "n",
                format!("one answer a request is simulated: n must be 1, got {n}"),
            ));
        }
        let mut max_tokens = tokens(&fields, "max_tokens", 1)?;
        if chat {
            max_tokens = tokens(&fields, "max_completion_tokens", 1)?.or(max_tokens);
        } else {
            max_tokens = max_tokens.or(Some(COMPLETION_TOKENS));
        }
        let min_tokens = tokens(&fields, "min_tokens", 0)?.unwrap_or(0);
        if let Some(most) = max_tokens
            && min_tokens > most
        {
            return Err(ApiError::value(
                "min_tokens",
                format!("min_tokens must be less than or equal to max_tokens={most}, got {min_tokens}."),
            ));
        }
        let extra = match field(&fields, "vllm_xargs") {
            Some(Value::Object(extra)) => tokens(extra, "answer_tokens", 1)?,
            _ => None,
        };
        Ok(Self {
            model: model(&fields)?,
            prompts,
            max_tokens,
            min_tokens,
            ignore_eos: switch(&fields, "ignore_eos")?,
            stream,
            usage: match (switch(&options, "include_usage")?, switch(&options, "continuous_usage_stats")?) {
                (false, _) => Usage::Never,
                (true, false) => Usage::AtEnd,
                (true, true) => Usage::Always,
            },
            priority: integer(&fields, "priority")?.map_or(0, |p| p.clamp(-1_000_000, 1_000_000) as i32),
            cache_salt: text(&fields, "cache_salt")?,
            answer_tokens: extra,
        })
    }
}

/// A body that is a JSON object.
pub(super) fn object(body: &[u8]) -> Result<Map<String, Value>, ApiError> {
    match serde_json::from_slice(body) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(ApiError::invalid(None, "the body is not a JSON object")),
        Err(why) => Err(ApiError::invalid(None, format!("JSON decode error: {why}"))),
    }
}

/// The model a body names.
pub(super) fn model(fields: &Map<String, Value>) -> Result<Option<String>, ApiError> {
    text(fields, "model")
}

/// The prompt of `/tokenize`: one text, or a chat in its template.
pub(super) fn tokenize(fields: &Map<String, Value>) -> Result<Vec<u32>, ApiError> {
    match field(fields, "prompt") {
        Some(Value::String(text)) => Ok(tokenizer::encode(text)),
        Some(_) => Err(ApiError::invalid(Some("prompt"), "prompt is a string")),
        None => messages(fields),
    }
}

/// Token ids as `/detokenize` takes them.
pub(super) fn token_ids(fields: &Map<String, Value>) -> Result<Vec<u32>, ApiError> {
    let Some(Value::Array(items)) = field(fields, "tokens") else {
        return Err(ApiError::invalid(Some("tokens"), "Field required: tokens, an array of token ids"));
    };
    ids(items, "tokens")
}

/// A field that is there and not null.
fn field<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    fields.get(name).filter(|value| !value.is_null())
}

fn switch(fields: &Map<String, Value>, name: &'static str) -> Result<bool, ApiError> {
    match field(fields, name) {
        None => Ok(false),
        Some(Value::Bool(on)) => Ok(*on),
        Some(_) => Err(ApiError::invalid(Some(name), format!("{name} is true or false"))),
    }
}

fn text(fields: &Map<String, Value>, name: &'static str) -> Result<Option<String>, ApiError> {
    match field(fields, name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(ApiError::invalid(Some(name), format!("{name} is a string"))),
    }
}

fn integer(fields: &Map<String, Value>, name: &'static str) -> Result<Option<i64>, ApiError> {
    let Some(value) = field(fields, name) else { return Ok(None) };
    // 16.0 is a way of writing 16; a cast saturates at both ends.
    let whole = value.as_i64().or_else(|| value.as_f64().filter(|f| f.fract() == 0.0).map(|f| f as i64));
    whole.map(Some).ok_or_else(|| ApiError::invalid(Some(name), format!("{name} is a whole number")))
}

fn tokens(fields: &Map<String, Value>, name: &'static str, least: i64) -> Result<Option<u32>, ApiError> {
    match integer(fields, name)? {
        Some(n) if n < least => {
            Err(ApiError::value(name, format!("{name} must be at least {least}, got {n}.")))
        }
        other => Ok(other.map(|n| u32::try_from(n).unwrap_or(u32::MAX))),
    }
}

fn ids(items: &[Value], name: &'static str) -> Result<Vec<u32>, ApiError> {
    let id = |item: &Value| item.as_u64().and_then(|id| u32::try_from(id).ok());
    items
        .iter()
        .map(|item| {
            id(item)
                .ok_or_else(|| ApiError::invalid(Some(name), format!("{name}: {} is no token id", cut(item))))
        })
        .collect()
}

/// A value as a message shows it: the beginning is enough.
fn cut(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() > 40 { format!("{}…", text.chars().take(40).collect::<String>()) } else { text }
}

/// A text, several texts, token ids, or several arrays of them.
fn prompts(fields: &Map<String, Value>) -> Result<Vec<Vec<u32>>, ApiError> {
    let wrong = |message: String| ApiError::invalid(Some("prompt"), message);
    let prompts = match field(fields, "prompt") {
        None => return Err(wrong("Field required: prompt".into())),
        Some(Value::String(text)) => vec![tokenizer::encode(text)],
        Some(Value::Array(items)) if items.first().is_some_and(Value::is_number) => {
            vec![ids(items, "prompt")?]
        }
        Some(Value::Array(items)) => {
            if items.len() > MOST_PROMPTS {
                return Err(wrong(format!(
                    "{} prompts; {MOST_PROMPTS} are allowed in a request",
                    items.len()
                )));
            }
            items
                .iter()
                .map(|item| match item {
                    Value::String(text) => Ok(tokenizer::encode(text)),
                    Value::Array(inner) => ids(inner, "prompt"),
                    other => Err(wrong(format!("prompt: {} is neither text nor token ids", cut(other)))),
                })
                .collect::<Result<_, _>>()?
        }
        Some(_) => return Err(wrong("prompt is a string or an array".into())),
    };
    if prompts.is_empty() || prompts.iter().any(Vec::is_empty) {
        return Err(wrong("an empty prompt gives nothing to go on".into()));
    }
    Ok(prompts)
}

/// A chat in its template (ChatML), open for the assistant's answer.
fn messages(fields: &Map<String, Value>) -> Result<Vec<u32>, ApiError> {
    let wrong = |message: &str| ApiError::invalid(Some("messages"), message);
    let Some(Value::Array(messages)) = field(fields, "messages") else {
        return Err(wrong("Field required: messages, an array"));
    };
    if messages.is_empty() {
        return Err(wrong("messages is empty"));
    }
    let mut tokens = Vec::new();
    for message in messages {
        let role =
            message.get("role").and_then(Value::as_str).ok_or_else(|| wrong("a message needs a role"))?;
        tokens.push(MESSAGE_START);
        tokenizer::encode_into(role, &mut tokens);
        tokenizer::encode_into("\n", &mut tokens);
        match message.get("content") {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => tokenizer::encode_into(text, &mut tokens),
            Some(Value::Array(parts)) => {
                for part in parts {
                    let text = part.get("text").and_then(Value::as_str).or_else(|| part.as_str());
                    let text =
                        text.ok_or_else(|| wrong("this is not a multimodal model: only text parts"))?;
                    tokenizer::encode_into(text, &mut tokens);
                }
            }
            Some(_) => return Err(wrong("content is a string or an array of parts")),
        }
        tokens.push(MESSAGE_END);
        tokenizer::encode_into("\n", &mut tokens);
    }
    if !matches!(field(fields, "add_generation_prompt"), Some(Value::Bool(false))) {
        tokens.push(MESSAGE_START);
        tokenizer::encode_into("assistant\n", &mut tokens);
    }
    Ok(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn complete(body: &str) -> Result<Ask, ApiError> {
        Ask::read(body.as_bytes(), false)
    }

    #[test]
    fn a_prompt_comes_in_four_forms() {
        let prompts = |body| complete(body).unwrap().prompts;
        assert_eq!(prompts(r#"{"prompt": "one two"}"#).len(), 1);
        assert_eq!(prompts(r#"{"prompt": ["one", "two three"]}"#).len(), 2);
        assert_eq!(prompts(r#"{"prompt": [1, 2, 3]}"#), [vec![1, 2, 3]]);
        assert_eq!(prompts(r#"{"prompt": [[1], [2, 3]]}"#), [vec![1], vec![2, 3]]);
    }

    #[test]
    fn a_chat_is_rendered_and_its_parts_are_text() {
        let read = |content: &str| {
            let body = format!(r#"{{"messages": [{{"role": "user", "content": {content}}}]}}"#);
            Ask::read(body.as_bytes(), true).map(|ask| ask.prompts[0].clone())
        };
        let plain = read(r#""Hello there""#).unwrap();
        assert_eq!(plain, read(r#"[{"type": "text", "text": "Hello there"}]"#).unwrap());
        assert_eq!(
            tokenizer::decode(&plain).unwrap(),
            "<|im_start|>user\nHello there<|im_end|>\n<|im_start|>assistant\n"
        );
        assert!(read(r#"[{"type": "image_url", "image_url": {"url": "x"}}]"#).is_err());
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_the_parameter_named() {
        let param = |body: &str, chat| Ask::read(body.as_bytes(), chat).unwrap_err().param;
        assert_eq!(param("{", false), None);
        assert_eq!(param("{}", true), Some("messages"));
        assert_eq!(param(r#"{"prompt": ""}"#, false), Some("prompt"));
        assert_eq!(param(r#"{"prompt": [1, -2]}"#, false), Some("prompt"));
        assert_eq!(param(r#"{"prompt": "a", "max_tokens": -1}"#, false), Some("max_tokens"));
        assert_eq!(param(r#"{"prompt": "a", "n": 2}"#, false), Some("n"));
        assert_eq!(param(r#"{"prompt": "a", "min_tokens": 20}"#, false), Some("min_tokens"));
        assert_eq!(
            param(r#"{"prompt": "a", "stream_options": {"include_usage": true}}"#, false),
            Some("stream_options")
        );
    }

    #[test]
    fn the_newer_name_of_the_limit_wins_and_a_completion_has_one_by_default() {
        let chat = r#"{"messages": [{"role": "user"}], "max_tokens": 5, "max_completion_tokens": 7}"#;
        assert_eq!(Ask::read(chat.as_bytes(), true).unwrap().max_tokens, Some(7));
        assert_eq!(complete(r#"{"prompt": "a"}"#).unwrap().max_tokens, Some(16));
        assert_eq!(complete(r#"{"prompt": "a", "max_tokens": 1e300}"#).unwrap().max_tokens, Some(u32::MAX));
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            let names = prop::sample::select(vec![
                "prompt",
                "messages",
                "role",
                "content",
                "text",
                "model",
                "max_tokens",
                "min_tokens",
                "n",
                "stream",
                "stream_options",
                "include_usage",
                "ignore_eos",
                "priority",
                "vllm_xargs",
                "answer_tokens",
                "cache_salt",
                "tokens",
            ]);
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((names, inner), 0..8)
                    .prop_map(|pairs| Value::Object(pairs.into_iter().map(|(k, v)| (k.into(), v)).collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_json_is_read_or_refused(value in any_json(), chat in any::<bool>()) {
            let body = value.to_string();
            match Ask::read(body.as_bytes(), chat) {
                Ok(ask) => prop_assert!(ask.prompts.iter().all(|p| !p.is_empty())),
                Err(error) => prop_assert!(error.status.is_client_error() && !error.message.is_empty()),
            }
            if let Ok(fields) = object(body.as_bytes()) {
                let _ = (tokenize(&fields), token_ids(&fields));
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(body in any::<Vec<u8>>(), chat in any::<bool>()) {
            prop_assert!(Ask::read(&body, chat).is_err());
        }
    }
}
