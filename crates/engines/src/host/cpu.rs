//! The processors: what they are, how fast they may run, and how busy each was.

use std::collections::{BTreeMap, BTreeSet};

use intriage_case::{Events, Hertz, PerSecond, Ratio};

use super::text;
use super::window::Window;

/// The processors of the machine.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cpu {
    /// Model, as the kernel names it.
    pub model: Option<String>,
    /// Logical CPUs that are online.
    pub online: Option<u32>,
    /// Physical cores.
    pub cores: Option<u32>,
    /// Sockets.
    pub sockets: Option<u32>,
    /// Whether two threads share a core.
    pub smt: Option<bool>,
    /// Whether this is a virtual machine; x86 says so.
    pub virtual_machine: Option<bool>,
    /// CPUs the scheduler leaves alone.
    pub isolated: Option<Vec<u32>>,
    /// Frequency governors and how many policies use each; empty where the machine shows none, as most virtual ones.
    pub governors: BTreeMap<String, u32>,
    /// Frequency driver, such as `intel_pstate`.
    pub driver: Option<String>,
    /// Mean frequency over the CPUs when it was read.
    pub frequency_now: Option<Hertz>,
    /// Highest frequency the hardware allows.
    pub frequency_max: Option<Hertz>,
    /// Whether boost frequencies are allowed.
    pub boost: Option<bool>,
    /// All CPUs together over the window; 1.0 is every CPU busy.
    pub busy: Option<CpuUse>,
    /// Each CPU over the window.
    pub each: Vec<(u32, CpuUse)>,
    /// Context switches of the whole machine.
    pub context_switches: Option<PerSecond<Events>>,
    /// Tasks running or waiting for a CPU, mean over the snapshots; the collector itself is one of them.
    pub runnable: Option<f64>,
    /// Load averages over 1, 5 and 15 minutes, at the end.
    pub load: Option<[f64; 3]>,
}

/// How the time of a CPU was spent over the window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CpuUse {
    /// Share not idle and not waiting for storage.
    pub busy: Ratio,
    /// Share in the kernel, interrupts included.
    pub system: Ratio,
    /// Share in interrupts alone.
    pub interrupts: Ratio,
    /// Share in which nothing ran because storage had not answered.
    pub storage_wait: Ratio,
    /// Share the hypervisor gave to somebody else.
    pub stolen: Ratio,
}

pub(super) fn read(window: Window<'_>) -> Cpu {
    let info = window.last("proc/cpuinfo").unwrap_or_default();
    let sys = |name: &str| window.last(&format!("sys/devices/system/cpu/{name}")).map(str::trim);
    let policies = window.folders("sys/devices/system/cpu/cpufreq/");
    let policy =
        |name: &'static str| policies.iter().filter_map(move |p| sys(&format!("cpufreq/{p}/{name}")));
    let mut governors = BTreeMap::new();
    for governor in policy("scaling_governor") {
        *governors.entry(governor.to_owned()).or_default() += 1;
    }
    let places = places(info);
    let sockets: BTreeSet<u32> = places.iter().map(|p| p.0).collect();
    Cpu {
        // arm64 names no model here.
        model: text::value(info, "model name").map(str::to_owned),
        online: sys("online").and_then(text::list).map(|l| l.len() as u32).filter(|n| *n > 0),
        cores: Some(places.len() as u32).filter(|n| *n > 0),
        sockets: Some(sockets.len() as u32).filter(|n| *n > 0),
        smt: sys("smt/active").and_then(switch),
        virtual_machine: text::value(info, "flags").map(|f| f.split(' ').any(|flag| flag == "hypervisor")),
        isolated: sys("isolated").and_then(text::list),
        driver: policy("scaling_driver").next().map(str::to_owned),
        frequency_now: mean(policy("scaling_cur_freq").filter_map(text::single).map(|khz| khz * 1e3))
            .or_else(|| mean(megahertz(info)))
            .map(Hertz),
        frequency_max: policy("cpuinfo_max_freq")
            .filter_map(text::single)
            .reduce(f64::max)
            .map(|khz| Hertz(khz * 1e3)),
        boost: sys("cpufreq/boost")
            .and_then(switch)
            .or_else(|| sys("intel_pstate/no_turbo").and_then(switch).map(|off| !off)),
        governors,
        busy: spent(window, "cpu"),
        each: each(window),
        context_switches: window
            .increase("proc/stat", |t| text::number(t, "ctxt"))
            .map(super::window::Increase::events),
        runnable: mean(window.all("proc/stat").filter_map(|(_, t)| text::number(t, "procs_running"))),
        load: window.last("proc/loadavg").and_then(load),
    }
}

fn switch(text: &str) -> Option<bool> {
    match text {
        "1" => Some(true),
        "0" => Some(false),
        _ => None,
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), v| (sum + v, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

fn megahertz(info: &str) -> impl Iterator<Item = f64> + '_ {
    let lines = info.lines().filter(|l| l.starts_with("cpu MHz"));
    lines
        .filter_map(|l| l.split_once(':')?.1.trim().parse().ok())
        .filter(|m: &f64| m.is_finite())
        .map(|m| m * 1e6)
}

/// Socket and core of each CPU that names both; two threads of a core are one.
fn places(info: &str) -> BTreeSet<(u32, u32)> {
    let mut socket = None;
    let mut places = BTreeSet::new();
    for line in info.lines() {
        let Some((key, value)) = line.split_once(':') else { continue };
        match (key.trim(), value.trim().parse::<u32>()) {
            ("processor", _) => socket = None,
            ("physical id", Ok(id)) => socket = Some(id),
            ("core id", Ok(core)) => places.extend(socket.map(|s| (s, core))),
            _ => {}
        }
    }
    places
}

fn load(text: &str) -> Option<[f64; 3]> {
    let mut numbers = text.split_whitespace().map(|w| w.parse::<f64>().ok().filter(|n| n.is_finite()));
    Some([numbers.next()??, numbers.next()??, numbers.next()??])
}

fn each(window: Window<'_>) -> Vec<(u32, CpuUse)> {
    let last = window.last("proc/stat").unwrap_or_default();
    let names = last.lines().filter_map(|l| l.split(' ').next()).filter(|n| n.starts_with("cpu"));
    names.filter_map(|name| Some((name[3..].parse().ok()?, spent(window, name)?))).collect()
}

/// How one line of `proc/stat` grew from its first to its last reading.
fn spent(window: Window<'_>, cpu: &str) -> Option<CpuUse> {
    let mut readings = window.all("proc/stat").filter_map(|(_, text)| ticks(text, cpu));
    let first = readings.next()?;
    let last = readings.last()?;
    let mut grown = [0.0; 8];
    for (i, grown) in grown.iter_mut().enumerate() {
        *grown = last[i] - first[i];
        // The kernel lets idle and storage wait fall a little; anything else that falls is damage.
        if *grown < 0.0 {
            if !matches!(i, 3 | 4) {
                return None;
            }
            *grown = 0.0;
        }
    }
    let [_, _, system, idle, storage, hard, soft, stolen] = grown;
    let whole: f64 = grown.iter().sum();
    Some(CpuUse {
        busy: Ratio::of(whole - idle - storage, whole)?,
        system: Ratio::of(system + hard + soft, whole)?,
        interrupts: Ratio::of(hard + soft, whole)?,
        storage_wait: Ratio::of(storage, whole)?,
        stolen: Ratio::of(stolen, whole)?,
    })
}

/// user, nice, system, idle, iowait, irq, softirq, steal; guests are in user already.
fn ticks(text: &str, cpu: &str) -> Option<[f64; 8]> {
    let line = text.lines().find(|l| l.split(' ').next() == Some(cpu))?;
    let mut numbers = line.split_whitespace().skip(1).map(|w| w.parse::<u64>().ok());
    let mut ticks = [0.0; 8];
    for tick in &mut ticks {
        *tick = numbers.next()?? as f64;
    }
    Some(ticks)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{host, moment};
    use super::*;

    #[test]
    fn each_cpu_has_its_own_use() {
        let before = "cpu  100 0 0 100 0 0 0 0 0 0\ncpu0 50 0 0 50 0 0 0 0 0 0\ncpu1 50 0 0 50 0 0 0 0 0 0\nctxt 1000\nprocs_running 3\n";
        let after = "cpu  190 0 20 180 0 0 10 0 0 0\ncpu0 140 0 0 60 0 0 0 0 0 0\ncpu1 50 0 20 120 0 0 10 0 0 0\nctxt 3000\nprocs_running 5\n";
        let host = host(&[(0, &[("proc/stat", before)]), (1000, &[("proc/stat", after)])]);
        let cpu = read(Window::new(&host));
        assert_eq!(cpu.each.len(), 2);
        assert_eq!(cpu.each[0].1.busy, Ratio(0.9));
        assert_eq!((cpu.each[1].1.busy, cpu.each[1].1.system), (Ratio(0.3), Ratio(0.3)));
        assert_eq!(cpu.busy.unwrap().busy, Ratio(0.6));
        assert_eq!(cpu.context_switches, Some(PerSecond(Events(2000.0))));
        assert_eq!(cpu.runnable, Some(4.0));
    }

    #[test]
    fn a_restarted_machine_has_no_use_over_the_window() {
        let host = host(&[
            (0, &[("proc/stat", "cpu  100 0 0 100 0 0 0 0 0 0\n")]),
            (1000, &[("proc/stat", "cpu  90 0 0 200 0 0 0 0 0 0\n")]),
        ]);
        assert_eq!(read(Window::new(&host)).busy, None);
    }

    #[test]
    fn cores_are_counted_once_and_governors_by_policy() {
        let info = "processor\t: 0\nmodel name\t: Some CPU @ 2.0GHz\nflags\t\t: fpu hypervisor\nphysical id\t: 0\ncore id\t: 0\ncpu MHz\t\t: 2000.000\n\nprocessor\t: 1\nphysical id\t: 0\ncore id\t: 0\ncpu MHz\t\t: 3000.000\n\nprocessor\t: 2\nphysical id\t: 1\ncore id\t: 0\n";
        let host = moment(&[
            ("proc/cpuinfo", info),
            ("sys/devices/system/cpu/online", "0-2\n"),
            ("sys/devices/system/cpu/smt/active", "1\n"),
            ("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "performance\n"),
            ("sys/devices/system/cpu/cpufreq/policy1/scaling_governor", "powersave\n"),
            ("sys/devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq", "3500000\n"),
            ("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n"),
        ]);
        let cpu = read(Window::new(&host));
        assert_eq!(cpu.model.as_deref(), Some("Some CPU @ 2.0GHz"));
        assert_eq!((cpu.online, cpu.cores, cpu.sockets), (Some(3), Some(2), Some(2)));
        assert_eq!((cpu.smt, cpu.virtual_machine, cpu.boost), (Some(true), Some(true), Some(false)));
        assert_eq!((cpu.frequency_now, cpu.frequency_max), (Some(Hertz(2.5e9)), Some(Hertz(3.5e9))));
        assert_eq!((cpu.governors["performance"], cpu.governors["powersave"]), (1, 1));
    }

    #[test]
    fn nothing_read_is_nothing_known() {
        assert_eq!(read(Window::new(&moment(&[]))), Cpu::default());
    }
}
