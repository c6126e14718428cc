//! The engine: a continuous-batching scheduler over a paged KV pool, one step at a time.

mod blocks;
mod config;
mod schedule;
mod sequence;
mod step_time;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use blocks::BlockPool;
pub use config::{ConfigError, EngineConfig, Policy, Speculation};
pub use sequence::Sequence;
pub use step_time::{Hiccup, StepLoad, StepTime, WarmUp};

use crate::random::Random;
use crate::request::{Finish, Request, RequestId};
use crate::time::Nanos;

/// Who wants to know what happens inside: metrics, statistics, open streams.
pub trait Sink {
    /// A request was scheduled for the first time.
    fn admitted(&mut self, _sequence: &Sequence, _now: Nanos) {}
    /// A request got `tokens` tokens; `gap` is the time since its last ones, `None` for the first.
    fn tokens(&mut self, sequence: &Sequence, tokens: u32, gap: Option<Nanos>, now: Nanos);
    /// A round of speculation on one request ended.
    fn speculated(&mut self, _drafted: u32, _accepted: u32) {}
    /// A request ended.
    fn finished(&mut self, sequence: &Sequence, reason: Finish, now: Nanos);
    /// A step ended; `load` is what an outside observer sees from now on.
    fn stepped(&mut self, _load: EngineLoad, _now: Nanos) {}
}

/// What an engine is doing.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct EngineLoad {
    /// Requests in the batch.
    pub running: u32,
    /// Requests that wait for room.
    pub waiting: u32,
    /// Requests that wait for something else, such as an adapter.
    pub deferred: u32,
    /// Blocks held, of the whole pool.
    pub blocks_held: u32,
    /// Blocks of the pool.
    pub blocks: u32,
}

/// Why a request was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The prompt leaves no room for an answer.
    #[error("the prompt has {prompt} tokens and the window holds {window}")]
    TooLong {
        /// Prompt length in tokens.
        prompt: u32,
        /// Longest prompt and answer together, in tokens.
        window: u32,
    },
    /// Too many wait already.
    #[error("the queue holds its limit of {limit} requests")]
    QueueFull {
        /// The limit.
        limit: u32,
    },
}

/// One engine.
#[derive(Debug)]
pub struct Engine {
    config: EngineConfig,
    pool: BlockPool,
    inbox: Vec<Sequence>,
    waiting: VecDeque<Sequence>,
    running: Vec<Sequence>,
    deferred: u32,
    steps: u64,
    stepping: bool,
    random: Random,
}

impl Engine {
    /// An idle engine.
    pub fn new(config: EngineConfig, seed: u64) -> Self {
        Self {
            pool: BlockPool::new(config.pool_blocks),
            config,
            inbox: Vec::new(),
            waiting: VecDeque::new(),
            running: Vec::new(),
            deferred: 0,
            steps: 0,
            stepping: false,
            random: Random::new(seed, "engine"),
        }
    }

    /// Its configuration.
    pub const fn config(&self) -> &EngineConfig {
        &self.config
    }

    /// Takes a request. It is seen by the scheduler when the step in progress ends.
    pub fn submit(&mut self, mut request: Request, now: Nanos) -> Result<(), Refusal> {
        let window = self.config.window();
        if request.prompt >= window {
            return Err(Refusal::TooLong { prompt: request.prompt, window });
        }
        if let Some(limit) = self.config.queue_limit
            && self.inbox.len() + self.waiting.len() >= limit as usize
        {
            return Err(Refusal::QueueFull { limit });
        }
        let room = window - request.prompt;
        if request.output > room {
            request.output = room;
            request.finish = Finish::Length;
        }
        request.output = request.output.max(1);
        self.inbox.push(Sequence::new(request, now));
        Ok(())
    }

    /// Takes over a request in the middle of its answer, its context in the pool, so that a run can begin
    /// on a busy engine. False where the batch or the pool has no room for it.
    pub fn resume(&mut self, request: Request, generated: u32, now: Nanos) -> bool {
        let computed = request.prompt.saturating_add(generated).saturating_sub(1);
        let fits = self.config.blocks_for(computed) <= self.pool.free()
            && self.running.len() < self.config.max_sequences as usize;
        if !fits || generated == 0 || generated >= request.output || computed >= self.config.window() {
            return false;
        }
        let mut sequence = Sequence::new(request, now);
        for _ in 0..self.config.blocks_for(computed) {
            sequence.blocks.extend(self.pool.take());
        }
        sequence.computed = computed;
        sequence.generated = generated;
        sequence.scheduled_at = Some(now);
        sequence.first_token = Some(now);
        sequence.last_token = Some(now);
        self.running.push(sequence);
        true
    }

    /// Gives up a request; its tokens stop and its blocks are free after the step in progress.
    pub fn abort(&mut self, id: RequestId, now: Nanos, sink: &mut impl Sink) {
        if let Some(at) = self.inbox.iter().position(|s| s.request.id == id) {
            let gone = self.inbox.remove(at);
            sink.finished(&gone, Finish::Abort, now);
        } else if let Some(at) = self.waiting.iter().position(|s| s.request.id == id) {
            if let Some(gone) = self.waiting.remove(at) {
                sink.finished(&gone, Finish::Abort, now);
            }
        } else if let Some(sequence) = self.running.iter_mut().find(|s| s.request.id == id) {
            sequence.aborted = true;
        }
    }

    /// Whether nothing is running or waiting.
    pub fn is_idle(&self) -> bool {
        self.inbox.is_empty() && self.waiting.is_empty() && self.running.is_empty()
    }

    /// Requests inside, whatever they do.
    pub fn requests(&self) -> u32 {
        (self.inbox.len() + self.waiting.len() + self.running.len()) as u32
    }

    /// Tokens still to be computed or generated for the requests inside.
    pub fn outstanding_tokens(&self) -> u64 {
        let all = self.inbox.iter().chain(&self.waiting).chain(&self.running);
        all.map(|s| {
            u64::from(s.request.prompt.saturating_sub(s.computed)) + u64::from(s.request.output - s.generated)
        })
        .sum()
    }

    /// What it is doing now.
    pub fn load(&self) -> EngineLoad {
        // Deferred ones are counted when a step begins; some may have been given up since.
        let waiting = self.waiting.len() as u32;
        let deferred = self.deferred.min(waiting);
        EngineLoad {
            running: self.running.len() as u32,
            waiting: waiting - deferred,
            deferred,
            blocks_held: self.pool.total() - self.pool.free(),
            blocks: self.pool.total(),
        }
    }

    /// Drops the prefix cache.
    pub fn forget_prefixes(&mut self) {
        self.pool.forget();
    }

    /// Ends the step in progress: tokens come out, finished requests leave.
    pub fn end_step(&mut self, now: Nanos, sink: &mut impl Sink) {
        self.stepping = false;
        let (mut left, block_tokens) = (false, self.config.block_tokens);
        for sequence in &mut self.running {
            let tokens = std::mem::take(&mut sequence.scheduled);
            if sequence.aborted {
                left = true;
            } else if tokens > 0 {
                let before = sequence.computed;
                sequence.computed += tokens;
                if sequence.computed >= sequence.known_tokens() {
                    left |= produce(sequence, tokens, &self.config, &mut self.random, now, sink);
                }
                if self.config.prefix_cache {
                    for index in before / block_tokens..sequence.computed / block_tokens {
                        let key = sequence.request.content.key(index, block_tokens);
                        if key != 0
                            && let Some(block) = sequence.blocks.get(index as usize)
                        {
                            self.pool.name(*block, key);
                        }
                    }
                }
            }
        }
        if left {
            let pool = &mut self.pool;
            self.running.retain_mut(|sequence| {
                let stays = !sequence.aborted && sequence.generated < sequence.request.output;
                if !stays {
                    // The tail is the least likely to be asked for again: it goes first.
                    sequence.blocks.drain(..).rev().for_each(|b| pool.release(b));
                    let reason = if sequence.aborted { Finish::Abort } else { sequence.request.finish };
                    sink.finished(sequence, reason, now);
                }
                stays
            });
        }
        sink.stepped(self.load(), now);
    }
}

/// The tokens a sequence gets at the end of a step that computed all it knew; whether it is done.
fn produce(
    sequence: &mut Sequence,
    computed: u32,
    config: &EngineConfig,
    random: &mut Random,
    now: Nanos,
    sink: &mut impl Sink,
) -> bool {
    let mut tokens = 1;
    if let Some(speculation) = &config.speculation
        && sequence.generated > 0
        && computed > 1
    {
        let drafted = computed - 1;
        let accepted = (0..drafted).take_while(|_| random.chance(speculation.acceptance.0)).count() as u32;
        // Rejected drafts are forgotten: only what was accepted stays computed.
        sequence.computed = sequence.computed - drafted + accepted;
        sink.speculated(drafted, accepted);
        tokens += accepted;
    }
    tokens = tokens.min(sequence.request.output - sequence.generated);
    sequence.generated += tokens;
    let gap = sequence.last_token.map(|last| now.since(last));
    sequence.last_token = Some(now);
    if gap.is_none() {
        sequence.first_token = Some(now);
    }
    sink.tokens(sequence, tokens, gap, now);
    sequence.unreported_preemptions = 0;
    sequence.generated >= sequence.request.output
}
