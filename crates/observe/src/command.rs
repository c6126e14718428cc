//! Another program, run with a limit in time and in bytes. It never outlives its limit, and what it started dies with it.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// How long one look at a program takes at least.
const POLL: Duration = Duration::from_millis(10);

/// What a program said.
#[derive(Debug)]
pub(crate) struct Said {
    /// Its output; bytes that are not UTF-8 are replaced.
    pub(crate) text: String,
    /// Whether it ended by itself, within its limits, and without complaint.
    pub(crate) well: bool,
    /// What it complained of, or how it ended, in one line; empty where nothing was wrong.
    pub(crate) why: String,
}

/// Where a program lies that can be run by its name; `None` where there is none.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    std::env::split_paths(&paths).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// Runs a program to its end, at most for this long and this many bytes.
pub(crate) fn run(program: &Path, args: &[&str], time: Duration, bytes: usize) -> std::io::Result<Said> {
    Ok(Running::start(program, args, bytes)?.wait(time))
}

/// A program under way.
pub(crate) struct Running {
    child: Child,
    out: Reading,
    complaints: Reading,
}

impl Running {
    /// Starts a program of which at most this many bytes are read.
    pub(crate) fn start(program: &Path, args: &[&str], bytes: usize) -> std::io::Result<Self> {
        let mut child = Command::new(program)
            .args(args.iter().map(OsStr::new))
            // Words and numbers as the readers know them.
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A group of its own, so that what it starts can be ended with it.
            .process_group(0)
            .spawn()?;
        let out = Reading::start(child.stdout.take(), bytes);
        let complaints = Reading::start(child.stderr.take(), 4096);
        Ok(Self { child, out, complaints })
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// What it said so far.
    pub(crate) fn so_far(&self) -> String {
        self.out.text()
    }

    /// Waits for its end, at most this long.
    pub(crate) fn wait(mut self, time: Duration) -> Said {
        let end = Instant::now() + time;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return self.said(Ended::Itself(status)),
                Ok(None) if Instant::now() < end => std::thread::sleep(POLL),
                _ => {
                    self.end();
                    return self.said(Ended::TooSlow(time));
                }
            }
        }
    }

    /// Ends it, and takes what it said until now.
    pub(crate) fn stop(mut self) -> Said {
        if let Ok(Some(status)) = self.child.try_wait() {
            return self.said(Ended::Itself(status));
        }
        self.end();
        self.said(Ended::Asked)
    }

    fn end(&mut self) {
        // Where the group is gone already there is nothing left to end.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
    }

    fn said(self, ended: Ended) -> Said {
        let (text, cut) = (self.out.finish(), self.out.is_cut());
        let complaint = self.complaints.finish();
        let first = complaint.lines().chain(text.lines()).map(str::trim).find(|line| !line.is_empty());
        let why = match ended {
            _ if cut => "it said more than is read".to_owned(),
            Ended::TooSlow(time) => format!("it did not end within {} s", time.as_secs_f64()),
            Ended::Itself(status) if !status.success() => {
                first.map_or_else(|| status.to_string(), |line| line.chars().take(200).collect())
            }
            Ended::Itself(_) | Ended::Asked => String::new(),
        };
        Said { text, well: why.is_empty(), why }
    }
}

#[derive(Clone, Copy)]
enum Ended {
    Itself(ExitStatus),
    TooSlow(Duration),
    Asked,
}

/// One of its outputs, read by a thread as it comes.
struct Reading {
    bytes: Arc<Mutex<Vec<u8>>>,
    limit: usize,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Reading {
    fn start(pipe: Option<impl Read + Send + 'static>, limit: usize) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&bytes);
        // One byte more than the limit shows that there was more.
        let thread = pipe.map(|pipe| {
            std::thread::spawn(move || {
                let mut pipe = pipe.take(limit as u64 + 1);
                let mut buffer = [0; 8192];
                while let Ok(read @ 1..) = pipe.read(&mut buffer) {
                    kept.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&buffer[..read]);
                }
            })
        });
        Self { bytes, limit, thread }
    }

    fn text(&self) -> String {
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes[..bytes.len().min(self.limit)]).into_owned()
    }

    fn is_cut(&self) -> bool {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner).len() > self.limit
    }

    /// The text, once nobody writes any more; somebody who left its group may hold the pipe, and is not waited for.
    fn finish(&self) -> String {
        let end = Instant::now() + Duration::from_millis(500);
        while self.thread.as_ref().is_some_and(|t| !t.is_finished()) && Instant::now() < end {
            std::thread::sleep(POLL);
        }
        self.text()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_mins(1);

    fn shell(script: &str, time: Duration, bytes: usize) -> Said {
        run(Path::new("/bin/sh"), &["-c", script], time, bytes).unwrap()
    }

    #[test]
    fn a_program_says_its_text_or_why_not() {
        let said = shell("echo hello", LONG, 100);
        assert_eq!((said.text.as_str(), said.well), ("hello\n", true));
        let said = shell("echo Operation not permitted >&2; exit 1", LONG, 100);
        assert_eq!((said.well, said.why.as_str()), (false, "Operation not permitted"));
    }

    #[test]
    fn one_that_hangs_is_ended_with_what_it_started() {
        let said = shell("echo begun; sleep 600 & sleep 600", Duration::from_millis(200), 100);
        assert!(!said.well && said.text == "begun\n" && said.why.contains("did not end"), "{said:?}");
    }

    #[test]
    fn one_that_never_stops_talking_is_cut_off() {
        let said = shell("while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done", LONG, 10_000);
        assert!(!said.well && said.text.len() == 10_000, "{} {}", said.text.len(), said.why);
    }

    #[test]
    fn one_that_goes_on_for_ever_is_stopped_with_what_it_said() {
        let running = Running::start(Path::new("/bin/sh"), &["-c", "echo 1; sleep 600"], 100).unwrap();
        while running.so_far().is_empty() {
            std::thread::sleep(POLL);
        }
        let said = running.stop();
        assert_eq!((said.text.as_str(), said.well), ("1\n", true));
    }

    #[test]
    fn a_name_is_found_on_the_path_or_not() {
        assert!(find("sh").is_some_and(|path| path.is_absolute()));
        assert_eq!(find("no-such-program-of-ours"), None);
    }
}
