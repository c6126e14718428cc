//! OpenAI's responses API.

use std::borrow::Cow;

use intriage_record::{ChunkKind, Finish};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::reading::{Details, Meaning, Reading, error_words, filled};
use crate::wire::Event;

#[derive(Deserialize)]
struct Piece<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    delta: Option<&'a RawValue>,
    #[serde(borrow, default)]
    response: Option<Response<'a>>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(default)]
    usage: Option<Usage>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    input_tokens: Option<u32>,
    #[serde(default)]
    output_tokens: Option<u32>,
    #[serde(default)]
    input_tokens_details: Option<Details>,
}

pub(super) fn read<'a>(reading: &mut Reading, event: Event<'a>) -> Result<Meaning<'a>, serde_json::Error> {
    let piece: Piece<'a> = serde_json::from_slice(event.data)?;
    if let Some(response) = &piece.response {
        if let (Some(id), true) = (&response.id, reading.id.is_empty()) {
            reading.id.push_str(id.get(..id.len().min(100)).unwrap_or_default());
        }
        if let Some(usage) = &response.usage {
            reading.prompt_tokens = usage.input_tokens;
            reading.completion_tokens = usage.output_tokens;
            reading.cached_tokens = usage.input_tokens_details.as_ref().and_then(|d| d.cached_tokens);
        }
    }
    let text = filled(piece.delta);
    Ok(match piece.kind.as_ref() {
        "response.output_text.delta"
        | "response.refusal.delta"
        | "response.function_call_arguments.delta" => {
            let kind = if text.is_some() { ChunkKind::Content } else { ChunkKind::Empty };
            // A sequence number that counts up makes every event differ elsewhere too; then the shape never fits.
            Meaning { kind, tokens: 0, text, plain: true }
        }
        "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => Meaning {
            kind: if text.is_some() { ChunkKind::Reasoning } else { ChunkKind::Empty },
            tokens: 0,
            text,
            plain: true,
        },
        "response.completed" | "response.incomplete" => {
            reading.marked_end = true;
            reading.finish = if piece.kind == "response.completed" { Finish::Stop } else { Finish::Length };
            Meaning::of(ChunkKind::Usage)
        }
        "error" | "response.failed" => {
            let error = piece.message.or(piece.response.as_ref().and_then(|r| r.error));
            reading.error =
                error_words(error.map_or("the server reported an error without words", RawValue::get));
            Meaning::of(ChunkKind::Error)
        }
        _ => Meaning::of(ChunkKind::Other),
    })
}
