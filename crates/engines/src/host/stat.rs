//! `/proc/<pid>/stat` and its like for threads: one line, the name in brackets.

use super::text;

/// Clock ticks a second in `/proc`: `USER_HZ` is part of the kernel's interface and 100 on every machine that serves.
pub(super) const TICKS_PER_SECOND: f64 = 100.0;

/// What is used of a `stat` line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Stat<'a> {
    pub(super) name: &'a str,
    pub(super) parent: u32,
    pub(super) minor_faults: f64,
    pub(super) major_faults: f64,
    /// Ticks on a CPU in user space.
    pub(super) user: f64,
    /// Ticks on a CPU in the kernel.
    pub(super) system: f64,
    pub(super) threads: u32,
    /// Ticks after boot at which it started: tells a process from a later one with the same number.
    pub(super) started: u64,
    /// The CPU it last ran on.
    pub(super) last_cpu: Option<u32>,
}

/// Reads the line; a name may hold spaces and brackets, so the last bracket ends it.
pub(super) fn read(line: &str) -> Option<Stat<'_>> {
    let (before, after) = line.rsplit_once(')')?;
    let name = before.split_once('(')?.1;
    let fields: Vec<&str> = after.split_whitespace().collect();
    let field = |i: usize| fields.get(i)?.parse::<u64>().ok();
    Some(Stat {
        name,
        parent: fields.get(1)?.parse().ok()?,
        minor_faults: field(7)? as f64,
        major_faults: field(9)? as f64,
        user: field(11)? as f64,
        system: field(12)? as f64,
        threads: fields.get(17)?.parse().ok()?,
        started: field(19)?,
        last_cpu: fields.get(36).and_then(|f| f.parse().ok()),
    })
}

/// `schedstat`: nanoseconds on a CPU and nanoseconds waiting for one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Schedstat {
    pub(super) ran: f64,
    pub(super) waited: f64,
}

/// Reads `schedstat`; a kernel that does not keep it writes three zeros, and that is not a measurement.
pub(super) fn schedstat(line: &str) -> Option<Schedstat> {
    let mut numbers = line.split_whitespace().map(text::single);
    let (ran, waited, slices) = (numbers.next()??, numbers.next()??, numbers.next()??);
    (slices > 0.0).then_some(Schedstat { ran, waited })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LINE: &str = "4711 (VLLM :: (x) y) S 12 4711 4711 0 -1 4194304 300 0 7 0 250 50 0 0 20 0 9 0 8851 1000 200 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 5 0 0 0 0 0";

    #[test]
    fn a_name_with_brackets_and_spaces_is_read_whole() {
        let stat = read(LINE).unwrap();
        assert_eq!((stat.name, stat.parent), ("VLLM :: (x) y", 12));
        assert_eq!((stat.user, stat.system, stat.threads), (250.0, 50.0, 9));
        assert_eq!((stat.minor_faults, stat.major_faults), (300.0, 7.0));
        assert_eq!((stat.started, stat.last_cpu), (8851, Some(5)));
    }

    #[test]
    fn three_zeros_are_a_kernel_without_schedstat() {
        assert_eq!(schedstat("0 0 0\n"), None);
        assert_eq!(schedstat("2000000000 500000000 9\n"), Some(Schedstat { ran: 2e9, waited: 5e8 }));
        assert_eq!(schedstat("1 2"), None);
    }

    proptest! {
        #[test]
        fn any_line_is_survived(line in "[ -~]{0,120}", cut in 0..LINE.len()) {
            let _ = (read(&line), schedstat(&line));
            let _ = read(&LINE[..cut]);
        }
    }
}
