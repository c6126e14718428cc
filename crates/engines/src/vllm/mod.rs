//! vLLM: V0 and V1 engines, Python and Rust front ends, 0.6 to 0.32.

mod changes;
mod defaults;
mod device;
mod flags;
mod logs;
mod metrics;
mod parser;
mod pool;
mod variables;

use crate::dialect::{Dialect, Engine};

pub use changes::{ChangedDefault, changed_defaults};
pub(crate) use defaults::{other_defaults, state_defaults};
pub(crate) use device::state_device;
pub(crate) use parser::is_given;
pub(crate) use pool::state_pool;

pub(crate) static DIALECT: Dialect = Dialect {
    engine: Engine::Vllm,
    key: "vllm",
    name: "vLLM",
    prefixes: &["vllm:", "vllm_", "ray_vllm_"],
    owned_by: &["vllm"],
    metrics: metrics::METRICS,
    availability: metrics::AVAILABILITY,
    flags: flags::FLAGS,
    variables: variables::SETTINGS,
    variables_gone: variables::GONE,
    variable_prefixes: &["VLLM_"],
    log_values: logs::VALUES,
    default_budgets: &[2048.0, 8192.0, 16_384.0],
    endpoints: &["/version", "/v1/models", "/server_info?config_format=json"],
    newest_known: "0.32.0",
};
