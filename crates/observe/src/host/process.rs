//! The serving processes: finding them, and what is read of each.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;

use intriage_engines::host::recognise_process;

use super::gather::Gather;
use super::threads::Threads;
use super::{cgroup, environment, numa_maps, system, trim};

/// Most processes watched: 8 GPUs with a worker each, as many front ends, and what they start.
pub(super) const MAX_PROCESSES: usize = 32;
/// Most processes looked at to find them.
const MAX_SCANNED: usize = 32_768;
/// Threads kept of each process in a full snapshot: what may become busy later needs a reading to start from.
const FULL_THREADS: usize = 32;
/// Threads kept of all processes together in a snapshot of counters.
const COUNTER_THREADS: usize = 96;
/// Bytes of a command line looked at; `--json` arguments can be long.
const MAX_COMMAND_LINE: usize = 32 << 10;

/// A process that is watched.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) pid: u32,
    /// When it started, in ticks since boot: tells it from a later process of the same number.
    started: u64,
    /// Its `/proc/<pid>/cgroup`, which rarely changes.
    cgroup: String,
    threads: Threads,
    /// Whether its network is not the collector's own.
    own_network: bool,
}

/// What serves: recognised processes first, then their children, then what the user named.
pub(super) fn find(gather: &Gather<'_>, named: &BTreeSet<u32>) -> Vec<u32> {
    let mut buffer = Vec::new();
    let mut serving: BTreeSet<u32> = BTreeSet::new();
    let mut others: Vec<u32> = Vec::new();
    for pid in gather.root.numbers("/proc", MAX_SCANNED) {
        let path = format!("/proc/{pid}/cmdline");
        // Kernel threads have an empty command line.
        if gather.root.read(&path, MAX_COMMAND_LINE, &mut buffer).is_err() || buffer.is_empty() {
            continue;
        }
        if recognise_process(&String::from_utf8_lossy(&buffer)).is_some() {
            serving.insert(pid);
        } else {
            others.push(pid);
        }
    }
    let mut found: Vec<u32> = named.iter().chain(&serving).copied().collect();
    if !serving.is_empty() {
        let is_child = |pid: &u32| stat(gather, *pid).is_some_and(|(parent, _)| serving.contains(&parent));
        found.extend(others.into_iter().filter(is_child));
    }
    let mut seen = BTreeSet::new();
    found.retain(|pid| seen.insert(*pid));
    found.truncate(MAX_PROCESSES);
    found
}

/// Brings the list of watched processes up to date; returns those that are new.
pub(super) fn refresh(gather: &Gather<'_>, watched: &mut Vec<Watched>, named: &BTreeSet<u32>) -> Vec<u32> {
    let found: BTreeMap<u32, u64> =
        find(gather, named).into_iter().filter_map(|pid| Some((pid, stat(gather, pid)?.1))).collect();
    watched.retain(|w| found.get(&w.pid) == Some(&w.started));
    let known: BTreeSet<u32> = watched.iter().map(|w| w.pid).collect();
    let mut new = Vec::new();
    for (pid, started) in found.into_iter().filter(|(pid, _)| !known.contains(pid)) {
        let (cgroup, threads) = (String::new(), Threads::default());
        watched.push(Watched { pid, started, cgroup, threads, own_network: has_own_network(gather, pid) });
        new.push(pid);
    }
    watched.sort_by_key(|w| w.pid);
    new
}

/// Everything of a process.
pub(super) fn take_full(gather: &mut Gather<'_>, process: &mut Watched, groups: &mut BTreeSet<String>) {
    let pid = process.pid;
    let base = format!("/proc/{pid}");
    gather.take_trimmed(&format!("{base}/cmdline"), |text| text.trim_end_matches('\0').to_owned());
    gather.take_trimmed(&format!("{base}/environ"), environment::kept);
    gather.take_trimmed(&format!("{base}/mountinfo"), trim::mounts);
    for file in ["comm", "limits", "oom_score_adj"] {
        gather.take(&format!("{base}/{file}"));
    }
    if let Some(text) = gather.text(&format!("{base}/cgroup")) {
        gather.put(&format!("{base}/cgroup"), text.clone());
        process.cgroup = text;
    }
    match gather.root.count(&format!("{base}/fd")) {
        Ok(count) => gather.put(&format!("open_files/{pid}"), format!("count {count}\n")),
        Err(error) => gather.refused(&format!("{base}/fd"), &error),
    }
    // On one node there is nothing to learn, and reading disturbs the process.
    if system::has_several_nodes(gather) {
        let path = format!("{base}/numa_maps");
        match gather.root.visit(&path, || numa_maps::summary(&gather.root.path(&path))) {
            Ok(text) => gather.put(&format!("numa_pages/{pid}"), text),
            Err(error) => gather.refused(&path, &error),
        }
    }
    system::room(gather, &format!("{base}/root/dev/shm"));
    let network = format!("{base}/ns/net");
    if let Err(error) = gather.root.link(&network)
        && error.kind() == ErrorKind::PermissionDenied
    {
        gather.refused(&network, &error);
    }
    if process.own_network {
        system::listeners(gather, &format!("{base}/net"));
    }
    cgroup::take(gather, &process.cgroup, true, groups);
    process.threads.choose(gather, pid, FULL_THREADS);
    take(gather, process, FULL_THREADS, groups);
}

/// What changes of a process; `processes` share the threads there is room for.
pub(super) fn take_counters(
    gather: &mut Gather<'_>,
    process: &Watched,
    processes: usize,
    groups: &mut BTreeSet<String>,
) {
    take(gather, process, (COUNTER_THREADS / processes.max(1)).clamp(2, 16), groups);
}

fn take(gather: &mut Gather<'_>, process: &Watched, threads: usize, groups: &mut BTreeSet<String>) {
    let base = format!("/proc/{}", process.pid);
    if !gather.take_if_there(&format!("{base}/stat"), str::to_owned) {
        return;
    }
    gather.take(&format!("{base}/schedstat"));
    gather.take_trimmed(&format!("{base}/status"), trim::status);
    gather.take(&format!("{base}/io"));
    if process.own_network {
        for file in ["snmp", "netstat", "dev", "sockstat"] {
            gather.take(&format!("{base}/net/{file}"));
        }
    }
    cgroup::take(gather, &process.cgroup, false, groups);
    process.threads.take(gather, process.pid, threads);
}

/// Chooses the busiest threads anew.
pub(super) fn choose_threads(gather: &Gather<'_>, process: &mut Watched) {
    process.threads.choose(gather, process.pid, FULL_THREADS);
}

/// Parent and start of a process.
fn stat(gather: &Gather<'_>, pid: u32) -> Option<(u32, u64)> {
    let mut buffer = Vec::new();
    gather.root.read(&format!("/proc/{pid}/stat"), 4096, &mut buffer).ok()?;
    let text = String::from_utf8_lossy(&buffer).into_owned();
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(1);
    Some((fields.next()?.parse().ok()?, fields.nth(17)?.parse().ok()?))
}

fn has_own_network(gather: &Gather<'_>, pid: u32) -> bool {
    let theirs = gather.root.link(&format!("/proc/{pid}/ns/net")).ok();
    theirs.is_some() && theirs != gather.root.link("/proc/self/ns/net").ok()
}
