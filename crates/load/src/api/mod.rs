//! The APIs a request can be made in: its path and body, and what the events of the answer mean.

mod llama_cpp;
mod openai;
mod reading;
mod responses;
mod tgi;

use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value, json};
use thiserror::Error;

pub use reading::{Reading, error_words};

/// An API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// OpenAI chat completions.
    Chat,
    /// OpenAI completions.
    Completions,
    /// OpenAI responses.
    Responses,
    /// llama.cpp's own `/completion`.
    LlamaCpp,
    /// TGI's own `/generate_stream`.
    Tgi,
}

/// Not an API.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("'{0}' is not an API: use chat, completions, responses, llama.cpp or tgi")]
pub struct UnknownApi(String);

impl FromStr for Api {
    type Err = UnknownApi;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "chat" | "openai-chat" | "/v1/chat/completions" => Self::Chat,
            "completions" | "openai" | "/v1/completions" => Self::Completions,
            "responses" | "openai-responses" | "/v1/responses" => Self::Responses,
            "llama.cpp" | "llama-cpp" | "llamacpp" | "/completion" => Self::LlamaCpp,
            "tgi" | "/generate_stream" => Self::Tgi,
            other => return Err(UnknownApi(other.to_owned())),
        })
    }
}

impl fmt::Display for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Chat => "chat",
            Self::Completions => "completions",
            Self::Responses => "responses",
            Self::LlamaCpp => "llama.cpp",
            Self::Tgi => "tgi",
        })
    }
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Who says it.
    pub role: Role,
    /// What.
    pub text: String,
}

/// Who says a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The system prompt.
    System,
    /// The user.
    User,
    /// The model.
    Assistant,
}

impl Role {
    const fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// What all requests of a run have in common.
#[derive(Debug, Clone, PartialEq)]
pub struct Common {
    /// The API.
    pub api: Api,
    /// The model's name.
    pub model: String,
    /// Generate to the length asked for, whatever the model says.
    pub ignore_eos: bool,
    /// Ask for token counts with every chunk (vLLM and SGLang).
    pub continuous_usage: bool,
    /// Further fields of the body, which win over ours.
    pub extra: Map<String, Value>,
}

impl Api {
    /// Where requests go.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Completions => "/v1/completions",
            Self::Responses => "/v1/responses",
            Self::LlamaCpp => "/completion",
            Self::Tgi => "/generate_stream",
        }
    }
}

impl Common {
    /// The body of a request: `messages` and so many tokens of answer.
    pub fn body(&self, messages: &[Message], output: u32) -> Vec<u8> {
        let mut body = Map::new();
        let mut put = |name: &str, value: Value| {
            body.insert(name.to_owned(), value);
        };
        let conversation = || {
            messages
                .iter()
                .map(|m| json!({"role": m.role.name(), "content": m.text}))
                .collect::<Vec<_>>()
                .into()
        };
        // Without a template, a conversation is its texts.
        let text = || Value::String(messages.iter().map(|m| m.text.as_str()).collect::<Vec<_>>().join("\n"));
        match self.api {
            Api::Chat | Api::Completions => {
                put("model", self.model.clone().into());
                if self.api == Api::Chat {
                    put("messages", conversation());
                } else {
                    put("prompt", text());
                }
                put("max_tokens", output.into());
                put("stream", true.into());
                let usage = if self.continuous_usage {
                    json!({"include_usage": true, "continuous_usage_stats": true})
                } else {
                    json!({"include_usage": true})
                };
                put("stream_options", usage);
                if self.ignore_eos {
                    put("ignore_eos", true.into());
                }
            }
            Api::Responses => {
                put("model", self.model.clone().into());
                put("input", conversation());
                put("max_output_tokens", output.into());
                put("stream", true.into());
                if self.ignore_eos {
                    put("ignore_eos", true.into());
                }
            }
            Api::LlamaCpp => {
                put("prompt", text());
                put("n_predict", output.into());
                put("stream", true.into());
                put("return_tokens", true.into());
                put("ignore_eos", self.ignore_eos.into());
                // Without this the server reuses the slot's last prompt, whatever the plan says of shared prefixes.
                put("cache_prompt", true.into());
            }
            Api::Tgi => {
                put("inputs", text());
                let mut parameters = json!({"max_new_tokens": output, "details": true});
                if self.ignore_eos {
                    parameters["ignore_eos_token"] = true.into();
                }
                put("parameters", parameters);
            }
        }
        for (name, value) in &self.extra {
            put(name, value.clone());
        }
        // A map of plain values always serialises.
        serde_json::to_vec(&body).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_api_asks_for_its_length_and_for_counts() {
        for (api, length) in [
            ("chat", "/max_tokens"),
            ("completions", "/max_tokens"),
            ("responses", "/max_output_tokens"),
            ("llama.cpp", "/n_predict"),
            ("tgi", "/parameters/max_new_tokens"),
        ] {
            let api: Api = api.parse().unwrap();
            let extra = serde_json::from_str(r#"{"temperature":0}"#).unwrap();
            let common =
                Common { api, model: "m".to_owned(), ignore_eos: true, continuous_usage: false, extra };
            let messages = [Message { role: Role::User, text: "a \"quoted\" word\n".to_owned() }];
            let body: Value = serde_json::from_slice(&common.body(&messages, 7)).unwrap();
            assert_eq!(body.pointer(length), Some(&7.into()), "{api}");
            assert_eq!(body["temperature"], 0, "{api}");
            assert!(body.to_string().contains(r#"a \"quoted\" word\n"#), "{api}");
        }
        assert!("grpc".parse::<Api>().unwrap_err().to_string().contains("llama.cpp"));
    }
}
