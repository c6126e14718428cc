//! The serving machine, seen through the kernel's own files.
//!
//! [`Collector`] takes snapshots: a full one at the start, then counters at an interval. It interprets nothing beyond
//! what it must to find the serving processes; `intriage_engines::host` reads the snapshots. What it may not read is
//! written into the snapshot with what would help, and it never follows a path out of its [`Root`].

mod acs;
mod amdgpu;
mod cgroup;
mod collector;
mod environment;
mod gather;
mod numa_maps;
mod pci;
mod process;
mod root;
mod round_trip;
mod system;
mod threads;
mod trim;
mod watch;

pub use collector::{Collector, HostError};
pub use root::Root;
pub use watch::{HostWatch, MOST_BYTES};
