//! Whether vLLM runs on a CPU, where only its metrics were given.

use intriage_case::Source;

use crate::config::{Config, Setting, SettingValue};

/// States a CPU by the labels of `vllm:cache_config_info`. Older releases name a CPU's pool there (0.16 does); newer ones (0.32) set
/// the bytes of the pool themselves and choose blocks of 128 tokens, which they do on no GPU of the recordings.
pub(crate) fn state_device(labels: &[(String, String)], source: &Source, config: &mut Config) {
    if config.get(Setting::Device).is_some() {
        return;
    }
    let label = |name: &str| labels.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let number = |name: &str| label(name).and_then(|text| text.parse::<f64>().ok()).filter(|n| *n > 0.0);
    let own_pool = number("cpu_kvcache_space_bytes").is_some();
    let own_choice = label("user_specified_block_size") == Some("False")
        && number("block_size") == Some(128.0)
        && number("kv_cache_memory_bytes").is_some();
    if own_pool || own_choice {
        config.state(Setting::Device, SettingValue::Text("cpu".into()), source.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(labels: &[(&str, &str)]) -> Option<String> {
        let labels: Vec<_> = labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let mut config = Config::default();
        state_device(&labels, &Source::Metric { name: "vllm:cache_config_info".into() }, &mut config);
        config.text(Setting::Device).map(str::to_owned)
    }

    /// Labels as in recordings/vllm-cpu-healthy, vllm016-cpu-kvsmall and vllm-h200-healthy.
    #[test]
    fn blocks_that_vllm_chooses_on_a_cpu_alone_tell_of_one() {
        let cpu = [
            ("block_size", "128"),
            ("kv_cache_memory_bytes", "1073741824"),
            ("user_specified_block_size", "False"),
        ];
        assert_eq!(device(&cpu).as_deref(), Some("cpu"));
        assert_eq!(
            device(&[("block_size", "128"), ("cpu_kvcache_space_bytes", "1073741824")]).as_deref(),
            Some("cpu")
        );
        let gpu =
            [("block_size", "16"), ("kv_cache_memory_bytes", "None"), ("user_specified_block_size", "False")];
        assert_eq!(device(&gpu), None);
        let by_hand = [
            ("block_size", "128"),
            ("kv_cache_memory_bytes", "1073741824"),
            ("user_specified_block_size", "True"),
        ];
        assert_eq!(device(&by_hand), None);
    }
}
