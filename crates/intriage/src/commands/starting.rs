//! `intriage check --start -- COMMAND`: runs a server's start, watches it, and says how it went and why.

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use intriage_case::StartEnd;
use intriage_diagnose::{Status, Thresholds};
use intriage_engines::LaunchLine;
use intriage_observe::{OutputCopy, ServerPort, StartPlan, StartProgress, redacted, start};
use tokio::signal::unix::{SignalKind, signal};

use super::check::judged;
use super::keeping::{can_save, keep, redactor};
use super::print;
use crate::cli::{CheckArgs, Format, StartingArgs};
use crate::failure::{Failure, Outcome};

/// Most bytes of output kept: the start of a large server writes some hundred kB.
const KEEP: usize = 32 << 20;
/// How long a server may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(10);

pub(super) fn run(args: &CheckArgs, thresholds: &Thresholds) -> Result<Outcome, Failure> {
    let command = command_of(&args.starting)?;
    if let Some(path) = &args.save {
        can_save("--save", path)?;
    }
    let line = LaunchLine::read(command);
    let port = line.as_ref().and_then(|l| Some(ServerPort::new(l.value(&["--host"]), l.port()?)));
    let plan = StartPlan {
        command: command.to_vec(),
        limit: args.starting.start_timeout,
        still: args.starting.start_silence,
        grace: GRACE,
        port,
        keep: KEEP,
        copy: if args.starting.verbose { OutputCopy::Stderr } else { OutputCopy::Nowhere },
    };
    // Before the child is there: Ctrl-C must always end it, too.
    let stop = stop_on_signals()?;
    let shown = Shown::new();
    let mut server = start(&plan, &stop, |event| shown.show(event))?;
    shown.bar.finish_and_clear();
    let end = server.run().end;
    if end == StartEnd::Interrupted {
        server.end();
        return Err(Failure::Interrupted);
    }
    let redactor = redactor(None, None);
    let case = redacted(server.case(), &redactor);
    let diagnosis = judged(&case, thresholds, args.no_predict);
    print::diagnosis(&diagnosis, args.format)?;
    if let Some(path) = &args.save {
        keep(&case, &redactor, path)?;
    }
    let fine = end.came_up() && diagnosis.verdict.status != Status::Finding;
    if end.came_up() && args.starting.keep_running {
        anstream::eprintln!("the server runs on; Ctrl-C ends it");
        // Standard output holds one JSON value and nothing else.
        server.copy_to(if args.format == Format::Json { OutputCopy::Stderr } else { OutputCopy::Stdout });
        let ended_badly = server.wait(&stop).is_some_and(|code| code != 0);
        server.end();
        return Ok(if fine && !ended_badly { Outcome::Fine } else { Outcome::Wrong });
    }
    server.end();
    Ok(if fine { Outcome::Fine } else { Outcome::Wrong })
}

/// The words behind `--`.
pub(super) fn command_of(args: &StartingArgs) -> Result<&[String], Failure> {
    if args.command.is_empty() {
        let flag = if args.start { "--start" } else { "--preflight" };
        return Err(Failure::Usage(format!(
            "{flag} needs the server's command behind --: intriage check {flag} -- vllm serve MODEL"
        )));
    }
    Ok(&args.command)
}

/// A flag that a signal sets: Ctrl-C, a polite kill, a terminal that is closed.
fn stop_on_signals() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let (listens, ready) = mpsc::channel();
    let set = Arc::clone(&stop);
    std::thread::spawn(move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(async {
            let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
            let [Ok(mut int), Ok(mut term), Ok(mut hup)] = kinds.map(signal) else { return };
            let _ = listens.send(());
            loop {
                tokio::select! {
                    _ = int.recv() => {}
                    _ = term.recv() => {}
                    _ = hup.recv() => {}
                }
                set.store(true, Ordering::Relaxed);
            }
        });
    });
    ready.recv().map_err(|_| Failure::Internal("signals cannot be listened for".into()))?;
    Ok(stop)
}

/// How far the start is: a line that changes on a terminal, a line for each phase elsewhere.
struct Shown {
    bar: ProgressBar,
    lines: bool,
}

impl Shown {
    fn new() -> Self {
        if !std::io::stderr().is_terminal() {
            return Self { bar: ProgressBar::hidden(), lines: true };
        }
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}; Ctrl-C ends it") {
            bar.set_style(style);
        }
        Self { bar, lines: false }
    }

    fn show(&self, event: StartProgress) {
        let (StartProgress::Phase(phase, at) | StartProgress::Waits(phase, at)) = event;
        match event {
            StartProgress::Phase(..) if self.lines => {
                anstream::eprintln!("{:>7.1} s  {}", at.as_secs_f64(), phase.name());
            }
            _ => {
                self.bar.set_message(format!("{} · {:.0} s since the start", phase.name(), at.as_secs_f64()));
                self.bar.tick();
            }
        }
    }
}
