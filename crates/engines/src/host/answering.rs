//! Of several servers on a machine the one that answers: what its neighbours do is theirs.

use std::collections::BTreeMap;

use super::serving::Role;
use super::{Host, ServingProcess};
use crate::port::{listens_on, port_of};

impl Host {
    /// Keeps the processes of the server that answers at `target`, an address with a port, and says what was left out. Where
    /// ports do not decide, all stay, and that is said.
    pub fn keep_answering(&mut self, target: &str) -> Option<String> {
        let servers = servers(&self.processes);
        if servers.len() < 2 {
            return None;
        }
        let port = port_of(target)?;
        let answers = |front: &u32| self.process(*front).is_some_and(|p| answers_at(p, port));
        let answering: Vec<u32> = servers.keys().copied().filter(answers).collect();
        let [front] = answering.as_slice() else {
            return Some(format!(
                "{} servers run on this machine, and which one answers at port {port} cannot be told from their command lines: all were looked at",
                servers.len()
            ));
        };
        let others: Vec<u32> =
            servers.into_iter().filter(|(f, _)| f != front).flat_map(|(_, all)| all).collect();
        self.processes.retain(|p| !others.contains(&p.pid));
        let n = others.len();
        Some(format!(
            "{n} serving processes on this machine belong to servers at other ports and were left out"
        ))
    }

    fn process(&self, pid: u32) -> Option<&ServingProcess> {
        self.processes.iter().find(|p| p.pid == pid)
    }
}

/// Every server by the process that takes its requests, with all of its processes. Processes without such a one, left behind by
/// a server that died, belong to none.
fn servers(processes: &[ServingProcess]) -> BTreeMap<u32, Vec<u32>> {
    let parents: BTreeMap<u32, Option<u32>> = processes.iter().map(|p| (p.pid, p.parent)).collect();
    let takes_requests =
        |p: &&ServingProcess| matches!(p.role(), Some(Role::FrontEnd | Role::Server | Role::Coordinator));
    let fronts: Vec<u32> = processes.iter().filter(takes_requests).map(|p| p.pid).collect();
    let mut found: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for process in processes {
        // The uppermost front end above it, itself included; a chain is no longer than the list.
        let above = std::iter::successors(Some(process.pid), |pid| parents.get(pid).copied().flatten());
        let front = above.take(processes.len() + 1).filter(|pid| fronts.contains(pid)).last();
        if let Some(front) = front {
            found.entry(front).or_default().push(process.pid);
        }
    }
    found
}

fn answers_at(process: &ServingProcess, port: u16) -> bool {
    let words = process.command_line.as_deref().and_then(shlex::split).unwrap_or_default();
    process.serving.is_some_and(|s| listens_on(s.product, &words, port))
}

#[cfg(test)]
mod tests {
    use intriage_case::{HostSnapshot, Millis};

    use super::super::read_host;
    use super::*;

    /// A machine with these processes: number, parent, command line.
    fn host(processes: &[(u32, u32, &str)]) -> Host {
        let files = processes.iter().flat_map(|(pid, parent, line)| {
            let stat = format!("{pid} (x) S {parent} {pid} {pid} 0 -1 0 0 0 0 0 10 5 0 0 20 0 9 0 100 0 0\n");
            [(format!("proc/{pid}/cmdline"), line.replace(' ', "\0")), (format!("proc/{pid}/stat"), stat)]
        });
        read_host(&[HostSnapshot { at: Millis(1), files: files.collect() }]).unwrap()
    }

    const TWO_SERVERS: [(u32, u32, &str); 6] = [
        (10, 1, "vllm serve a --port 8555"),
        (11, 10, "VLLM::EngineCore"),
        (12, 11, "VLLM::Worker"),
        (20, 1, "vllm serve b --port=8441"),
        (21, 20, "VLLM::EngineCore"),
        (31, 1, "VLLM::EngineCore"),
    ];

    fn sorted(host: &Host) -> Vec<u32> {
        let mut pids: Vec<u32> = host.processes.iter().map(|p| p.pid).collect();
        pids.sort_unstable();
        pids
    }

    fn kept(mut host: Host, target: &str) -> (Vec<u32>, Option<String>) {
        let note = host.keep_answering(target);
        (sorted(&host), note)
    }

    #[test]
    fn a_neighbour_at_another_port_is_left_out_and_an_orphan_stays() {
        let (pids, note) = kept(host(&TWO_SERVERS), "http://127.0.0.1:8441/v1");
        assert_eq!(pids, [20, 21, 31], "{note:?}");
        assert!(note.is_some_and(|n| n.starts_with("3 serving processes")));
    }

    #[test]
    fn where_ports_do_not_decide_all_stay_and_it_is_said() {
        let (pids, note) = kept(host(&TWO_SERVERS), "http://gateway:80");
        assert_eq!(pids.len(), 6);
        assert!(note.is_some_and(|n| n.contains("cannot be told")));
        assert_eq!(kept(host(&TWO_SERVERS), "incident.case").0.len(), 6);
    }

    #[test]
    fn a_server_alone_is_left_alone() {
        assert_eq!(kept(host(&TWO_SERVERS[..3]), "http://127.0.0.1:9"), (vec![10, 11, 12], None));
    }

    #[test]
    fn a_circle_of_parents_ends() {
        let circle = [(1, 2, "vllm serve a"), (2, 1, "vllm serve b")];
        let (pids, _) = kept(host(&circle), "http://h:8000");
        assert_eq!(pids.len(), 2);
    }
}
