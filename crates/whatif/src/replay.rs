//! Runs of the model, watched the way a metrics endpoint watches an engine.

use intriage_case::{Ratio, Requests, Seconds, Tokens};
use intriage_simulate::workload::{Source, Traced};
use intriage_simulate::{
    Arrivals, Class, Content, Engine, EngineConfig, Finish, Fleet, Latency, Nanos, Random, Request,
    RequestId, Sequence, Sink, Watch, Workload,
};

use crate::traffic::Traffic;

/// Requests that ran when the window began have numbers from here on.
const RESUMED: u64 = 1 << 48;

/// A server and its load, as far as a case tells.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Model {
    pub(crate) engine: EngineConfig,
    pub(crate) class: Class,
    pub(crate) traffic: Traffic,
    /// Spent outside the engine before a first token, the same for every request.
    pub(crate) front: Seconds,
}

/// A mean in the making.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Mean {
    sum: f64,
    count: f64,
}

impl Mean {
    fn add(&mut self, time: Nanos) {
        self.sum += time.seconds().get();
        self.count += 1.0;
    }

    /// The mean; zero where nothing was counted.
    pub(crate) fn get(self) -> Seconds {
        Seconds(if self.count > 0.0 { self.sum / self.count } else { 0.0 })
    }
}

/// What an engine's metrics would have gained between two instants: first tokens and gaps as they come,
/// phases when a request ends.
#[derive(Debug, Default)]
pub(crate) struct Record {
    from: Nanos,
    to: Nanos,
    ttft: Latency,
    pub(crate) itl: Latency,
    pub(crate) queue: Mean,
    pub(crate) prefill: Mean,
    pub(crate) before_queue: Mean,
    pub(crate) tokens: Tokens,
    pub(crate) finished: Requests,
    pub(crate) steps: f64,
    /// Requests inside at every tick.
    pub(crate) inside: Vec<u32>,
}

impl Record {
    pub(crate) fn between(from: Nanos, to: Nanos) -> Self {
        Self { from, to, ..Self::default() }
    }

    /// Mean time to first token on the engine.
    pub(crate) fn ttft(&self) -> Seconds {
        self.ttft.mean()
    }

    /// Quantile of the time to first token on the engine.
    pub(crate) fn ttft_quantile(&self, q: Ratio) -> Seconds {
        self.ttft.quantile(q)
    }

    /// How long was watched.
    pub(crate) fn time(&self) -> Seconds {
        self.to.since(self.from).seconds()
    }

    fn watches(&self, now: Nanos) -> bool {
        self.from < now && now <= self.to
    }
}

impl Sink for Record {
    #[inline]
    fn tokens(&mut self, sequence: &Sequence, tokens: u32, gap: Option<Nanos>, now: Nanos) {
        if self.watches(now) {
            self.tokens.0 += f64::from(tokens);
            match gap {
                Some(gap) => self.itl.add(gap),
                None => self.ttft.add(now.since(sequence.request.arrival)),
            }
        }
    }

    fn finished(&mut self, sequence: &Sequence, _: Finish, now: Nanos) {
        if !self.watches(now) {
            return;
        }
        self.finished.0 += 1.0;
        if sequence.request.id.0 < RESUMED
            && let (Some(scheduled), Some(first)) = (sequence.scheduled_at, sequence.first_token)
        {
            // The backlog was queued long before the replay handed it over.
            if sequence.request.arrival >= self.from {
                self.before_queue.add(sequence.queued.since(sequence.request.arrival));
                self.queue.add(scheduled.since(sequence.queued));
            } else {
                self.queue.add(scheduled.since(sequence.request.arrival));
            }
            self.prefill.add(first.since(scheduled));
        }
    }

    fn stepped(&mut self, _: intriage_simulate::EngineLoad, now: Nanos) {
        self.steps += f64::from(u8::from(self.watches(now)));
    }
}

impl Watch for Record {
    fn sink(&mut self, _: usize) -> &mut impl Sink {
        self
    }

    fn tick(&mut self, fleet: &Fleet, _: Nanos) {
        self.inside.push(fleet.engines.iter().map(Engine::requests).sum());
    }
}

/// Replays the window of a case: the same backlog, the same arrivals per scrape interval.
pub(crate) fn replay(model: &Model, seed: u64) -> Record {
    let (begin, arrivals) = (model.traffic.begin(), model.traffic.instants(seed));
    let end = begin + Nanos::from_seconds(model.traffic.window());
    let workload = Workload {
        arrivals: Arrivals::Trace(arrivals.into_iter().map(Traced::at).collect()),
        classes: vec![model.class.clone()],
    };
    let mut source = Source::new(&workload, seed).peekable();
    let mut engine = Engine::new(model.engine.clone(), seed);
    resume(&mut engine, model, begin, seed);
    let mut record = Record::between(begin, end);
    let mut now = begin;
    while now <= end {
        while let Some(planned) = source.next_if(|p| p.request.arrival <= now) {
            // A refusal is an answer too; refused requests leave no latency behind.
            let _ = engine.submit(planned.request, now);
        }
        if let Some(step_end) = engine.begin_step(now, &mut record) {
            while let Some(planned) = source.next_if(|p| p.request.arrival <= step_end) {
                let at = planned.request.arrival;
                let _ = engine.submit(planned.request, at);
            }
            now = step_end;
            engine.end_step(now, &mut record);
        } else if let Some(next) = source.peek() {
            now = next.request.arrival;
        } else {
            break;
        }
    }
    record
}

/// Puts the requests that ran when the window began into the engine, anywhere in their answers. A long
/// answer is more likely to be met than a short one.
fn resume(engine: &mut Engine, model: &Model, now: Nanos, seed: u64) {
    let mut random = Random::new(seed, "whatif running");
    for k in 0..u64::from(model.traffic.running) {
        let candidates: [u32; 4] = std::array::from_fn(|_| model.class.answer.draw(&mut random).max(2));
        let total: f64 = candidates.iter().map(|c| f64::from(*c)).sum();
        let mut left = random.unit() * total;
        let output = candidates
            .into_iter()
            .find(|c| {
                left -= f64::from(*c);
                left < 0.0
            })
            .unwrap_or(candidates[0]);
        let generated = 1 + random.below(u64::from(output - 1)) as u32;
        let request = Request {
            id: RequestId(RESUMED + k),
            arrival: now,
            prompt: model.class.prompt.draw(&mut random),
            output,
            max_tokens: output,
            finish: Finish::Length,
            content: Content::Unique,
            priority: 0,
            adapter: None,
        };
        // What finds no room was thrown back in truth too, or the gauge was a step behind.
        engine.resume(request, generated, now);
    }
}
