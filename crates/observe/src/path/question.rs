//! What is asked: a short, salted prompt in an API the server streams.

use std::fmt::Write as _;

use intriage_load::api::{Api, Common, Message, Role};
use serde_json::{Map, Value};

use super::PathPlan;
use super::line::Line;
use super::stream;
use crate::clock;

/// APIs and whether the answer's length can be forced, in the order in which they are tried: any model completes text,
/// a gateway may only chat, and one that knows OpenAI's fields alone refuses `ignore_eos`.
const SHAPES: [(Api, bool); 4] =
    [(Api::Completions, true), (Api::Chat, true), (Api::Completions, false), (Api::Chat, false)];

/// Tokens of the answers that only show whether an API is there.
const TRIAL: u32 = 4;

/// The first model of a `/v1/models` answer.
pub(super) fn first_model(body: &[u8]) -> Option<String> {
    let said: Value = serde_json::from_slice(body).ok()?;
    said["data"].as_array()?.iter().find_map(|m| m["id"].as_str()).map(str::to_owned)
}

/// A question every way gets, each time with a salt of its own.
#[derive(Debug)]
pub(super) struct Question {
    common: Common,
    salt: u64,
}

impl Question {
    /// The first shape that is answered with a stream of text on this way, or what came instead of each.
    pub(super) async fn find(line: &Line, served: Option<&str>, plan: &PathPlan) -> Result<Self, String> {
        let Some(model) = plan.model.as_deref().or(served) else {
            return Err("/v1/models names no model".into());
        };
        let mut tried = String::new();
        for (api, ignore_eos) in SHAPES {
            let question = Self::new(api, ignore_eos, model);
            let body = question.body("first", TRIAL);
            let seen = stream::one(line, &question, body, None, plan).await;
            if seen.error.is_none() && seen.chunks > 0 {
                return Ok(question);
            }
            let why = seen.error.unwrap_or_else(|| "an answer without text".into());
            let _ = write!(tried, "{}{}: {why}", if tried.is_empty() { "" } else { "; " }, api.path());
            // No answer at all, or none for us: other shapes fare no better.
            if matches!(seen.status, None | Some(401 | 403)) {
                break;
            }
        }
        Err(tried)
    }

    fn new(api: Api, ignore_eos: bool, model: &str) -> Self {
        let extra = Map::from_iter([("temperature".to_owned(), Value::from(0))]);
        let common = Common { api, model: model.to_owned(), ignore_eos, continuous_usage: false, extra };
        Self { common, salt: clock::now().0 }
    }

    /// The API it is asked in.
    pub(super) fn api(&self) -> Api {
        self.common.api
    }

    /// A body for so many tokens of answer; `turn` keeps it out of prefix caches and caching proxies.
    pub(super) fn body(&self, turn: &str, output: u32) -> Vec<u8> {
        let text = format!("{} {turn}: Tell a short story about a river.", self.salt);
        self.common.body(&[Message { role: Role::User, text }], output)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_model_is_asked() {
        let body = br#"{"object":"list","data":[{"object":"model"},{"id":"small"},{"id":"large"}]}"#;
        assert_eq!(first_model(body).as_deref(), Some("small"));
        assert_eq!(first_model(br#"{"data":[]}"#), None);
    }

    #[test]
    fn no_two_turns_ask_the_same() {
        let question = Question::new(Api::Completions, true, "m");
        assert_ne!(question.body("0-0", 32), question.body("0-1", 32));
        let body: Value = serde_json::from_slice(&question.body("0-0", 32)).unwrap();
        assert_eq!((&body["max_tokens"], &body["temperature"]), (&32.into(), &0.into()));
        assert_eq!((&body["stream"], &body["ignore_eos"]), (&true.into(), &true.into()));
    }

    proptest! {
        #[test]
        fn any_answer_names_a_model_or_none(body in prop::collection::vec(any::<u8>(), 0..200)) {
            first_model(&body);
        }
    }
}
