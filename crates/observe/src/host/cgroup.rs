//! The control groups of a process, from its own to the root.

use std::collections::BTreeSet;

use intriage_engines::host::hierarchies;

use super::gather::Gather;

/// Files by controller; `""` is the one hierarchy of version 2. The first list changes, the second stays.
const FILES: &[(&str, &[&str], &[&str])] = &[
    (
        "",
        &[
            "cpu.stat",
            "cpu.pressure",
            "memory.current",
            "memory.events",
            "memory.pressure",
            "memory.swap.current",
            "io.pressure",
        ],
        &[
            "cpu.max",
            "cpu.weight",
            "memory.max",
            "memory.high",
            "memory.swap.max",
            "cpuset.cpus.effective",
            "cpuset.mems.effective",
        ],
    ),
    ("cpu", &["cpu.stat"], &["cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.shares"]),
    (
        "memory",
        &["memory.usage_in_bytes", "memory.failcnt", "memory.oom_control"],
        &["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"],
    ),
    ("cpuset", &[], &["cpuset.effective_cpus", "cpuset.effective_mems"]),
];

/// Takes the files of the groups named in `/proc/<pid>/cgroup`; `taken` holds the folders other processes had taken.
pub(super) fn take(gather: &mut Gather<'_>, proc_cgroup: &str, full: bool, taken: &mut BTreeSet<String>) {
    for hierarchy in hierarchies(proc_cgroup) {
        let Some((_, counters, facts)) = FILES.iter().find(|(name, ..)| *name == hierarchy.controller) else {
            continue;
        };
        for folder in hierarchy.folders {
            if !taken.insert(folder.clone()) {
                continue;
            }
            // A folder that is not there would be named once for each of its files.
            if !gather.root.path(&folder).is_dir() {
                continue;
            }
            let facts = if full { *facts } else { &[] };
            for file in counters.iter().chain(facts) {
                gather.take(&format!("{folder}/{file}"));
            }
        }
    }
}
