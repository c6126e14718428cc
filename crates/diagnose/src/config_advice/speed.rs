//! Rules about switches that cost speed.

use super::scene::{Hit, Scene};
use super::{AdviceRule, Severity};

pub(super) const RULES: &[AdviceRule] = &[
    AdviceRule {
        id: "chunked-prefill-off",
        summary: "chunked prefill is switched off: long prompts stop every answer that is being written",
        severity: Severity::Warning,
        source: "vLLM 0.32.0 config/scheduler.py, enable_chunked_prefill (on by default)",
        judge: |scene| {
            let reason = "a long prompt is computed in one step, and every answer waits for it";
            off(scene, "--enable-chunked-prefill", Severity::Warning, reason)
        },
    },
    AdviceRule {
        id: "prefix-caching-off",
        summary: "prefix caching is switched off: shared prompts are computed again",
        severity: Severity::Note,
        source: "vLLM 0.32.0 config/cache.py, enable_prefix_caching (on by default)",
        judge: |scene| {
            let reason =
                "prompts that begin alike (system prompts, chats, tools) are computed again in every request";
            off(scene, "--enable-prefix-caching", Severity::Note, reason)
        },
    },
    AdviceRule {
        id: "eager-mode-on",
        summary: "--enforce-eager is left on: no CUDA graphs, slower decoding",
        severity: Severity::Warning,
        source: "vLLM 0.32.0 config/model.py, enforce_eager",
        judge: eager,
    },
];

fn off(scene: &Scene<'_>, name: &str, severity: Severity, reason: &str) -> Vec<Hit> {
    let Some((false, flag)) = scene.switched(name) else { return Vec::new() };
    vec![Hit::flag(scene, severity, flag, reason.to_owned(), format!("remove {}", flag.written))]
}

fn eager(scene: &Scene<'_>) -> Vec<Hit> {
    let Some((true, flag)) = scene.switched("--enforce-eager") else { return Vec::new() };
    let reason =
        "every kernel is launched by the CPU instead of by a CUDA graph: small batches decode slower";
    vec![Hit::flag(scene, Severity::Warning, flag, reason.to_owned(), format!("remove {}", flag.written))]
}

#[cfg(test)]
mod tests {
    use super::super::testing::rules;

    #[test]
    fn switches_that_cost_speed_are_found() {
        assert_eq!(rules("m --no-enable-chunked-prefill", |_| {}), ["chunked-prefill-off"]);
        assert_eq!(rules("m --no-enable-prefix-caching", |_| {}), ["prefix-caching-off"]);
        assert_eq!(rules("m --enforce-eager", |_| {}), ["eager-mode-on"]);
    }

    #[test]
    fn switches_that_do_not_are_left_alone() {
        let fine = "m --enable-chunked-prefill --enable-prefix-caching --no-enforce-eager";
        assert!(rules(fine, |_| {}).is_empty());
        assert!(rules("m", |_| {}).is_empty());
    }
}
