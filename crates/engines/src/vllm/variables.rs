//! vLLM's environment variables that set what a flag sets, and those it stopped reading (engines.md 1.8).

use crate::Setting;
use crate::config::{VariableChange, VariableRow};

const GIB: f64 = 1_073_741_824.0;

pub(super) const SETTINGS: &[VariableRow] = &[
    // Read on CPU alone, after the flags and over them (0.32.0, `platforms/cpu.py`).
    VariableRow { name: "VLLM_CPU_KVCACHE_SPACE", setting: Setting::KvBytes, scale: GIB, beats_flag: true },
];

const fn gone(name: &'static str, gone_in: &'static str, instead: &'static str) -> VariableChange {
    VariableChange { name, gone_in, instead }
}

pub(super) const GONE: &[VariableChange] = &[
    gone("VLLM_USE_V1", "0.12.0", ""),
    gone("VLLM_ATTENTION_BACKEND", "0.16.0", "--attention-backend"),
    gone("VLLM_NIXL_ABORT_REQUEST_TIMEOUT", "0.22.0", ""),
    gone("VLLM_RPC_TIMEOUT", "0.24.0", ""),
    gone("VLLM_ENGINE_ITERATION_TIMEOUT_S", "0.32.0", ""),
];
