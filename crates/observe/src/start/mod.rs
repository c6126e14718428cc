//! A server's start, run and watched: until it serves, ends, takes too long or stands still.

mod answers;
mod capture;
mod family;
mod kernel;
mod tail;

use std::io::ErrorKind;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use intriage_case::{Bytes, Case, LogText, PhaseTime, Seconds, StartEnd, StartPhase, StartRun, Target};
use intriage_engines::phase_of;
use thiserror::Error;

pub use answers::ServerPort;
use capture::Capture;
pub use capture::Copy;

use crate::clock::now;
use crate::logs::decoded;

/// Time between two looks at the process.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Time between two questions to the server's port.
const ASK_EVERY: Duration = Duration::from_secs(2);
/// Time between two looks at what the processes compute.
const WORK_EVERY: Duration = Duration::from_secs(5);
/// Less processor time than this in one such interval is rest, in hundredths of a second: a waiting Python wakes for less.
const REST_TICKS: u64 = 10;
/// Lines that may wait to be looked at; who writes faster waits, too.
const MOST_UNREAD: usize = 4096;
/// How long the output may still come after the process has ended.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// A start to run.
#[derive(Debug, Clone)]
pub struct StartPlan {
    /// The program and its arguments; no shell reads them.
    pub command: Vec<String>,
    /// Most time until it serves.
    pub limit: Duration,
    /// Most time without a line and without work.
    pub still: Duration,
    /// How long it may take to end when asked to.
    pub grace: Duration,
    /// Where it will answer, where that is known.
    pub port: Option<ServerPort>,
    /// Most bytes of its output kept: a quarter from the start, the rest from the end.
    pub keep: usize,
    /// Where a copy of its output goes while it starts.
    pub copy: Copy,
}

/// Why nothing was started.
#[derive(Debug, Error)]
pub enum StartError {
    /// No such program.
    #[error(
        "{0}: there is no such program here; give its path, or activate the environment it is installed in"
    )]
    NotFound(String),
    /// It cannot be run.
    #[error("{program} cannot be run: {why}")]
    NotRun {
        /// The program.
        program: String,
        /// The reason.
        why: String,
    },
}

/// What happens while it starts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StartProgress {
    /// A phase began, after this long.
    Phase(StartPhase, Duration),
    /// Time passes in a phase.
    Waits(StartPhase, Duration),
}

/// A server that was started: it may run on, and ends when this is dropped.
pub struct StartedServer {
    child: Child,
    capture: Capture,
    lines: Receiver<String>,
    grace: Duration,
    run: StartRun,
    command: Vec<String>,
    status: Option<ExitStatus>,
    /// Seconds since the kernel started, when the process was started.
    uptime: Option<f64>,
}

/// Starts a command and watches it until its start is over; `stop` ends the watch.
pub fn start(
    plan: &StartPlan,
    stop: &AtomicBool,
    mut on_progress: impl FnMut(StartProgress),
) -> Result<StartedServer, StartError> {
    // Whoever listens there already is not the server that is about to start.
    let port = plan.port.clone().filter(|port| !port.answers());
    let at = now();
    let began = Instant::now();
    let mut server = StartedServer::spawn(plan)?;
    let mut phases = Phases::new();
    let (mut asked, mut wrote) = (Instant::now(), Instant::now());
    let (mut looked, mut worked, mut ticks) = (Instant::now(), Instant::now(), 0);
    let mut seen = Instant::now();
    on_progress(StartProgress::Phase(StartPhase::Launch, Duration::ZERO));
    let end = loop {
        match server.lines.recv_timeout(LOOK_EVERY) {
            Ok(line) => {
                wrote = Instant::now();
                if let Some(phase) = phases.line(&line, began.elapsed()) {
                    on_progress(StartProgress::Phase(phase, began.elapsed()));
                }
                if phases.now == StartPhase::Serving {
                    break StartEnd::Ready;
                }
                // Who never stops writing is looked at as often as who is silent.
                if seen.elapsed() < LOOK_EVERY {
                    continue;
                }
            }
            // It closed its output; that alone is no end.
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(LOOK_EVERY),
            Err(RecvTimeoutError::Timeout) => {}
        }
        seen = Instant::now();
        on_progress(StartProgress::Waits(phases.now, began.elapsed()));
        if let Ok(Some(status)) = server.child.try_wait() {
            server.status = Some(status);
            break match (status.code(), status.signal()) {
                (None, Some(signal)) => StartEnd::Killed { signal },
                (code, _) => StartEnd::Exited { code: code.unwrap_or(-1) },
            };
        }
        if stop.load(Ordering::Relaxed) {
            break StartEnd::Interrupted;
        }
        if began.elapsed() >= plan.limit {
            break StartEnd::TimedOut;
        }
        if asked.elapsed() >= ASK_EVERY {
            if port.as_ref().is_some_and(ServerPort::answers) {
                break StartEnd::Answers;
            }
            asked = Instant::now();
        }
        if looked.elapsed() >= WORK_EVERY {
            let so_far = family::ticks(&server.child);
            if so_far >= ticks + REST_TICKS || so_far < ticks {
                worked = Instant::now();
            }
            (ticks, looked) = (so_far, Instant::now());
        }
        let quiet = wrote.elapsed().min(worked.elapsed());
        if quiet >= plan.still {
            break StartEnd::StoodStill { seconds: quiet.as_secs() };
        }
    };
    let took = began.elapsed();
    if !end.came_up() {
        server.last_words(&mut phases, took);
    }
    server.run = StartRun { at, end, took: seconds(took), phases: phases.finish(took) };
    Ok(server)
}

impl StartedServer {
    fn spawn(plan: &StartPlan) -> Result<Self, StartError> {
        let program = plan.command.first().cloned().unwrap_or_default();
        let failed = |e: std::io::Error| match e.kind() {
            ErrorKind::NotFound => StartError::NotFound(program.clone()),
            _ => StartError::NotRun { program: program.clone(), why: e.to_string() },
        };
        // One pipe for both outputs: their lines stay in order.
        let (read, write) = std::io::pipe().map_err(failed)?;
        let child = Command::new(&program)
            .args(plan.command.iter().skip(1))
            .stdin(Stdio::null())
            .stdout(write.try_clone().map_err(failed)?)
            .stderr(write)
            // A group of its own: what it starts ends with it, and Ctrl-C comes to it through us.
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let capture = Capture::new(plan.keep, plan.copy);
        let (send, lines) = mpsc::sync_channel(MOST_UNREAD);
        let reading = capture.clone();
        // Where no thread can be started nothing is read, and the time limit ends the start.
        let _ = std::thread::Builder::new().name("output".into()).spawn(move || reading.read(read, &send));
        let run = StartRun { at: now(), end: StartEnd::Interrupted, took: Seconds(0.0), phases: Vec::new() };
        let command = plan.command.clone();
        Ok(Self {
            child,
            capture,
            lines,
            grace: plan.grace,
            run,
            command,
            status: None,
            uptime: kernel::uptime(),
        })
    }

    /// How the start went.
    pub fn run(&self) -> &StartRun {
        &self.run
    }

    /// The start as a case: its output as a log, its command, its phases. What a shell would have said of its end stands in
    /// the log's last line.
    pub fn case(&self) -> Case {
        let (bytes, dropped) = self.capture.text();
        let mut notes = Vec::new();
        if dropped > 0 {
            notes.push(format!("{} of the middle of its output are left out", Bytes(dropped as f64)));
        }
        let mut text = decoded(bytes, dropped > 0).unwrap_or_else(|why| {
            notes.push(format!("its output is left out: {why}"));
            String::new()
        });
        if let Some(words) = tail::of_shell(self.run.end) {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&words);
            text.push('\n');
        }
        let quoted = shell_line(&self.command);
        let mut case = Case {
            target: Target { name: self.command.first().cloned().unwrap_or_default() },
            command_line: Some(quoted),
            start: Some(self.run.clone()),
            notes,
            ..Case::default()
        };
        case.add_log(LogText { name: "server.log".into(), text });
        // Who was killed with signal 9 cannot say why; the kernel can.
        if tail::is_kill(self.run.end)
            && let Some(log) = self.uptime.and_then(kernel::kills_since)
        {
            case.add_log(log);
        }
        case
    }

    /// From now on a copy of its output goes there.
    pub fn copy_to(&self, copy: Copy) {
        self.capture.copy_to(copy);
    }

    /// Waits until it ends, or until `stop` is set; its exit status, where it ended by itself.
    pub fn wait(&mut self, stop: &AtomicBool) -> Option<i32> {
        loop {
            match self.child.try_wait() {
                Ok(None) if !stop.load(Ordering::Relaxed) => {
                    // Lines nobody looks at any more must not pile up.
                    while self.lines.try_recv().is_ok() {}
                    std::thread::sleep(LOOK_EVERY);
                }
                Ok(Some(status)) => {
                    self.status = Some(status);
                    return status.code();
                }
                _ => return None,
            }
        }
    }

    /// Ends it with all that it started.
    pub fn end(&mut self) {
        family::end(&mut self.child, self.grace);
    }

    /// What still comes after its end belongs to the log.
    fn last_words(&self, phases: &mut Phases, took: Duration) {
        let until = Instant::now() + LAST_WORDS;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) if !left.is_zero() => {
                    phases.line(&line, took);
                }
                _ => return,
            }
        }
    }
}

impl Drop for StartedServer {
    fn drop(&mut self) {
        self.end();
    }
}

/// The phases of a start so far.
struct Phases {
    now: StartPhase,
    began: Vec<(StartPhase, Duration)>,
}

impl Phases {
    fn new() -> Self {
        Self { now: StartPhase::Launch, began: vec![(StartPhase::Launch, Duration::ZERO)] }
    }

    /// Takes a line; the phase where one begins with it.
    fn line(&mut self, line: &str, at: Duration) -> Option<StartPhase> {
        let phase = phase_of(line).filter(|phase| *phase != self.now)?;
        self.now = phase;
        self.began.push((phase, at));
        Some(phase)
    }

    /// Each phase once, where it first began, with all the time spent in it.
    fn finish(&self, took: Duration) -> Vec<PhaseTime> {
        let mut parts: Vec<PhaseTime> = Vec::new();
        let ends = self.began.iter().skip(1).map(|(_, at)| *at).chain([took]);
        for ((phase, began), end) in self.began.iter().zip(ends) {
            let spent = seconds(end.saturating_sub(*began));
            match parts.iter_mut().find(|part| part.phase == *phase) {
                Some(part) => part.took = Seconds(part.took.get() + spent.get()),
                None => parts.push(PhaseTime { phase: *phase, began: seconds(*began), took: spent }),
            }
        }
        parts
    }
}

fn seconds(time: Duration) -> Seconds {
    Seconds((time.as_secs_f64() * 1000.0).round() / 1000.0)
}

/// The words of a command as a shell would take them.
fn shell_line(words: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%{}[]".contains(c);
    let quote = |word: &String| {
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
