//! Symptoms: what hurts, by how much and when, before anybody asks why.
//!
//! Every aspect of the service is held against a [`Yardstick`], the first that applies: the stated objective for exactly
//! this metric and quantile; the physical floor; the calm part of the same window; the share of the request's life; the
//! published default. The figures are rows of [`Limit`](crate::Limit).

mod aspect;
mod backlog;
mod first_token;
mod held_up;
mod outside;
mod service;
mod stated;
mod steady;
#[cfg(test)]
mod tests;
mod token;
mod work;

use intriage_case::{Millis, Quantity, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use aspect::Aspect;
pub(crate) use backlog::{Backlog, backlog};
pub(crate) use first_token::warm_up_cost;
pub(crate) use held_up::{HeldUp, held_up};
pub(crate) use service::{Lost, lost_requests};

use crate::evidence::Evidence;

/// Whether an aspect of the service hurts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Harm {
    /// It is worse than its yardstick allows.
    Hurts,
    /// It was measured and is within its yardstick.
    Fine,
    /// The evidence does not show it.
    Unseen,
}

/// What an aspect was held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Yardstick {
    /// The stated objective for this metric and quantile.
    Objective,
    /// The least time the hardware needs.
    Floor,
    /// The calm part of the same window.
    CalmPart,
    /// Its share of the request's life, or of the requests.
    Share,
    /// A published default for this kind of service.
    Published,
    /// What the profile asks for.
    Profile,
    /// What a log, the kernel or a probe says.
    Told,
}

/// One aspect of the service, judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Symptom {
    /// The aspect.
    pub aspect: Aspect,
    /// Whether it hurts.
    pub harm: Harm,
    /// What it was held against; null where it was not seen.
    pub yardstick: Option<Yardstick>,
    /// What was measured.
    pub measured: Option<Quantity>,
    /// What the yardstick allows, in the same unit.
    pub limit: Option<Quantity>,
    /// What it costs: a share of the request's life, of the requests or of the work, 0 to 1.
    pub share: Ratio,
    /// When it began, where it did not last all the window.
    pub start: Option<Millis>,
    /// When it ended, where it did.
    pub end: Option<Millis>,
    /// In one sentence.
    pub says: String,
}

impl Symptom {
    /// Measured over allowed: 1 is the limit itself. `None` where there is no number.
    pub fn margin(&self) -> Option<f64> {
        let (measured, limit) = (self.measured?, self.limit?);
        Ratio::of(measured.value, limit.value).map(Ratio::get)
    }

    /// How much it matters: no service before failures, failures before slowness, then by what it costs.
    pub(crate) fn weight(&self) -> f64 {
        self.aspect.rank() + self.share.get()
    }

    fn new(aspect: Aspect, harm: Harm, yardstick: Yardstick, says: impl Into<String>) -> Self {
        Self {
            aspect,
            harm,
            yardstick: Some(yardstick),
            measured: None,
            limit: None,
            share: Ratio(0.0),
            start: None,
            end: None,
            says: says.into(),
        }
    }

    fn unseen(aspect: Aspect, why: impl Into<String>) -> Self {
        Self { yardstick: None, ..Self::new(aspect, Harm::Unseen, Yardstick::Told, why) }
    }

    fn costs(mut self, share: Ratio) -> Self {
        self.share = Ratio(share.get().clamp(0.0, 1.0));
        self
    }

    fn against(mut self, measured: impl Into<Quantity>, limit: impl Into<Quantity>) -> Self {
        (self.measured, self.limit) = (Some(measured.into()), Some(limit.into()));
        self
    }

    fn during(mut self, start: Millis, end: Millis) -> Self {
        (self.start, self.end) = (Some(start), Some(end));
        self
    }
}

/// All symptoms of a case, in the order of [`Aspect::ALL`].
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Symptoms(pub(crate) Vec<Symptom>);

impl Symptoms {
    /// Judges every aspect.
    pub(crate) fn of(e: &Evidence<'_>) -> Self {
        let mut all = Vec::new();
        all.push(service::availability(e));
        all.push(service::errors(e));
        all.push(service::aborts(e));
        all.extend(first_token::parts(e));
        all.extend(token::parts(e));
        all.push(work::preemption(e));
        all.push(work::throughput(e));
        all.push(work::answer_lengths(e));
        all.push(work::gpu_clock(e));
        all.extend(outside::parts(e));
        stated::blame_missed(e, &mut all);
        all.sort_by_key(|s: &Symptom| Aspect::ALL.iter().position(|a| *a == s.aspect));
        Self(all)
    }

    /// Those that hurt.
    pub(crate) fn hurting(&self) -> impl Iterator<Item = &Symptom> {
        self.0.iter().filter(|s| s.harm == Harm::Hurts)
    }

    /// The one that hurts most: no service before failures, failures before slowness, then by what it costs.
    pub(crate) fn worst(&self) -> Option<&Symptom> {
        self.hurting().max_by(|a, b| a.weight().total_cmp(&b.weight()))
    }

    /// Of these aspects the one that hurts most.
    pub(crate) fn worst_of(&self, aspects: &[Aspect]) -> Option<&Symptom> {
        self.hurting()
            .filter(|s| aspects.contains(&s.aspect))
            .max_by(|a, b| a.weight().total_cmp(&b.weight()))
    }

    /// Whether any of these aspects hurts.
    pub(crate) fn any_hurts(&self, aspects: &[Aspect]) -> bool {
        self.hurting().any(|s| aspects.contains(&s.aspect))
    }

    /// Whether nothing shows if this aspect hurts.
    pub(crate) fn is_unseen(&self, aspect: Aspect) -> bool {
        self.0.iter().all(|s| s.aspect != aspect || s.harm == Harm::Unseen)
    }

    /// Takes note of harm that words tell: a log line, a kernel's message, a probe. What was measured to hurt stays as it is;
    /// what was measured to be fine gives way, because words tell of what a window does not show.
    pub(crate) fn learn(&mut self, aspect: Aspect, share: Ratio, says: &str) {
        let told = Symptom::new(aspect, Harm::Hurts, Yardstick::Told, says).costs(share);
        match self.0.iter_mut().find(|s| s.aspect == aspect) {
            Some(known) if known.harm == Harm::Hurts => {}
            Some(known) => *known = told,
            None => self.0.push(told),
        }
    }
}
