//! Which threads of a process are watched: the busiest, since most of a hundred do nothing.

use std::collections::BTreeMap;

use super::gather::Gather;
use super::trim;

/// Most threads looked at to find the busiest.
const MAX_SCANNED: usize = 1024;

/// The threads of one process.
#[derive(Debug, Default)]
pub(super) struct Threads {
    /// Watched, the main thread first.
    watched: Vec<u32>,
    /// How long each had run when last looked at, in nanoseconds.
    ran: BTreeMap<u32, u64>,
}

impl Threads {
    /// Chooses the threads that ran most since the last look; at the first look, since they began.
    pub(super) fn choose(&mut self, gather: &Gather<'_>, pid: u32, most: usize) {
        let mut buffer = Vec::new();
        let tids = gather.root.numbers(&format!("/proc/{pid}/task"), MAX_SCANNED);
        let now: BTreeMap<u32, u64> =
            tids.iter().filter_map(|tid| Some((*tid, ran(gather, pid, *tid, &mut buffer)?))).collect();
        let since = |tid: &u32| now[tid].saturating_sub(self.ran.get(tid).copied().unwrap_or(0));
        let mut busiest: Vec<u32> = now.keys().copied().filter(|tid| *tid != pid).collect();
        busiest.sort_by_key(|tid| std::cmp::Reverse(since(tid)));
        // The main thread is often the loop everything waits for.
        self.watched = [pid].into_iter().chain(busiest).take(most).collect();
        self.ran = now;
    }

    /// Takes the files of the `most` busiest threads.
    pub(super) fn take(&self, gather: &mut Gather<'_>, pid: u32, most: usize) {
        for tid in self.watched.iter().take(most) {
            let base = format!("/proc/{pid}/task/{tid}");
            // A thread that ended leaves nothing to read, and that is no gap worth a line each.
            gather.take_if_there(&format!("{base}/stat"), str::to_owned);
            gather.take_if_there(&format!("{base}/schedstat"), str::to_owned);
            gather.take_if_there(&format!("{base}/status"), trim::thread_status);
            gather.take_if_there(&format!("{base}/sched"), trim::sched);
        }
    }
}

/// Time on a CPU in nanoseconds, from `schedstat` or, where the kernel keeps none, from the ticks in `stat`.
fn ran(gather: &Gather<'_>, pid: u32, tid: u32, buffer: &mut Vec<u8>) -> Option<u64> {
    let mut first = |file: &str| {
        gather.root.read(&format!("/proc/{pid}/task/{tid}/{file}"), 4096, buffer).ok()?;
        Some(String::from_utf8_lossy(buffer).into_owned())
    };
    let nanoseconds =
        first("schedstat").and_then(|t| t.split(' ').next()?.parse::<u64>().ok()).filter(|ns| *ns > 0);
    nanoseconds.or_else(|| {
        let stat = first("stat")?;
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
        let (user, system): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        Some(user.saturating_add(system).saturating_mul(10_000_000))
    })
}
