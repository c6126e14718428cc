//! TGI's own `/generate_stream`: one token an event.

use intriage_record::ChunkKind;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::reading::{Meaning, Reading, error_words, filled, finish};
use crate::wire::Event;

#[derive(Deserialize)]
struct Piece<'a> {
    #[serde(borrow, default)]
    token: Option<Token<'a>>,
    #[serde(default)]
    details: Option<Details>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Token<'a> {
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
    #[serde(default)]
    special: bool,
}

#[derive(Deserialize)]
struct Details {
    #[serde(default)]
    finish_reason: Option<String>,
    #[serde(default)]
    generated_tokens: Option<u32>,
    #[serde(default)]
    input_length: Option<u32>,
}

pub(super) fn read<'a>(reading: &mut Reading, event: Event<'a>) -> Result<Meaning<'a>, serde_json::Error> {
    let piece: Piece<'a> = serde_json::from_slice(event.data)?;
    if let Some(error) = piece.error {
        reading.error = error_words(error.get());
        return Ok(Meaning::of(ChunkKind::Error));
    }
    if let Some(details) = piece.details {
        reading.marked_end = true;
        reading.completion_tokens = details.generated_tokens;
        reading.prompt_tokens = details.input_length.or(reading.prompt_tokens);
        reading.finish = details.finish_reason.as_deref().map(finish).unwrap_or_default();
    }
    let Some(token) = piece.token else { return Ok(Meaning::of(ChunkKind::Other)) };
    let text = filled(token.text).filter(|_| !token.special);
    let kind = if text.is_some() { ChunkKind::Content } else { ChunkKind::Silent };
    Ok(Meaning { kind, tokens: 1, text, plain: false })
}
