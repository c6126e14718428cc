//! A process and all that it started: what they use, and their end.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// How long one look takes at least.
const POLL: Duration = Duration::from_millis(20);
/// Most processes looked at.
const MOST: usize = 65_536;

/// One line of `/proc/<pid>/stat`, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stat {
    pid: i32,
    parent: i32,
    group: i32,
    /// Time on processors, in ticks.
    ticks: u64,
    ended: bool,
}

/// Processes that belong to a child: its group, and whatever descends from it.
fn members(child: i32) -> Vec<Stat> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|e| e.file_name().to_str()?.parse::<i32>().ok());
    let all: Vec<Stat> = numbers.take(MOST).filter_map(|pid| stat(Path::new("/proc"), pid)).collect();
    let mut family = BTreeSet::from([child]);
    loop {
        let before = family.len();
        family.extend(
            all.iter()
                .filter(|s| s.group == child || family.contains(&s.parent))
                .map(|s| s.pid)
                .collect::<Vec<_>>(),
        );
        if family.len() == before {
            break;
        }
    }
    all.into_iter().filter(|s| family.contains(&s.pid) && !s.ended).collect()
}

fn stat(proc: &Path, pid: i32) -> Option<Stat> {
    let text = std::fs::read_to_string(proc.join(pid.to_string()).join("stat")).ok()?;
    // The name may hold anything, also parentheses and spaces.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    let signed = |at: usize| fields.get(at)?.parse::<i32>().ok();
    let ended = matches!(fields.first(), Some(&("Z" | "X")));
    Some(Stat { pid, parent: signed(1)?, group: signed(2)?, ticks: number(11)? + number(12)?, ended })
}

/// Time all of them have spent on processors, in ticks of a hundredth of a second.
pub(super) fn ticks(child: &Child) -> u64 {
    members(raw(child)).iter().map(|s| s.ticks).sum()
}

/// Ends a child with all that it started: asks first, and after the grace time insists. Afterwards none is left.
pub(super) fn end(child: &mut Child, grace: Duration) {
    let group = Pid::from_child(child);
    // A group that is gone already needs no end.
    let _ = kill_process_group(group, Signal::TERM);
    let until = Instant::now() + grace;
    loop {
        let ended = !matches!(child.try_wait(), Ok(None));
        let left = members(raw(child));
        if (ended && left.is_empty()) || Instant::now() >= until {
            break;
        }
        std::thread::sleep(POLL);
    }
    let left: BTreeSet<i32> = members(raw(child)).iter().map(|s| s.pid).collect();
    let _ = kill_process_group(group, Signal::KILL);
    // One that left the group, and is still a descendant, is killed by its number.
    for pid in left.iter().filter_map(|pid| Pid::from_raw(*pid)) {
        let _ = kill_process(pid, Signal::KILL);
    }
    let _ = child.wait();
}

fn raw(child: &Child) -> i32 {
    i32::try_from(child.id()).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::Command;

    use super::*;

    fn shell(script: &str) -> Child {
        Command::new("/bin/sh").args(["-c", script]).process_group(0).spawn().unwrap()
    }

    #[test]
    fn the_end_of_a_process_is_the_end_of_its_children() {
        let mut child = shell("sleep 600 & sleep 600 & wait");
        while members(raw(&child)).len() < 3 {
            std::thread::sleep(POLL);
        }
        let pids: Vec<i32> = members(raw(&child)).iter().map(|s| s.pid).collect();
        end(&mut child, Duration::from_secs(5));
        for pid in pids {
            assert!(stat(Path::new("/proc"), pid).is_none_or(|s| s.ended), "{pid} is left behind");
        }
    }

    #[test]
    fn one_that_does_not_listen_is_killed_after_the_grace_time() {
        let mut child = shell("trap '' TERM; while :; do sleep 0.1; done");
        std::thread::sleep(Duration::from_millis(200));
        let began = Instant::now();
        end(&mut child, Duration::from_millis(300));
        assert!(began.elapsed() < Duration::from_secs(5));
        assert!(matches!(child.try_wait(), Ok(Some(_))));
    }

    #[test]
    fn work_is_seen_and_rest_is_not() {
        let mut busy = shell("while :; do :; done");
        let first = ticks(&busy);
        std::thread::sleep(Duration::from_millis(600));
        assert!(ticks(&busy) > first);
        end(&mut busy, Duration::from_secs(1));
        let mut idle = shell("sleep 600");
        std::thread::sleep(Duration::from_millis(200));
        let first = ticks(&idle);
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(ticks(&idle), first);
        end(&mut idle, Duration::from_secs(1));
    }
}
