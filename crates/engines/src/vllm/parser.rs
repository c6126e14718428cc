//! What vLLM's argument parser says where nobody asks, for releases that write every argument down (up to 0.8.5).

/// Names in the log and their defaults (engines.md 1.8). A default that a later release of these left open (`None`) stands
/// here with its older value: it is in force there, whoever chose it.
const DEFAULTS: &[(&str, &str)] = &[
    ("max_num_seqs", "256"),
    ("gpu_memory_utilization", "0.9"),
    ("tensor_parallel_size", "1"),
    ("pipeline_parallel_size", "1"),
    ("data_parallel_size", "1"),
    ("block_size", "16"),
    ("kv_cache_dtype", "auto"),
    ("dtype", "auto"),
    ("load_format", "auto"),
    ("device", "auto"),
    ("max_loras", "1"),
    ("cpu_offload_gb", "0"),
    ("scheduling_policy", "fcfs"),
    ("long_prefill_token_threshold", "0"),
];

/// Whether somebody gave this argument: it is none of the defaults, and no switch that is off.
pub(crate) fn is_given(key: &str, text: &str) -> bool {
    let bare = text.trim_matches(['\'', '"']);
    let is_default = DEFAULTS.iter().any(|(name, default)| {
        let same = |a: f64| bare.parse::<f64>().is_ok_and(|b| (a - b).abs() < 1e-9);
        *name == key && (*default == bare || default.parse().is_ok_and(same))
    });
    bare != "False" && !is_default
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_at_its_default_was_not_given() {
        for (key, text) in [
            ("max_num_seqs", "256"),
            ("gpu_memory_utilization", "0.90"),
            ("kv_cache_dtype", "'auto'"),
            ("enforce_eager", "False"),
        ] {
            assert!(!is_given(key, text), "{key}={text}");
        }
        for (key, text) in
            [("max_num_seqs", "4"), ("kv_cache_dtype", "'fp8'"), ("enforce_eager", "True"), ("model", "'m'")]
        {
            assert!(is_given(key, text), "{key}={text}");
        }
    }
}
