//! Chat completions and completions, as OpenAI, vLLM, SGLang, llama.cpp and others stream them.

use std::borrow::Cow;

use intriage_record::ChunkKind;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::reading::{Details, Meaning, Reading, error_words, few, filled, finish, is_blank};
use crate::wire::Event;

#[derive(Deserialize)]
struct Piece<'a> {
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    choices: Option<Vec<Choice<'a>>>,
    #[serde(default)]
    usage: Option<Usage>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    object: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow, default)]
    delta: Option<Delta<'a>>,
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    finish_reason: Option<Cow<'a, str>>,
    #[serde(default)]
    token_ids: Option<Vec<IgnoredAny>>,
    #[serde(default)]
    logprobs: Option<Logprobs>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow, default)]
    role: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reasoning_content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reasoning: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_calls: Option<&'a RawValue>,
    #[serde(borrow, default)]
    refusal: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Logprobs {
    #[serde(default)]
    content: Option<Vec<IgnoredAny>>,
    #[serde(default)]
    tokens: Option<Vec<IgnoredAny>>,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    prompt_tokens: Option<u32>,
    #[serde(default)]
    completion_tokens: Option<u32>,
    #[serde(default)]
    prompt_tokens_details: Option<Details>,
}

pub(super) fn read<'a>(reading: &mut Reading, event: Event<'a>) -> Result<Meaning<'a>, serde_json::Error> {
    let piece: Piece<'a> = serde_json::from_slice(event.data)?;
    let told_error = piece.error.filter(|e| e.get() != "null");
    if let Some(error) = told_error.or(piece.message.filter(|_| piece.object.as_deref() == Some("error"))) {
        reading.error = error_words(error.get());
        return Ok(Meaning::of(ChunkKind::Error));
    }
    if let (Some(id), true) = (&piece.id, reading.id.is_empty()) {
        reading.id.push_str(id.get(..id.len().min(100)).unwrap_or_default());
    }
    let has_usage = piece.usage.is_some();
    let mut new_tokens = 0;
    if let Some(usage) = piece.usage {
        let before = reading.completion_tokens.unwrap_or(0);
        reading.prompt_tokens = usage.prompt_tokens.or(reading.prompt_tokens);
        reading.completion_tokens = usage.completion_tokens.or(reading.completion_tokens);
        reading.cached_tokens =
            usage.prompt_tokens_details.and_then(|d| d.cached_tokens).or(reading.cached_tokens);
        new_tokens = reading.completion_tokens.unwrap_or(0).saturating_sub(before);
    }
    let Some(choices) = piece.choices.filter(|c| !c.is_empty()) else {
        reading.marked_end |= has_usage;
        return Ok(Meaning::of(if has_usage { ChunkKind::Usage } else { ChunkKind::Other }));
    };
    let alone = choices.len() == 1;
    let mut meaning = Meaning::of(ChunkKind::Empty);
    let mut ended = false;
    for choice in choices {
        if let Some(reason) = &choice.finish_reason {
            reading.finish = finish(reason);
            (reading.marked_end, ended) = (true, true);
        }
        let told = choice
            .token_ids
            .map(|t| t.len())
            .or_else(|| choice.logprobs.and_then(|l| l.content.or(l.tokens)).map(|t| t.len()));
        meaning.tokens = meaning.tokens.saturating_add(few(told.unwrap_or(0)));
        let blank = is_blank(choice.text) || choice.delta.as_ref().is_some_and(Delta::is_blank);
        if let Some((kind, text)) = generated(choice.text, choice.delta) {
            (meaning.kind, meaning.text) = (kind, Some(text));
        } else if blank && choice.finish_reason.is_none() && !meaning.kind.has_text() {
            meaning.kind = ChunkKind::Silent;
        } else {
            reading.blank_end = blank && alone;
        }
    }
    if has_usage && meaning.tokens == 0 {
        meaning.tokens = few(new_tokens as usize);
    }
    meaning.plain = alone && !has_usage && !ended && meaning.tokens == 0;
    Ok(meaning)
}

impl Delta<'_> {
    /// A text that is there and empty, without the role that comes ahead of every answer.
    fn is_blank(&self) -> bool {
        self.role.is_none()
            && [self.content, self.reasoning_content, self.reasoning].into_iter().any(is_blank)
    }
}

/// The text a choice carries, if any.
fn generated<'a>(text: Option<&'a RawValue>, delta: Option<Delta<'a>>) -> Option<(ChunkKind, &'a RawValue)> {
    if let Some(text) = filled(text) {
        return Some((ChunkKind::Content, text));
    }
    let delta = delta?;
    let content = filled(delta.content).or(filled(delta.refusal));
    if let Some(text) = content {
        return Some((ChunkKind::Content, text));
    }
    if let Some(text) = filled(delta.reasoning_content).or(filled(delta.reasoning)) {
        return Some((ChunkKind::Reasoning, text));
    }
    // A call is generated text too; its literal is not one string.
    delta.tool_calls.filter(|c| c.get().len() > 2 && c.get() != "null").map(|c| (ChunkKind::Content, c))
}
