//! llama.cpp's own `/completion`.

use intriage_record::{ChunkKind, Finish};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::reading::{Meaning, Reading, error_words, few, filled};
use crate::wire::Event;

#[derive(Deserialize)]
struct Piece<'a> {
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(default)]
    tokens: Option<Vec<IgnoredAny>>,
    #[serde(default)]
    stop: bool,
    #[serde(default)]
    stop_type: Option<String>,
    #[serde(default)]
    tokens_predicted: Option<u32>,
    #[serde(default)]
    tokens_evaluated: Option<u32>,
    #[serde(default)]
    timings: Option<Timings>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Timings {
    #[serde(default)]
    cache_n: Option<u32>,
}

pub(super) fn read<'a>(reading: &mut Reading, event: Event<'a>) -> Result<Meaning<'a>, serde_json::Error> {
    let piece: Piece<'a> = serde_json::from_slice(event.data)?;
    if let Some(error) = piece.error {
        reading.error = error_words(error.get());
        return Ok(Meaning::of(ChunkKind::Error));
    }
    let text = filled(piece.content);
    if piece.stop {
        reading.marked_end = true;
        reading.completion_tokens = piece.tokens_predicted;
        reading.prompt_tokens = piece.tokens_evaluated;
        // Not `tokens_cached`, which counts the slot after the answer.
        reading.cached_tokens = piece.timings.and_then(|t| t.cache_n);
        reading.finish = match piece.stop_type.as_deref() {
            Some("limit") => Finish::Length,
            Some("eos" | "word") => Finish::Stop,
            _ => Finish::Unknown,
        };
        if text.is_none() {
            return Ok(Meaning::of(ChunkKind::Usage));
        }
    }
    let tokens = few(piece.tokens.map_or(0, |t| t.len()));
    let kind = match text {
        Some(_) => ChunkKind::Content,
        None if tokens > 0 => ChunkKind::Silent,
        None => ChunkKind::Empty,
    };
    Ok(Meaning { kind, tokens, text, plain: tokens == 0 && !piece.stop })
}
