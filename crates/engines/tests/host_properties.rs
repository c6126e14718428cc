//! Whatever the texts of a snapshot say, the host is read, and what is read of it are numbers.

use intriage_case::{HostSnapshot, Millis, Ratio};
use intriage_engines::host::{Host, read_host};
use proptest::prelude::*;

/// Every kind of file a reader asks for.
const NAMES: &[&str] = &[
    "proc/stat",
    "proc/cpuinfo",
    "proc/meminfo",
    "proc/vmstat",
    "proc/loadavg",
    "proc/cmdline",
    "proc/diskstats",
    "proc/pressure/cpu",
    "proc/net/snmp",
    "proc/net/netstat",
    "proc/net/dev",
    "proc/net/sockstat",
    "proc/net/tcp",
    "proc/7/stat",
    "proc/7/status",
    "proc/7/cmdline",
    "proc/7/environ",
    "proc/7/cgroup",
    "proc/7/limits",
    "proc/7/mountinfo",
    "proc/7/io",
    "proc/7/task/7/stat",
    "proc/7/task/7/schedstat",
    "proc/7/task/7/status",
    "proc/7/task/7/sched",
    "sys/fs/cgroup/cpu.max",
    "sys/fs/cgroup/cpu.stat",
    "sys/fs/cgroup/memory.max",
    "sys/fs/cgroup/memory.events",
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq",
    "sys/devices/system/node/node0/cpulist",
    "sys/devices/system/node/node0/meminfo",
    "sys/devices/system/node/node0/numastat",
    "sys/bus/pci/devices/0000:17:00.0/class",
    "sys/bus/pci/devices/0000:17:00.0/current_link_speed",
    "pci_path/0000:17:00.0",
    "pci_acs/0000:16:01.0",
    "numa_pages/7",
    "open_files/7",
    "statvfs/dev/shm",
    "denied",
    "absent",
];

/// Words that open the readers' branches, between numbers that overflow, go negative or are none.
const WORDS: &[&str] = &[
    "cpu",
    "cpu0",
    "ctxt",
    "some",
    "full",
    "total=5",
    "total=18446744073709551615",
    "avg60=1e999",
    "Tcp:",
    "TcpExt:",
    "OutSegs",
    "RetransSegs",
    "(vllm)",
    "S",
    "R",
    "nr_periods",
    "nr_throttled",
    "throttled_usec",
    "max",
    "0::/",
    "VmRSS:",
    "kB",
    "N0",
    "0-3",
    "0-99999999999",
    "-1",
    "0",
    "1",
    "100",
    "18446744073709551615",
    "99999999999999999999",
    "NaN",
    "0x030200",
    "control",
    "0xffffffff",
    "vllm\0serve\0/x",
    "/",
    " - ",
    "ext4",
    "\n",
    "\n",
    "\n",
    "\t",
    ":",
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => prop::collection::vec(prop::sample::select(WORDS), 0..40).prop_map(|words| words.join(" ").replace("\n ", "\n")),
        1 => "\\PC{0,60}",
    ]
}

fn snapshot(at: u64) -> impl Strategy<Value = HostSnapshot> {
    prop::collection::btree_map(prop::sample::select(NAMES).prop_map(str::to_owned), text(), 0..20)
        .prop_map(move |files| HostSnapshot { at: Millis(at), files })
}

fn shares(host: &Host) -> Vec<f64> {
    let mut shares = Vec::new();
    for process in &host.processes {
        shares.extend(process.cpu.map(Ratio::get));
        shares.extend(
            process.threads.iter().flat_map(|t| [t.cpu, t.run_queue_delay]).flatten().map(Ratio::get),
        );
        let groups = process.cgroup.iter().flat_map(|c| &c.cpu);
        shares.extend(groups.flat_map(|g| [g.throttled_periods, g.throttled_time]).flatten().map(Ratio::get));
    }
    shares.extend(host.cpu.each.iter().flat_map(|(_, spent)| [spent.busy.get(), spent.stolen.get()]));
    shares.extend(host.cpu_pressure.iter().flat_map(|p| [p.some, p.full]).flatten().map(Ratio::get));
    shares.extend(host.disks.iter().filter_map(|d| d.busy).map(Ratio::get));
    shares
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_snapshots_are_read_and_no_share_is_negative_or_no_number(
        first in snapshot(1000),
        second in snapshot(2000),
        same_time in snapshot(2000),
    ) {
        let host = read_host(&[first, second, same_time]).expect("there are snapshots");
        for share in shares(&host) {
            prop_assert!(share.is_finite() && share >= 0.0, "{share}");
        }
    }

    #[test]
    fn the_processes_and_cpus_of_any_text_stay_within_what_was_written(only in snapshot(1000)) {
        let host = read_host(std::slice::from_ref(&only)).expect("there is a snapshot");
        prop_assert_eq!(host.window, None);
        prop_assert!(host.processes.len() <= 1 && host.devices.len() <= 1);
        // One reading has no rate.
        prop_assert!(shares(&host).is_empty());
    }
}
