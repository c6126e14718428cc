//! Threads of the serving processes: how much each ran, and how long it waited for its turn.

use std::collections::BTreeMap;

use intriage_case::{Events, PerSecond, Ratio, Seconds};

use super::window::{Increase, Window, increase};
use super::{stat, text};

/// One thread over the time it was watched.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadUse {
    /// Its number; the main thread has that of the process.
    pub tid: u32,
    /// Its name, at most 15 letters.
    pub name: String,
    /// Share of the time it ran; 1.0 is a whole CPU.
    pub cpu: Option<Ratio>,
    /// Share of the time it could have run but waited for a CPU; `None` where the kernel keeps no schedstat.
    ///
    /// Time in which a quota stopped it counts too (seen on Linux 6.18, `fixtures/host/busy-under-quota`): a thread
    /// that waits may lack a CPU or be held back, and [`Cgroup::most_throttled`](super::Cgroup::most_throttled) tells which.
    pub run_queue_delay: Option<Ratio>,
    /// Times it gave the CPU up to wait for something.
    pub voluntary_switches: Option<PerSecond<Events>>,
    /// Times the CPU was taken from it.
    pub involuntary_switches: Option<PerSecond<Events>>,
    /// Moves to another CPU; `None` where the kernel has no `/proc/<pid>/sched`.
    pub migrations: Option<PerSecond<Events>>,
    /// CPUs it was found on, and in how many snapshots.
    pub seen_on: BTreeMap<u32, u32>,
    /// CPUs it may run on.
    pub allowed_cpus: Option<Vec<u32>>,
    /// How long it was watched; a thread that became busy late was watched for less than the window.
    pub watched: Option<Seconds>,
}

/// The watched threads of a process, the busiest first.
pub(super) fn read(window: Window<'_>, pid: u32) -> Vec<ThreadUse> {
    let prefix = format!("proc/{pid}/task/");
    let tids = window.folders(&prefix).into_iter().filter_map(|f| f.parse().ok());
    let mut threads: Vec<ThreadUse> = tids.filter_map(|tid| one(window, &prefix, tid)).collect();
    let ran = |t: &ThreadUse| t.cpu.map_or(-1.0, Ratio::get);
    threads.sort_by(|a, b| ran(b).total_cmp(&ran(a)).then(a.tid.cmp(&b.tid)));
    threads
}

fn one(window: Window<'_>, prefix: &str, tid: u32) -> Option<ThreadUse> {
    let file = |name: &str| format!("{prefix}{tid}/{name}");
    let stat_name = file("stat");
    let last = stat::read(window.last(&stat_name)?)?;
    // A number can be given again: only what has the same start is the same thread.
    let window = window.since(|s| {
        s.text(&stat_name).is_none_or(|t| stat::read(t).is_some_and(|now| now.started == last.started))
    });
    let schedstat = |pick: fn(stat::Schedstat) -> f64| {
        window.increase(&file("schedstat"), |t| stat::schedstat(t).map(pick))
    };
    let ticks = window.increase(&stat_name, |t| stat::read(t).map(|s| s.user + s.system));
    let status = file("status");
    let count = |name: &str, key: &str| window.increase(name, |t| text::number(t, key)).map(Increase::events);
    Some(ThreadUse {
        tid,
        name: last.name.to_owned(),
        cpu: schedstat(|s| s.ran)
            .and_then(|i| i.share(1e9))
            .or_else(|| ticks.and_then(|i| i.share(stat::TICKS_PER_SECOND))),
        // A wait that began before the window is counted whole when it ends.
        run_queue_delay: schedstat(|s| s.waited).and_then(|i| i.share(1e9)).map(|s| Ratio(s.get().min(1.0))),
        voluntary_switches: count(&status, "voluntary_ctxt_switches"),
        involuntary_switches: count(&status, "nonvoluntary_ctxt_switches"),
        migrations: count(&file("sched"), "se.nr_migrations"),
        seen_on: seen_on(window, &stat_name),
        allowed_cpus: window
            .last(&status)
            .and_then(|t| text::value(t, "Cpus_allowed_list"))
            .and_then(text::list),
        watched: increase(window.all(&stat_name).map(|(at, _)| (at, 0.0))).map(|i| i.over),
    })
}

fn seen_on(window: Window<'_>, stat_name: &str) -> BTreeMap<u32, u32> {
    let mut seen = BTreeMap::new();
    for cpu in window.all(stat_name).filter_map(|(_, text)| stat::read(text)?.last_cpu) {
        *seen.entry(cpu).or_default() += 1;
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::super::testing::{host, stat_line};
    use super::*;

    fn line(ticks: u32, started: u32) -> String {
        stat_line(9, 1, ticks, started, 3)
    }

    const STAT: &str = "proc/9/task/9/stat";
    const SCHED: &str = "proc/9/task/9/schedstat";

    #[test]
    fn waiting_for_a_cpu_is_told_from_running() {
        let (a, b) = (line(100, 5), line(160, 5));
        let host = host(&[
            (
                0,
                &[
                    (STAT, &a),
                    (SCHED, "1000000000 0 10\n"),
                    (
                        "proc/9/task/9/status",
                        "voluntary_ctxt_switches:\t10\nnonvoluntary_ctxt_switches:\t1\nCpus_allowed_list:\t0-1\n",
                    ),
                ],
            ),
            (
                1000,
                &[
                    (STAT, &b),
                    (SCHED, "1600000000 300000000 40\n"),
                    (
                        "proc/9/task/9/status",
                        "voluntary_ctxt_switches:\t30\nnonvoluntary_ctxt_switches:\t6\nCpus_allowed_list:\t0-1\n",
                    ),
                ],
            ),
        ]);
        let threads = read(Window::new(&host), 9);
        assert_eq!(threads.len(), 1);
        assert_eq!((threads[0].cpu, threads[0].run_queue_delay), (Some(Ratio(0.6)), Some(Ratio(0.3))));
        assert_eq!(threads[0].voluntary_switches, Some(PerSecond(Events(20.0))));
        assert_eq!(threads[0].involuntary_switches, Some(PerSecond(Events(5.0))));
        assert_eq!((threads[0].migrations, &threads[0].seen_on), (None, &BTreeMap::from([(3, 2)])));
        assert_eq!(threads[0].allowed_cpus, Some(vec![0, 1]));
    }

    #[test]
    fn without_schedstat_the_ticks_tell_how_much_it_ran_and_nothing_tells_the_delay() {
        let (a, b) = (line(100, 5), line(150, 5));
        for zeros in [&[(SCHED, "0 0 0\n")][..], &[]] {
            let at = |stat| [&[(STAT, stat)], zeros].concat();
            let host = host(&[(0, &at(&a)), (2000, &at(&b))]);
            let thread = &read(Window::new(&host), 9)[0];
            assert_eq!((thread.cpu, thread.run_queue_delay), (Some(Ratio(0.25)), None));
        }
    }

    #[test]
    fn a_number_given_to_a_new_thread_starts_afresh() {
        let (a, b, c) = (line(900, 5), line(10, 77), line(30, 77));
        let host = host(&[(0, &[(STAT, &a)]), (1000, &[(STAT, &b)]), (2000, &[(STAT, &c)])]);
        let thread = &read(Window::new(&host), 9)[0];
        assert_eq!((thread.cpu, thread.watched), (Some(Ratio(0.2)), Some(Seconds(1.0))));
    }
}
