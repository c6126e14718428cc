//! A request inside the engine.

use crate::engine::blocks::Block;
use crate::request::Request;
use crate::time::Nanos;

/// A request inside the engine, with what happened to it so far.
#[derive(Debug, Clone)]
pub struct Sequence {
    /// The request.
    pub request: Request,
    /// When the scheduler first saw it.
    pub queued: Nanos,
    /// When it was first scheduled.
    pub scheduled_at: Option<Nanos>,
    /// When its first token came.
    pub first_token: Option<Nanos>,
    /// When its newest token came.
    pub last_token: Option<Nanos>,
    /// Tokens generated.
    pub generated: u32,
    /// Prompt tokens found in the prefix cache when it was first scheduled.
    pub cached: u32,
    /// How often it was thrown back.
    pub preemptions: u32,
    /// Of these, how often since its newest token: engines count a preemption when the next token comes.
    pub unreported_preemptions: u32,
    pub(crate) computed: u32,
    pub(crate) scheduled: u32,
    pub(crate) aborted: bool,
    pub(crate) blocks: Vec<Block>,
}

impl Sequence {
    pub(crate) fn new(request: Request, now: Nanos) -> Self {
        Self {
            request,
            queued: now,
            scheduled_at: None,
            first_token: None,
            last_token: None,
            generated: 0,
            cached: 0,
            preemptions: 0,
            unreported_preemptions: 0,
            computed: 0,
            scheduled: 0,
            aborted: false,
            blocks: Vec::new(),
        }
    }

    /// Prompt and answer so far, in tokens; while it decodes, all but the newest one are computed.
    pub(crate) fn known_tokens(&self) -> u32 {
        self.request.prompt + self.generated
    }

    /// Tokens to compute before the next one comes out.
    pub(crate) fn missing(&self) -> u32 {
        self.known_tokens() - self.computed
    }
}
