//! The server's own metrics beside the run, and the diagnosis of both together.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use intriage_case::{Case, ClientRequest, Intent, Millis, Seconds, Signal, Tokens};
use intriage_diagnose::{Diagnosis, Thresholds, diagnose_observed};
use intriage_engines::Observed;
use intriage_engines::host::{Role, ServingProcess};
use intriage_load::Observer;
use intriage_observe::{Access, Address, Limits, LiveError, MachineWatch, Progress, Watch, redacted, watch};
use intriage_record::{Beside, Tally, client_request};
use intriage_whatif::predict;

use super::super::access::access_with_key;
use super::super::keeping::{keep, redactor};
use super::args::BenchArgs;
use super::plan;
use crate::failure::Failure;

/// Time between scrapes.
const INTERVAL: Duration = Duration::from_secs(1);
/// How long the first scrape may take before the run begins without it.
const FIRST: Duration = Duration::from_secs(10);
/// What the server may need to count the last answers.
const SETTLE: Duration = Duration::from_millis(300);
/// Requests the case keeps as the client saw them; more would make it hard to send around.
const MOST_REQUESTS: usize = 100_000;

/// A watch under way.
pub(super) struct Watched {
    until: Arc<AtomicBool>,
    thread: JoinHandle<Result<Case, LiveError>>,
    scrapes: Arc<Mutex<Vec<Duration>>>,
    machine: Option<MachineWatch>,
}

/// What was seen of the server while the load ran.
pub(super) struct Seen {
    pub case: Case,
    /// Mean time of a scrape beside the load.
    pub scrape: Option<Seconds>,
}

/// Begins to watch, where the user wants the diagnosis or the case; returns after the first scrape.
pub(super) fn begin(args: &BenchArgs) -> Result<Option<Watched>, Failure> {
    if !args.goals.check && args.goals.save.is_none() {
        return Ok(None);
    }
    let mut access = access_with_key(&args.target.access)?;
    let address: Address = match &args.goals.metrics_url {
        Some(url) => {
            // The key is for the API; a metrics endpoint elsewhere must not get it.
            access = Access { headers: Vec::new(), ..access };
            url.parse().map_err(|e| Failure::Usage(format!("{e}")))?
        }
        None => plan::address(args)?,
    };
    let until = Arc::new(AtomicBool::new(false));
    let plan = Watch {
        address,
        access,
        interval: INTERVAL,
        window: Duration::from_hours(7 * 24),
        limits: Limits { bytes: 64 << 20, time: Duration::from_secs(10) },
        until: Some(Arc::clone(&until)),
        budget: None,
    };
    let (tell, told) = channel();
    let scrapes = Arc::new(Mutex::new(Vec::new()));
    let times = Arc::clone(&scrapes);
    let body = move || {
        let mut tell = Some(tell);
        watch(&plan, |event| {
            let Progress::Scraped { took, .. } = event else { return };
            times.lock().unwrap_or_else(PoisonError::into_inner).push(took);
            if let Some(tell) = tell.take() {
                // Nobody waits any more: fine.
                let _ = tell.send(());
            }
        })
    };
    let thread = thread::Builder::new()
        .name("metrics".to_owned())
        .spawn(body)
        .map_err(|e| Failure::Load(format!("cannot watch the metrics: {e}")))?;
    wait_for_first(&told);
    Ok(Some(Watched { until, thread, scrapes, machine: args.goals.host.then(|| MachineWatch::start(None)) }))
}

/// Counters must be read before the first request, or its tokens are missing from the difference.
fn wait_for_first(told: &Receiver<()>) {
    // An error ends the thread and with it the channel; it is told at the end.
    let _ = told.recv_timeout(FIRST);
}

impl Watched {
    /// Ends the watch with one more scrape.
    pub(super) fn end(self) -> Option<Seen> {
        thread::sleep(SETTLE);
        self.until.store(true, Ordering::Relaxed);
        match self.thread.join() {
            Ok(Ok(mut case)) => {
                if let Some(machine) = self.machine {
                    machine.stop(&mut case);
                }
                let times = self.scrapes.lock().unwrap_or_else(PoisonError::into_inner);
                Some(Seen { case, scrape: mean_beside_load(&times) })
            }
            Ok(Err(why)) => {
                anstream::eprintln!("note: the server's own metrics are missing: {why}");
                None
            }
            Err(_) => None,
        }
    }
}

/// The first scrape was made before the load began, the last after it ended.
fn mean_beside_load(scrapes: &[Duration]) -> Option<Seconds> {
    let beside = scrapes.get(1..scrapes.len().checked_sub(1)?).filter(|s| !s.is_empty())?;
    Some(Seconds(beside.iter().sum::<Duration>().as_secs_f64() / beside.len() as f64))
}

/// What the client saw, gathered for the case.
pub(super) struct ClientView {
    wanted: bool,
    /// Requests wait behind a limit of the user's own: that is the plan, and no delay.
    limited: bool,
    seen: Arc<Mutex<Vec<ClientRequest>>>,
}

impl ClientView {
    pub(super) fn new(wanted: bool, limited: bool) -> Self {
        Self { wanted, limited, seen: Arc::default() }
    }

    pub(super) fn observer(&self, started: Millis) -> Option<Observer> {
        let (seen, limited) = (Arc::clone(&self.seen), self.limited);
        self.wanted.then(|| {
            Box::new(move |finished: &intriage_record::Finished| {
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                if seen.len() < MOST_REQUESTS {
                    let mut request = client_request(started, finished);
                    request.late = request.late.filter(|_| !limited);
                    seen.push(request);
                }
            }) as Observer
        })
    }

    pub(super) fn take(&self) -> Vec<ClientRequest> {
        std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Prefix-cache hits and queries of the run in tokens, by the server's counters.
pub(super) fn hits(observed: &Observed) -> Option<(f64, f64)> {
    Some((delta(observed, Signal::KvPrefixHits)?, delta(observed, Signal::KvPrefixQueries)?))
}

/// The server's figures beside the client's.
pub(super) fn beside(observed: &Observed, tally: &Tally, scrape: Option<Seconds>) -> Beside {
    let ttft = observed.histograms(Signal::LatencyTtft, None).and_then(|all| {
        let mut known = all.into_iter().flatten();
        let first = known.next()?;
        let (window, _) = known.last()?.since(&first);
        window.mean().map(Seconds)
    });
    tally.beside(
        ttft,
        delta(observed, Signal::TokensGenerated).map(Tokens),
        delta(observed, Signal::TokensPrompt).map(Tokens),
        scrape,
        front_end_waited(observed),
    )
}

/// How long the front end waited for a CPU: the one that waited most, where there are several.
fn front_end_waited(observed: &Observed) -> Option<Seconds> {
    let host = observed.host.as_ref()?;
    let main = |p: &ServingProcess| p.threads.iter().find(|t| t.tid == p.pid)?.run_queue_delay;
    let takes_requests = |p: &&ServingProcess| matches!(p.role(), Some(Role::FrontEnd | Role::Server));
    let shares = host.processes.iter().filter(takes_requests).filter_map(main);
    let share = shares.max_by(|a, b| a.get().total_cmp(&b.get()))?;
    Some(Seconds(share.get() * host.window?.0))
}

fn delta(observed: &Observed, signal: Signal) -> Option<f64> {
    observed.series(signal, None, None)?.counter().map(|window| window.delta)
}

/// The case with what the client saw, redacted, and saved where asked.
pub(super) fn finished_case(
    args: &BenchArgs,
    mut case: Case,
    client: Vec<ClientRequest>,
) -> Result<Case, Failure> {
    case.client = client;
    case.intent = Intent { objectives: plan::objectives(args)?, ..Intent::default() };
    let redactor = redactor(Some(&access_with_key(&args.target.access)?), None);
    let case = redacted(case, &redactor);
    if let Some(path) = &args.goals.save {
        keep(&case, &redactor, path)?;
    }
    Ok(case)
}

/// The verdict on a finished case, with what its changes would do.
pub(super) fn judge(observed: &Observed, case: &Case) -> Diagnosis {
    let mut diagnosis = diagnose_observed(observed, case, &Thresholds::default());
    predict(observed, &diagnosis).tell(&mut diagnosis);
    diagnosis
}
