//! Everything that happened to every request, whoever may see it.

use intriage_case::Seconds;

use crate::client::events_in_a_piece;
use crate::engine::{Refusal, Sequence, Sink};
use crate::request::{Finish, Request, RequestId};
use crate::run::{Watch, run};
use crate::setup::{Mishap, Setup};
use crate::time::Nanos;

use crate::rehearse::{Window, stop};

/// One request's life. Instants of tokens are those at which its client has them, less the way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Life {
    pub(crate) arrival: Nanos,
    pub(crate) first: Option<Nanos>,
    pub(crate) last: Option<Nanos>,
    pub(crate) tokens: u32,
    pub(crate) end: Option<(Nanos, End)>,
    events: usize,
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Answered,
    /// Refused, cut off, or lost with the server.
    Failed,
}

/// A run as nobody sees it: all requests, with the tokens that came in the window.
#[derive(Debug)]
pub(crate) struct Witness {
    pub(crate) lives: Vec<Life>,
    /// Tokens generated in the window.
    pub(crate) tokens: u64,
    /// Gaps between tokens in the window, in seconds.
    pub(crate) gaps: Vec<f32>,
    pub(crate) from: Nanos,
    pub(crate) until: Nanos,
    /// Most blocks that were held at the end of a step, by any engine.
    pub(crate) most_blocks: u32,
    /// Most requests that waited for room at the end of a step.
    pub(crate) most_waiting: u32,
    /// How often a request was thrown back.
    pub(crate) preemptions: u64,
    /// Longest time of the window in which nobody got a token although somebody wanted one.
    pub(crate) standstill: Nanos,
    // Requests that are open, and since when none of them has got a token.
    open: u32,
    silent_since: Nanos,
    crash: Option<Nanos>,
    piece: usize,
}

impl Witness {
    /// Runs a deployment and sees everything.
    pub(crate) fn of(setup: &Setup, seed: u64, window: Window) -> Self {
        let mut witness = Self {
            lives: Vec::new(),
            tokens: 0,
            gaps: Vec::new(),
            from: Nanos::from_seconds(window.from),
            until: Nanos::from_seconds(Seconds(window.from.0 + window.length.0)),
            most_blocks: 0,
            most_waiting: 0,
            preemptions: 0,
            standstill: Nanos::ZERO,
            open: 0,
            silent_since: Nanos::ZERO,
            crash: match setup.mishap {
                Some(Mishap::Crash { after }) => Some(Nanos::from_seconds(after)),
                _ => None,
            },
            piece: setup.path.buffer.map_or(1, events_in_a_piece),
        };
        let stop = crate::run::Stop { every: None, ..stop(setup, window) };
        run(&setup.fleet, &setup.workload, seed, stop, &mut witness);
        // What was silent at the end had been so until then.
        witness.heard(witness.until);
        if let Some(crash) = witness.crash {
            let open = witness.lives.iter_mut().filter(|life| life.end.is_none());
            open.for_each(|life| life.end = Some((life.arrival.max(crash), End::Failed)));
        }
        witness
    }

    /// Conversations that went on before the load count from the far end and are nobody's here.
    fn life(&mut self, id: RequestId) -> Option<&mut Life> {
        self.lives.get_mut(id.0.checked_sub(1)? as usize)
    }

    fn is_dead(&self, now: Nanos) -> bool {
        self.crash.is_some_and(|crash| now >= crash)
    }

    fn end(&mut self, id: RequestId, now: Nanos, end: End) {
        if self.is_dead(now) {
            return;
        }
        if let Some(life) = self.life(id)
            && life.end.is_none()
        {
            life.end = Some((now, end));
            self.open = self.open.saturating_sub(1);
        }
    }

    /// Somebody got a token, or there is nobody left to be told of.
    fn heard(&mut self, now: Nanos) {
        if self.open > 0 {
            let silence = now.min(self.until).since(self.silent_since.max(self.from));
            self.standstill = self.standstill.max(silence);
        }
        self.silent_since = now;
    }
}

impl Watch for Witness {
    fn sink(&mut self, _engine: usize) -> &mut impl Sink {
        self
    }

    fn arrived(&mut self, request: &Request, _now: Nanos) {
        let at = (request.id.0 as usize).max(1);
        // In a closed loop numbers are given when a request is planned, and some arrive before an earlier one.
        let nobody = Life { arrival: Nanos::NEVER, first: None, last: None, tokens: 0, end: None, events: 0 };
        if self.lives.len() < at {
            self.lives.resize(at, nobody);
        }
        self.lives[at - 1] = Life { arrival: request.arrival, ..nobody };
        if self.open == 0 {
            self.silent_since = request.arrival;
        }
        self.open += 1;
    }

    fn gave_up(&mut self, id: RequestId, now: Nanos) {
        self.end(id, now, End::Failed);
    }

    fn refused(&mut self, request: &Request, _why: Refusal, now: Nanos) {
        self.end(request.id, now, End::Failed);
    }
}

impl Sink for Witness {
    fn tokens(&mut self, sequence: &Sequence, tokens: u32, gap: Option<Nanos>, now: Nanos) {
        if self.is_dead(now) {
            return;
        }
        self.heard(now);
        if now >= self.from && now <= self.until {
            self.tokens += u64::from(tokens);
            self.gaps.extend(gap.map(|gap| gap.seconds().0 as f32));
        }
        let piece = self.piece;
        if let Some(life) = self.life(sequence.request.id)
            && life.end.is_none()
        {
            life.tokens += tokens;
            life.events += 1;
            // Behind a proxy that holds the stream back, tokens come when a piece is full.
            if life.events.is_multiple_of(piece) {
                life.first.get_or_insert(now);
                life.last = Some(now);
            }
        }
    }

    fn finished(&mut self, sequence: &Sequence, reason: Finish, now: Nanos) {
        self.preemptions += u64::from(sequence.preemptions);
        let dead = self.is_dead(now);
        if reason == Finish::Abort || dead {
            return;
        }
        if let Some(life) = self.life(sequence.request.id) {
            life.first.get_or_insert(now);
            life.last = Some(now);
        }
        self.end(sequence.request.id, now, End::Answered);
    }

    fn stepped(&mut self, load: crate::engine::EngineLoad, _now: Nanos) {
        self.most_blocks = self.most_blocks.max(load.blocks_held);
        self.most_waiting = self.most_waiting.max(load.waiting);
    }
}
