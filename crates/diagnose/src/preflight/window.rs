//! The window asked for against the longest sequence of the model.

use intriage_engines::Setting;
use serde_json::Value;

use super::Said;
use super::facts::Facts;

/// Keys of `config.json` that give the longest sequence.
const LENGTHS: &[&str] =
    &["max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "max_sequence_length"];
/// Ways of stretching positions whose stretched length stands in the configuration already.
const COUNTED: &[&str] = &["su", "longrope", "llama3", "yarn", "deepseek_yarn", "deepseek_llama_scaling"];
/// The variable by which a longer window is allowed.
const ALLOWED: &str = "VLLM_ALLOW_LONG_MAX_MODEL_LEN";

pub(crate) fn judge(facts: &Facts<'_>) -> Vec<Said> {
    if facts.config.is_none() {
        return Vec::new();
    }
    let Some(asked) = facts.number(Setting::ContextWindow).filter(|n| *n > 0.0) else { return Vec::new() };
    let lengths = LENGTHS.iter().filter_map(|key| facts.config_number(&[key]));
    let Some(longest) = lengths.chain(facts.config_number(&["model_max_length"])).max() else {
        return vec![Said::Unknown("config.json does not tell the model's longest sequence".into())];
    };
    let longest = longest as f64 * stretched(facts);
    if asked <= longest {
        return vec![Said::Fine(format!("a window of {asked} tokens, the model was made for {longest}"))];
    }
    if facts.is_on(ALLOWED) {
        return vec![Said::Fine(format!(
            "a window of {asked} tokens is longer than the model's {longest}, and {ALLOWED} allows it"
        ))];
    }
    vec![Said::Wrong(
        "context-window-exceeds-model",
        format!("the window asked for, {asked} tokens, is longer than the model's {longest}"),
        format!("--max-model-len {longest} or less, or a model with a longer window"),
    )]
}

/// The factor by which the configuration stretches positions.
fn stretched(facts: &Facts<'_>) -> f64 {
    let Some(rope) = facts.config_value(&["rope_parameters", "rope_scaling"]) else { return 1.0 };
    let kind = rope.get("rope_type").or_else(|| rope.get("type")).and_then(Value::as_str).unwrap_or_default();
    let factor = rope.get("factor").and_then(Value::as_f64).filter(|factor| *factor >= 1.0);
    factor.filter(|_| !COUNTED.contains(&kind)).unwrap_or(1.0)
}
