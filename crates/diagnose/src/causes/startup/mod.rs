//! The server does not come up, or was ended from outside: the first line that says why.

mod attention_backend_unsupported;
mod bad_launch_argument;
mod collective_init_failure;
mod context_window_exceeds_model;
mod coordination_service_unreachable;
mod cpu_instruction_set;
mod disk_full;
mod driver_cuda_mismatch;
mod dtype_unsupported_on_gpu;
mod ended;
mod engine_file_incompatible;
mod gpu_architecture_unsupported;
mod gpu_fabric_not_ready;
mod gpu_not_visible;
mod host_oom_kill;
mod kernel_compile_failed;
mod lora_rank_limit;
mod model_architecture_unknown;
mod model_files_damaged;
mod model_hub_auth;
mod model_hub_unreachable;
mod multiprocessing_start_method;
mod parallelism_does_not_fit;
mod permission_denied;
mod pod_not_started;
mod port_in_use;
mod probe_kills_loading_server;
mod python_environment_broken;
mod quantization_unsupported_on_gpu;
mod shared_memory_too_small;
#[cfg(test)]
mod tests;

use super::Cause;

/// What is only an effect of a start that failed.
const ECHOES: &[&str] = &[
    "engine-crash-5xx",
    "engine-stalled-not-admitting",
    "host-memory-pressure",
    "collective-transport-fallback",
];

/// The causes of this class, in the order of the catalogue.
pub(super) const CAUSES: &[&Cause] = &[
    &driver_cuda_mismatch::CAUSE,
    &gpu_fabric_not_ready::CAUSE,
    &gpu_not_visible::CAUSE,
    &gpu_architecture_unsupported::CAUSE,
    &dtype_unsupported_on_gpu::CAUSE,
    &quantization_unsupported_on_gpu::CAUSE,
    &attention_backend_unsupported::CAUSE,
    &cpu_instruction_set::CAUSE,
    &kernel_compile_failed::CAUSE,
    &shared_memory_too_small::CAUSE,
    &model_architecture_unknown::CAUSE,
    &model_hub_auth::CAUSE,
    &model_hub_unreachable::CAUSE,
    &model_files_damaged::CAUSE,
    &engine_file_incompatible::CAUSE,
    &lora_rank_limit::CAUSE,
    &port_in_use::CAUSE,
    &disk_full::CAUSE,
    &permission_denied::CAUSE,
    &bad_launch_argument::CAUSE,
    &context_window_exceeds_model::CAUSE,
    &parallelism_does_not_fit::CAUSE,
    &collective_init_failure::CAUSE,
    &coordination_service_unreachable::CAUSE,
    &pod_not_started::CAUSE,
    &probe_kills_loading_server::CAUSE,
    &host_oom_kill::CAUSE,
    &python_environment_broken::CAUSE,
    &multiprocessing_start_method::CAUSE,
];
