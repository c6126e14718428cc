//! What a run declares of itself; its certificate holds it against what happened.

use intriage_record::{Arrival, Declared};

use crate::arrivals::Shape;
use crate::prompts::Source;
use crate::spec::{Load, Prompts, Spec};
use crate::words::Words;

impl Spec {
    pub(crate) fn declared(&self, source: &Source, words: &Words, sessions: bool) -> Declared {
        let classes = match &self.prompts {
            Prompts::Synthetic(classes) => {
                classes.iter().map(|c| (c.name.clone(), c.objectives().unwrap_or_default())).collect()
            }
            _ => Vec::new(),
        };
        // What is not declared but follows from the plan: salted prompts share nothing.
        let requests = self.sessions.unwrap_or(10_000);
        let hit_ratio = self.hit_ratio.or_else(|| match source {
            Source::Synthetic(synthetic) => Some(synthetic.expected_hit_ratio(16, requests.min(100_000))),
            _ => None,
        });
        Declared {
            arrival: self.arrival(),
            hit_ratio,
            ignore_eos: self.ignore_eos,
            template_tokens: words.around,
            classes,
            stages: self.stages.iter().map(|(_, name)| name.clone()).collect(),
            sessions,
            objectives: self.objectives.clone(),
            shard: (self.shard.1 > 1).then_some(self.shard),
            without_starts: false,
            percentiles: self.percentiles.clone(),
            num_prompts: self.sessions,
        }
    }

    fn arrival(&self) -> Arrival {
        match &self.load {
            Load::Closed { concurrency } => Arrival::Closed { concurrency: *concurrency },
            Load::Open { shape, max_in_flight } => {
                let rate = |r: &crate::arrivals::Rate| Some(r.0.0).filter(|r| r.is_finite());
                let (rate, name) = match shape {
                    Shape::Constant { rate: r } => (rate(r), "constant"),
                    Shape::Poisson { rate: r } => (rate(r), "poisson"),
                    Shape::Gamma { rate: r, .. } => (rate(r), "gamma"),
                    Shape::Bursts { .. } => (None, "bursts"),
                    Shape::Ramp { .. } => (None, "ramp"),
                    Shape::Steps { .. } => (None, "steps"),
                    Shape::Trace { .. } => (None, "trace"),
                };
                Arrival::Open { rate, shape: name.to_owned(), max_concurrency: *max_in_flight }
            }
        }
    }
}
