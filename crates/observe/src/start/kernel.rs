//! What the kernel said of a kill while a start was watched.

use intriage_case::LogText;

use crate::kernel_log;

/// Words of the kernel when it ends a process for memory.
const KILLS: &[&str] = &["oom-kill", "Out of memory", "Killed process", "Memory cgroup out of memory"];

/// Seconds since the kernel started, by which it stamps its log.
pub(super) fn uptime() -> Option<f64> {
    std::fs::read_to_string("/proc/uptime").ok()?.split(' ').next()?.parse().ok()
}

/// The kernel's lines since then, where one of them tells of a kill; `None` where none does or nobody may read them.
pub(super) fn kills_since(uptime: f64) -> Option<LogText> {
    let log = kernel_log::read().ok()?;
    let text = since(&log.text, uptime);
    KILLS.iter().any(|words| text.contains(words)).then_some(LogText { text, ..log })
}

/// Lines stamped `[ 1234.5]` at this second or later.
fn since(text: &str, uptime: f64) -> String {
    let stamp = |line: &str| line.strip_prefix('[')?.split(']').next()?.trim().parse::<f64>().ok();
    let later = text.lines().filter(|line| stamp(line).is_some_and(|at| at >= uptime));
    later.flat_map(|line| [line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_killed_before_is_of_somebody_else() {
        let text = "[   10.000000] Out of memory: Killed process 7 (old)\n[  200.500000] Out of memory: Killed process 9 (vllm)\nno stamp\n";
        assert_eq!(since(text, 100.0), "[  200.500000] Out of memory: Killed process 9 (vllm)\n");
        assert_eq!(since(text, 300.0), "");
    }
}
