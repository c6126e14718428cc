//! Where a process runs and where its memory lies, against a node: that of its GPU, or of its network card.

use intriage_case::Ratio;

use super::{Host, ServingProcess};

/// How much of a process is on one NUMA node.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Placement {
    /// Share of its memory there.
    pub memory: Option<Ratio>,
    /// Share of the CPUs it may use that are there.
    pub allowed: Option<Ratio>,
    /// Share of its threads' CPU time spent there, by the CPUs they were found on.
    pub ran: Option<Ratio>,
}

impl Host {
    /// How much of a process is on a node.
    ///
    /// On a machine of one node all of it is there; where the nodes' CPUs are not known, nothing can be said.
    pub fn placement(&self, process: &ServingProcess, node: u32) -> Placement {
        if let [only] = &self.nodes[..] {
            let share = Some(Ratio(if only.id == node { 1.0 } else { 0.0 }));
            return Placement { memory: share, allowed: share, ran: share };
        }
        let Some(cpus) = self.nodes.iter().find(|n| n.id == node).and_then(|n| n.cpus.as_ref()) else {
            return Placement { memory: process.memory_on(node), ..Placement::default() };
        };
        let allowed = process.allowed_cpus.as_ref().and_then(|allowed| {
            Ratio::of(allowed.iter().filter(|c| cpus.contains(c)).count() as f64, allowed.len() as f64)
        });
        let (mut here, mut whole) = (0.0, 0.0);
        for thread in &process.threads {
            let Some(cpu) = thread.cpu else { continue };
            let seen: u32 = thread.seen_on.values().sum();
            let seen_here: u32 =
                thread.seen_on.iter().filter(|(c, _)| cpus.contains(c)).map(|(_, n)| n).sum();
            if let Some(share) = Ratio::of(f64::from(seen_here), f64::from(seen)) {
                here += cpu.get() * share.get();
                whole += cpu.get();
            }
        }
        Placement { memory: process.memory_on(node), allowed, ran: Ratio::of(here, whole) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::read_host;
    use super::super::testing::{host, stat_line};
    use super::*;

    fn stat(tid: u32, ticks: u32, cpu: u32) -> String {
        stat_line(tid, 1, ticks, 5, cpu)
    }

    const NODES: &[(&str, &str)] = &[
        ("sys/devices/system/node/node0/cpulist", "0-1\n"),
        ("sys/devices/system/node/node1/cpulist", "2-3\n"),
    ];

    #[test]
    fn a_worker_far_from_its_gpu_is_seen() {
        let (a, b, c, d) = (stat(7, 0, 0), stat(7, 75, 1), stat(8, 0, 2), stat(8, 25, 2));
        let main = [
            ("proc/7/stat", a.as_str()),
            ("proc/7/task/7/stat", &a),
            ("proc/7/task/8/stat", &c),
            ("numa_pages/7", "lines 1 complete\nN0 4 90\nN1 4 10\n"),
            ("proc/7/status", "Cpus_allowed_list:\t0-3\n"),
        ];
        let later = [("proc/7/stat", b.as_str()), ("proc/7/task/7/stat", &b), ("proc/7/task/8/stat", &d)];
        let host = read_host(&host(&[(0, &[&main[..], NODES].concat()), (1000, &later)])).unwrap();
        let placement = host.placement(&host.processes[0], 1);
        assert_eq!(placement.memory, Some(Ratio(0.1)));
        assert_eq!(placement.allowed, Some(Ratio(0.5)));
        assert_eq!(placement.ran, Some(Ratio(0.25)));
    }

    #[test]
    fn on_a_machine_of_one_node_everything_is_near() {
        let a = stat(7, 0, 0);
        let host = read_host(&host(&[(0, &[("proc/7/stat", &a), NODES[0]])])).unwrap();
        assert_eq!(host.placement(&host.processes[0], 0).memory, Some(Ratio(1.0)));
    }

    #[test]
    fn unknown_nodes_are_unknown() {
        let a = stat(7, 0, 0);
        let host = read_host(&host(&[(0, &[("proc/7/stat", &a)])])).unwrap();
        assert_eq!(host.placement(&host.processes[0], 0), Placement::default());
    }
}
