//! Watching the machine from a thread of its own, which never reads the kernel's files itself: one may never answer.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use intriage_case::HostSnapshot;

use super::root::UNANSWERED;
use super::{Collector, HostError, Root};

/// Most snapshots kept: an hour at one a second.
const MOST_SNAPSHOTS: usize = 3600;

/// Most bytes kept of a machine in all.
pub const MOST_BYTES: usize = 64 << 20;

/// How long one file may take. The command line of a process that hangs in a driver may never come, and `ss` has 2 s.
const MOST_FOR_A_FILE: Duration = Duration::from_secs(3);

/// How long the look that closes the window may take in all.
const MOST_FOR_THE_LAST: Duration = Duration::from_secs(4);

/// Most files that are given up one after the other.
const MOST_GIVEN_UP: usize = 8;

/// Time between two looks at whether a look is under way.
const POLL: Duration = Duration::from_millis(100);

/// Looks at the machine from now until [`HostWatch::tell`], or until its end.
#[derive(Debug)]
pub struct HostWatch {
    stop: Sender<()>,
    seen: Arc<Mutex<Vec<HostSnapshot>>>,
    /// When it ended, and whether with a last look.
    ended: Receiver<(Instant, bool)>,
}

impl HostWatch {
    /// Begins with a full snapshot; counters follow at this interval, the last ones at the end.
    pub fn start(every: Duration, end: Option<Instant>) -> Result<Self, HostError> {
        Self::start_at(Root::live(), every, end)
    }

    fn start_at(root: Root, every: Duration, end: Option<Instant>) -> Result<Self, HostError> {
        let looks = Looks::start(root)?;
        let ((stop, stopped), (tell, ended)) = (mpsc::channel(), mpsc::channel());
        let seen: Arc<Mutex<Vec<HostSnapshot>>> = Arc::default();
        let kept = Arc::clone(&seen);
        std::thread::Builder::new()
            .name("host".into())
            .spawn(move || {
                let whole = watch(looks, every, end, &stopped, &kept);
                // Nobody may wait any more.
                let _ = tell.send((Instant::now(), whole));
            })
            .map_err(|e| HostError::Thread(e.to_string()))?;
        Ok(Self { stop, seen, ended })
    }

    /// Says that the window is over.
    pub fn tell(&self) {
        // It may have ended by itself.
        let _ = self.stop.send(());
    }

    /// What was seen, and when that ended. Where the last look does not come in time, what was seen before it stays.
    pub fn result(self, until: Instant) -> Result<(Vec<HostSnapshot>, Instant), HostError> {
        let ended = self.ended.recv_timeout(until.saturating_duration_since(Instant::now()));
        let (at, whole) = ended.unwrap_or_else(|_| (Instant::now(), false));
        let mut seen = std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner));
        let Some(last) = seen.last_mut() else { return Err(HostError::Unanswered) };
        if !whole {
            let line = format!("the last look\t{UNANSWERED}\n");
            last.files.entry("denied".into()).or_default().push_str(&line);
        }
        Ok((seen, at))
    }
}

/// Looks until told; says whether the last look came.
fn watch(
    mut looks: Looks,
    every: Duration,
    end: Option<Instant>,
    stopped: &Receiver<()>,
    seen: &Mutex<Vec<HostSnapshot>>,
) -> bool {
    let mut bytes = 0;
    let mut look = |until: Option<Instant>| {
        let Some(snapshot) = looks.look(until) else { return false };
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        if bytes < MOST_BYTES && seen.len() < MOST_SNAPSHOTS {
            bytes += snapshot.size();
            seen.push(snapshot);
        }
        true
    };
    let mut due = Instant::now();
    look(None);
    loop {
        due += every;
        let next = end.map_or(due, |end| end.min(due));
        let told = stopped.recv_timeout(next.saturating_duration_since(Instant::now()));
        // At its end, told to stop, or nobody left to tell: the last counters close the window.
        if told != Err(RecvTimeoutError::Timeout) || end.is_some_and(|end| end <= Instant::now()) {
            return look(Some(Instant::now() + MOST_FOR_THE_LAST));
        }
        look(None);
    }
}

/// A thread that looks when it is asked to, and is left behind where it does not come back.
struct Looks {
    root: Root,
    given_up: usize,
    ask: Sender<()>,
    seen: Receiver<HostSnapshot>,
}

impl Looks {
    fn start(root: Root) -> Result<Self, HostError> {
        let mut collector = Collector::new(root.clone())?;
        let (ask, asked) = mpsc::channel();
        let (send, seen) = mpsc::channel();
        std::thread::Builder::new()
            .name("host-look".into())
            .spawn(move || {
                let mut first = true;
                while asked.recv().is_ok() {
                    let snapshot =
                        if first { collector.snapshot_full() } else { collector.snapshot_counters() };
                    first = false;
                    // Nobody waits for one that was left behind.
                    if send.send(snapshot).is_err() {
                        return;
                    }
                }
            })
            .map_err(|e| HostError::Thread(e.to_string()))?;
        Ok(Self { root, given_up: 0, ask, seen })
    }

    /// The next snapshot, in full from a new thread where a file had to be given up; `None` where time or threads run out.
    fn look(&mut self, until: Option<Instant>) -> Option<HostSnapshot> {
        self.ask.send(()).ok()?;
        loop {
            match self.seen.recv_timeout(POLL) {
                Ok(snapshot) => return Some(snapshot),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return None;
            }
            let Some(file) = self.root.stuck_at(MOST_FOR_A_FILE) else { continue };
            if self.given_up == MOST_GIVEN_UP {
                return None;
            }
            let anew = Self::start(self.root.without(file)).ok()?;
            *self = Self { given_up: self.given_up + 1, ..anew };
            self.ask.send(()).ok()?;
        }
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn a_watch_has_a_beginning_and_an_end() {
        let watch = HostWatch::start(Duration::from_mins(1), None).unwrap();
        watch.tell();
        let (snapshots, _) = watch.result(Instant::now() + Duration::from_mins(1)).unwrap();
        assert_eq!(snapshots.len(), 2);
        assert!(snapshots[0].at < snapshots[1].at, "a case names them by their time");
        assert!(snapshots[0].text("proc/meminfo").is_some() && snapshots[1].text("proc/stat").is_some());
    }

    /// A machine where reading this file never ends: a pipe nobody writes into.
    fn machine_stuck_at(file: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("proc/meminfo", "MemTotal: 1 kB\n");
        write("proc/7/cmdline", "vllm\0serve\0m\0");
        write("proc/7/stat", "7 (vllm) S 1 7 7 0 -1 0 0 0 0 0 10 5 0 0 20 0 9 0 100 0 0\n");
        let path = dir.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        dir
    }

    #[test]
    fn a_file_that_never_answers_is_given_up_and_told() {
        let dir = machine_stuck_at("proc/9/cmdline");
        let mut looks = Looks::start(Root::at(dir.path())).unwrap();
        let seen = looks.look(None).unwrap();
        assert!(seen.text("proc/7/stat").is_some(), "the others are seen: {seen:?}");
        let denied = seen.text("denied").unwrap_or_default();
        assert!(denied.contains("proc/9/cmdline\tthe kernel did not answer"), "{denied:?}");
        assert!(looks.look(None).is_some_and(|next| next.text("proc/7/stat").is_some()));
    }

    #[test]
    fn the_last_look_has_an_end() {
        let dir = machine_stuck_at("proc/9/cmdline");
        let mut looks = Looks::start(Root::at(dir.path())).unwrap();
        assert_eq!(looks.look(Some(Instant::now())), None);
    }

    #[test]
    fn what_was_seen_before_a_look_that_never_ends_stays() {
        let dir = machine_stuck_at("aside");
        let watch = HostWatch::start_at(Root::at(dir.path()), Duration::from_mins(1), None).unwrap();
        while watch.seen.lock().unwrap().is_empty() {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::fs::rename(dir.path().join("aside"), dir.path().join("proc/meminfo")).unwrap();
        watch.tell();
        let (snapshots, _) = watch.result(Instant::now()).unwrap();
        assert_eq!(snapshots.len(), 1);
        assert!(snapshots[0].text("denied").is_some_and(|text| text.contains("the last look")));
    }

    #[test]
    fn a_machine_that_never_answered_is_an_error() {
        let dir = machine_stuck_at("proc/9/cmdline");
        let watch = HostWatch::start_at(Root::at(dir.path()), Duration::from_mins(1), None).unwrap();
        assert!(matches!(watch.result(Instant::now()), Err(HostError::Unanswered)));
    }
}
