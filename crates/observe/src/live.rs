//! Watching a live server: scrapes at an interval over a window, and its other endpoints once.

mod endpoints;
mod first;
mod inventory;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use intriage_case::{Budget, Case, Scrape, ScrapeOutcome, Target};
use intriage_engines::exposition::parse;
use intriage_engines::{dialect, recognise};
use thiserror::Error;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until, timeout_at};

use endpoints::Asked;
use first::{first_scrape, unknown_engine};

use crate::clock;
use crate::http::{Access, Answer, Client, FetchError, Limits};
use crate::url::Address;

/// What to watch and for how long.
#[derive(Debug, Clone)]
pub struct Watch {
    /// The server; its path may name the metrics endpoint.
    pub address: Address,
    /// How to get in.
    pub access: Access,
    /// Time between scrapes.
    pub interval: Duration,
    /// How long to watch.
    pub window: Duration,
    /// Limits of one scrape.
    pub limits: Limits,
    /// Set from outside, ends the window early with one more scrape; Ctrl-C is then somebody else's business.
    pub until: Option<Arc<AtomicBool>>,
    /// Most time and bytes in all; with it the case says what became of them. Without it only the window counts.
    pub budget: Option<Budget>,
}

/// What happens while watching.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// So many scrapes done, so many of them failed, so much time gone.
    Scraped {
        /// Scrapes done.
        done: usize,
        /// Of them failed.
        failed: usize,
        /// Time since the first.
        elapsed: Duration,
        /// How long this one took.
        took: Duration,
    },
    /// The user asked to stop; what there is will be judged.
    Interrupted,
}

/// Why a server cannot be watched.
#[derive(Debug, Error)]
pub enum LiveError {
    /// No answer at all.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// Not allowed.
    #[error(
        "{url} answers {status}: it wants credentials; give --bearer-token-file FILE or --header 'Name: value'"
    )]
    Unauthorized {
        /// What was asked.
        url: String,
        /// 401 or 403.
        status: u16,
    },
    /// No metrics under any known path.
    #[error(
        "no metrics at {address}: {tried}. Metrics may be off (llama.cpp needs --metrics, SGLang --enable-metrics), or the URL may need its path, such as {address}/metrics"
    )]
    NoMetrics {
        /// The server.
        address: String,
        /// What was tried and came back.
        tried: String,
    },
    /// An answer that is not metrics.
    #[error(
        "{url} answers with {what}, not with metrics: is this the engine's own port, and not a web page or a gateway?"
    )]
    NotMetrics {
        /// What was asked.
        url: String,
        /// What it looks like.
        what: &'static str,
    },
    /// Metrics of nobody we know.
    #[error(
        "{url} has metrics, but of no engine known here (vLLM, SGLang, TGI, TensorRT-LLM, llama.cpp, LMDeploy, Dynamo); the first are {first}"
    )]
    UnknownEngine {
        /// What was asked.
        url: String,
        /// Some metric names.
        first: String,
    },
    /// The runtime could not start.
    #[error("cannot start: {0}")]
    Runtime(std::io::Error),
}

impl LiveError {
    /// Whether the server said something, so that its other endpoints may, too.
    fn has_answered(&self) -> bool {
        !matches!(self, Self::Fetch(_) | Self::Runtime(_))
    }
}

/// Watches a server. Errors only if the first scrape fails: later failures are evidence. With a budget, a server that answers
/// without metrics is asked for its other endpoints, and the inventory says why there are no metrics.
pub fn watch(watch: &Watch, mut on_progress: impl FnMut(Progress)) -> Result<Case, LiveError> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(LiveError::Runtime)?;
    let case = runtime.block_on(run(watch, &mut on_progress));
    // A resolver that hangs is not waited for.
    runtime.shutdown_background();
    case
}

async fn run(watch: &Watch, on_progress: &mut impl FnMut(Progress)) -> Result<Case, LiveError> {
    let client = Client::new(watch.address.clone(), watch.access.clone())?;
    let started = Instant::now();
    let mut case = Case { target: Target { name: watch.address.to_string() }, ..Case::default() };
    let mut asked = Asked::default();
    let found = first_scrape(watch, &client).await.and_then(|(path, first)| {
        let engine = recognise(&parse(&first)).ok_or_else(|| unknown_engine(watch, &path, &first))?;
        Ok((path, first, engine))
    });
    let (path, first, engine) = match (found, watch.budget) {
        (Ok(found), _) => found,
        // Somebody is there, and what else it says is evidence.
        (Err(why), Some(budget)) if why.has_answered() => {
            let paths = endpoints::of_any_engine();
            let rest = asked.ask(watch, &client, &paths);
            let in_time = timeout_at(started + time_of(budget), Box::pin(rest)).await.is_ok();
            inventory::without_metrics(&mut case, &why, &asked, budget, in_time, started.elapsed());
            case.endpoints.extend(asked.answered);
            return Ok(case);
        }
        (Err(why), _) => return Err(why),
    };
    case.scrapes.push(Scrape { at: clock::now(), outcome: ScrapeOutcome::Body(first) });
    let elapsed = started.elapsed();
    on_progress(Progress::Scraped { done: 1, failed: 0, elapsed, took: elapsed });

    let others = asked.ask(watch, &client, dialect(engine).endpoints);
    let scrapes = async {
        keep_scraping(watch, &client, &path, started, &mut case, on_progress).await;
        confirm_failure(watch, &client, &path, &mut case).await;
    };
    let both = Box::pin(async { tokio::join!(others, scrapes) });
    // What has come when the time is over stays.
    let in_time = if let Some(budget) = watch.budget {
        timeout_at(started + time_of(budget), both).await.is_ok()
    } else {
        both.await;
        true
    };
    if let Some(budget) = watch.budget {
        inventory::of_both(&mut case, &asked, budget, in_time, started.elapsed());
    }
    case.endpoints.extend(asked.answered);
    Ok(case)
}

fn time_of(budget: Budget) -> Duration {
    Duration::try_from_secs_f64(budget.time.get()).unwrap_or(Duration::MAX)
}

fn scraped_bytes(case: &Case) -> usize {
    case.scrapes.iter().filter_map(Scrape::body).map(<[u8]>::len).sum()
}

/// A window that ends with a failed scrape is prolonged by two: one failure may be chance, three are not.
async fn confirm_failure(watch: &Watch, client: &Client, path: &str, case: &mut Case) {
    for _ in 0..2 {
        if !matches!(case.scrapes.last(), Some(Scrape { outcome: ScrapeOutcome::Failed(_), .. })) {
            return;
        }
        tokio::time::sleep(watch.interval.min(Duration::from_secs(1))).await;
        let outcome = scrape(watch, client, path).await;
        let at = clock::after(case.scrapes.last().map(|s| s.at));
        case.scrapes.push(Scrape { at, outcome });
    }
}

async fn keep_scraping(
    watch: &Watch,
    client: &Client,
    path: &str,
    started: Instant,
    case: &mut Case,
    on_progress: &mut impl FnMut(Progress),
) {
    let mut ticks = interval_at(started + watch.interval, watch.interval);
    // A slow scrape must not be followed by a burst of them.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    // Half an interval of grace, so that the scrape due exactly at the end is made.
    let end = started + watch.window + watch.interval / 2;
    let mut failed = 0;
    loop {
        let mut last = false;
        tokio::select! {
            _ = ticks.tick() => {}
            () = sleep_until(end) => return,
            () = told(watch.until.as_deref()), if watch.until.is_some() => last = true,
            () = asked_to_stop(), if watch.until.is_none() => {
                on_progress(Progress::Interrupted);
                case.notes.push("the user stopped the window early".into());
                return;
            }
        }
        let full = watch.budget.is_some_and(|b| scraped_bytes(case) as f64 >= b.size.get());
        if Instant::now() >= end || full {
            return;
        }
        let asked = Instant::now();
        let outcome = scrape(watch, client, path).await;
        let took = asked.elapsed();
        failed += usize::from(matches!(outcome, ScrapeOutcome::Failed(_)));
        let at = clock::after(case.scrapes.last().map(|s| s.at));
        case.scrapes.push(Scrape { at, outcome });
        let done = case.scrapes.len();
        on_progress(Progress::Scraped { done, failed, elapsed: started.elapsed(), took });
        if last {
            return;
        }
    }
}

/// Until the flag is set.
async fn told(flag: Option<&AtomicBool>) {
    while !flag.is_some_and(|f| f.load(Ordering::Relaxed)) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Ctrl-C, the TERM that `timeout` and Kubernetes send, or the HUP of a session that was lost.
pub async fn asked_to_stop() {
    use tokio::signal::unix::{SignalKind, signal};
    let got = async |kind| match signal(kind) {
        Ok(mut stream) => {
            stream.recv().await;
        }
        Err(_) => std::future::pending().await,
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        () = got(SignalKind::terminate()) => {}
        () = got(SignalKind::hangup()) => {}
    }
}

async fn scrape(watch: &Watch, client: &Client, path: &str) -> ScrapeOutcome {
    match client.get(path, watch.limits).await {
        Ok(Answer { status: 200, body, .. }) => ScrapeOutcome::Body(body),
        Ok(answer) => ScrapeOutcome::Failed(format!("HTTP {}", answer.status)),
        Err(error) => ScrapeOutcome::Failed(error.to_string()),
    }
}
