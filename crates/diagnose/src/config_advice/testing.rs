//! Configurations for the tests of the rules.

use intriage_case::{Case, ManifestText};
use intriage_engines::meant_starts;
use intriage_physics::gpu;

use super::{AdviceSurroundings, ConfigAdvice, advise};

/// The judgement of a unit with these lines behind `[Service]`.
pub(super) fn unit(lines: &str, change: impl FnOnce(&mut AdviceSurroundings)) -> ConfigAdvice {
    units(&[lines], change)
}

/// The judgement of several units of one machine.
pub(super) fn units(lines: &[&str], change: impl FnOnce(&mut AdviceSurroundings)) -> ConfigAdvice {
    let manifest = |(i, lines): (usize, &&str)| ManifestText {
        name: format!("vllm{i}.service"),
        changed: None,
        text: format!("[Service]\n{lines}\n"),
    };
    let manifests = lines.iter().enumerate().map(manifest).collect();
    let mut around = AdviceSurroundings::default();
    change(&mut around);
    advise(&meant_starts(&Case { manifests, ..Case::default() }), &around)
}

/// The rules that speak of `vllm serve` with these words, in order.
pub(super) fn rules(words: &str, change: impl FnOnce(&mut AdviceSurroundings)) -> Vec<String> {
    ids(&unit(&format!("ExecStart=vllm serve {words}"), change))
}

/// The rules of a judgement.
pub(super) fn ids(advice: &ConfigAdvice) -> Vec<String> {
    advice.findings.iter().map(|finding| finding.rule.clone()).collect()
}

/// A card by name.
pub(super) fn on(name: &str) -> impl FnOnce(&mut AdviceSurroundings) {
    let found = gpu::find(name).unwrap();
    move |around| around.gpu = Some(found.gpu)
}
