//! Watching the machine from a thread of its own.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use intriage_case::HostSnapshot;

use super::{Collector, HostError, Root};

/// Most snapshots kept: an hour at one a second.
const MOST_SNAPSHOTS: usize = 3600;

/// Most bytes kept of a machine in all.
pub const MOST_BYTES: usize = 64 << 20;

/// Looks at the machine from now until [`HostWatch::stop`].
#[derive(Debug)]
pub struct HostWatch {
    stop: Sender<()>,
    thread: JoinHandle<Vec<HostSnapshot>>,
}

impl HostWatch {
    /// Begins with a full snapshot; counters follow at this interval.
    pub fn start(every: Duration) -> Result<Self, HostError> {
        let mut collector = Collector::new(Root::live())?;
        let (stop, stopped) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("host".into())
            .spawn(move || {
                let mut due = Instant::now();
                let mut snapshots = vec![collector.snapshot_full()];
                let mut bytes = snapshots[0].size();
                loop {
                    due += every;
                    let told = stopped.recv_timeout(due.saturating_duration_since(Instant::now()));
                    if snapshots.len() < MOST_SNAPSHOTS && bytes < MOST_BYTES {
                        let snapshot = collector.snapshot_counters();
                        bytes += snapshot.size();
                        snapshots.push(snapshot);
                    }
                    // Told to stop, or nobody is left to tell: the last counters close the window.
                    if told != Err(RecvTimeoutError::Timeout) {
                        return snapshots;
                    }
                }
            })
            .map_err(|e| HostError::Thread(e.to_string()))?;
        Ok(Self { stop, thread })
    }

    /// Ends with the last counters.
    pub fn stop(self) -> Result<Vec<HostSnapshot>, HostError> {
        // The thread may have ended by itself: then joining tells.
        let _ = self.stop.send(());
        self.thread.join().map_err(|_| HostError::Thread("the thread that looks at the machine died".into()))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_watch_has_a_beginning_and_an_end() {
        let watch = HostWatch::start(Duration::from_mins(1)).unwrap();
        let snapshots = watch.stop().unwrap();
        assert_eq!(snapshots.len(), 2);
        assert!(snapshots[0].at < snapshots[1].at, "a case names them by their time");
        assert!(snapshots[0].text("proc/meminfo").is_some() && snapshots[1].text("proc/stat").is_some());
    }
}
