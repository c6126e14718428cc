//! A machine's health: processors, memory, quotas, shared memory, files, network.

use intriage_case::{Quantity, Ratio, Unit};
use intriage_engines::host::{Host, Limit as Most, ServingProcess};

use super::{Check, State, bridges};
use crate::thresholds::{Limit, Thresholds};

pub(super) fn checks(host: &Host, thresholds: &Thresholds) -> Vec<Check> {
    let mut all = vec![
        processors(host),
        busy(host, thresholds),
        memory(host, thresholds),
        swap(host, thresholds),
        shared_memory(host, thresholds),
        network(host, thresholds),
    ];
    all.extend(model_disk(host));
    all.extend(bridges::check(host));
    for process in &host.processes {
        all.push(served_by(process));
        all.extend(quota(process, thresholds));
        all.extend(waiting(process, thresholds));
        all.extend(files(process, thresholds));
    }
    all
}

pub(super) fn check(name: &'static str, state: State, says: String, remedy: Option<&str>) -> Check {
    Check { part: "Host".into(), name, state, says, remedy: remedy.map(str::to_owned) }
}

fn processors(host: &Host) -> Check {
    let cpu = &host.cpu;
    let model = cpu.model.as_deref().unwrap_or("unknown processor");
    let count = cpu.online.map_or(String::new(), |n| format!(", {n} CPUs"));
    let slow =
        cpu.governors.keys().find(|g| *g == "powersave" && cpu.driver.as_deref() != Some("intel_pstate"));
    let governor = cpu.governors.keys().next().map_or(String::new(), |g| format!(", governor {g}"));
    let says = format!("{model}{count}{governor}");
    match slow {
        Some(_) => check(
            "cpu",
            State::Attention,
            says,
            Some("governor performance (cpupower frequency-set -g performance)"),
        ),
        None => check("cpu", State::Good, says, None),
    }
}

fn busy(host: &Host, thresholds: &Thresholds) -> Check {
    let Some(used) = host.cpu.busy else {
        return check("load", State::Unknown, "one look tells no use of the processors".into(), None);
    };
    let waits = host
        .cpu_pressure
        .and_then(|p| p.some)
        .map_or(String::new(), |s| format!("; something waited for a CPU {s} of the time"));
    let says = format!("processors {} busy{waits}", used.busy);
    if used.stolen.get() > thresholds.get(Limit::Stolen) {
        return check(
            "load",
            State::Attention,
            format!("{says}; the hypervisor gave {} of them to others", used.stolen),
            Some("a machine of its own, or another host"),
        );
    }
    let waiting = host.cpu_pressure.and_then(|p| p.some).map_or(0.0, Ratio::get);
    if waiting >= thresholds.get(Limit::CpuPressure) {
        let change = "fewer neighbours, cores of its own for the server, or more cores";
        return check("load", State::Attention, says, Some(change));
    }
    check("load", State::Good, says, None)
}

fn memory(host: &Host, thresholds: &Thresholds) -> Check {
    let memory = &host.memory;
    let (Some(available), Some(total)) = (memory.available, memory.total) else {
        return check("memory", State::Unknown, "the kernel told no memory".into(), None);
    };
    let huge = memory.huge_pages.filter(|(all, _)| all.get() > 0.0);
    let huge = huge.map_or(String::new(), |(all, free)| format!(", {free} of {all} in huge pages free"));
    let transparent = memory.transparent_huge_pages.as_deref();
    let transparent = transparent.map_or(String::new(), |mode| format!(", transparent huge pages {mode}"));
    let says = format!("{available} of {total} available{huge}{transparent}");
    if let Some(killed) = memory.oom_kills.filter(|n| n.get() > 0.0) {
        return check(
            "memory",
            State::Bad,
            format!("{says}; {killed} processes were killed for want of it just now"),
            Some("more memory, a higher limit, or fewer processes"),
        );
    }
    if let Some(full) =
        host.memory_pressure.and_then(|p| p.full).filter(|f| f.get() > thresholds.get(Limit::MemoryStall))
    {
        return check(
            "memory",
            State::Bad,
            format!("{says}; everything waits for it {full} of the time"),
            Some("more memory, a higher limit, or fewer processes"),
        );
    }
    let before = memory.oom_kills_ever.filter(|n| n.get() > 0.0);
    match before {
        Some(n) => check(
            "memory",
            State::Attention,
            format!("{says}; processes killed for want of it since the machine started: {n}"),
            Some("look for them in the kernel log"),
        ),
        None => check("memory", State::Good, says, None),
    }
}

fn swap(host: &Host, thresholds: &Thresholds) -> Check {
    let memory = &host.memory;
    let moves =
        [memory.swap_in, memory.swap_out].into_iter().flatten().map(|r| r.0.get()).fold(0.0, f64::max);
    match memory.swap_used {
        _ if moves > 0.0 => check(
            "swap",
            if moves >= thresholds.get(Limit::SwapPages) { State::Bad } else { State::Attention },
            format!("{moves:.1} pages a second move"),
            Some("no swap on serving machines (swapoff -a)"),
        ),
        Some(used) if used.get() > 0.0 => check(
            "swap",
            State::Attention,
            format!("{used} in use, nothing moves now"),
            Some("no swap on serving machines (swapoff -a)"),
        ),
        Some(_) => check("swap", State::Good, "none in use".into(), None),
        None => check("swap", State::Unknown, "the kernel told no swap".into(), None),
    }
}

fn shared_memory(host: &Host, thresholds: &Thresholds) -> Check {
    let Some(space) = host.processes.iter().find_map(|p| p.shm).or(host.memory.shm) else {
        return check("shm", State::Unknown, "/dev/shm was not seen".into(), None);
    };
    let says = format!("/dev/shm has {} free of {}", space.free, space.total);
    if space.total.get() <= thresholds.get(Limit::SmallShm) {
        return check(
            "shm",
            State::Attention,
            says,
            Some("docker run --ipc=host or --shm-size 10g; several GPUs need it"),
        );
    }
    if space.free.get() < space.total.get() * thresholds.get(Limit::ShmLeft) {
        return check("shm", State::Bad, says, Some("something fills /dev/shm: ls -la /dev/shm"));
    }
    check("shm", State::Good, says, None)
}

fn network(host: &Host, thresholds: &Thresholds) -> Check {
    let lost = host.network.retransmitted;
    let overflows = host.network.listen_overflows.filter(|n| n.get() > 0.0);
    // A share of nothing is no number: a machine that sent nothing is not one whose counters nobody saw.
    let (unknown, to_do) = match host.network.segments_out {
        Some(_) => (
            "no TCP segment was sent while it was looked at",
            "look again under load, or for longer (--window)",
        ),
        None => (
            "TCP's counters (/proc/net/snmp) were not seen twice",
            "look for longer (--window), in the server's own container where it has one",
        ),
    };
    let lost_says = lost.map_or(unknown.to_owned(), |share| format!("{share} of TCP segments sent again"));
    let says = lost_says + &round_trips(host) + &listen_queue(host);
    if let Some(n) = overflows {
        return check(
            "network",
            State::Bad,
            format!("{says}; {n} connections were refused because a listen queue was full"),
            Some("a longer backlog, or more front-end processes"),
        );
    }
    let limit = thresholds.get(Limit::SegmentsLost);
    match lost {
        Some(share) if share.get() > limit => {
            check("network", State::Attention, says, Some("look for loss on the way: ethtool -S, ip -s link"))
        }
        Some(_) => check("network", State::Good, says, None),
        None => check("network", State::Unknown, says, Some(to_do)),
    }
}

/// The port with the most connections stands for the server.
fn round_trips(host: &Host) -> String {
    host.network.round_trips.iter().max_by_key(|r| r.connections).map_or(String::new(), |r| {
        let many = if r.connections == 1 { "connection" } else { "connections" };
        format!(
            "; round trip {} ({} to {}) over {} {many} to port {}",
            r.median, r.least, r.most, r.connections, r.port
        )
    })
}

/// The longest queue seen before a listener, where one was.
fn listen_queue(host: &Host) -> String {
    let longest = host.network.listeners.iter().filter(|l| l.queued > 0).max_by_key(|l| l.queued);
    let limit = host.network.listen_queue_limit.map_or(String::new(), |most| format!(" of {most}"));
    longest.map_or(String::new(), |l| format!("; {}{limit} connections waited at port {}", l.queued, l.port))
}

/// What the model's disk does; nothing where no model's path is known.
fn model_disk(host: &Host) -> Option<Check> {
    let storage = host.model_storage.as_ref()?;
    let place = format!("{} lies on {} ({})", storage.path, storage.source, storage.file_system);
    let Some(disk) = host.model_disk() else {
        return Some(check("storage", State::Good, format!("{place}, no disk of this machine"), None));
    };
    let (Some(read), Some(busy)) = (disk.read, disk.busy) else {
        return Some(check(
            "storage",
            State::Unknown,
            format!("{place}; one look tells no throughput"),
            None,
        ));
    };
    Some(check("storage", State::Good, format!("{place}: {}/s read, {busy} busy", read.0), None))
}

fn served_by(process: &ServingProcess) -> Check {
    let what = process.serving.map_or("named by the user", |s| s.product);
    let role = process.role().map_or(String::new(), |r| format!(" {r:?}"));
    let cpu = process.cpu.map_or(String::new(), |c| format!(", {:.2} CPUs", c.get()));
    let memory = process.resident.map_or(String::new(), |b| format!(", {b}"));
    let files = process.open_files.zip(process.open_files_limit);
    let files = files.map_or(String::new(), |(open, most)| format!(", {open} of {most} files open"));
    check("process", State::Good, format!("{} {what}{role}{cpu}{memory}{files}", process.pid), None)
}

fn quota(process: &ServingProcess, thresholds: &Thresholds) -> Option<Check> {
    let group = process.cgroup.as_ref()?.most_throttled()?;
    let stopped = group.throttled_periods?;
    let limit = match group.limit {
        Some(Most::At(cpus)) => format!("quota of {:.1} CPUs", cpus.get()),
        _ => "quota".to_owned(),
    };
    let bad = stopped.get() > thresholds.get(Limit::Throttled);
    let says = format!("{}: {limit} stopped it in {stopped} of its periods", process.pid);
    bad.then(|| check("quota", State::Bad, says, Some("take the CPU limit off, or raise it")))
}

fn waiting(process: &ServingProcess, thresholds: &Thresholds) -> Option<Check> {
    let busiest = process.threads.first()?;
    let waited: Ratio = busiest.run_queue_delay.filter(|w| w.get() > thresholds.get(Limit::RunQueue))?;
    let says = format!(
        "{}: its busiest thread ({}) waited for a CPU {waited} of the time",
        process.pid, busiest.name
    );
    Some(check("cpu wait", State::Attention, says, Some("cores of its own, or fewer neighbours")))
}

fn files(process: &ServingProcess, thresholds: &Thresholds) -> Option<Check> {
    let (open, most) = (process.open_files?, process.open_files_limit?);
    let near = f64::from(open) > thresholds.get(Limit::FilesUsed) * f64::from(most);
    let of = |n: u32| Quantity::new(f64::from(n), Unit::Count);
    near.then(|| {
        check(
            "files",
            State::Bad,
            format!("{}: {} of {} files open", process.pid, of(open), of(most)),
            Some("ulimit -n, or LimitNOFILE= in the unit"),
        )
    })
}
