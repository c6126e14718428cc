//! How a loop fares: the CPU time it gets and what it waits for.

use intriage_case::{Nanos, Seconds};
use intriage_record::ThreadFacts;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::time::{ClockId, clock_gettime};

/// Watches the calling thread.
#[derive(Debug, Default)]
pub(super) struct Health {
    from: Option<(Nanos, Seconds, Option<Seconds>)>,
    pub longest_turn: Nanos,
}

impl Health {
    /// The first request leaves.
    pub(super) fn begin(&mut self, now: Nanos) {
        if self.from.is_none() {
            self.from = Some((now, cpu_time(), waited()));
        }
    }

    /// The last one has ended.
    pub(super) fn end(&self, now: Nanos) -> ThreadFacts {
        let Some((since, cpu, waited_before)) = self.from else { return ThreadFacts::default() };
        ThreadFacts {
            busy_window: now.since(since).seconds(),
            cpu: cpu_time() - cpu,
            waited: waited().zip(waited_before).map(|(after, before)| after - before),
            longest_turn: self.longest_turn,
        }
    }
}

/// CPU time of the calling thread.
fn cpu_time() -> Seconds {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)
        .map_or(Seconds(0.0), |t| Seconds(t.tv_sec() as f64 + t.tv_nsec() as f64 / 1e9))
}

/// Time the calling thread was ready to run and had no core, where the kernel tells.
fn waited() -> Option<Seconds> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanos: f64 = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(Seconds(nanos / 1e9))
}

/// Raises the limit on open files to what the system allows, and says what it is.
pub fn raise_file_limit() -> u64 {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return 0 };
    if soft < hard && setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok() { hard } else { soft }
}
