//! Control groups: how much of the machine a process may use, and how often it was stopped for using more.

use intriage_case::{Bytes, Events, Ratio};

use super::pressure::{self, Pressure};
use super::text;
use super::window::Window;

/// The groups a process is in, from its own to the root: a limit on any of them binds.
#[derive(Debug, Clone, PartialEq)]
pub struct Cgroup {
    /// Whether the limits come from version 1 controllers.
    pub version: CgroupVersion,
    /// The CPU controller's groups, the process's own first.
    pub cpu: Vec<CpuGroup>,
    /// The memory controller's groups, the process's own first.
    pub memory: Vec<MemoryGroup>,
    /// CPUs the groups leave.
    pub cpus: Option<Vec<u32>>,
}

/// Which interface the kernel shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CgroupVersion {
    /// One hierarchy a controller.
    V1,
    /// One hierarchy for all.
    V2,
}

/// A limit that was read: there is one, or there is none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit<T> {
    /// No limit.
    Unlimited,
    /// This much.
    At(T),
}

/// One group of the CPU controller.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CpuGroup {
    /// Its path below the controller; empty for the root.
    pub path: String,
    /// CPUs' worth of time it may use; 1.0 is one whole CPU.
    pub limit: Option<Limit<Ratio>>,
    /// Share of the window's scheduling periods in which it was stopped.
    pub throttled_periods: Option<Ratio>,
    /// Stopped seconds each second; above 1.0 where it was stopped on several CPUs at once.
    pub throttled_time: Option<Ratio>,
    /// CPUs' worth of time it used over the window; 1.0 is one whole CPU; version 2 only.
    pub used: Option<Ratio>,
    /// Waiting for a CPU; version 2 only.
    pub pressure: Option<Pressure>,
}

/// One group of the memory controller.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MemoryGroup {
    /// Its path below the controller; empty for the root.
    pub path: String,
    /// Where the kernel kills.
    pub limit: Option<Limit<Bytes>>,
    /// Where the kernel slows it down and reclaims; version 2 only.
    pub high: Option<Limit<Bytes>>,
    /// In use at the end, page cache included.
    pub used: Option<Bytes>,
    /// In swap at the end.
    pub swapped: Option<Bytes>,
    /// Processes killed over the window.
    pub oom_kills: Option<Events>,
    /// Processes killed since the group was made.
    pub oom_kills_ever: Option<Events>,
    /// Times the limit was hit and memory reclaimed over the window.
    pub limit_hits: Option<Events>,
    /// Waiting for memory; version 2 only.
    pub pressure: Option<Pressure>,
}

impl Cgroup {
    /// The CPU limit that binds: the smallest from the process to the root.
    pub fn cpu_limit(&self) -> Option<Limit<Ratio>> {
        tightest(self.cpu.iter().filter_map(|g| g.limit))
    }

    /// The memory limit that binds.
    pub fn memory_limit(&self) -> Option<Limit<Bytes>> {
        tightest(self.memory.iter().filter_map(|g| g.limit))
    }

    /// The group that was stopped most, by its time where the kernel tells it, then by its periods.
    pub fn most_throttled(&self) -> Option<&CpuGroup> {
        let share = |s: Option<Ratio>| s.map_or(0.0, Ratio::get);
        let known = self.cpu.iter().filter(|g| g.throttled_periods.is_some());
        known.max_by(|a, b| {
            let by_time = share(a.throttled_time).total_cmp(&share(b.throttled_time));
            by_time.then(share(a.throttled_periods).total_cmp(&share(b.throttled_periods)))
        })
    }
}

fn tightest<T: PartialOrd + Copy>(limits: impl Iterator<Item = Limit<T>>) -> Option<Limit<T>> {
    limits.reduce(|a, b| match (a, b) {
        (Limit::At(x), Limit::At(y)) => Limit::At(if y < x { y } else { x }),
        (Limit::At(x), Limit::Unlimited) | (Limit::Unlimited, Limit::At(x)) => Limit::At(x),
        (Limit::Unlimited, Limit::Unlimited) => Limit::Unlimited,
    })
}

/// Where a controller's files lie for a process, as names in a snapshot without the file itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hierarchy {
    /// `cpu`, `memory`, `cpuset`, or empty for the hierarchy of version 2.
    pub controller: &'static str,
    /// Folders from the process's own group to the root, such as `/sys/fs/cgroup/a/b`, `/sys/fs/cgroup/a`, `/sys/fs/cgroup`.
    pub folders: Vec<String>,
}

/// Deepest group followed: Kubernetes inside a user's session stays well below.
const MAX_LEVELS: usize = 16;

/// Where a process's groups lie, from its `/proc/<pid>/cgroup`.
///
/// A group outside of what the reader can see has a path with `..` in it; then only the root of the hierarchy is left,
/// which inside a container is the container's own group.
pub fn hierarchies(proc_cgroup: &str) -> Vec<Hierarchy> {
    let lines = || {
        proc_cgroup.lines().filter_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            Some((parts.next()?, parts.next()?))
        })
    };
    let has_v1 = lines().any(|(names, _)| names.split(',').any(|n| matches!(n, "cpu" | "memory" | "cpuset")));
    let mut found = Vec::new();
    for (names, path) in lines() {
        if names.is_empty() {
            let base = if has_v1 { "/sys/fs/cgroup/unified" } else { "/sys/fs/cgroup" };
            found.push(Hierarchy { controller: "", folders: folders(base, path) });
        }
        for controller in ["cpu", "memory", "cpuset"] {
            if names.split(',').any(|name| name == controller) {
                let base = format!("/sys/fs/cgroup/{controller}");
                found.push(Hierarchy { controller, folders: folders(&base, path) });
            }
        }
    }
    found
}

fn folders(base: &str, path: &str) -> Vec<String> {
    let parts: Vec<&str> = path.split('/').filter(|p| !p.is_empty()).collect();
    let parts = if parts.iter().any(|p| matches!(*p, "." | "..")) { &[] } else { &parts[..] };
    let lowest = parts.len().saturating_sub(MAX_LEVELS);
    let level = |n: usize| if n == 0 { base.to_owned() } else { format!("{base}/{}", parts[..n].join("/")) };
    let mut folders: Vec<String> = (lowest + 1..=parts.len()).rev().map(level).collect();
    folders.push(base.to_owned());
    folders
}

/// The groups of a process; `None` where its groups are not known.
pub(super) fn read(window: Window<'_>, pid: u32) -> Option<Cgroup> {
    let found = hierarchies(window.last(&format!("proc/{pid}/cgroup"))?);
    let of = |controller: &str| {
        let own = found.iter().find(|h| h.controller == controller);
        own.or_else(|| found.iter().find(|h| h.controller.is_empty()))
    };
    let version =
        if found.iter().any(|h| h.controller == "cpu") { CgroupVersion::V1 } else { CgroupVersion::V2 };
    let levels = |controller| of(controller).into_iter().flat_map(level_names);
    Some(Cgroup {
        version,
        cpu: levels("cpu").filter_map(|(path, name)| cpu_group(window, path, &name)).collect(),
        memory: levels("memory").filter_map(|(path, name)| memory_group(window, path, &name)).collect(),
        cpus: levels("cpuset").find_map(|(_, name)| {
            let text = window
                .last(&format!("{name}/cpuset.cpus.effective"))
                .or_else(|| window.last(&format!("{name}/cpuset.effective_cpus")))?;
            text::list(text).filter(|l| !l.is_empty())
        }),
    })
}

/// Each level's path below the hierarchy's root and its name in a snapshot.
fn level_names(hierarchy: &Hierarchy) -> impl Iterator<Item = (String, String)> {
    let base = hierarchy.folders.last().cloned().unwrap_or_default();
    let named = hierarchy.folders.iter().filter_map(move |folder| {
        Some((folder.strip_prefix(&base)?.to_owned(), intriage_case::host::name_of(folder)?))
    });
    named.collect::<Vec<_>>().into_iter()
}

fn cpu_group(window: Window<'_>, path: String, name: &str) -> Option<CpuGroup> {
    let file = |f: &str| format!("{name}/{f}");
    let stat = file("cpu.stat");
    let grown = |key: &str| window.increase(&stat, |t| text::number(t, key));
    let periods = grown("nr_periods").map_or(0.0, |i| i.by);
    let group = CpuGroup {
        limit: cpu_limit(window, name),
        // Without a limit the kernel counts no periods, and nothing was stopped.
        throttled_periods: grown("nr_throttled").and_then(|i| Ratio::of(i.by, periods).or(Some(Ratio(0.0)))),
        throttled_time: grown("throttled_usec")
            .and_then(|i| i.share(1e6))
            .or_else(|| grown("throttled_time").and_then(|i| i.share(1e9))),
        used: grown("usage_usec").and_then(|i| i.share(1e6)),
        pressure: pressure::read(window, &file("cpu.pressure")),
        path: String::new(),
    };
    (group != CpuGroup::default()).then_some(CpuGroup { path, ..group })
}

/// Version 2 `cpu.max` is `<quota or max> <period>`; version 1 has a file for each and -1 for none.
fn cpu_limit(window: Window<'_>, name: &str) -> Option<Limit<Ratio>> {
    let v2 = window.last(&format!("{name}/cpu.max"));
    let (quota, period) = match v2 {
        Some(text) => text.trim().split_once(' ')?,
        None => (
            window.last(&format!("{name}/cpu.cfs_quota_us"))?.trim(),
            window.last(&format!("{name}/cpu.cfs_period_us"))?.trim(),
        ),
    };
    if matches!(quota, "max" | "-1") {
        return Some(Limit::Unlimited);
    }
    Ratio::of(text::single(quota)?, text::single(period)?).map(Limit::At)
}

fn memory_group(window: Window<'_>, path: String, name: &str) -> Option<MemoryGroup> {
    let file = |f: &str| format!("{name}/{f}");
    let limit = |f: &str| window.last(&file(f)).and_then(bytes_or_none);
    let bytes = |f: &str| window.last(&file(f)).and_then(text::single).map(Bytes);
    // Version 2 keeps events in one file, version 1 in two.
    let count = |places: [(&str, &str); 2]| {
        places.into_iter().find_map(|(f, key)| {
            let read = |t: &str| if key.is_empty() { text::single(t) } else { text::number(t, key) };
            let ever = window.last(&file(f)).and_then(read)?;
            Some((window.increase(&file(f), read).map(|i| Events(i.by)), Events(ever)))
        })
    };
    let kills = count([("memory.events", "oom_kill"), ("memory.oom_control", "oom_kill")]);
    let group = MemoryGroup {
        limit: limit("memory.max").or_else(|| limit("memory.limit_in_bytes")),
        high: limit("memory.high"),
        used: bytes("memory.current").or_else(|| bytes("memory.usage_in_bytes")),
        swapped: bytes("memory.swap.current"),
        oom_kills: kills.and_then(|k| k.0),
        oom_kills_ever: kills.map(|k| k.1),
        limit_hits: count([("memory.events", "max"), ("memory.failcnt", "")]).and_then(|c| c.0),
        pressure: pressure::read(window, &file("memory.pressure")),
        path: String::new(),
    };
    (group != MemoryGroup::default()).then_some(MemoryGroup { path, ..group })
}

/// `max` in version 2; in version 1 a number so large that it can only mean none.
fn bytes_or_none(text: &str) -> Option<Limit<Bytes>> {
    if text.trim() == "max" {
        return Some(Limit::Unlimited);
    }
    let bytes = text::single(text)?;
    Some(if bytes >= 9.2e18 { Limit::Unlimited } else { Limit::At(Bytes(bytes)) })
}

#[cfg(test)]
#[path = "cgroup_tests.rs"]
mod tests;
