use intriage_case::{HostSnapshot, Millis};
use proptest::prelude::*;

use super::super::testing::{host, moment};
use super::*;

#[test]
fn a_quota_on_the_pod_binds_its_container_on_version_2() {
    let own = "sys/fs/cgroup/kubepods.slice/pod1/c1";
    let pod = "sys/fs/cgroup/kubepods.slice/pod1";
    let at = |at: u64, own_stat: &str, pod_stat: &str| {
        let files = [
            ("proc/7/cgroup".to_owned(), "0::/kubepods.slice/pod1/c1\n"),
            (format!("{own}/cpu.max"), "max 100000\n"),
            (format!("{own}/cpu.stat"), own_stat),
            (format!("{pod}/cpu.max"), "250000 100000\n"),
            (format!("{pod}/cpu.stat"), pod_stat),
            (format!("{own}/memory.max"), "max\n"),
            (format!("{pod}/memory.max"), "8589934592\n"),
            (format!("{pod}/memory.events"), "low 0\nhigh 0\nmax 4\noom 1\noom_kill 1\n"),
            (format!("{own}/cpuset.cpus.effective"), "0-3\n"),
        ];
        HostSnapshot {
            at: Millis(at),
            files: files.into_iter().map(|(name, text)| (name, text.to_owned())).collect(),
        }
    };
    let host = [
        at(
            0,
            "usage_usec 0\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n",
            "usage_usec 0\nnr_periods 100\nnr_throttled 10\nthrottled_usec 500000\n",
        ),
        at(
            10_000,
            "usage_usec 20000000\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n",
            "usage_usec 20000000\nnr_periods 200\nnr_throttled 40\nthrottled_usec 3500000\n",
        ),
    ];
    let cgroup = read(Window::new(&host), 7).unwrap();
    assert_eq!(cgroup.version, CgroupVersion::V2);
    assert_eq!(cgroup.cpu_limit(), Some(Limit::At(Ratio(2.5))));
    assert_eq!(cgroup.memory_limit(), Some(Limit::At(Bytes(8_589_934_592.0))));
    let stopped = cgroup.most_throttled().unwrap();
    assert_eq!(stopped.path, "/kubepods.slice/pod1");
    assert_eq!((stopped.throttled_periods, stopped.throttled_time), (Some(Ratio(0.3)), Some(Ratio(0.3))));
    assert_eq!(cgroup.cpu[0].throttled_periods, Some(Ratio(0.0)));
    assert_eq!(cgroup.cpu[0].used, Some(Ratio(2.0)));
    let pod = &cgroup.memory[1];
    assert_eq!(
        (pod.oom_kills, pod.oom_kills_ever, pod.limit_hits),
        (Some(Events(0.0)), Some(Events(1.0)), Some(Events(0.0)))
    );
    assert_eq!(cgroup.cpus, Some(vec![0, 1, 2, 3]));
}

const V1: &str =
    "11:memory:/docker/ab\n4:cpu,cpuacct:/docker/ab\n3:cpuset:/docker/ab\n1:name=systemd:/docker/ab\n0::/\n";

#[test]
fn version_1_keeps_each_controller_apart() {
    let host = host(&[
        (
            0,
            &[
                ("proc/7/cgroup", V1),
                ("sys/fs/cgroup/cpu/docker/ab/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n"),
            ],
        ),
        (
            2000,
            &[
                (
                    "sys/fs/cgroup/cpu/docker/ab/cpu.stat",
                    "nr_periods 20\nnr_throttled 5\nthrottled_time 1000000000\n",
                ),
                ("sys/fs/cgroup/cpu/docker/ab/cpu.cfs_quota_us", "50000\n"),
                ("sys/fs/cgroup/cpu/docker/ab/cpu.cfs_period_us", "100000\n"),
                ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
                ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
                ("sys/fs/cgroup/memory/docker/ab/memory.limit_in_bytes", "9223372036854771712\n"),
                (
                    "sys/fs/cgroup/memory/docker/ab/memory.oom_control",
                    "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
                ),
                ("sys/fs/cgroup/cpuset/docker/ab/cpuset.effective_cpus", "0-1\n"),
            ],
        ),
    ]);
    let cgroup = read(Window::new(&host), 7).unwrap();
    assert_eq!(cgroup.version, CgroupVersion::V1);
    assert_eq!(cgroup.cpu_limit(), Some(Limit::At(Ratio(0.5))));
    assert_eq!(cgroup.most_throttled().unwrap().throttled_periods, Some(Ratio(0.25)));
    assert_eq!(cgroup.cpu[0].throttled_time, Some(Ratio(0.5)));
    assert_eq!(cgroup.memory_limit(), Some(Limit::Unlimited));
    assert_eq!(cgroup.memory[0].oom_kills_ever, Some(Events(2.0)));
    assert_eq!(cgroup.memory[0].oom_kills, None);
    assert_eq!(cgroup.cpus, Some(vec![0, 1]));
}

#[test]
fn a_group_out_of_sight_leaves_the_root_of_the_hierarchy() {
    let found = hierarchies("0::/../../other\n");
    assert_eq!(found, [Hierarchy { controller: "", folders: vec!["/sys/fs/cgroup".into()] }]);
    let host = moment(&[("proc/7/cgroup", "0::/../x\n"), ("sys/fs/cgroup/cpu.max", "100000 100000\n")]);
    assert_eq!(read(Window::new(&host), 7).unwrap().cpu_limit(), Some(Limit::At(Ratio(1.0))));
}

#[test]
fn no_limit_and_no_knowledge_are_two_things() {
    let none = moment(&[("proc/7/cgroup", "0::/a\n"), ("sys/fs/cgroup/a/cpu.max", "max 100000\n")]);
    assert_eq!(read(Window::new(&none), 7).unwrap().cpu_limit(), Some(Limit::Unlimited));
    let unknown = moment(&[("proc/7/cgroup", "0::/a\n")]);
    assert_eq!(read(Window::new(&unknown), 7).unwrap().cpu_limit(), None);
    assert_eq!(read(Window::new(&moment(&[])), 7), None);
}

proptest! {
    #[test]
    fn any_text_is_survived(groups in "([0-9]{0,2}:[a-z,=]{0,12}:[a-z/.]{0,40}\n){0,5}", limit in "[ -~]{0,20}") {
        let names = ["sys/fs/cgroup/cpu.max", "sys/fs/cgroup/memory.max", "sys/fs/cgroup/cpu/cpu.stat"];
        let mut files = vec![("proc/7/cgroup", groups.as_str())];
        files.extend(names.map(|n| (n, limit.as_str())));
        let _ = read(Window::new(&moment(&files)), 7);
        for hierarchy in hierarchies(&groups) {
            for folder in hierarchy.folders {
                prop_assert!(folder.starts_with("/sys/fs/cgroup") && folder.split('/').all(|p| p != ".."));
            }
        }
    }
}
