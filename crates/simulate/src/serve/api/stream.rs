//! The answer as server-sent events, one for the tokens of a step, in vLLM's words.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame};

use crate::request::Finish;
use crate::serve::api::ask::{Ask, Usage};
use crate::serve::api::error::ApiError;
use crate::serve::api::flight::Flight;
use crate::serve::api::{Answered, Names};
use crate::serve::events::{Event, Happening};

/// Tokens of an open answer.
pub(super) struct TokenStream {
    flight: Flight,
    names: Names,
    chat: bool,
    usage: Usage,
    /// Which choices have had their first chunk, that of the role.
    begun: Vec<bool>,
    ended: bool,
    /// Counts the request when the stream ends, in whatever way.
    _answered: Answered,
}

impl TokenStream {
    pub(super) fn new(flight: Flight, names: Names, ask: &Ask, chat: bool, answered: Answered) -> Self {
        Self {
            begun: vec![false; flight.choices.len()],
            flight,
            names,
            chat,
            usage: ask.usage,
            ended: false,
            _answered: answered,
        }
    }

    /// Writes the chunks of one event.
    fn event(&mut self, event: Event, out: &mut String) {
        let Happening::Tokens { tokens, finish } = event.what else { return };
        let index = event.choice as usize;
        let Some((answer, from)) = self.flight.choices.get(index).map(|c| (c.answer, c.tokens)) else {
            return;
        };
        if self.chat && !std::mem::replace(&mut self.begun[index], true) {
            self.head(out);
            let _ = write!(
                out,
                r#"{{"index":{index},"delta":{{"role":"assistant","content":""}},"logprobs":null,"finish_reason":null}}]"#
            );
            self.tail(out, index);
        }
        self.flight.apply(event);
        self.head(out);
        let (open, close) =
            if self.chat { (r#""delta":{"content":""#, "\"}") } else { (r#""text":""#, "\"") };
        let _ = write!(out, r#"{{"index":{index},{open}"#);
        // Words of plain letters need no escaping.
        answer.write(from, tokens, out);
        let _ = write!(
            out,
            r#"{close},"logprobs":null,"finish_reason":{},"stop_reason":null}}]"#,
            reason(finish)
        );
        self.tail(out, index);
    }

    fn head(&self, out: &mut String) {
        let Names { id, object, created, model } = &self.names;
        let _ = write!(
            out,
            r#"data: {{"id":"{id}","object":"{object}","created":{created},"model":{model},"choices":["#
        );
    }

    /// Ends a chunk, with the usage of its choice where every chunk has it.
    fn tail(&self, out: &mut String, index: usize) {
        if self.usage == Usage::Always
            && let Some(choice) = self.flight.choices.get(index)
        {
            usage(choice.prompt_tokens, choice.tokens, out);
        }
        out.push_str("}\n\n");
    }

    /// What follows the last token.
    fn end(&mut self, out: &mut String) {
        self.ended = true;
        if self.usage != Usage::Never {
            self.head(out);
            out.push(']');
            let (prompt, answer) = self.flight.usage();
            usage(prompt, answer, out);
            out.push_str("}\n\n");
        }
        out.push_str("data: [DONE]\n\n");
    }
}

/// The end of an answer, as JSON.
pub(super) const fn reason(finish: Option<Finish>) -> &'static str {
    match finish {
        None => "null",
        Some(Finish::Stop) => "\"stop\"",
        Some(Finish::Length) => "\"length\"",
        Some(Finish::Abort) => "\"abort\"",
    }
}

fn usage(prompt: u32, answer: u32, out: &mut String) {
    let total = prompt.saturating_add(answer);
    let _ = write!(
        out,
        r#","usage":{{"prompt_tokens":{prompt},"total_tokens":{total},"completion_tokens":{answer}}}"#
    );
}

impl Body for TokenStream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let mut out = String::new();
        // Everything that has come since the socket was last free goes out together.
        loop {
            match self.flight.poll_next(context) {
                Poll::Ready(None | Some(Event { what: Happening::Died, .. })) => {
                    // The answer stays half given: the status has gone out long ago.
                    self.ended = true;
                    out.push_str(&ApiError::dead().event());
                    break;
                }
                Poll::Ready(Some(event)) => {
                    self.event(event, &mut out);
                    if self.flight.is_done() {
                        self.end(&mut out);
                        break;
                    }
                }
                Poll::Pending => break,
            }
        }
        if out.is_empty() { Poll::Pending } else { Poll::Ready(Some(Ok(Frame::data(Bytes::from(out))))) }
    }

    fn is_end_stream(&self) -> bool {
        self.ended
    }
}
