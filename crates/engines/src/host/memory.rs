//! Memory of the machine: what is left, what moves between memory and swap, and who was killed for it.

use intriage_case::{Bytes, Events, PerSecond};

use super::text;
use super::window::{Increase, Window};

/// Memory of the machine.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Memory {
    /// All of it.
    pub total: Option<Bytes>,
    /// What new work can have without swapping.
    pub available: Option<Bytes>,
    /// Shared memory and tmpfs, which cannot be dropped.
    pub shared: Option<Bytes>,
    /// Swap space; zero where there is none.
    pub swap_total: Option<Bytes>,
    /// Swap space in use.
    pub swap_used: Option<Bytes>,
    /// Pages brought back from swap.
    pub swap_in: Option<PerSecond<Events>>,
    /// Pages sent to swap.
    pub swap_out: Option<PerSecond<Events>>,
    /// Page faults that had to wait for storage, of the whole machine.
    pub major_faults: Option<PerSecond<Events>>,
    /// Page faults of all kinds, of the whole machine.
    pub faults: Option<PerSecond<Events>>,
    /// Times a task had to free memory itself before it got any.
    pub reclaim_stalls: Option<PerSecond<Events>>,
    /// Times a task had to move pages together before it got a huge one.
    pub compaction_stalls: Option<PerSecond<Events>>,
    /// Processes killed for want of memory over the window.
    pub oom_kills: Option<Events>,
    /// Processes killed for want of memory since the machine started.
    pub oom_kills_ever: Option<Events>,
    /// Pages the NUMA balancer moved.
    pub numa_moves: Option<PerSecond<Events>>,
    /// Huge pages set aside, and those of them that are free.
    pub huge_pages: Option<(Bytes, Bytes)>,
    /// When transparent huge pages are used: `always`, `madvise` or `never`.
    pub transparent_huge_pages: Option<String>,
    /// Eagerness to swap, 0 to 200.
    pub swappiness: Option<u32>,
    /// Shared memory at `/dev/shm`, as the collector sees it.
    pub shm: Option<Space>,
}

/// A file system's room.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Space {
    /// All of it.
    pub total: Bytes,
    /// What is free.
    pub free: Bytes,
}

pub(super) fn read(window: Window<'_>) -> Memory {
    let info = window.last("proc/meminfo").unwrap_or_default();
    let kilobytes = |key: &str| text::number(info, key).map(|kb| Bytes(kb * 1024.0));
    let swap_total = kilobytes("SwapTotal");
    let grown = |key: &str| window.increase("proc/vmstat", |t| text::number(t, key));
    let rate = |key: &str| grown(key).map(Increase::events);
    Memory {
        total: kilobytes("MemTotal"),
        available: kilobytes("MemAvailable"),
        shared: kilobytes("Shmem"),
        swap_total,
        swap_used: swap_total.zip(kilobytes("SwapFree")).map(|(total, free)| total - free),
        swap_in: rate("pswpin"),
        swap_out: rate("pswpout"),
        major_faults: rate("pgmajfault"),
        faults: rate("pgfault"),
        reclaim_stalls: window.increase("proc/vmstat", reclaim_stalls).map(Increase::events),
        compaction_stalls: rate("compact_stall"),
        oom_kills: grown("oom_kill").map(|i| Events(i.by)),
        oom_kills_ever: window.last("proc/vmstat").and_then(|t| text::number(t, "oom_kill")).map(Events),
        numa_moves: rate("numa_pages_migrated"),
        huge_pages: huge_pages(info),
        transparent_huge_pages: window
            .last("sys/kernel/mm/transparent_hugepage/enabled")
            .and_then(chosen)
            .map(str::to_owned),
        swappiness: window.last("proc/sys/vm/swappiness").and_then(text::single).map(|n| n as u32),
        shm: space(window, "statvfs/dev/shm"),
    }
}

/// The room of a file system in a text of our own.
pub(super) fn space(window: Window<'_>, name: &str) -> Option<Space> {
    let text = window.last(name)?;
    Some(Space {
        total: Bytes(text::number(text, "total_bytes")?),
        free: Bytes(text::number(text, "free_bytes")?),
    })
}

/// One counter a zone since Linux 4.10, one in all before.
fn reclaim_stalls(vmstat: &str) -> Option<f64> {
    let counters = vmstat.lines().filter_map(|line| {
        let (name, count) = line.split_once(' ')?;
        (name == "allocstall" || name.starts_with("allocstall_")).then(|| text::single(count))?
    });
    counters.reduce(|a, b| a + b)
}

fn huge_pages(meminfo: &str) -> Option<(Bytes, Bytes)> {
    let size = text::number(meminfo, "Hugepagesize")? * 1024.0;
    let pages = |key| text::number(meminfo, key).map(|pages| Bytes(pages * size));
    Some((pages("HugePages_Total")?, pages("HugePages_Free")?))
}

/// The word in brackets: `always [madvise] never`.
pub(super) fn chosen(text: &str) -> Option<&str> {
    text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{host, moment};
    use super::*;

    const INFO: &str = "MemTotal:       16000 kB\nMemAvailable:    4000 kB\nShmem:             10 kB\nSwapTotal:       2000 kB\nSwapFree:         500 kB\nHugePages_Total:       4\nHugePages_Free:        1\nHugepagesize:       2048 kB\n";

    #[test]
    fn swapping_and_kills_are_counted_over_the_window() {
        let before =
            "pswpin 10\npswpout 0\npgmajfault 5\nallocstall_dma 1\nallocstall_normal 1\noom_kill 3\n";
        let after =
            "pswpin 30\npswpout 0\npgmajfault 25\nallocstall_dma 1\nallocstall_normal 11\noom_kill 4\n";
        let host = host(&[
            (
                0,
                &[
                    ("proc/meminfo", INFO),
                    ("proc/vmstat", before),
                    ("statvfs/dev/shm", "total_bytes 67108864\nfree_bytes 1024\n"),
                ],
            ),
            (10_000, &[("proc/vmstat", after)]),
        ]);
        let memory = read(Window::new(&host));
        assert_eq!(
            (memory.swap_in, memory.swap_out),
            (Some(PerSecond(Events(2.0))), Some(PerSecond(Events(0.0))))
        );
        assert_eq!((memory.oom_kills, memory.oom_kills_ever), (Some(Events(1.0)), Some(Events(4.0))));
        assert_eq!(memory.reclaim_stalls, Some(PerSecond(Events(1.0))));
        assert_eq!(memory.swap_used, Some(Bytes(1500.0 * 1024.0)));
        assert_eq!(memory.huge_pages, Some((Bytes(8_388_608.0), Bytes(2_097_152.0))));
        assert_eq!(memory.shm, Some(Space { total: Bytes(67_108_864.0), free: Bytes(1024.0) }));
        assert_eq!((memory.numa_moves, memory.compaction_stalls), (None, None));
    }

    #[test]
    fn a_machine_without_swap_uses_none_of_it() {
        let memory = read(Window::new(&moment(&[("proc/meminfo", "SwapTotal: 0 kB\nSwapFree: 0 kB\n")])));
        assert_eq!(
            (memory.swap_total, memory.swap_used, memory.total),
            (Some(Bytes(0.0)), Some(Bytes(0.0)), None)
        );
    }

    #[test]
    fn the_choice_stands_in_brackets() {
        assert_eq!(chosen("always [madvise] never\n"), Some("madvise"));
        assert_eq!(chosen("always"), None);
    }
}
