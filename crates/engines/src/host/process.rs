//! Serving processes: what each is, what it used, and where it may run.

use std::collections::BTreeMap;

use intriage_case::{Bytes, Events, Millis, PerSecond, Ratio};

use super::cgroup::{self, Cgroup};
use super::memory::{self, Space};
use super::serving::{Role, Serving, recognise_process};
use super::thread::{self, ThreadUse};
use super::window::{Increase, Window};
use super::{kernel, numa, stat, text};

/// One process of the server over the window.
#[derive(Debug, Clone, PartialEq)]
pub struct ServingProcess {
    /// Its number, as the collector saw it.
    pub pid: u32,
    /// Its parent's number.
    pub parent: Option<u32>,
    /// Whether the last snapshot still has it.
    pub running: bool,
    /// When it started, on the wall clock.
    pub started: Option<Millis>,
    /// What it is; `None` for a process the user named that no row of the table knows.
    pub serving: Option<Serving>,
    /// Its command line with secrets masked, or the title it gave itself.
    pub command_line: Option<String>,
    /// Environment variables that matter to inference, those with secrets masked.
    pub environment: Vec<(String, String)>,
    /// CPUs' worth of time it used; 1.0 is one whole CPU.
    pub cpu: Option<Ratio>,
    /// The part of `cpu` spent in the kernel.
    pub cpu_in_kernel: Option<Ratio>,
    /// Threads it has.
    pub thread_count: Option<u32>,
    /// Its busiest threads, the busiest first.
    pub threads: Vec<ThreadUse>,
    /// Memory it holds.
    pub resident: Option<Bytes>,
    /// Memory of it that was swapped out.
    pub swapped: Option<Bytes>,
    /// Memory locked or pinned for devices.
    pub pinned: Option<Bytes>,
    /// Page faults served from memory.
    pub minor_faults: Option<PerSecond<Events>>,
    /// Page faults that had to wait for storage.
    pub major_faults: Option<PerSecond<Events>>,
    /// Bytes it made the storage read.
    pub storage_reads: Option<PerSecond<Bytes>>,
    /// Open files.
    pub open_files: Option<u32>,
    /// Most files it may open.
    pub open_files_limit: Option<u32>,
    /// The OOM killer's preference, -1000 (never) to 1000 (first).
    pub oom_score_adj: Option<i32>,
    /// CPUs it may run on.
    pub allowed_cpus: Option<Vec<u32>>,
    /// NUMA nodes it may take memory from.
    pub allowed_nodes: Option<Vec<u32>>,
    /// Memory by NUMA node; `None` on a machine of one node, where it is not read.
    pub memory_by_node: Option<BTreeMap<u32, Bytes>>,
    /// Its control groups.
    pub cgroup: Option<Cgroup>,
    /// Shared memory as this process sees it, which a container has of its own.
    pub shm: Option<Space>,
}

impl ServingProcess {
    /// Its role, where it is known.
    pub fn role(&self) -> Option<Role> {
        self.serving.map(|s| s.role)
    }

    /// Share of its memory on a node.
    pub fn memory_on(&self, node: u32) -> Option<Ratio> {
        let by_node = self.memory_by_node.as_ref()?;
        let whole: f64 = by_node.values().map(|b| b.get()).sum();
        Ratio::of(by_node.get(&node).map_or(0.0, |b| b.get()), whole)
    }
}

/// The processes of the snapshots: front ends first, then by number.
pub(super) fn read(window: Window<'_>) -> Vec<ServingProcess> {
    let pids = window.folders("proc/").into_iter().filter_map(|f| f.parse().ok());
    let mut processes: Vec<ServingProcess> = pids.filter_map(|pid| one(window, pid)).collect();
    name_children(&mut processes);
    processes.sort_by_key(|p| (p.serving.map_or(Role::Child, |s| s.role), p.pid));
    processes
}

fn one(window: Window<'_>, pid: u32) -> Option<ServingProcess> {
    let file = |name: &str| format!("proc/{pid}/{name}");
    let stat_name = file("stat");
    let last = stat::read(window.last(&stat_name)?)?;
    // A number can be given again: only what has the same start is the same process.
    let window = window.since(|s| {
        s.text(&stat_name).is_none_or(|t| stat::read(t).is_some_and(|now| now.started == last.started))
    });
    let once = |name: &str| window.last(&file(name));
    let grown =
        |pick: fn(&stat::Stat<'_>) -> f64| window.increase(&stat_name, |t| stat::read(t).as_ref().map(pick));
    let status = window.last(&file("status")).unwrap_or_default();
    let kilobytes = |key: &str| text::number(status, key).map(|kb| Bytes(kb * 1024.0));
    let command_line = once("cmdline");
    Some(ServingProcess {
        pid,
        parent: Some(last.parent),
        running: window.snapshots().last().is_some_and(|s| s.text(&stat_name).is_some()),
        started: kernel::booted(window).map(|boot| {
            let after = (last.started as f64 / stat::TICKS_PER_SECOND * 1000.0) as u64;
            Millis(boot.0.saturating_add(after))
        }),
        serving: command_line.and_then(recognise_process),
        command_line: command_line.map(readable).filter(|c| !c.is_empty()),
        environment: environment(once("environ").unwrap_or_default()),
        cpu: grown(|s| s.user + s.system).and_then(|i| i.share(stat::TICKS_PER_SECOND)),
        cpu_in_kernel: grown(|s| s.system).and_then(|i| i.share(stat::TICKS_PER_SECOND)),
        thread_count: Some(last.threads),
        threads: thread::read(window, pid),
        resident: kilobytes("VmRSS"),
        swapped: kilobytes("VmSwap"),
        pinned: match (kilobytes("VmLck"), kilobytes("VmPin")) {
            (Some(locked), Some(pinned)) => Some(locked + pinned),
            (locked, pinned) => locked.or(pinned),
        },
        minor_faults: grown(|s| s.minor_faults).map(Increase::events),
        major_faults: grown(|s| s.major_faults).map(Increase::events),
        storage_reads: window
            .increase(&file("io"), |t| text::number(t, "read_bytes"))
            .map(|i| PerSecond(Bytes(i.rate()))),
        open_files: window
            .last(&format!("open_files/{pid}"))
            .and_then(|t| text::number(t, "count"))
            .map(|n| n as u32),
        open_files_limit: once("limits").and_then(|t| text::number(t, "Max open files")).map(|n| n as u32),
        oom_score_adj: once("oom_score_adj").and_then(|t| t.trim().parse().ok()),
        allowed_cpus: text::value(status, "Cpus_allowed_list").and_then(text::list),
        allowed_nodes: text::value(status, "Mems_allowed_list").and_then(text::list),
        memory_by_node: window.last(&format!("numa_pages/{pid}")).and_then(numa::pages),
        cgroup: cgroup::read(window, pid),
        shm: memory::space(window, &format!("statvfs/proc/{pid}/root/dev/shm")),
    })
}

/// A child of a serving process belongs to it, whatever it calls itself.
fn name_children(processes: &mut [ServingProcess]) {
    let known: BTreeMap<u32, Serving> = processes.iter().filter_map(|p| Some((p.pid, p.serving?))).collect();
    for process in processes.iter_mut().filter(|p| p.serving.is_none()) {
        let parent = process.parent.and_then(|pid| known.get(&pid));
        process.serving = parent.map(|s| Serving { role: Role::Child, ..*s });
    }
}

/// Arguments parted by spaces; one with a space in it is quoted.
fn readable(command_line: &str) -> String {
    let words = command_line.split('\0').filter(|w| !w.is_empty());
    let quoted = words.map(|word| shlex::try_quote(word).map_or_else(|_| word.to_owned(), Into::into));
    quoted.collect::<Vec<String>>().join(" ")
}

fn environment(text: &str) -> Vec<(String, String)> {
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{host, stat_line};
    use super::*;

    fn stat(pid: u32, parent: u32, ticks: u32, started: u32) -> String {
        stat_line(pid, parent, ticks, started, 0)
    }

    #[test]
    fn a_process_is_what_it_is_and_used_what_it_used() {
        let (a, b) = (stat(7, 1, 100, 5), stat(7, 1, 250, 5));
        let (c, d) = (stat(8, 7, 0, 6), stat(8, 7, 0, 6));
        let status = "VmRSS:\t    2048 kB\nVmSwap:\t       4 kB\nVmLck:\t 1 kB\nCpus_allowed_list:\t0-3\nMems_allowed_list:\t0\n";
        let host = host(&[
            (
                0,
                &[
                    ("proc/7/stat", &a),
                    ("proc/8/stat", &c),
                    ("proc/7/cmdline", "python3\0/venv/bin/vllm\0serve\0a model\0"),
                    ("proc/8/cmdline", "python3\0-c\0spawn_main()\0"),
                    ("proc/7/environ", "OMP_NUM_THREADS=1\nVLLM_API_KEY=[redacted]\n"),
                    (
                        "proc/7/limits",
                        "Limit                     Soft Limit           Hard Limit           Units\nMax open files            1024                 524288               files\n",
                    ),
                    ("proc/7/oom_score_adj", "-998\n"),
                    ("open_files/7", "count 40\n"),
                    ("numa_pages/7", "lines 3 complete\nN0 4 768\nN1 4 256\n"),
                ],
            ),
            (1000, &[("proc/7/stat", &b), ("proc/8/stat", &d), ("proc/7/status", status)]),
        ]);
        let processes = read(Window::new(&host));
        let vllm = &processes[0];
        assert_eq!((vllm.pid, vllm.role(), vllm.parent), (7, Some(Role::FrontEnd), Some(1)));
        assert_eq!(vllm.command_line.as_deref(), Some("python3 /venv/bin/vllm serve 'a model'"));
        assert_eq!((vllm.cpu, vllm.cpu_in_kernel), (Some(Ratio(1.5)), Some(Ratio(0.0))));
        assert_eq!((vllm.resident, vllm.swapped), (Some(Bytes(2_097_152.0)), Some(Bytes(4096.0))));
        assert_eq!((vllm.open_files, vllm.open_files_limit), (Some(40), Some(1024)));
        assert_eq!((vllm.oom_score_adj, vllm.major_faults), (Some(-998), Some(PerSecond(Events(0.0)))));
        assert_eq!(vllm.memory_on(0), Some(Ratio(0.75)));
        assert_eq!(vllm.environment[0], ("OMP_NUM_THREADS".into(), "1".into()));
        assert_eq!((vllm.storage_reads, vllm.shm, &vllm.cgroup), (None, None, &None));
        let child = processes[1].serving.unwrap();
        assert_eq!((child.product, child.role), ("vLLM", Role::Child));
    }

    #[test]
    fn a_restarted_server_under_the_same_number_is_another_process() {
        let (a, b) = (stat(7, 1, 900, 5), stat(7, 1, 100, 66));
        let old = "llama-server\0-m\0old.gguf\0";
        let host =
            host(&[(0, &[("proc/7/stat", &a), ("proc/7/cmdline", old)]), (1000, &[("proc/7/stat", &b)])]);
        let process = &read(Window::new(&host))[0];
        assert_eq!((process.cpu, &process.command_line, process.serving), (None, &None, None));
        assert!(process.running);
    }

    #[test]
    fn a_process_that_ended_is_known_by_what_was_last_seen_of_it() {
        let (a, b) = (stat(7, 1, 100, 5), stat(7, 1, 200, 5));
        let host = host(&[(0, &[("proc/7/stat", &a)]), (1000, &[("proc/7/stat", &b)]), (2000, &[])]);
        let process = &read(Window::new(&host))[0];
        assert_eq!((process.cpu, process.running), (Some(Ratio(1.0)), false));
    }
}
