//! What a client asks for: the body of an inference request, read in one pass without keeping its text.

use std::fmt;

use serde::de::{Deserializer as _, Error as _, IgnoredAny, MapAccess, Visitor};

use crate::api::Api;
use crate::prompt::{Prompt, Reading};

/// A request as far as it matters here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) prompt: Prompt,
    /// Tokens wanted, if the request says so.
    pub(crate) limit: Option<u32>,
    pub(crate) stream: bool,
    pub(crate) usage: Usage,
}

/// Where a stream tells how many tokens there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) enum Usage {
    /// Nowhere.
    #[default]
    Never,
    /// In a chunk of its own after the last token.
    AtEnd,
    /// There, and in every chunk.
    Always,
}

impl Ask {
    /// Reads a body; the error is a sentence for the client.
    pub(crate) fn read(api: Api, body: &[u8]) -> Result<Self, String> {
        let mut ask = Self::default();
        let mut seen = Seen::default();
        let mut from = serde_json::Deserializer::from_slice(body);
        from.deserialize_map(Fields { api, ask: &mut ask, seen: &mut seen })
            .and_then(|()| from.end())
            .map_err(|why| format!("the body does not fit: {why}"))?;
        if !seen.prompt {
            return Err(format!("the body has no {}", prompt_key(api)));
        }
        let limit = match api {
            Api::Chat => seen.max_completion_tokens.or(seen.max_tokens),
            Api::Completions => seen.max_tokens,
            Api::Responses => seen.max_output_tokens,
            // A negative number is llama.cpp's word for no limit.
            Api::LlamaCpp => seen.n_predict.filter(|n| *n >= 0),
            Api::TgiStream | Api::TgiWhole => seen.max_new_tokens,
        };
        ask.limit = match limit {
            None => None,
            Some(n @ 1..) => Some(u32::try_from(n).unwrap_or(u32::MAX)),
            Some(n) => return Err(format!("at least 1 token must be asked for, got {n}")),
        };
        match api {
            Api::TgiStream => ask.stream = true,
            Api::TgiWhole => ask.stream = false,
            _ => {}
        }
        Ok(ask)
    }
}

fn prompt_key(api: Api) -> &'static str {
    match api {
        Api::Chat => "messages",
        Api::Completions | Api::LlamaCpp => "prompt",
        Api::Responses => "input",
        Api::TgiStream | Api::TgiWhole => "inputs",
    }
}

/// Fields that only some of the APIs heed.
#[derive(Default)]
struct Seen {
    prompt: bool,
    max_tokens: Option<i64>,
    max_completion_tokens: Option<i64>,
    max_output_tokens: Option<i64>,
    n_predict: Option<i64>,
    max_new_tokens: Option<i64>,
}

struct Fields<'a> {
    api: Api,
    ask: &'a mut Ask,
    seen: &'a mut Seen,
}

#[derive(Clone, Copy, serde::Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Key {
    Messages,
    Prompt,
    Input,
    Inputs,
    MaxTokens,
    MaxCompletionTokens,
    MaxOutputTokens,
    NPredict,
    Parameters,
    Stream,
    StreamOptions,
    #[serde(other)]
    Other,
}

#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct StreamOptions {
    include_usage: Option<bool>,
    continuous_usage_stats: Option<bool>,
}

#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct Parameters {
    max_new_tokens: Option<i64>,
}

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let Self { api, ask, seen } = self;
        while let Some(key) = fields.next_key()? {
            match key {
                Key::Messages | Key::Prompt | Key::Input | Key::Inputs if is_prompt(api, key) => {
                    if std::mem::replace(&mut seen.prompt, true) {
                        return Err(A::Error::custom("the prompt is given twice"));
                    }
                    fields.next_value_seed(Reading(&mut ask.prompt))?;
                }
                Key::MaxTokens => seen.max_tokens = fields.next_value()?,
                Key::MaxCompletionTokens => seen.max_completion_tokens = fields.next_value()?,
                Key::MaxOutputTokens => seen.max_output_tokens = fields.next_value()?,
                Key::NPredict => seen.n_predict = fields.next_value()?,
                Key::Parameters => {
                    let parameters: Option<Parameters> = fields.next_value()?;
                    seen.max_new_tokens = parameters.unwrap_or_default().max_new_tokens;
                }
                Key::Stream => ask.stream = fields.next_value::<Option<bool>>()?.unwrap_or(false),
                Key::StreamOptions => {
                    let options: StreamOptions = fields.next_value::<Option<_>>()?.unwrap_or_default();
                    ask.usage = match (options.include_usage, options.continuous_usage_stats) {
                        (Some(true), Some(true)) => Usage::Always,
                        (Some(true), _) => Usage::AtEnd,
                        _ => Usage::Never,
                    };
                }
                _ => drop(fields.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

fn is_prompt(api: Api, key: Key) -> bool {
    matches!(
        (api, key),
        (Api::Chat, Key::Messages)
            | (Api::Completions | Api::LlamaCpp, Key::Prompt)
            | (Api::Responses, Key::Input)
            | (Api::TgiStream | Api::TgiWhole, Key::Inputs)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(api: Api, body: &str) -> Option<u32> {
        Ask::read(api, body.as_bytes()).unwrap().limit
    }

    #[test]
    fn each_api_has_its_own_word_for_the_limit() {
        assert_eq!(limit(Api::Chat, r#"{"messages":[],"max_tokens":3,"max_completion_tokens":4}"#), Some(4));
        assert_eq!(
            limit(Api::Chat, r#"{"messages":[],"max_tokens":3,"max_completion_tokens":null}"#),
            Some(3)
        );
        assert_eq!(limit(Api::Completions, r#"{"prompt":"a","max_tokens":5,"n_predict":9}"#), Some(5));
        assert_eq!(limit(Api::Responses, r#"{"input":"a","max_output_tokens":6,"max_tokens":9}"#), Some(6));
        assert_eq!(limit(Api::LlamaCpp, r#"{"prompt":"a","n_predict":-1}"#), None);
        assert_eq!(
            limit(Api::TgiStream, r#"{"inputs":"a","parameters":{"max_new_tokens":7,"top_p":1}}"#),
            Some(7)
        );
    }

    #[test]
    fn nonsense_is_told() {
        for (api, body) in [
            (Api::Chat, "{}"),
            (Api::Chat, "[]"),
            (Api::Chat, r#"{"messages":"a"} x"#),
            (Api::Chat, r#"{"messages":[],"max_tokens":0}"#),
            (Api::Chat, r#"{"messages":[],"max_tokens":1.5}"#),
            (Api::Chat, r#"{"messages":[],"messages":[]}"#),
            (Api::Completions, r#"{"prompt":true}"#),
            (Api::TgiWhole, r#"{"inputs":"a","parameters":{"max_new_tokens":-4}}"#),
        ] {
            assert!(Ask::read(api, body.as_bytes()).is_err(), "{body}");
        }
    }
}
