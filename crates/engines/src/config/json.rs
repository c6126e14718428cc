//! Settings in JSON endpoints: `/server_info`, `/get_server_info`, `/props`.

use intriage_case::Source;
use serde_json::Value;

use super::python::{Role, field_list, from_fields, state_field};
use super::{Config, SettingValue};
use crate::dialect::Dialect;

/// Takes every leaf whose key names a setting, however deep it lies.
pub(crate) fn from_json(dialect: &Dialect, value: &Value, source: &Source, config: &mut Config) {
    // An explicit stack: a hostile document must not overflow ours.
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(map) => {
                for (key, inner) in map {
                    match inner {
                        // vLLM's text form is one string with the whole configuration's repr.
                        Value::String(text) if key == "vllm_config" => {
                            from_fields(dialect, field_list(text), source, Role::Resolved, config);
                        }
                        Value::Object(_) | Value::Array(_) => open.push(inner),
                        leaf => {
                            if let Some(value) = read_leaf(leaf) {
                                state_field(dialect, key, value, source, Role::Resolved, config);
                            }
                        }
                    }
                }
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
}

fn read_leaf(value: &Value) -> Option<SettingValue> {
    match value {
        Value::Bool(on) => Some(SettingValue::Switch(*on)),
        Value::Number(n) => n.as_f64().map(SettingValue::Number),
        Value::String(text) => SettingValue::read(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Engine, Setting, dialect};

    #[test]
    fn nested_settings_are_found() {
        let body = r#"{"vllm_config":{"scheduler_config":{"max_num_seqs":2,"max_num_batched_tokens":2048},
            "cache_config":{"enable_prefix_caching":true}},"vllm_env":{"A":1}}"#;
        let mut config = Config::default();
        let source = Source::Endpoint { path: "/server_info".into() };
        from_json(dialect(Engine::Vllm), &serde_json::from_str(body).unwrap(), &source, &mut config);
        assert_eq!(config.number(Setting::MaxSequences), Some(2.0));
        assert_eq!(config.number(Setting::TokenBudget), Some(2048.0));
        assert_eq!(config.switch(Setting::PrefixCaching), Some(true));
    }
}
