//! Collectors that run beside the watch or after it, each cut at its own budget.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use intriage_case::model::ModelFiles;
use intriage_case::{Budget, Bytes, Case, Collected, Gathered, Seconds};
use intriage_observe::{
    Address, LogError, LogLimits, LogSource, TakenLog, find_model, read_model_files, why_illegible,
};

use super::budgets;
use crate::failure::Failure;

/// A collector on a thread of its own. One that hangs is left behind: it dies with the program.
pub(super) struct Collecting<T> {
    began: Instant,
    budget: Budget,
    result: Receiver<(T, Instant)>,
}

impl<T: Send + 'static> Collecting<T> {
    pub(super) fn start(budget: Budget, work: impl FnOnce() -> T + Send + 'static) -> Self {
        let (send, result) = mpsc::channel();
        // Where no thread can be started the sender is gone at once, and waiting tells.
        let _ = std::thread::Builder::new().spawn(move || {
            let done = work();
            let _ = send.send((done, Instant::now()));
        });
        Self { began: Instant::now(), budget, result }
    }

    /// What it brought and when it was done, or why it brought nothing.
    fn wait(&self, longest: Duration) -> Result<(T, Instant), String> {
        let left = longest.saturating_sub(self.began.elapsed());
        self.result.recv_timeout(left).map_err(|e| match e {
            RecvTimeoutError::Timeout => format!("cut at its budget of {}", self.budget.time),
            RecvTimeoutError::Disconnected => "the thread that collects could not run".into(),
        })
    }

    /// Its line of the inventory.
    fn told(&self, what: &str, outcome: Gathered, size: usize, took: Duration) -> Collected {
        Collected {
            what: what.into(),
            outcome,
            took: Seconds(took.as_secs_f64()),
            size: Bytes(size as f64),
            budget: Some(self.budget),
        }
    }
}

/// A model's files, or why there are none.
pub(super) type Model = Result<ModelFiles, String>;

impl Collecting<Model> {
    /// The model's files: in the folder named, or where the machine is looked at those of its server.
    pub(super) fn model(folder: Option<&Path>, host: bool, target: Option<&str>) -> Option<Self> {
        let folder = folder.map(Path::to_owned);
        let port = target.and_then(|target| target.parse::<Address>().ok()).map(|address| address.port);
        (folder.is_some() || host).then(|| {
            Self::start(budgets::model(), move || match folder {
                Some(folder) => read_model_files(&folder).map_err(|e| e.to_string()),
                None => find_model(Path::new("/proc"), port).map_err(|e| e.to_string()),
            })
        })
    }

    /// Adds them to the case.
    pub(super) fn finish(self, case: &mut Case) {
        let told = match self.wait(budgets::MODEL_TIME).and_then(|(files, done)| Ok((files?, done))) {
            Ok((files, done)) => {
                let size = files.texts.values().map(String::len).sum();
                let outcome = match files.summary.left_out.join("; ") {
                    why if why.is_empty() => Gathered::Whole,
                    why => Gathered::Partly { why },
                };
                case.model = Some(files);
                self.told("model", outcome, size, done - self.began)
            }
            Err(why) => self.told("model", Gathered::Skipped { why }, 0, self.began.elapsed()),
        };
        case.collected.push(told);
    }
}

/// Logs as the command line names them.
pub(super) fn sources(arguments: &[PathBuf]) -> Result<Vec<LogSource>, Failure> {
    let read =
        |path: &PathBuf| LogSource::from_argument(path).map_err(|e| Failure::Usage(format!("--log: {e}")));
    let sources = arguments.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    if sources.iter().filter(|s| **s == LogSource::Stdin).count() > 1 {
        return Err(Failure::Usage("--log -: standard input can be read once".into()));
    }
    Ok(sources)
}

/// Logs under way.
pub(super) struct Logs {
    parts: Vec<(String, Collecting<Read>)>,
    /// Dropped to say that nothing is worth waiting for any more.
    go: Vec<Sender<()>>,
    delay: Duration,
}

/// A log, and when reading it began.
type Read = (Result<TakenLog, LogError>, Instant);

impl Logs {
    /// Takes all logs at once after `delay`, the window, so that what happens in it is seen: whatever else hangs by then.
    pub(super) fn start(sources: Vec<LogSource>, max_mib: u32, delay: Duration) -> Self {
        let limits = LogLimits {
            bytes: (max_mib as usize) << 20,
            time: Some(budgets::LOG_TIME),
            since: delay.max(budgets::JOURNAL),
        };
        let mut logs = Self { parts: Vec::new(), go: Vec::new(), delay };
        for source in sources {
            let (go, told) = mpsc::channel::<()>();
            logs.go.push(go);
            let what = format!("log {source}");
            let work = move || {
                // Told, or the window is over: both mean now.
                let _ = told.recv_timeout(delay);
                let began = Instant::now();
                (source.take(&limits), began)
            };
            logs.parts.push((what, Collecting::start(budgets::log(limits.bytes), work)));
        }
        logs
    }

    /// Adds them to the case.
    pub(super) fn finish(self, case: &mut Case) {
        drop(self.go);
        // Each ends by itself in time; the second more is for the thread to say so.
        let until = Instant::now() + budgets::LOG_TIME + Duration::from_secs(1);
        for (what, log) in self.parts {
            let longest =
                (until.saturating_duration_since(log.began)).min(self.delay + budgets::LOG_TIME * 2);
            let told = match log.wait(longest) {
                Ok(((Ok(taken), began), done)) => {
                    let (outcome, size) = put(case, taken);
                    log.told(&what, outcome, size, done - began)
                }
                Ok(((Err(why), began), done)) => {
                    log.told(&what, Gathered::Skipped { why: why.to_string() }, 0, done - began)
                }
                Err(why) => log.told(&what, Gathered::Skipped { why }, 0, budgets::LOG_TIME),
            };
            case.collected.push(told);
        }
    }
}

/// Adds a log to the case, unless nobody can read it; how it went, and how many bytes it has.
fn put(case: &mut Case, taken: TakenLog) -> (Gathered, usize) {
    if let Some(why) = why_illegible(&taken.log.text) {
        return (Gathered::Skipped { why: why.into() }, 0);
    }
    let size = taken.log.text.len();
    case.add_log(taken.log);
    (taken.cut.map_or(Gathered::Whole, |why| Gathered::Partly { why }), size)
}
