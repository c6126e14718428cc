//! What is left out of kernel texts: what is long and says nothing, and what is nobody's business. Lines kept are kept as they are.

/// `proc/stat` without the table of interrupts, which has a number for each of thousands; their total stays.
pub(super) fn stat(text: &str) -> String {
    lines(text, |line| match line.strip_prefix("intr ") {
        Some(rest) => {
            let total = rest.split(' ').next().unwrap_or_default().len();
            Some(&line[.."intr ".len() + total])
        }
        None => Some(line),
    })
}

/// `proc/cpuinfo` with the first CPU whole, and of the others what can differ.
pub(super) fn cpuinfo(text: &str) -> String {
    const DIFFERS: &[&str] = &["processor", "physical id", "core id", "cpu MHz"];
    let mut first = true;
    lines(text, |line| {
        first &= !line.is_empty();
        let key = line.split([':', '\t']).next().unwrap_or_default().trim();
        (first || DIFFERS.contains(&key)).then_some(line)
    })
}

/// `status` of a process: what is used here of its 60 lines.
pub(super) fn status(text: &str) -> String {
    const KEPT: &[&str] = &[
        "Name",
        "State",
        "Tgid",
        "Pid",
        "PPid",
        "NSpid",
        "Threads",
        "VmHWM",
        "VmRSS",
        "RssAnon",
        "RssFile",
        "RssShmem",
        "VmLck",
        "VmPin",
        "VmSwap",
        "HugetlbPages",
        "Cpus_allowed_list",
        "Mems_allowed_list",
        "voluntary_ctxt_switches",
        "nonvoluntary_ctxt_switches",
    ];
    lines(text, |line| line.split_once(':').is_some_and(|(key, _)| KEPT.contains(&key)).then_some(line))
}

/// `status` of a thread: the rest is in that of its process.
pub(super) fn thread_status(text: &str) -> String {
    const KEPT: &[&str] = &["Cpus_allowed_list", "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"];
    lines(text, |line| line.split_once(':').is_some_and(|(key, _)| KEPT.contains(&key)).then_some(line))
}

/// `sched` of a thread: its moves and its policy out of 50 lines.
pub(super) fn sched(text: &str) -> String {
    const KEPT: &[&str] = &["se.nr_migrations", "policy"];
    lines(text, |line| {
        line.split_once(':').is_some_and(|(key, _)| KEPT.contains(&key.trim())).then_some(line)
    })
}

/// `proc/diskstats` without loop and memory devices, of which there may be a hundred and none holds a model.
pub(super) fn disks(text: &str) -> String {
    lines(text, |line| {
        let name = line.split_whitespace().nth(2).unwrap_or_default();
        (!name.starts_with("loop") && !name.starts_with("ram")).then_some(line)
    })
}

/// `proc/net/tcp` with its listeners only: who else is connected is nobody's business, and may be thousands.
pub(super) fn listeners(text: &str) -> String {
    let mut header = true;
    lines(text, |line| {
        let kept = std::mem::take(&mut header) || line.split_whitespace().nth(3) == Some("0A");
        kept.then_some(line)
    })
}

/// `mountinfo` without the kernel's own file systems, and without mount options, which may name users.
pub(super) fn mounts(text: &str) -> String {
    const PSEUDO: &[&str] = &[
        "autofs",
        "binfmt_misc",
        "bpf",
        "cgroup",
        "cgroup2",
        "configfs",
        "debugfs",
        "devpts",
        "devtmpfs",
        "efivarfs",
        "fusectl",
        "hugetlbfs",
        "mqueue",
        "nsfs",
        "proc",
        "pstore",
        "rpc_pipefs",
        "securityfs",
        "selinuxfs",
        "sysfs",
        "tracefs",
    ];
    lines(text, |line| {
        let (place, kind) = line.split_once(" - ")?;
        let mut words = kind.split(' ');
        let file_system = words.next()?;
        let source = words.next().unwrap_or_default();
        let end = place.len() + " - ".len() + file_system.len() + 1 + source.len();
        (!PSEUDO.contains(&file_system)).then(|| line.get(..end).unwrap_or(line))
    })
}

/// Kernel parameters whose values are shown: those that change how fast a machine serves.
const PARAMETERS: &[&str] = &[
    "amd_iommu",
    "amd_pstate",
    "cgroup_disable",
    "cgroup_no_v1",
    "clocksource",
    "cpufreq.default_governor",
    "default_hugepagesz",
    "hugepages",
    "hugepagesz",
    "idle",
    "intel_idle.max_cstate",
    "intel_iommu",
    "intel_pstate",
    "iommu",
    "iommu.passthrough",
    "iommu.strict",
    "irqaffinity",
    "isolcpus",
    "maxcpus",
    "mitigations",
    "nohz_full",
    "nosmt",
    "nr_cpus",
    "numa",
    "numa_balancing",
    "pci",
    "pcie_aspm",
    "pcie_acs_override",
    "preempt",
    "processor.max_cstate",
    "psi",
    "rcu_nocbs",
    "schedstats",
    "skew_tick",
    "swapaccount",
    "systemd.unified_cgroup_hierarchy",
    "transparent_hugepage",
    "tsc",
];

/// The kernel's parameters: names all, values only of [`PARAMETERS`], and nothing of what is meant for init.
pub(super) fn kernel_command_line(text: &str) -> String {
    let words = words(text);
    let kernel = words.iter().take_while(|word| *word != "--");
    let kept = kernel.map(|word| match word.split_once('=') {
        Some((name, _)) if !PARAMETERS.contains(&name) => format!("{name}=[redacted]"),
        _ => word.clone(),
    });
    kept.collect::<Vec<_>>().join(" ") + "\n"
}

/// Words, where a quoted space parts nothing: what follows it may belong to a value that is not shown.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quoted = false;
    for c in text.chars() {
        quoted ^= c == '"';
        if c.is_whitespace() && !quoted {
            words.push(std::mem::take(&mut word));
        } else {
            word.push(c);
        }
    }
    words.push(word);
    words.retain(|w| !w.is_empty());
    words
}

fn lines<'a>(text: &'a str, keep: impl FnMut(&'a str) -> Option<&'a str>) -> String {
    let mut out = String::with_capacity(text.len().min(8192));
    for line in text.lines().filter_map(keep) {
        out.push_str(line);
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_keep_their_total() {
        assert_eq!(stat("cpu 1\nintr 900 1 2 3\nctxt 5\n"), "cpu 1\nintr 900\nctxt 5\n");
    }

    #[test]
    fn the_first_cpu_is_kept_whole_and_the_others_where_they_differ() {
        let text = "processor\t: 0\nmodel name\t: X\ncpu MHz\t\t: 1.0\n\nprocessor\t: 1\nmodel name\t: X\ncpu MHz\t\t: 2.0\ncore id\t\t: 1\n\n";
        assert_eq!(
            cpuinfo(text),
            "processor\t: 0\nmodel name\t: X\ncpu MHz\t\t: 1.0\nprocessor\t: 1\ncpu MHz\t\t: 2.0\ncore id\t\t: 1\n"
        );
    }

    #[test]
    fn other_peoples_connections_are_left_out() {
        let text = "  sl  local rem st\n 0: 00:1F40 00:0000 0A x\n 1: 00:1F40 0A0B0C0D:9999 01 x\n";
        assert_eq!(listeners(text), "  sl  local rem st\n 0: 00:1F40 00:0000 0A x\n");
    }

    #[test]
    fn disks_are_those_that_can_hold_a_model() {
        let text = " 7 0 loop0 1 2\n 1 0 ram0 0 0\n 259 0 nvme0n1 5 6\n";
        assert_eq!(disks(text), " 259 0 nvme0n1 5 6\n");
    }

    #[test]
    fn mounts_lose_their_options_and_the_kernels_own() {
        let text = "1 0 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n2 1 0:5 / /proc rw - proc proc rw\n3 1 0:9 / /m rw - cifs //srv/m rw,username=ann\n";
        assert_eq!(
            mounts(text),
            "1 0 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1\n3 1 0:9 / /m rw - cifs //srv/m\n"
        );
    }

    #[test]
    fn parameters_of_the_kernel_are_shown_where_they_matter_and_those_of_init_never() {
        let text = "iommu=pt quiet rootpw=\"hidden words here\" cloud.key=abc -- --init-flag token\n";
        assert_eq!(kernel_command_line(text), "iommu=pt quiet rootpw=[redacted] cloud.key=[redacted]\n");
        assert_eq!(kernel_command_line(""), "\n");
    }

    #[test]
    fn a_status_keeps_what_is_used_of_it() {
        assert_eq!(status("Name:\tx\nUmask:\t0022\nVmRSS:\t 5 kB\n"), "Name:\tx\nVmRSS:\t 5 kB\n");
        assert_eq!(
            sched("x (1, #threads: 1)\n---\nse.nr_migrations   :  36\nse.vruntime : 1.0\n"),
            "se.nr_migrations   :  36\n"
        );
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_survived_and_nothing_grows_but_masks(text in "(\\PC|[ \n\t:=\"]|intr | - ){0,80}") {
            for trim in [stat, cpuinfo, status, thread_status, sched, disks, listeners, mounts] {
                // A last line without its end gets one.
                proptest::prop_assert!(trim(&text).len() <= text.len() + 1);
            }
            kernel_command_line(&text);
        }
    }
}
