//! The machine around the engine: processors, memory, sockets and storage.

mod cpu_starvation_cgroup_throttle;
mod crowd;
mod host_memory_pressure;
mod machine;
mod numa_misplacement;
mod slow_model_storage;

use super::Cause;

pub(crate) use cpu_starvation_cgroup_throttle::stopped_by_quota;

pub(super) const CAUSES: &[&Cause] = &[
    &cpu_starvation_cgroup_throttle::CAUSE,
    &host_memory_pressure::CAUSE,
    &numa_misplacement::CAUSE,
    &slow_model_storage::CAUSE,
];
