//! What a case tells a plan: arrivals, lengths, limits, and the speed that a replay of it needs.

use intriage_case::{Bytes, Case, Objective, PerSecond, Ratio, Requests, Seconds, Signal, Tokens};
use intriage_engines::{Observed, Setting, read};
use intriage_simulate::StepTime;
use intriage_whatif::{Calibration, WhyNot, calibrate};

use crate::ask::{EngineLimits, Traffic};

/// What a case tells a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The GPU's name, where a tool reported it.
    pub gpu: Option<String>,
    /// GPUs of the engine.
    pub gpus: u32,
    /// Limits in force.
    pub limits: EngineLimits,
    /// Tokens the KV pool holds.
    pub pool: Tokens,
    /// Tokens the pool would hold, where it was cut by hand.
    pub pool_possible: Option<Tokens>,
    /// Bytes of one token's keys and values on each GPU, where the engine told its pool in bytes too.
    pub bytes_per_token: Option<Bytes>,
    /// Whether the engine kept prompts for those that begin alike.
    pub prefix_cache: bool,
    /// Whether the engine planned a step while the one before ran.
    pub plans_ahead: bool,
    /// The step time with which a replay of the case shows what was measured.
    pub step: StepTime,
    /// Requests in the batch, mean.
    pub batch: Requests,
    /// Context of a running request: prompt and half the answer.
    pub context: Tokens,
    /// Time between tokens, mean.
    pub itl: Seconds,
    /// Requests that came, a second.
    pub arrived: PerSecond<Requests>,
    /// Requests that got their first token, a second.
    pub served: PerSecond<Requests>,
    /// Objectives of the case.
    pub objectives: Vec<Objective>,
}

/// Why a case is not enough to plan from.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MeasuredError {
    /// There are no metrics at all.
    #[error("the case cannot be planned from: there is no readable scrape in it (metrics/<unix_ms>.txt)")]
    NoScrape,
    /// There is nothing to compare the metrics with.
    #[error("the case cannot be planned from: one scrape shows no rates, two are the least")]
    OneScrape,
    /// Nothing finished in the window.
    #[error("the case cannot be planned from: no request finished while it was watched")]
    Idle,
    /// The simulator could not be made to show what was measured.
    #[error("the case cannot be planned from: {0}")]
    NotReplayed(WhyNot),
    /// A setting the plan rests on is stated nowhere.
    #[error("the case cannot be planned from: {0}")]
    Missing(String),
}

impl Measured {
    /// Reads a case into what was measured and the traffic it saw.
    pub fn read(case: &Case) -> Result<(Self, Traffic), MeasuredError> {
        let observed = read(case);
        match observed.times.len() {
            0 => return Err(MeasuredError::NoScrape),
            1 => return Err(MeasuredError::OneScrape),
            _ => {}
        }
        let calibration = calibrate(&observed).map_err(|why| match why {
            WhyNot::TooFew { finished, .. } if finished <= 0.0 => MeasuredError::Idle,
            why => MeasuredError::NotReplayed(why),
        })?;
        let number = |setting| observed.config.number(setting).filter(|n| *n >= 1.0);
        let whole = |setting| number(setting).map(|n| n.min(1e8) as u32);
        let size = number(Setting::KvBlockSize);
        let tokens = |blocks| number(blocks).zip(size).map(|(blocks, size)| blocks * size);
        let pool = number(Setting::KvCapacity).or_else(|| tokens(Setting::KvBlocks));
        let pool = pool.ok_or_else(|| MeasuredError::Missing(observed.why_missing(Signal::KvCapacity)))?;
        let cut = number(Setting::KvBlocksOverride).is_some();
        let possible = if cut { tokens(Setting::KvBlocksPossible) } else { None };
        // A pool cut by hand does not fill the bytes that the engine states.
        let filled = if cut { possible } else { Some(pool) };
        let (engine, measured) = (calibration.engine(), calibration.measured());
        let traffic = traffic(&calibration);
        let read = Self {
            gpu: observed.gpu.name.clone(),
            gpus: whole(Setting::TensorParallel).unwrap_or(1),
            limits: EngineLimits {
                window: whole(Setting::ContextWindow),
                max_sequences: Some(engine.max_sequences),
                token_budget: Some(engine.token_budget),
            },
            pool: Tokens(pool),
            pool_possible: possible.map(Tokens).filter(|possible| possible.get() > pool),
            bytes_per_token: number(Setting::KvBytes)
                .zip(filled)
                .map(|(bytes, n)| Bytes((bytes / n).round())),
            prefix_cache: engine.prefix_cache,
            plans_ahead: engine.plans_ahead,
            step: engine.step,
            batch: Requests(running(&observed)),
            context: Tokens(traffic.isl.get() + traffic.osl.get() / 2.0),
            itl: measured.itl,
            arrived: calibration.rate(),
            served: PerSecond(Requests(measured.first_tokens.get() / measured.window.get().max(1e-3))),
            objectives: case.intent.objectives.clone(),
        };
        Ok((read, traffic))
    }

    /// A step without prompts at the batch and the context of the case.
    pub(crate) fn decode(&self) -> Seconds {
        at(&self.step, self.batch, self.context)
    }

    /// Whether more came than was served.
    pub(crate) fn is_overloaded(&self) -> bool {
        self.arrived.0.get() > 1.1 * self.served.0.get()
    }
}

/// A step in which so many requests of this context decode.
pub(crate) fn at(step: &StepTime, batch: Requests, context: Tokens) -> Seconds {
    let each = step.per_sequence.get() + context.get() * step.per_context_token.get();
    Seconds(step.base.get() + batch.get() * each)
}

fn traffic(calibration: &Calibration) -> Traffic {
    let class = calibration.class();
    let (prompt, answer) = (class.prompt.mean(), class.answer.mean());
    let mut traffic = Traffic::of(calibration.rate(), prompt, answer);
    let shared = class.prefix.map_or(0.0, |prefix| f64::from(prefix.tokens));
    traffic.prefix_share = Ratio((shared / prompt.get().max(1.0)).clamp(0.0, 0.999));
    traffic.prompts = Some(class.prompt.clone());
    traffic.answers = Some(class.answer.clone());
    traffic
}

/// Requests in the batch, averaged over the scrapes at which there were any.
fn running(observed: &Observed) -> f64 {
    let series = observed.series(Signal::RequestsRunning, None, None);
    let busy: Vec<f64> =
        series.map_or_else(Vec::new, |s| s.known().map(|(_, n)| n).filter(|n| *n > 0.0).collect());
    (busy.iter().sum::<f64>() / busy.len().max(1) as f64).max(1.0)
}
