//! One HTTP request's prompts on their way through the engines; dropping it gives them up.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::sync::mpsc::{self, UnboundedReceiver};

use crate::request::{Content, Finish, Request, RequestId};
use crate::serve::answer::Answer;
use crate::serve::api::State;
use crate::serve::api::ask::Ask;
use crate::serve::api::error::ApiError;
use crate::serve::events::{Command, Event, Happening};
use crate::serve::keys::Chain;
use crate::time::Nanos;

/// The answer to one prompt, as far as it has come.
#[derive(Debug)]
pub(super) struct Choice {
    id: RequestId,
    pub(super) answer: Answer,
    pub(super) prompt_tokens: u32,
    /// Tokens so far.
    pub(super) tokens: u32,
    pub(super) finish: Option<Finish>,
}

/// The prompts of one HTTP request.
pub(super) struct Flight {
    state: Arc<State>,
    events: UnboundedReceiver<Event>,
    /// Tokens of the first prompts that came before the last was accepted.
    early: VecDeque<Event>,
    pub(super) choices: Vec<Choice>,
}

impl Flight {
    /// Sends the prompts to the engines and waits until all are accepted or one is refused.
    pub(super) async fn start(state: &Arc<State>, ask: &Ask, adapter: Option<u32>) -> Result<Self, ApiError> {
        let window = state.config.window();
        if let Some(prompt) = ask.prompts.iter().find(|p| p.len() >= window as usize) {
            return Err(ApiError::too_long(prompt.len() as u64, window));
        }
        if let Some(most) = ask.max_tokens
            && most > window
        {
            return Err(ApiError::value(
                "max_tokens",
                format!(
                    "max_tokens={most} is more than this model's maximum context length of {window} tokens."
                ),
            ));
        }
        let (sender, events) = mpsc::unbounded_channel();
        let mut flight =
            Self { state: Arc::clone(state), events, early: VecDeque::new(), choices: Vec::new() };
        for (choice, prompt) in (0..).zip(&ask.prompts) {
            let (request, answer) = plan(state, ask, adapter, prompt);
            flight.choices.push(Choice {
                id: request.id,
                answer,
                prompt_tokens: request.prompt,
                tokens: 0,
                finish: None,
            });
            state.send(Command::Submit { request: Box::new(request), choice, events: sender.clone() });
        }
        drop(sender);
        let mut open = flight.choices.len();
        while open > 0 {
            match flight.events.recv().await {
                Some(Event { what: Happening::Accepted, .. }) => open -= 1,
                Some(Event { what: Happening::Refused(why), .. }) => return Err(why.into()),
                None | Some(Event { what: Happening::Died, .. }) => return Err(ApiError::dead()),
                Some(event) => flight.early.push_back(event),
            }
        }
        Ok(flight)
    }

    /// The next thing that happens; `None` where the server goes down first.
    pub(super) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Event>> {
        match self.early.pop_front() {
            Some(event) => Poll::Ready(Some(event)),
            None => self.events.poll_recv(context),
        }
    }

    /// Names this HTTP request among all.
    pub(super) fn number(&self) -> u64 {
        self.choices.first().map_or(0, |c| c.id.0)
    }

    /// Notes what happened.
    pub(super) fn apply(&mut self, event: Event) {
        if let Some(choice) = self.choices.get_mut(event.choice as usize)
            && let Happening::Tokens { tokens, finish } = event.what
        {
            choice.tokens += tokens;
            choice.finish = finish;
        }
    }

    /// Whether every answer has ended.
    pub(super) fn is_done(&self) -> bool {
        self.choices.iter().all(|c| c.finish.is_some())
    }

    /// Tokens of all prompts, and of all answers so far.
    pub(super) fn usage(&self) -> (u32, u32) {
        let prompt = self.choices.iter().fold(0_u32, |sum, c| sum.saturating_add(c.prompt_tokens));
        let answer = self.choices.iter().fold(0_u32, |sum, c| sum.saturating_add(c.tokens));
        (prompt, answer)
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        for choice in self.choices.iter().filter(|c| c.finish.is_none()) {
            self.state.send(Command::Abort(choice.id));
        }
    }
}

/// The request an engine sees for a prompt, and the words of its answer.
fn plan(state: &State, ask: &Ask, adapter: Option<u32>, prompt: &[u32]) -> (Request, Answer) {
    let config = &state.config;
    // Shorter than the window, which is a u32.
    let length = prompt.len() as u32;
    let room = config.window().saturating_sub(length).max(1);
    let max_tokens = ask.max_tokens.unwrap_or(room).min(room);
    let natural = ask.answer_tokens.unwrap_or_else(|| state.draw_length()).max(ask.min_tokens);
    let stops = !ask.ignore_eos && natural <= max_tokens;
    let output = if stops { natural } else { max_tokens };
    // As in vLLM, adapters and salts do not share blocks.
    let mut chain =
        Chain::new(salt(ask, adapter), config.fleet.engines.first().map_or(16, |e| e.block_tokens));
    chain.extend(prompt);
    let answer = Answer::new(config.seed, chain.fingerprint());
    let caching = config.fleet.engines.iter().any(|e| e.prefix_cache);
    let request = Request {
        id: state.next_id(),
        arrival: Nanos::ZERO,
        prompt: length,
        output,
        max_tokens,
        finish: if stops { Finish::Stop } else { Finish::Length },
        content: if caching { Content::Keys(chain.with_answer(answer, output)) } else { Content::Unique },
        priority: ask.priority,
        adapter,
    };
    (request, answer)
}

fn salt(ask: &Ask, adapter: Option<u32>) -> u64 {
    let adapter = adapter.map_or(0, |a| u64::from(a) + 1);
    let bytes = ask.cache_salt.iter().flat_map(|salt| salt.bytes());
    bytes.fold(adapter, |hash, byte| crate::random::mix(hash ^ u64::from(byte)))
}
