//! The host: kernel texts read into facts with units.
//!
//! [`read_host`] is a pure function from snapshots to [`Host`]. What changes over time is computed between the first
//! and the last reading of its own file; a counter that fell gives nothing. Everything is optional, because what was
//! not allowed, what this kernel does not have and what was never asked for are three things, and none of them is zero:
//! [`Host::presence`] tells them apart.
//!
//! The parsers are our own: each needs a few lines of a text, keeps going where a line is damaged, and must not fail
//! as a whole where one field is missing, which is what ready-made parsers of whole files do.

mod answering;
mod cgroup;
mod cpu;
mod disk;
mod gaps;
mod kernel;
mod memory;
mod model_argument;
mod network;
mod numa;
mod pci;
mod placement;
mod pressure;
mod process;
mod round_trip;
mod serving;
mod stat;
#[cfg(test)]
mod testing;
mod text;
mod thread;
mod window;

use intriage_case::{HostSnapshot, Millis, Seconds};

pub use cgroup::{Cgroup, CgroupVersion, CpuGroup, Hierarchy, Limit, MemoryGroup, hierarchies};
pub use cpu::{Cpu, CpuUse};
pub use disk::{Disk, ModelStorage};
pub use gaps::{Denied, Presence};
pub use kernel::Kernel;
pub use memory::{Memory, Space};
pub use model_argument::{ModelArgument, model_argument};
pub use network::{InfinibandPort, Interface, Listener, Network, listening_ports};
pub use numa::Node;
pub use pci::{Acs, Bridge, DeviceKind, Link, NodeOf, PciDevice};
pub use placement::Placement;
pub use pressure::Pressure;
pub use process::ServingProcess;
pub use round_trip::{RoundTrip, round_trips, round_trips_text};
pub use serving::{Role, Serving, recognise_process};
pub use thread::ThreadUse;

use gaps::Gaps;
use window::Window;

/// The serving machine over the window.
#[derive(Debug, Clone, PartialEq)]
pub struct Host {
    /// Time between the first and the last snapshot; `None` for a single one, which has no rates.
    pub window: Option<Seconds>,
    /// When the first snapshot was made.
    pub began: Option<Millis>,
    /// Snapshots it was read from.
    pub snapshots: usize,
    /// The kernel.
    pub kernel: Kernel,
    /// The processors.
    pub cpu: Cpu,
    /// The serving processes, front ends first.
    pub processes: Vec<ServingProcess>,
    /// Waiting for a CPU, anywhere on the machine.
    pub cpu_pressure: Option<Pressure>,
    /// Waiting for memory.
    pub memory_pressure: Option<Pressure>,
    /// Waiting for storage.
    pub io_pressure: Option<Pressure>,
    /// Memory and swap.
    pub memory: Memory,
    /// NUMA nodes, by number.
    pub nodes: Vec<Node>,
    /// GPUs first, then other devices.
    pub devices: Vec<PciDevice>,
    /// The network.
    pub network: Network,
    /// Disks and partitions.
    pub disks: Vec<Disk>,
    /// Where the model lies, for the first process that tells.
    pub model_storage: Option<ModelStorage>,
    /// What could not be read, and why.
    pub denied: Vec<Denied>,
    gaps: Gaps,
}

impl Host {
    /// Whether a kernel file, such as `proc/pressure/cpu`, was read, and if not, why not.
    pub fn presence(&self, name: &str) -> Presence<'_> {
        self.gaps.presence(name)
    }

    /// The node that holds a CPU.
    pub fn node_of(&self, cpu: u32) -> Option<u32> {
        self.nodes.iter().find(|n| n.cpus.as_ref().is_some_and(|c| c.contains(&cpu))).map(|n| n.id)
    }

    /// The disk that holds the model; `None` for file systems on the network or in memory, and for layers of them.
    pub fn model_disk(&self) -> Option<&Disk> {
        let storage = self.model_storage.as_ref()?;
        let by_number = self.disks.iter().find(|disk| disk.number == storage.number);
        // A file system over several disks has a number of its own, and names one of them.
        let name = storage.source.strip_prefix("/dev/");
        by_number.or_else(|| self.disks.iter().find(|disk| Some(disk.name.as_str()) == name))
    }

    /// Processes of a role.
    pub fn processes_of(&self, role: Role) -> impl Iterator<Item = &ServingProcess> {
        self.processes.iter().filter(move |p| p.role() == Some(role))
    }
}

/// Reads the snapshots of a case, in order of time; `None` where there is none.
pub fn read_host(snapshots: &[HostSnapshot]) -> Option<Host> {
    if snapshots.is_empty() {
        return None;
    }
    let window = Window::new(snapshots);
    let gaps = Gaps::read(window);
    let processes = process::read(window);
    Some(Host {
        window: window.length(),
        began: snapshots.first().map(|snapshot| snapshot.at),
        snapshots: snapshots.len(),
        kernel: kernel::read(window),
        cpu: cpu::read(window),
        model_storage: processes.iter().find_map(|p| disk::model_storage(window, p)),
        processes,
        cpu_pressure: pressure::read(window, "proc/pressure/cpu"),
        memory_pressure: pressure::read(window, "proc/pressure/memory"),
        io_pressure: pressure::read(window, "proc/pressure/io"),
        memory: memory::read(window),
        nodes: numa::read(window),
        devices: pci::read(window),
        network: network::read(window),
        disks: disk::read(window),
        denied: gaps.denied(),
        gaps,
    })
}
