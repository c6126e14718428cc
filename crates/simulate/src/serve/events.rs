//! What handlers and driver tell each other.

use std::collections::HashMap;

use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use crate::engine::{EngineLoad, Refusal, Sequence, Sink};
use crate::request::{Finish, Request, RequestId};
use crate::time::Nanos;

/// What handlers ask of the driver.
#[derive(Debug)]
pub(super) enum Command {
    /// Takes a request; `arrival` is set by the driver.
    Submit { request: Box<Request>, choice: u32, events: UnboundedSender<Event> },
    /// The client is gone.
    Abort(RequestId),
    /// An HTTP request on this route was answered.
    Answered { route: &'static str, status: u16 },
    /// Wants the metrics page.
    Metrics(oneshot::Sender<String>),
}

/// What happens to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Event {
    /// Which of the prompts of one HTTP request.
    pub(super) choice: u32,
    pub(super) what: Happening,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Happening {
    /// An engine took it.
    Accepted,
    /// No engine took it.
    Refused(Refusal),
    /// Tokens came; with the last ones the reason why there are no more.
    Tokens { tokens: u32, finish: Option<Finish> },
    /// The engine died.
    Died,
}

/// Who waits for what happens to a request.
pub(super) struct Listener {
    pub(super) events: UnboundedSender<Event>,
    pub(super) choice: u32,
    /// The engine that has it; the front end where none has it yet.
    pub(super) engine: Option<usize>,
}

/// All who wait.
pub(super) type Listeners = HashMap<RequestId, Listener>;

impl Listener {
    pub(super) fn tell(&self, what: Happening) {
        // Whoever hung up says so with an abort.
        let _ = self.events.send(Event { choice: self.choice, what });
    }
}

/// Tells the metrics and the open streams.
pub(super) struct Both<'a, S> {
    pub(super) metrics: &'a mut S,
    pub(super) listeners: &'a mut Listeners,
}

impl<S: Sink> Sink for Both<'_, S> {
    fn admitted(&mut self, sequence: &Sequence, now: Nanos) {
        self.metrics.admitted(sequence, now);
    }

    fn tokens(&mut self, sequence: &Sequence, tokens: u32, gap: Option<Nanos>, now: Nanos) {
        self.metrics.tokens(sequence, tokens, gap, now);
        let request = &sequence.request;
        if let Some(listener) = self.listeners.get(&request.id) {
            let finish = (sequence.generated >= request.output).then_some(request.finish);
            listener.tell(Happening::Tokens { tokens, finish });
        }
    }

    fn speculated(&mut self, drafted: u32, accepted: u32) {
        self.metrics.speculated(drafted, accepted);
    }

    fn finished(&mut self, sequence: &Sequence, reason: Finish, now: Nanos) {
        self.metrics.finished(sequence, reason, now);
        self.listeners.remove(&sequence.request.id);
    }

    fn stepped(&mut self, load: EngineLoad, now: Nanos) {
        self.metrics.stepped(load, now);
    }
}
