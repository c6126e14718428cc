//! Files of the machine itself: what is read once, and what is read every time.

use intriage_engines::host::DeviceKind;

use super::gather::Gather;
use super::{pci, trim};

/// How a file is kept.
type Trim = fn(&str) -> String;

const WHOLE: Trim = str::to_owned;

/// What changes: read in every snapshot.
const COUNTERS: &[(&str, Trim)] = &[
    ("/proc/stat", trim::stat),
    ("/proc/meminfo", WHOLE),
    ("/proc/vmstat", WHOLE),
    ("/proc/loadavg", WHOLE),
    ("/proc/diskstats", trim::disks),
    ("/proc/pressure/cpu", WHOLE),
    ("/proc/pressure/memory", WHOLE),
    ("/proc/pressure/io", WHOLE),
    ("/proc/net/snmp", WHOLE),
    ("/proc/net/netstat", WHOLE),
    ("/proc/net/dev", WHOLE),
    ("/proc/net/sockstat", WHOLE),
];

/// What stays: read in full snapshots.
const FACTS: &[(&str, Trim)] = &[
    ("/proc/cpuinfo", trim::cpuinfo),
    ("/proc/cmdline", trim::kernel_command_line),
    ("/proc/swaps", WHOLE),
    ("/proc/uptime", WHOLE),
    ("/proc/sys/kernel/osrelease", WHOLE),
    ("/proc/sys/kernel/numa_balancing", WHOLE),
    ("/proc/sys/kernel/sched_autogroup_enabled", WHOLE),
    ("/proc/sys/vm/swappiness", WHOLE),
    ("/proc/sys/vm/zone_reclaim_mode", WHOLE),
    ("/proc/sys/vm/overcommit_memory", WHOLE),
    ("/proc/sys/fs/file-nr", WHOLE),
    ("/proc/sys/net/core/somaxconn", WHOLE),
    ("/proc/sys/net/ipv4/tcp_max_syn_backlog", WHOLE),
    ("/proc/sys/net/ipv4/tcp_congestion_control", WHOLE),
    ("/proc/sys/net/ipv4/tcp_slow_start_after_idle", WHOLE),
    ("/sys/kernel/mm/transparent_hugepage/enabled", WHOLE),
    ("/sys/kernel/mm/transparent_hugepage/defrag", WHOLE),
    ("/sys/devices/system/cpu/online", WHOLE),
    ("/sys/devices/system/cpu/isolated", WHOLE),
    ("/sys/devices/system/cpu/nohz_full", WHOLE),
    ("/sys/devices/system/cpu/smt/active", WHOLE),
    ("/sys/devices/system/cpu/smt/control", WHOLE),
    ("/sys/devices/system/cpu/cpufreq/boost", WHOLE),
    ("/sys/devices/system/cpu/intel_pstate/no_turbo", WHOLE),
    ("/sys/devices/system/node/online", WHOLE),
];

/// Governors differ from CPU to CPU, so all are read; a machine with more policies than this shows its first ones.
const MAX_POLICIES: usize = 512;
/// Frequencies are a sample: asking an idle CPU for its own wakes it on kernels before 5.18.
const MAX_FREQUENCIES: usize = 16;
/// More nodes than any machine that serves has.
const MAX_NODES: usize = 64;
/// A machine full of virtual interfaces shows its first ones; real ones sort before `veth`.
const MAX_INTERFACES: usize = 64;
/// PCI functions looked at for their class.
const MAX_DEVICES: usize = 4096;

/// What changes; `missing` says what is not worth asking for again.
pub(super) fn counters(gather: &mut Gather<'_>, missing: impl Fn(&str) -> bool) {
    for (path, trim) in COUNTERS {
        if !missing(&path[1..]) {
            gather.take_trimmed(path, trim);
        }
    }
    for node in nodes(gather) {
        gather.take(&format!("/sys/devices/system/node/{node}/numastat"));
    }
}

/// The listening sockets under `/proc/net` or `/proc/<pid>/net`; looks at every socket of the machine, and costs more
/// than all counters together.
pub(super) fn listeners(gather: &mut Gather<'_>, base: &str) {
    for file in ["tcp", "tcp6"] {
        gather.take_trimmed(&format!("{base}/{file}"), trim::listeners);
    }
}

/// What stays.
pub(super) fn facts(gather: &mut Gather<'_>) {
    for (path, trim) in FACTS {
        gather.take_trimmed(path, trim);
    }
    listeners(gather, "/proc/net");
    frequencies(gather);
    for node in nodes(gather) {
        for file in ["cpulist", "meminfo", "distance"] {
            gather.take(&format!("/sys/devices/system/node/{node}/{file}"));
        }
    }
    huge_pages(gather);
    interfaces(gather);
    infiniband(gather);
    devices(gather);
    room(gather, "/dev/shm");
    let iommus = gather.root.list("/sys/class/iommu", 256);
    gather.put("listing/sys/class/iommu", iommus.join("\n") + "\n");
}

/// Whether memory can lie in more than one place.
pub(super) fn has_several_nodes(gather: &Gather<'_>) -> bool {
    nodes(gather).len() > 1
}

/// The room of a file system, as a text of our own.
pub(super) fn room(gather: &mut Gather<'_>, path: &str) {
    match gather.root.visit(path, || Ok(rustix::fs::statvfs(gather.root.path(path))?)) {
        Ok(stat) => {
            let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
            let text = format!(
                "total_bytes {}\nfree_bytes {}\navailable_bytes {}\n",
                bytes(stat.f_blocks),
                bytes(stat.f_bfree),
                bytes(stat.f_bavail)
            );
            gather.put(&format!("statvfs{path}"), text);
        }
        Err(error) => gather.refused(path, &error),
    }
}

fn nodes(gather: &Gather<'_>) -> Vec<String> {
    let is_node = |name: &String| name.strip_prefix("node").is_some_and(|n| n.parse::<u32>().is_ok());
    let names = gather.root.list("/sys/devices/system/node", MAX_NODES + 16);
    names.into_iter().filter(is_node).take(MAX_NODES).collect()
}

fn frequencies(gather: &mut Gather<'_>) {
    let base = "/sys/devices/system/cpu/cpufreq";
    let policies: Vec<String> =
        gather.root.list(base, MAX_POLICIES + 8).into_iter().filter(|n| n.starts_with("policy")).collect();
    let step = policies.len().div_ceil(MAX_FREQUENCIES).max(1);
    for (i, policy) in policies.iter().enumerate() {
        gather.take(&format!("{base}/{policy}/scaling_governor"));
        if i % step == 0 {
            for file in ["scaling_driver", "scaling_cur_freq", "scaling_max_freq", "cpuinfo_max_freq"] {
                gather.take(&format!("{base}/{policy}/{file}"));
            }
        }
    }
}

fn huge_pages(gather: &mut Gather<'_>) {
    let base = "/sys/kernel/mm/hugepages";
    for size in gather.root.list(base, 16) {
        for file in ["nr_hugepages", "free_hugepages"] {
            gather.take(&format!("{base}/{size}/{file}"));
        }
    }
}

fn interfaces(gather: &mut Gather<'_>) {
    for name in gather.root.list("/sys/class/net", MAX_INTERFACES) {
        let base = format!("/sys/class/net/{name}");
        gather.take(&format!("{base}/operstate"));
        gather.take(&format!("{base}/mtu"));
        // Virtual interfaces have no card behind them, and no speed worth the name.
        if gather.root.path(&format!("{base}/device")).exists() {
            gather.take(&format!("{base}/speed"));
            gather.take(&format!("{base}/device/numa_node"));
        }
    }
}

fn infiniband(gather: &mut Gather<'_>) {
    let base = "/sys/class/infiniband";
    for device in gather.root.list(base, MAX_INTERFACES) {
        for port in gather.root.list(&format!("{base}/{device}/ports"), 4) {
            for file in ["state", "rate"] {
                gather.take(&format!("{base}/{device}/ports/{port}/{file}"));
            }
        }
    }
}

fn devices(gather: &mut Gather<'_>) {
    for address in gather.root.list("/sys/bus/pci/devices", MAX_DEVICES) {
        let class = format!("/sys/bus/pci/devices/{address}/class");
        let Some(text) = gather.text(&class) else { continue };
        if DeviceKind::of_class(text.trim()).is_some() {
            gather.put(&class, text);
            pci::device(gather, &address);
        }
    }
}
