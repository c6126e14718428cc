//! vLLM's environment variables that set what a flag sets, and those it stopped reading.

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

/// The first release whose `envs.py` lacks it, by its tags; the last row by the package of 0.32.0, as 0.27.1 still has it.
pub(super) const GONE: &[VariableChange] = &[
    gone("VLLM_USE_V1", "0.11.1", ""),
    gone("VLLM_ATTENTION_BACKEND", "0.15.0", "--attention-backend"),
    gone("VLLM_NIXL_ABORT_REQUEST_TIMEOUT", "0.22.0", ""),
    gone("VLLM_RPC_TIMEOUT", "0.23.0", ""),
    gone("VLLM_ENGINE_ITERATION_TIMEOUT_S", "0.32.0", ""),
];
