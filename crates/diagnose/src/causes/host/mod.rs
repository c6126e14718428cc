//! The machine around the engine: processors and memory.

mod cpu_starvation_cgroup_throttle;
mod host_memory_pressure;
mod machine;

use super::Cause;

pub(super) const CAUSES: &[&Cause] = &[&cpu_starvation_cgroup_throttle::CAUSE, &host_memory_pressure::CAUSE];
