//! Errors in vLLM's form.

use http::{Response, StatusCode};
use serde_json::json;

use crate::engine::Refusal;
use crate::serve::api::reply::{Body, json_reply};

/// Why a request is not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ApiError {
    pub(super) status: StatusCode,
    /// vLLM's word for the kind.
    pub(super) kind: &'static str,
    pub(super) message: String,
    pub(super) param: Option<&'static str>,
}

impl ApiError {
    /// A body that is not what the route takes.
    pub(super) fn invalid(param: Option<&'static str>, message: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, kind: "Bad Request", message: message.into(), param }
    }

    /// A parameter with a value that cannot be.
    pub(super) fn value(param: &'static str, message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            kind: "BadRequestError",
            message: message.into(),
            param: Some(param),
        }
    }

    /// Nobody serves this model.
    pub(super) fn unknown_model(name: &str) -> Self {
        Self {
            status: StatusCode::NOT_FOUND,
            kind: "NotFoundError",
            message: format!("The model `{name}` does not exist."),
            param: Some("model"),
        }
    }

    /// The prompt leaves no room for an answer.
    pub(super) fn too_long(prompt: u64, window: u32) -> Self {
        Self::value(
            "input_tokens",
            format!(
                "This model's maximum context length is {window} tokens. However, your prompt contains {prompt} \
                 input tokens, which leaves no room for an answer. Please reduce the length of the input prompt."
            ),
        )
    }

    /// The engine died.
    pub(super) fn dead() -> Self {
        Self {
            kind: "InternalServerError",
            message: "EngineCore encountered an issue. See stack trace (above) for the root cause.".into(),
            ..Self::plain(StatusCode::INTERNAL_SERVER_ERROR)
        }
    }

    /// An HTTP status that says it all.
    pub(super) fn plain(status: StatusCode) -> Self {
        let phrase = status.canonical_reason().unwrap_or("Error");
        Self { status, kind: phrase, message: phrase.into(), param: None }
    }

    pub(super) fn json(&self) -> serde_json::Value {
        json!({"error": {
            "message": self.message,
            "type": self.kind,
            "param": self.param,
            "code": self.status.as_u16(),
        }})
    }

    pub(super) fn reply(&self) -> Response<Body> {
        json_reply(self.status, &self.json())
    }

    /// As an event of a stream that had begun already.
    pub(super) fn event(&self) -> String {
        format!("data: {}\n\ndata: [DONE]\n\n", self.json())
    }
}

impl From<Refusal> for ApiError {
    fn from(why: Refusal) -> Self {
        match why {
            Refusal::TooLong { prompt, window } => Self::too_long(u64::from(prompt), window),
            Refusal::QueueFull { limit } => Self {
                message: format!(
                    "The engine is currently busy and cannot accept new requests: {limit} wait already. \
                     Please try again later or on a different instance."
                ),
                ..Self::plain(StatusCode::SERVICE_UNAVAILABLE)
            },
        }
    }
}
