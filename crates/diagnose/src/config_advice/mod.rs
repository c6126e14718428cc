//! Judgements of a configuration before it is started: mistakes that a manifest or a command line shows by itself.
//!
//! [`advise`] is pure. Each group of rules stands in a file of its own; [`RULES`] is the registry. A rule that lacks a fact
//! (the GPU, the model, the release) says nothing.

mod debugging;
mod flags;
mod memory;
mod model;
mod scene;
mod speed;
#[cfg(test)]
mod testing;

use intriage_case::Source;
use intriage_case::gpu::GpuPath;
use intriage_engines::{MeantStarts, Version, known_flags};
use intriage_physics::Gpu;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use scene::{Hit, Scene};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The start fails, or requests do.
    Error,
    /// It costs speed, capacity or safety in production.
    Warning,
    /// Worth knowing; may be wanted.
    Note,
}

impl Severity {
    /// Its name, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// One rule of the registry.
pub struct AdviceRule {
    /// Its stable name: the mistake, not the change.
    pub id: &'static str,
    /// What it finds, in one sentence.
    pub summary: &'static str,
    /// The worst severity its findings have.
    pub severity: Severity,
    /// Where the fact behind it was found.
    pub source: &'static str,
    judge: fn(&Scene<'_>) -> Vec<Hit>,
}

/// One mistake in a configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AdviceFinding {
    /// The rule's stable name, such as `eager-mode-on`.
    pub rule: String,
    /// How bad it is.
    pub severity: Severity,
    /// The flag or variable as it is written.
    pub setting: String,
    /// Its value; null for a switch and for a default.
    pub value: Option<String>,
    /// Where it stands: a manifest's file and line, or the command line.
    pub place: Source,
    /// The unit, service or container that has it.
    pub server: String,
    /// Why it is a mistake, with figures.
    pub reason: String,
    /// What to change.
    pub change: String,
    /// Where the fact behind the rule was found.
    pub source: String,
}

/// The judgement of a configuration.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ConfigAdvice {
    /// What is wrong, the worst first.
    pub findings: Vec<AdviceFinding>,
    /// Servers that were judged.
    pub judged: Vec<String>,
    /// Manifests and servers that could not be judged, with the reason.
    pub unread: Vec<String>,
    /// Facts that were missing, and which option gives them.
    pub missing: Vec<String>,
}

impl ConfigAdvice {
    /// Whether an error or a warning was found.
    pub fn is_wrong(&self) -> bool {
        self.findings.iter().any(|finding| finding.severity < Severity::Note)
    }
}

/// What is known beside the configuration; every part may be missing.
#[derive(Debug, Clone, Default)]
pub struct AdviceSurroundings {
    /// The card.
    pub gpu: Option<Gpu>,
    /// How cards reach each other.
    pub paths: Vec<GpuPath>,
    /// The model's `config.json`.
    pub model_config: Option<String>,
    /// The engine's release; an image's own counts before it.
    pub version: Option<Version>,
}

/// Groups of rules, in the order of the documentation.
const RULES: &[&[AdviceRule]] = &[memory::RULES, model::RULES, speed::RULES, debugging::RULES, flags::RULES];

/// Every rule.
pub fn advice_rules() -> impl Iterator<Item = &'static AdviceRule> {
    RULES.iter().copied().flatten()
}

/// Judges everything that is meant to be started.
pub fn advise(meant: &MeantStarts, around: &AdviceSurroundings) -> ConfigAdvice {
    let mut advice = ConfigAdvice { unread: meant.unread.clone(), ..ConfigAdvice::default() };
    for start in &meant.starts {
        // The rules are about the engine whose flags are known.
        if known_flags(start.line.engine).is_none() {
            advice.unread.push(format!("{}: there are no rules for {}", start.name, start.dialect().name));
            continue;
        }
        advice.judged.push(start.name.clone());
        let surroundings = scene::surroundings(start, around);
        let scene = Scene::new(start, &meant.starts, around, &surroundings);
        for rule in advice_rules() {
            advice.findings.extend((rule.judge)(&scene).into_iter().map(|hit| hit.told(rule, start)));
        }
        if scene.gpu().is_none() {
            advice.missing.push("the GPU is not known: give --gpu, such as --gpu h100".into());
        }
        if scene.facts.config.is_none() {
            advice.missing.push("the model's config.json is not known: give --model".into());
        }
    }
    advice.missing.sort();
    advice.missing.dedup();
    advice.findings.sort_by_key(|finding| finding.severity);
    advice
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_rule_has_a_name_of_its_own_a_sentence_and_a_source() {
        let mut seen = BTreeSet::new();
        for rule in advice_rules() {
            assert!(seen.insert(rule.id), "{} is there twice", rule.id);
            assert!(rule.id.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{}", rule.id);
            assert!(!rule.summary.is_empty() && !rule.source.is_empty(), "{}", rule.id);
        }
    }

    #[test]
    fn a_server_of_another_engine_is_named_and_not_judged() {
        let advice = testing::unit("ExecStart=llama-server -m /x.gguf", |_| {});
        assert!(advice.judged.is_empty() && advice.unread.len() == 1, "{advice:?}");
    }
}
