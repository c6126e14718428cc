//! The collector on trees made up and recorded, and on the machine the test runs on.

#![allow(clippy::unwrap_used, reason = "a test that cannot set up its tree has failed")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use intriage_case::Case;
use intriage_case::host::{MAX_FILE_BYTES, MAX_FILES};
use intriage_engines::host::{Acs, DeviceKind, Limit, NodeOf, Presence, Role, read_host};
use intriage_observe::host::{Collector, HostError, Root};

/// A machine of two nodes with a GPU on the second, serving from a container with a quota.
fn machine(root: &Path) {
    let stat = |pid: u32, parent: u32, name: &str, started: u32| {
        format!(
            "{pid} ({name}) S {parent} 1 1 0 -1 0 9 0 0 0 50 10 0 0 20 0 2 0 {started} 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 1 0 0\n"
        )
    };
    let group = "sys/fs/cgroup/kubepods/pod-1";
    let gpu = "sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0";
    let files: &[(&str, String)] = &[
        ("proc/stat", "cpu  1 0 0 9 0 0 0 0 0 0\nintr 12 3 4 5\nctxt 7\n".into()),
        ("proc/meminfo", "MemTotal: 1000 kB\n".into()),
        ("proc/cmdline", "iommu=pt secret.param=hush -- --token hush\n".into()),
        ("proc/10/cmdline", "/usr/bin/python3\0/opt/vllm\0".into()),
        ("proc/10/stat", stat(10, 1, "python3", 3)),
        ("proc/20/cmdline", "/usr/bin/python3\0/opt/bin/vllm\0serve\0/models/m\0--api-key\0hush\0".into()),
        ("proc/20/stat", stat(20, 1, "vllm", 4)),
        ("proc/20/status", "Name:\tvllm\nUmask:\t22\nCpus_allowed_list:\t0-1\n".into()),
        ("proc/20/environ", "HF_TOKEN=hush\0OMP_NUM_THREADS=1\0PATH=/bin\0".into()),
        ("proc/20/cgroup", "0::/kubepods/pod-1\n".into()),
        ("proc/20/task/20/stat", stat(20, 1, "vllm", 4)),
        ("proc/20/task/20/schedstat", "600000000 1 2\n".into()),
        ("proc/20/task/21/stat", stat(21, 1, "busy", 4)),
        ("proc/20/task/21/schedstat", "900000000 5 2\n".into()),
        ("proc/20/numa_maps", "7f00 default anon=8 N0=6 N1=2 kernelpagesize_kB=4\n".into()),
        (
            "proc/20/mountinfo",
            "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:4 / /models rw - nfs4 srv:/m rw,user=ann\n".into(),
        ),
        ("proc/20/fd/0", String::new()),
        ("proc/20/fd/1", String::new()),
        ("proc/30/cmdline", "VLLM::EngineCore\0\0\0\0".into()),
        ("proc/30/stat", stat(30, 20, "VLLM::EngineCor", 5)),
        ("proc/30/cgroup", "0::/kubepods/pod-1\n".into()),
        ("proc/40/cmdline", "tail\0-f\0vllm serve\0".into()),
        ("proc/40/stat", stat(40, 1, "tail", 6)),
        (&format!("{group}/cpu.max"), "150000 100000\n".into()),
        (&format!("{group}/cpu.stat"), "nr_periods 1\nnr_throttled 0\nthrottled_usec 0\n".into()),
        ("sys/devices/system/node/node0/cpulist", "0\n".into()),
        ("sys/devices/system/node/node1/cpulist", "1\n".into()),
        (&format!("{gpu}/class"), "0x030200\n".into()),
        (&format!("{gpu}/numa_node"), "1\n".into()),
    ];
    for (name, text) in files {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    fs::create_dir_all(root.join("dev/shm")).unwrap();
    // A bridge whose access control redirects: header of the capability, then its two registers.
    let mut config = vec![0_u8; 4096];
    config[0x100..0x108].copy_from_slice(&[0x0d, 0, 1, 0, 0x1f, 0, 0x0c, 0]);
    fs::write(root.join("sys/devices/pci0000:16/0000:16:01.0/config"), config).unwrap();
    let devices = root.join("sys/bus/pci/devices");
    fs::create_dir_all(&devices).unwrap();
    symlink(format!("../../../{}", gpu.strip_prefix("sys/").unwrap()), devices.join("0000:17:00.0")).unwrap();
    symlink("../../../devices/pci0000:16/0000:16:01.0", devices.join("0000:16:01.0")).unwrap();
}

fn collector(root: &Path) -> Collector {
    Collector::new(Root::at(root)).unwrap()
}

#[test]
fn a_machine_is_read_from_its_tree() {
    let dir = tempfile::tempdir().unwrap();
    machine(dir.path());
    let mut collector = collector(dir.path());
    let snapshots = [collector.snapshot_full()];
    assert_eq!(collector.processes(), [20, 30]);
    let host = read_host(&snapshots).unwrap();

    let [front, core] = &host.processes[..] else { panic!("two processes") };
    assert_eq!((front.role(), core.role()), (Some(Role::FrontEnd), Some(Role::EngineCore)));
    assert_eq!(front.cgroup.as_ref().unwrap().cpu_limit(), Some(Limit::At(intriage_case::Ratio(1.5))));
    assert_eq!(front.memory_on(1), Some(intriage_case::Ratio(0.25)));
    assert_eq!((front.open_files, front.threads.len()), (Some(2), 2));
    assert_eq!(host.model_storage.as_ref().unwrap().file_system, "nfs4");

    let gpu = &host.devices[0];
    assert_eq!((gpu.kind, gpu.node), (DeviceKind::Gpu, Some(NodeOf::Node(1))));
    assert_eq!(gpu.bridges[0].acs, Some(Acs::Control(0x0c)));
    assert_eq!(host.kernel.parameter("iommu"), Some("pt"));
    assert_eq!(host.presence("proc/pressure/cpu"), Presence::Unsupported);
    assert_eq!(host.presence("proc/stat"), Presence::Read);
}

/// An AMD card beside a display of the board's own, as amdgpu shows it.
fn amd_card(root: &Path, busy: &str) {
    let device = "sys/class/drm/card1/device";
    for (name, text) in [
        ("sys/class/drm/card0/device/vendor", "0x1a03"),
        ("sys/class/drm/card1-DP-1/status", "disconnected"),
        (&format!("{device}/vendor"), "0x1002"),
        (&format!("{device}/uevent"), "PCI_SLOT_NAME=0000:0b:00.0"),
        (&format!("{device}/product_name"), "AMD Instinct MI300X OAM"),
        (&format!("{device}/gpu_busy_percent"), busy),
        (&format!("{device}/pp_dpm_sclk"), "0: 132Mhz *\n1: 2100Mhz"),
        (&format!("{device}/hwmon/hwmon4/temp2_label"), "junction"),
        (&format!("{device}/hwmon/hwmon4/temp2_input"), "41000"),
        (&format!("{device}/hwmon/hwmon4/power1_cap_max"), "750000000"),
        (&format!("{device}/hwmon/hwmon4/fan1_input"), "1200"),
        (&format!("{device}/ras/umc_err_count"), "ue: 0\nce: 2"),
        (&format!("{device}/ras/features"), "feature mask: 0x7f"),
    ] {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }
}

#[test]
fn an_amd_card_is_read_from_its_tree_before_and_after() {
    let dir = tempfile::tempdir().unwrap();
    machine(dir.path());
    amd_card(dir.path(), "0");
    let mut collector = collector(dir.path());
    let full = collector.snapshot_full();
    amd_card(dir.path(), "97");
    let counters = collector.snapshot_counters();
    assert!(!counters.files.keys().any(|name| name.ends_with("product_name")), "facts are read once");
    assert!(!full.files.keys().any(|name| name.contains("fan1") || name.contains("features")));
    let gpu = intriage_engines::read(&Case { host: vec![full, counters], ..Case::default() }).gpu;
    assert_eq!((gpu.source.as_str(), gpu.name.as_deref()), ("amdgpu", Some("AMD Instinct MI300X OAM")));
    assert_eq!(gpu.samples.iter().map(|s| s.util.unwrap().get()).collect::<Vec<_>>(), [0.0, 0.97]);
    assert_eq!(gpu.cards[0].power_limits.most, Some(intriage_case::Watts(750.0)));
    assert_eq!(
        (gpu.cards[0].ecc.volatile_uncorrected, gpu.cards[0].ecc.volatile_corrected),
        (Some(0), Some(2))
    );
}

#[test]
fn no_secret_of_a_snapshot_is_left_in_a_case() {
    let dir = tempfile::tempdir().unwrap();
    machine(dir.path());
    let case = Case { host: vec![collector(dir.path()).snapshot_full()], ..Case::default() };
    let safe = intriage_observe::redacted(case, &intriage_redact::Redactor::new());
    for (name, text) in &safe.host[0].files {
        assert!(!text.contains("hush") && !text.contains("ann") && !text.contains("PATH"), "{name}: {text}");
    }
}

#[test]
fn counters_hold_what_changes_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    machine(dir.path());
    let mut collector = collector(dir.path());
    let full = collector.snapshot_full();
    let counters = collector.snapshot_counters();
    for name in
        ["proc/stat", "proc/20/stat", "proc/20/task/21/schedstat", "sys/fs/cgroup/kubepods/pod-1/cpu.stat"]
    {
        assert!(counters.text(name).is_some(), "{name}");
    }
    for name in
        ["proc/20/cmdline", "proc/cmdline", "sys/fs/cgroup/kubepods/pod-1/cpu.max", "absent", "denied"]
    {
        assert_eq!(counters.text(name), None, "{name}");
    }
    assert!(full.text("absent").unwrap().contains("proc/vmstat"));
}

#[test]
fn a_server_that_starts_later_is_found_and_taken_whole() {
    let dir = tempfile::tempdir().unwrap();
    machine(dir.path());
    let mut collector = collector(dir.path());
    collector.snapshot_full();
    fs::remove_dir_all(dir.path().join("proc/30")).unwrap();
    let proc = dir.path().join("proc/50");
    fs::create_dir_all(&proc).unwrap();
    fs::write(proc.join("cmdline"), "llama-server\0-m\0x\0").unwrap();
    fs::write(proc.join("stat"), "50 (llama-server) S 1 1 1 0 -1 0 9 0 0 0 5 1 0 0 20 0 2 0 99 0 0\n")
        .unwrap();
    let snapshots: Vec<_> = (0..10).map(|_| collector.snapshot_counters()).collect();
    assert_eq!(collector.processes(), [20, 50]);
    assert!(snapshots[9].text("proc/50/cmdline").is_some());
    assert!(snapshots[0].text("proc/30/stat").is_none());
}

#[test]
fn the_queue_of_a_listener_is_looked_at_again_with_every_search() {
    let dir = tempfile::tempdir().unwrap();
    machine(dir.path());
    let net = dir.path().join("proc/net");
    fs::create_dir_all(&net).unwrap();
    let line = |queued: u32| format!("sl\n 0: 0100007F:1F40 00000000:0000 0A 00000000:{queued:08X} 00\n");
    fs::write(net.join("tcp"), line(1)).unwrap();
    let mut collector = collector(dir.path());
    let mut snapshots = vec![collector.snapshot_full()];
    fs::write(net.join("tcp"), line(128)).unwrap();
    let queued = |snapshots: &[_]| read_host(snapshots).unwrap().network.listeners[0].queued;
    snapshots.push(collector.snapshot_counters());
    assert_eq!(queued(&snapshots), 1);
    snapshots.extend((0..9).map(|_| collector.snapshot_counters()));
    assert_eq!(queued(&snapshots), 128);
}

#[test]
fn a_process_can_be_named() {
    let dir = tempfile::tempdir().unwrap();
    machine(dir.path());
    let mut collector = collector(dir.path());
    collector.watch(40);
    collector.snapshot_full();
    assert_eq!(collector.processes(), [20, 30, 40]);
}

#[test]
fn what_cannot_be_read_is_named_with_its_reason() {
    let dir = tempfile::tempdir().unwrap();
    machine(dir.path());
    // Root may read everything, so that the refusal here is one root gets too: a folder where a file should be.
    fs::remove_file(dir.path().join("proc/20/environ")).unwrap();
    fs::create_dir(dir.path().join("proc/20/environ")).unwrap();
    let host = read_host(&[collector(dir.path()).snapshot_full()]).unwrap();
    assert!(matches!(host.presence("proc/20/environ"), Presence::Denied(_)), "{:?}", host.denied);
}

#[test]
fn a_tree_without_proc_is_no_machine() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(Collector::new(Root::at(dir.path())), Err(HostError::NoProc(_))));
}

#[test]
fn this_machine_is_read_within_the_limits() {
    let mut collector = Collector::new(Root::live()).unwrap();
    collector.watch(std::process::id());
    let snapshots = [collector.snapshot_full(), collector.snapshot_counters()];
    for snapshot in &snapshots {
        assert!(snapshot.files.len() <= MAX_FILES);
        assert!(snapshot.files.values().all(|text| text.len() <= MAX_FILE_BYTES));
    }
    let host = read_host(&snapshots).unwrap();
    assert!(host.cpu.online.is_some_and(|n| n > 0) && host.memory.total.is_some());
    let me = host.processes.iter().find(|p| p.pid == std::process::id()).unwrap();
    assert!(me.resident.is_some() && me.thread_count.is_some_and(|n| n > 0));
}

fn fixture(name: &str) -> Case {
    let fixtures = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/host");
    intriage_observe::open(&fixtures.join(name)).unwrap()
}

#[test]
fn a_recorded_machine_saves_and_reads_back_the_same() {
    let case = fixture("busy-under-quota");
    let dir = tempfile::tempdir().unwrap();
    let saved = dir.path().join("x.case");
    intriage_observe::save(&case, &intriage_redact::Redactor::new(), &saved).unwrap();
    assert_eq!(intriage_observe::open(&saved).unwrap().host, case.host);
}

#[test]
fn a_server_under_a_quota_is_seen_to_be_stopped() {
    let case = fixture("busy-under-quota");
    let host = read_host(&case.host).unwrap();
    let server = host.processes_of(Role::Server).next().unwrap();
    let cgroup = server.cgroup.as_ref().unwrap();
    assert_eq!(cgroup.cpu_limit(), Some(Limit::At(intriage_case::Ratio(0.2))));
    let stopped = cgroup.most_throttled().unwrap();
    assert!(stopped.throttled_periods.unwrap().get() > 0.5, "{stopped:?}");
    assert!(stopped.throttled_time.unwrap().get() > 0.3, "{stopped:?}");
    assert!(server.cpu.unwrap().get() < 0.25, "{:?}", server.cpu);
    // The kernel counts time stopped by the quota as waiting for a CPU.
    let thread = &server.threads[0];
    let whole = thread.cpu.unwrap().get() + thread.run_queue_delay.unwrap().get();
    assert!((0.9..1.1).contains(&whole), "{thread:?}");
}

#[test]
fn two_servers_on_one_cpu_wait_for_each_other() {
    let case = fixture("two-on-one-cpu");
    let host = read_host(&case.host).unwrap();
    let servers: Vec<_> = host.processes_of(Role::Server).collect();
    assert_eq!(servers.len(), 2);
    for server in servers {
        let thread = &server.threads[0];
        assert_eq!(thread.allowed_cpus.as_deref().map(<[u32]>::len), Some(1));
        assert!(thread.run_queue_delay.unwrap().get() > 0.3, "{thread:?}");
        let whole = thread.cpu.unwrap().get() + thread.run_queue_delay.unwrap().get();
        assert!((0.9..1.1).contains(&whole), "a busy loop runs or waits: {whole}");
    }
}
