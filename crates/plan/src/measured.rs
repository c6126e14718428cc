//! What a case tells a plan: rate, lengths, limits and the speed that was measured.

use intriage_case::{Bytes, Case, Histogram, Objective, PerSecond, Ratio, Requests, Seconds, Signal, Tokens};
use intriage_diagnose::{Evidence, Thresholds};
use intriage_engines::{Setting, read};
use intriage_physics::gpu;
use intriage_simulate::StepTime;
use intriage_simulate::workload::LengthRange;

use crate::ask::{EngineLimits, Traffic};
use crate::assumptions::{HOST_PER_SEQUENCE, LENGTH_VARIATION, STEP_NOISE, middle};

/// What a case tells a plan.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Measured {
    /// The GPU's name, where a tool reported it.
    pub gpu: Option<String>,
    /// GPUs of one engine.
    pub gpus: u32,
    /// Engines behind the address.
    pub engines: u32,
    /// Limits in force.
    pub limits: EngineLimits,
    /// Tokens the KV pool of one engine holds.
    pub pool: Tokens,
    /// Bytes of one token's keys and values on each GPU, where the engine told its pool in bytes too.
    pub bytes_per_token: Option<Bytes>,
    /// Requests in one engine's batch, mean.
    pub batch: Requests,
    /// A step without prompt work, at that batch.
    pub decode: Seconds,
    /// What a prompt token adds to a step; `None` where the load hides it.
    pub per_prompt_token: Option<Seconds>,
    /// Time between tokens, mean.
    pub itl: Seconds,
    /// Objectives of the case.
    pub objectives: Vec<Objective>,
    /// What a reader should know, in sentences.
    pub notes: Vec<String>,
}

/// Why a case is not enough to plan from.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MeasuredError {
    /// A signal is missing.
    #[error("the case cannot be planned from: {0}")]
    Missing(String),
    /// Nothing finished in the window.
    #[error("the case cannot be planned from: no request finished while it was watched")]
    Idle,
}

impl Measured {
    /// Reads a case into what was measured and the traffic it saw.
    pub fn read(case: &Case) -> Result<(Self, Traffic), MeasuredError> {
        let observed = read(case);
        let thresholds = Thresholds::default();
        let evidence = Evidence::new(&observed, &case.intent, &thresholds);
        let missing = |signal| MeasuredError::Missing(observed.why_missing(signal));
        let need = |signal: Signal| -> Result<f64, MeasuredError> {
            let known = evidence.histogram(signal).ok_or_else(|| missing(signal))?;
            known.mean().filter(|mean| *mean > 0.0).ok_or(MeasuredError::Idle)
        };
        let elapsed = evidence.elapsed().get();
        let finished =
            evidence.finished().filter(|n| n.get() > 0.0 && elapsed > 0.0).ok_or(MeasuredError::Idle)?;
        let (isl, osl) = (need(Signal::TokensPromptEach)?, need(Signal::TokensOutputEach)?);
        let itl = need(Signal::LatencyItl)?;
        let mut notes = Vec::new();

        // First tokens count arrivals while they happen; finished ones lag by a lifetime.
        let arrived = evidence.histogram(Signal::LatencyTtft).map_or(finished.get(), |ttft| ttft.count());
        let prompt = evidence.delta(Signal::TokensPrompt);
        let cached = evidence.delta(Signal::TokensPromptCached);
        let share = cached.zip(prompt).and_then(|(cached, all)| Ratio::of(cached, all)).unwrap_or(Ratio(0.0));
        let mut traffic =
            Traffic::of(PerSecond(Requests(arrived.max(1.0) / elapsed)), Tokens(isl), Tokens(osl));
        traffic.prefix_share = Ratio(share.get().clamp(0.0, 0.999));
        traffic.prompts = ranges(evidence.histogram(Signal::TokensPromptEach), isl);
        traffic.answers = ranges(evidence.histogram(Signal::TokensOutputEach), osl);
        traffic.variation = LENGTH_VARIATION;

        let engines = observed.instances().len().max(1) as u32;
        let number = |setting| evidence.setting(setting).filter(|n| *n >= 1.0);
        let whole = |setting| number(setting).map(|n| n.min(1e8) as u32);
        let blocks = number(Setting::KvBlocks).zip(number(Setting::KvBlockSize)).map(|(n, size)| n * size);
        let pool = number(Setting::KvCapacity).or(blocks);
        let pool = pool.ok_or_else(|| missing(Signal::KvCapacity))?;
        let running = evidence.observed.series(Signal::RequestsRunning, None, None);
        let running = running.and_then(|series| series.mean_at(evidence.busy())).unwrap_or(1.0);
        let batch = (running / f64::from(engines)).max(1.0);

        let computed = traffic.computed().get();
        let rate = traffic.rate.0.get() / f64::from(engines);
        let overlapped = observed.config.switch(Setting::AsyncScheduling).unwrap_or(false);
        let prefill = evidence.mean(Signal::LatencyPrefill);
        let per_prompt_token = prefill.and_then(|prefill| {
            Load { step: itl, prefill, tokens: computed, rate, overlapped }.prompt_cost()
        });
        if per_prompt_token.is_none() {
            notes.push("what a prompt token costs cannot be told from this load; physics stands in where a model is given, else prompts count as free".to_owned());
        }
        let decode = itl * (1.0 - rate * computed * per_prompt_token.unwrap_or(0.0)).clamp(0.1, 1.0);
        let measured = Self {
            gpu: observed.gpu.name.clone(),
            gpus: whole(Setting::TensorParallel).unwrap_or(1),
            engines,
            limits: EngineLimits {
                window: whole(Setting::ContextWindow),
                max_sequences: whole(Setting::MaxSequences),
                token_budget: whole(Setting::TokenBudget),
            },
            pool: Tokens(pool),
            bytes_per_token: number(Setting::KvBytes).map(|bytes| Bytes(bytes / pool)),
            batch: Requests(batch),
            decode: Seconds(decode),
            per_prompt_token: per_prompt_token.map(Seconds),
            itl: Seconds(itl),
            objectives: case.intent.objectives.clone(),
            notes,
        };
        Ok((measured, traffic))
    }

    /// The measured step time, for an average context.
    pub(crate) fn step(&self, context: Tokens) -> StepTime {
        let card = self.gpu.as_deref().and_then(|name| gpu::find(name).ok()).map(|found| found.gpu);
        let per_context = match (card, self.bytes_per_token) {
            (Some(card), Some(bytes)) => bytes.get() / card.bandwidth.0.get() / middle(card.mbu).get(),
            _ => 0.0,
        };
        let growing = self.batch.get() * (HOST_PER_SEQUENCE.get() + context.get() * per_context);
        StepTime {
            base: Seconds((self.decode.get() - growing).max(self.decode.get() / 2.0)),
            per_prompt_token: self.per_prompt_token.unwrap_or(Seconds(0.0)),
            per_sequence: HOST_PER_SEQUENCE,
            per_context_token: Seconds(per_context),
            noise: STEP_NOISE,
            ..StepTime::constant(Seconds(0.0))
        }
    }
}

/// One engine's load and times, means over the window, in seconds and tokens.
#[derive(Debug, Clone, Copy)]
struct Load {
    /// Between tokens: the mean step.
    step: f64,
    /// First scheduled to first token.
    prefill: f64,
    /// Prompt tokens to compute of a request.
    tokens: f64,
    /// Requests a second.
    rate: f64,
    /// Whether a step is scheduled while the one before still runs.
    overlapped: bool,
}

impl Load {
    /// What a prompt token adds to a step, in seconds; `None` where the load hides it.
    ///
    /// The mean step and the mean prefill are two equations for two unknowns, the step without prompts
    /// and the cost of a prompt token. A prefill is its own step, lengthened by prompts that came in
    /// the same moment, and with overlapped scheduling what is left of the step before: that one is
    /// more often a long one, as anything met at a random instant.
    fn prompt_cost(self) -> Option<f64> {
        let busiest = 0.9 / (self.rate * self.tokens);
        let (mut low, mut high) = (0.0, busiest.min(1.0));
        if !(self.prefill_at(low) < self.prefill && self.prefill < self.prefill_at(high)) {
            return None;
        }
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if self.prefill_at(middle) < self.prefill { low = middle } else { high = middle }
        }
        Some(low)
    }

    /// The mean prefill that this cost of a prompt token would give.
    fn prefill_at(self, cost: f64) -> f64 {
        let short = self.step * (1.0 - self.rate * self.tokens * cost).max(0.0);
        // A few rounds settle the length of the step before: it depends on who else came in it.
        let mut before = self.step;
        let mut own = short;
        for _ in 0..4 {
            let together = 1.0 + self.rate * before;
            own = short + cost * self.tokens * together;
            let share = (self.rate * self.step / together).min(1.0);
            before = ((1.0 - share) * short * short + share * own * own) / self.step;
        }
        own + if self.overlapped { before } else { 0.0 }
    }
}

/// A histogram of lengths as ranges with weights, narrowed so that their mean is the exact one.
///
/// Buckets are coarse (500 to 1,000): every range keeps the same share of its bucket, at the end
/// towards which the mean leans.
fn ranges(histogram: Option<Histogram>, mean: f64) -> Option<Vec<LengthRange>> {
    let histogram = histogram?;
    let finite = |low: f64, high: f64| if high.is_finite() { high } else { low * 2.0 };
    let buckets: Vec<(f64, f64, f64)> = histogram
        .buckets()
        .filter(|(_, _, inside)| *inside > 0.0)
        .map(|(low, high, weight)| (low, finite(low, high), weight))
        .collect();
    let sum =
        |of: fn(&(f64, f64, f64)) -> f64| buckets.iter().map(|bucket| of(bucket) * bucket.2).sum::<f64>();
    let (lows, highs) = (sum(|bucket| bucket.0), sum(|bucket| bucket.1));
    let total = mean * sum(|_| 1.0);
    let width = highs - lows;
    let (from_low, from_high) = (2.0 * (total - lows) / width, 2.0 * (highs - total) / width);
    let cut = |(low, high, weight): &(f64, f64, f64)| {
        let span = high - low;
        let (from, to) = if from_low <= 1.0 {
            (*low, low + span * from_low.max(0.0))
        } else {
            (high - span * from_high.clamp(0.0, 1.0), *high)
        };
        LengthRange { from: (from.round() as u32).saturating_add(1), to: to.round() as u32, weight: *weight }
    };
    (width > 0.0).then(|| buckets.iter().map(cut).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_prompt_token_costs_is_found_again() {
        for (cost, overlapped) in [(30e-6, true), (30e-6, false), (120e-6, true)] {
            let mut load = Load { step: 0.008, prefill: 0.0, tokens: 500.0, rate: 10.0, overlapped };
            load.prefill = load.prefill_at(cost);
            assert!((load.prompt_cost().unwrap() / cost - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn coarse_buckets_keep_the_exact_mean() {
        let of = |buckets: &[(f64, f64)], sum: f64| {
            let count = buckets.last().unwrap().1;
            let ranges = ranges(Some(Histogram::new(buckets.to_vec(), sum, count)), sum / count).unwrap();
            (intriage_simulate::Lengths::Ranges(ranges.clone()).mean().get(), ranges)
        };
        let (mean, all) = of(&[(500.0, 0.0), (1000.0, 10.0), (f64::INFINITY, 10.0)], 5420.0);
        assert!((mean - 542.0).abs() < 1.0 && all.len() == 1 && all[0].from >= 500, "{mean} {all:?}");
        let (mean, all) = of(&[(100.0, 5.0), (1000.0, 10.0), (f64::INFINITY, 10.0)], 5200.0);
        assert!((mean - 520.0).abs() < 1.0 && all.len() == 2, "{mean} {all:?}");
        assert_eq!(ranges(Some(Histogram::from_totals(10.0, 1.0)), 10.0), None);
    }

    #[test]
    fn a_prefill_shorter_than_a_step_says_nothing() {
        let load = Load { step: 0.02, prefill: 0.01, tokens: 500.0, rate: 1.0, overlapped: false };
        assert_eq!(load.prompt_cost(), None);
    }
}
