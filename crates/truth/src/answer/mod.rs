//! The bytes of an answer, in the words of each API.

mod llamacpp;
mod openai;
mod responses;
mod tgi;

use std::io::Write as _;

use crate::api::Api;
use crate::ask::{Ask, Usage};
use crate::config::{Config, Role, Text};
use crate::words;

/// Everything that decides the bytes of an answer. Two requests alike in it get the same bytes but for the id.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Answer {
    pub(crate) api: Api,
    /// Without the API's prefix; always of the same length.
    pub(crate) id: String,
    /// Unix seconds.
    pub(crate) created: u64,
    /// As JSON, quotes and all.
    pub(crate) model: String,
    pub(crate) text: Text,
    /// Tokens in all.
    pub(crate) want: u32,
    /// How many of them, from the first, are reasoning.
    pub(crate) reasoning: u32,
    pub(crate) prompt_tokens: u32,
    pub(crate) cached_tokens: Option<u32>,
    pub(crate) usage: Usage,
    pub(crate) role: bool,
    pub(crate) crlf: bool,
    pub(crate) comments: bool,
    pub(crate) tokens_per_event: u32,
}

/// Time an answer has taken so far, in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spent {
    /// From the arrival to the first token.
    pub(crate) prompt: u64,
    /// From there on.
    pub(crate) answer: u64,
}

impl Answer {
    pub(crate) fn new(api: Api, ask: &Ask, want: u32, config: &Config, id: String, created: u64) -> Self {
        let prompt_tokens = ask.prompt.words.saturating_add(config.template_tokens);
        let reasons = matches!(api, Api::Chat | Api::Responses);
        Self {
            api,
            id,
            created,
            model: serde_json::Value::from(config.model.as_str()).to_string(),
            text: config.text,
            want,
            reasoning: if reasons { config.reasoning.min(want) } else { 0 },
            prompt_tokens,
            cached_tokens: config.cached_share.map(|share| (f64::from(prompt_tokens) * share).floor() as u32),
            usage: ask.usage,
            role: config.role != Role::None,
            crlf: config.crlf,
            comments: config.comments,
            tokens_per_event: config.tokens_per_event.max(1),
        }
    }

    /// The id as the client sees it.
    pub(crate) fn full_id(&self) -> String {
        format!("{}{}", self.api.id_prefix(), self.id)
    }

    /// How many tokens the event has that begins with the `from`-th.
    pub(crate) fn event_tokens(&self, from: u32) -> u32 {
        let end = if from < self.reasoning { self.reasoning } else { self.want };
        self.tokens_per_event.min(end.saturating_sub(from))
    }

    /// Appends what comes before the first token.
    pub(crate) fn open(&self, out: &mut Vec<u8>) {
        match self.api {
            Api::Chat | Api::Completions => openai::open(self, out),
            Api::Responses => responses::open(self, out),
            Api::LlamaCpp | Api::TgiStream | Api::TgiWhole => {}
        }
    }

    /// Appends one event of tokens.
    pub(crate) fn tokens(&self, from: u32, count: u32, out: &mut Vec<u8>) {
        match self.api {
            Api::Chat | Api::Completions => openai::tokens(self, from, count, out),
            Api::Responses => responses::tokens(self, from, count, out),
            Api::LlamaCpp => llamacpp::tokens(self, from, count, out),
            Api::TgiStream | Api::TgiWhole => tgi::tokens(self, from, count, out),
        }
    }

    /// Appends what comes after the last token.
    pub(crate) fn close(&self, spent: Spent, out: &mut Vec<u8>) {
        match self.api {
            Api::Chat | Api::Completions => openai::close(self, out),
            Api::Responses => responses::close(self, out),
            Api::LlamaCpp => llamacpp::close(self, spent, out),
            Api::TgiStream | Api::TgiWhole => {}
        }
    }

    /// The answer to a request that does not stream.
    pub(crate) fn whole(&self, spent: Spent) -> Vec<u8> {
        let mut out = Vec::with_capacity(256 + 8 * self.want as usize);
        match self.api {
            Api::Chat | Api::Completions => openai::whole(self, &mut out),
            Api::Responses => responses::whole(self, "completed", &mut out),
            Api::LlamaCpp => llamacpp::whole(self, spent, &mut out),
            Api::TgiStream | Api::TgiWhole => tgi::whole(self, &mut out),
        }
        out
    }

    /// Appends an event; `json` writes its data.
    pub(crate) fn event(&self, name: Option<&str>, out: &mut Vec<u8>, json: impl FnOnce(&mut Vec<u8>)) {
        let line: &[u8] = if self.crlf { b"\r\n" } else { b"\n" };
        if self.comments {
            out.extend_from_slice(b": ping");
            out.extend_from_slice(line);
            out.extend_from_slice(line);
        }
        if let Some(name) = name {
            let _ = write!(out, "event: {name}");
            out.extend_from_slice(line);
        }
        // TGI sets no blank behind the colon.
        out.extend_from_slice(if self.api == Api::TgiStream { b"data:" } else { b"data: " });
        json(out);
        out.extend_from_slice(line);
        out.extend_from_slice(line);
    }

    /// Appends the mark of a stream's end, where the API has one.
    pub(crate) fn done(&self, out: &mut Vec<u8>) {
        if matches!(self.api, Api::Chat | Api::Completions) {
            self.event(None, out, |out| out.extend_from_slice(b"[DONE]"));
        }
    }

    /// Appends the text of some tokens as it stands inside a JSON string.
    fn text(&self, from: u32, count: u32, out: &mut Vec<u8>) {
        words::json(self.text, from, count, out);
    }

    /// The text of the answer, or of its reasoning, as a part of JSON.
    fn parts(&self) -> (String, String) {
        let text = |from: u32, count: u32| {
            let mut out = Vec::new();
            self.text(from, count, &mut out);
            // Words are text, so this loses nothing.
            String::from_utf8_lossy(&out).into_owned()
        };
        (text(0, self.reasoning), text(self.reasoning, self.want.saturating_sub(self.reasoning)))
    }
}
