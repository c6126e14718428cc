//! The inference routes.

/// An inference API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Api {
    /// OpenAI's `/v1/chat/completions`.
    Chat,
    /// OpenAI's `/v1/completions`.
    Completions,
    /// OpenAI's `/v1/responses`.
    Responses,
    /// llama.cpp's `/completion`.
    LlamaCpp,
    /// Text Generation Inference's `/generate_stream`.
    TgiStream,
    /// Text Generation Inference's `/generate`.
    TgiWhole,
}

impl Api {
    /// The API behind a path.
    pub(crate) fn at(path: &str) -> Option<Self> {
        Some(match path {
            "/v1/chat/completions" => Self::Chat,
            "/v1/completions" => Self::Completions,
            "/v1/responses" => Self::Responses,
            "/completion" => Self::LlamaCpp,
            "/generate_stream" => Self::TgiStream,
            "/generate" => Self::TgiWhole,
            _ => return None,
        })
    }

    /// Its name in the log.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Completions => "completions",
            Self::Responses => "responses",
            Self::LlamaCpp => "llamacpp",
            Self::TgiStream => "tgi_stream",
            Self::TgiWhole => "tgi",
        }
    }

    /// What a response id begins with.
    pub(crate) fn id_prefix(self) -> &'static str {
        match self {
            Self::Chat => "chatcmpl-",
            Self::Completions => "cmpl-",
            Self::Responses => "resp_",
            Self::LlamaCpp => "llama-",
            Self::TgiStream | Self::TgiWhole => "tgi-",
        }
    }
}
