//! What a deployment is before anything is wrong with it: card, model, engine, and how much is asked of it.

use intriage_case::{Ratio, Seconds};

use crate::draw::hardware::{CARDS, Card, MODELS, Model};
use crate::draw::load::Shape;
use crate::engine::{EngineConfig, Policy, StepTime};
use crate::fleet::Front;
use crate::random::Random;
use crate::rehearse::Window;
use crate::workload::SharedPrefix;

/// A healthy deployment as drawn. A fault may change it before the load is made, so that the load can show the fault; the
/// control is changed in the same way.
#[derive(Debug, Clone, PartialEq)]
pub struct Base {
    /// The GPU.
    pub card: &'static Card,
    /// The model.
    pub model: &'static Model,
    /// The engine.
    pub engine: EngineConfig,
    /// Engines behind the address.
    pub replicas: u32,
    /// The front end.
    pub front: Front,
    /// Requests wanted in a replica's batch, on average.
    pub concurrency: f64,
    /// The largest share of the time that computing prompts may take.
    pub prefill_share: f64,
    /// Mean prompt in tokens, the shared beginning included.
    pub prompt: f64,
    /// Mean answer in tokens.
    pub answer: f64,
    /// Coefficient of variation of both lengths.
    pub spread: f64,
    /// What prompts begin with.
    pub prefix: Option<SharedPrefix>,
    /// The longest answer that clients allow, in tokens; far more than most take where it is not said.
    pub max_tokens: Option<u32>,
    /// Adapters in use; zero for none.
    pub adapters: u32,
    /// When requests come.
    pub shape: Shape,
    /// When the observer looks.
    pub window: Window,
    /// How long the process had run when the load began.
    pub uptime: Seconds,
    /// Network delay each way.
    pub delay: Seconds,
    /// Whether a job runs that wants throughput.
    pub batch: bool,
}

/// Requests that a window should see, so that there is something to judge.
const REQUESTS: f64 = 70.0;
/// The most requests in a batch that a base is given in order to have them.
const CROWD: f64 = 40.0;

impl Base {
    /// The base of these streams of random numbers.
    pub fn draw(random: &mut Random) -> Self {
        let (card, model) = pair(random);
        let window = window(random);
        let mut base = Self {
            card,
            model,
            engine: engine(card, model, random),
            replicas: 1,
            front: Front {
                per_request: Seconds(between(random, 0.8e-3, 1.6e-3)),
                per_prompt_token: Seconds(2e-6),
            },
            concurrency: log_between(random, 5.0, CROWD),
            prefill_share: between(random, 0.06, 0.16),
            prompt: log_between(random, 120.0, 1500.0),
            answer: log_between(random, 60.0, 350.0),
            spread: between(random, 0.4, 0.9),
            prefix: None,
            max_tokens: None,
            adapters: 0,
            shape: Shape::Steady { variation: 1.0 },
            window,
            uptime: Seconds(log_between(random, 600.0, 1e6)),
            delay: Seconds(between(random, 0.2e-3, 2e-3)),
            batch: false,
        };
        base.see_enough();
        base
    }

    /// Runs the same engine on another card, with the same share of its bounds.
    pub(crate) fn move_to(&mut self, card: &'static Card) {
        let (from, model) = (self.card, self.model);
        let step = &mut self.engine.step;
        step.base.0 *= card.weights_floor(model).0 / from.weights_floor(model).0;
        step.per_context_token.0 *= card.context_floor(model).0 / from.context_floor(model).0;
        let compute = card.prompt_floor(model).0 / from.prompt_floor(model).0;
        step.per_prompt_token.0 *= compute;
        step.per_draft_token.0 *= compute;
        self.engine.pool_blocks = pool(card, model);
        self.engine.token_budget = card.token_budget;
        self.card = card;
    }

    /// More requests in the batch, then shorter ones, until the window sees enough of them.
    pub(crate) fn see_enough(&mut self) {
        let wanted = REQUESTS / self.window.length.0 / f64::from(self.replicas);
        for _ in 0..20 {
            if self.rate_of_each() >= wanted {
                break;
            }
            if self.concurrency < CROWD {
                self.concurrency = (self.concurrency * 1.3).min(CROWD);
            } else {
                self.answer = (self.answer * 0.8).max(16.0);
                self.prompt = (self.prompt * 0.85).max(64.0);
            }
        }
    }

    /// Tokens of a prompt that takes so many seconds to compute.
    pub(crate) fn prompt_taking(&self, seconds: f64) -> f64 {
        seconds / self.engine.step.per_prompt_token.0
    }

    /// As many requests in the batch as a rate keeps there, for each replica; never more than it would be otherwise full.
    pub(crate) fn hold_rate(&mut self, rate: f64) {
        for _ in 0..8 {
            self.concurrency = (rate * self.answer * self.pace()).clamp(0.5, 2.0 * CROWD);
        }
    }

    /// Prompt tokens of a request that are computed, on average.
    fn computed_prompt(&self) -> f64 {
        let cached = self.prefix.filter(|_| self.engine.prefix_cache).map_or(0.0, |p| f64::from(p.tokens));
        (self.prompt - cached).max(1.0)
    }

    /// A decode step without prompts in it, with so many requests, in seconds.
    fn step(&self, requests: f64) -> f64 {
        let step = &self.engine.step;
        let live = self.prompt + self.answer / 2.0;
        step.base.0 + requests * (step.per_sequence.0 + live * step.per_context_token.0)
    }

    /// Requests a second that each replica gets.
    fn rate_of_each(&self) -> f64 {
        // A request holds its place for its steps and for its share of the prompts' time.
        let prompt = self.computed_prompt() * self.engine.step.per_prompt_token.0;
        let decode = self.answer * self.step(self.concurrency) / self.concurrency;
        (decode + prompt).recip().min(self.prefill_share / prompt)
    }

    /// Requests a second that the deployment gets.
    pub fn rate(&self) -> f64 {
        self.rate_of_each() * f64::from(self.replicas)
    }

    /// Expected time from one token to the next, in seconds.
    pub fn pace(&self) -> f64 {
        let prompts = self.rate_of_each() * self.computed_prompt() * self.engine.step.per_prompt_token.0;
        self.step(self.concurrency) / (1.0 - prompts)
    }

    /// Requests that a replica runs at a time, on average, at that rate.
    pub fn running(&self) -> f64 {
        (self.rate_of_each() * self.answer * self.pace()).max(1.0)
    }

    /// Tokens of context that a replica holds, on average.
    pub fn live_tokens(&self) -> f64 {
        self.running() * (self.prompt + self.answer / 2.0)
    }
}

fn pair(random: &mut Random) -> (&'static Card, &'static Model) {
    let fits = |card: &'static Card| {
        // A card so full of weights that nothing is left is no base to begin with.
        MODELS.iter().filter(|m| card.kv_memory(m).is_some_and(|kv| kv.0 > 4e9)).map(move |m| (card, m))
    };
    let pairs: Vec<_> = CARDS.iter().flat_map(fits).collect();
    pairs.get(random.below(pairs.len() as u64) as usize).copied().unwrap_or((&CARDS[0], &MODELS[0]))
}

/// Healthy steps take 1.5 to 2.3 times what memory and arithmetic allow (recordings of an H200); the part of that
/// which prompts and the number of sequences add comes on top of this.
fn engine(card: &Card, model: &Model, random: &mut Random) -> EngineConfig {
    let per_prompt_token = card.prompt_floor(model).0 / between(random, 0.45, 0.65);
    let step = StepTime {
        base: Seconds(card.weights_floor(model).0 * between(random, 1.35, 1.7)),
        per_prompt_token: Seconds(per_prompt_token),
        per_sequence: Seconds(between(random, 8e-6, 20e-6)),
        per_context_token: Seconds(card.context_floor(model).0 * between(random, 1.1, 1.4)),
        per_draft_token: Seconds(per_prompt_token * 1.5),
        noise: Ratio(between(random, 0.03, 0.07)),
        ..StepTime::constant(Seconds(0.0))
    };
    EngineConfig {
        max_sequences: 256,
        token_budget: card.token_budget,
        chunked_prefill: true,
        plans_ahead: true,
        block_tokens: 16,
        pool_blocks: pool(card, model),
        prefix_cache: true,
        policy: Policy::Fcfs,
        context_window: 32_768,
        queue_limit: None,
        max_adapters: 1,
        speculation: None,
        step,
    }
}

fn pool(card: &Card, model: &Model) -> u32 {
    let bytes = card.kv_memory(model).map_or(0.0, |left| left.0);
    (bytes / model.kv.0 / 16.0) as u32
}

fn window(random: &mut Random) -> Window {
    let every = [0.5, 1.0, 1.0, 1.5, 2.0, 3.0][random.below(6) as usize];
    let scrapes = (log_between(random, 15.0, 60.0) / every).max(8.0).round();
    Window {
        from: Seconds(between(random, 5.0, 40.0)),
        length: Seconds(scrapes * every),
        every: Seconds(every),
    }
}

/// Uniform between two limits.
pub(crate) fn between(random: &mut Random, from: f64, to: f64) -> f64 {
    random.unit().mul_add(to - from, from)
}

/// Between two limits, every doubling as likely as any other.
pub(crate) fn log_between(random: &mut Random, from: f64, to: f64) -> f64 {
    between(random, from.ln(), to.ln()).exp()
}
