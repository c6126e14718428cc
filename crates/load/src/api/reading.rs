//! Reads the events of one answer: what each carries, and what the server says of the whole.

use intriage_record::{ChunkKind, Finish};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Api, llama_cpp, openai, responses, tgi};
use crate::wire::Event;

/// What one event means.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meaning<'a> {
    pub kind: ChunkKind,
    /// Tokens in it, where told.
    pub tokens: u16,
    /// The string literal it carries, as it stands in the event.
    pub text: Option<&'a RawValue>,
    /// Nothing else in the event matters: another event that differs in this literal alone means the same.
    pub plain: bool,
}

impl Meaning<'_> {
    pub(super) const fn of(kind: ChunkKind) -> Self {
        Self { kind, tokens: 0, text: None, plain: false }
    }
}

/// What a server says of the prompt tokens.
#[derive(Deserialize)]
pub(super) struct Details {
    #[serde(default)]
    pub cached_tokens: Option<u32>,
}

/// Reads the events of one answer after the other.
#[derive(Debug)]
pub struct Reading {
    api: Api,
    /// Keep the text of the answer.
    pub keep_text: bool,
    /// The text of the answer, where kept.
    pub text: String,
    /// Prompt tokens, as the server counted.
    pub prompt_tokens: Option<u32>,
    /// Answer tokens, as the server counted.
    pub completion_tokens: Option<u32>,
    /// Prompt tokens found in the cache.
    pub cached_tokens: Option<u32>,
    /// Why it stopped.
    pub finish: Finish,
    /// The server's id of the answer.
    pub id: String,
    /// An error told in the stream, or why an event could not be read.
    pub error: String,
    /// The end was marked: the end marker, a finish reason or final counts.
    pub marked_end: bool,
    /// The last event read told a finish reason with an empty text: one engine's last token, another's mere ending.
    pub blank_end: bool,
    /// The literal's surroundings in the last plain event.
    shape: Shape,
}

#[derive(Debug, Default)]
struct Shape {
    before: Vec<u8>,
    after: Vec<u8>,
    kind: Option<ChunkKind>,
}

impl Reading {
    /// For answers of this API.
    pub fn new(api: Api) -> Self {
        Self {
            api,
            keep_text: false,
            text: String::new(),
            prompt_tokens: None,
            completion_tokens: None,
            cached_tokens: None,
            finish: Finish::Unknown,
            id: String::new(),
            error: String::new(),
            marked_end: false,
            blank_end: false,
            shape: Shape::default(),
        }
    }

    /// Ready for the next answer.
    pub fn reset(&mut self, keep_text: bool) {
        self.keep_text = keep_text;
        self.text.clear();
        (self.prompt_tokens, self.completion_tokens, self.cached_tokens) = (None, None, None);
        self.finish = Finish::Unknown;
        self.id.clear();
        self.error.clear();
        (self.marked_end, self.blank_end) = (false, false);
        self.shape.kind = None;
    }

    /// What an event carries, and how many tokens where told (else 0).
    pub fn event(&mut self, event: Event<'_>) -> (ChunkKind, u16) {
        self.blank_end = false;
        if let Some(kind) = self.same_shape(event.data) {
            return (kind, 0);
        }
        if event.data == b"[DONE]" {
            self.marked_end = true;
            return (ChunkKind::Done, 0);
        }
        let meaning = match self.api {
            Api::Chat | Api::Completions => openai::read(self, event),
            Api::Responses => responses::read(self, event),
            Api::LlamaCpp => llama_cpp::read(self, event),
            Api::Tgi => tgi::read(self, event),
        };
        match meaning {
            Ok(meaning) => {
                self.remember(event.data, meaning);
                (meaning.kind, meaning.tokens)
            }
            Err(why) => {
                if self.error.is_empty() {
                    let begin = String::from_utf8_lossy(&event.data[..event.data.len().min(80)]).into_owned();
                    self.error = format!("{why}: {begin}");
                }
                (ChunkKind::Garbage, 0)
            }
        }
    }

    /// Events of one answer differ in their text alone, nearly always: such a one need not be parsed again. The bytes
    /// around the text are compared whole, so nothing can slip through.
    fn same_shape(&mut self, data: &[u8]) -> Option<ChunkKind> {
        let kind = self.shape.kind?;
        let text = data.strip_prefix(self.shape.before.as_slice())?;
        let end = literal_end(text)?;
        if text[end..] != *self.shape.after || !is_utf8(&text[..end]) {
            return None;
        }
        if end == 0 {
            return Some(ChunkKind::Silent);
        }
        if self.keep_text && kind == ChunkKind::Content {
            let mut literal = Vec::with_capacity(end + 2);
            literal.push(b'"');
            literal.extend_from_slice(&text[..=end]);
            self.text.push_str(&serde_json::from_slice::<String>(&literal).ok()?);
        } else if memchr::memchr(b'\\', &text[..end]).is_some() || text[..end].iter().any(|b| *b < 0x20) {
            // Escapes may be wrong: let the parser see them.
            return None;
        }
        Some(kind)
    }

    fn remember(&mut self, data: &[u8], meaning: Meaning<'_>) {
        let Some(text) = meaning.text else { return };
        if self.keep_text && meaning.kind == ChunkKind::Content {
            self.text.push_str(&serde_json::from_str::<String>(text.get()).unwrap_or_default());
        }
        // The literal is borrowed from the event, so the distance between the two is its place.
        let at = (text.get().as_ptr() as usize).wrapping_sub(data.as_ptr() as usize);
        let end = at.wrapping_add(text.get().len());
        let is_string = text.get().starts_with('"');
        if meaning.plain && is_string && meaning.kind.has_text() && end <= data.len() {
            self.shape.before.clear();
            self.shape.before.extend_from_slice(&data[..=at]);
            self.shape.after.clear();
            self.shape.after.extend_from_slice(&data[end - 1..]);
            self.shape.kind = Some(meaning.kind);
        }
    }
}

/// Where the string literal that begins here ends: the place of its closing quote.
fn literal_end(text: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + memchr::memchr2(b'"', b'\\', text.get(from..)?)?;
        if text[at] == b'"' {
            return Some(at);
        }
        from = at + 2;
    }
}

fn is_utf8(text: &[u8]) -> bool {
    text.is_ascii() || std::str::from_utf8(text).is_ok()
}

/// A literal that is a string with something in it.
pub(super) fn filled(text: Option<&RawValue>) -> Option<&RawValue> {
    text.filter(|t| t.get().len() > 2 && t.get().starts_with('"'))
}

/// A literal that is a string with nothing in it.
pub(super) fn is_blank(text: Option<&RawValue>) -> bool {
    text.is_some_and(|t| t.get() == "\"\"")
}

/// The reason in our words.
pub(super) fn finish(reason: &str) -> Finish {
    match reason {
        "stop" | "eos_token" | "stop_sequence" | "eos" | "completed" => Finish::Stop,
        "length" | "limit" | "max_output_tokens" => Finish::Length,
        _ => Finish::Other,
    }
}

/// Tokens as a chunk can hold them.
pub(super) fn few(tokens: usize) -> u16 {
    u16::try_from(tokens).unwrap_or(u16::MAX)
}

/// An error's own words, cut to a line: those of `{"message": …}`, with or without `{"error": …}` around it.
pub fn error_words(error: &str) -> String {
    #[derive(Deserialize)]
    struct Outer {
        message: Option<String>,
        error: Option<serde_json::Value>,
        detail: Option<serde_json::Value>,
    }
    let inner = |value: serde_json::Value| match value {
        serde_json::Value::String(words) => words,
        other => other["message"].as_str().map_or_else(|| other.to_string(), str::to_owned),
    };
    let said = serde_json::from_str::<Outer>(error).ok();
    let words = said.and_then(|o| o.message.or(o.error.map(inner)).or(o.detail.map(inner)));
    let words = words.unwrap_or_else(|| error.trim_matches('"').to_owned());
    words.lines().next().unwrap_or_default().chars().take(200).collect()
}

#[cfg(test)]
mod tests;
