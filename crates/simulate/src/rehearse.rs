//! A deployment watched in virtual time: the recording an observer would make of the real server.

use std::collections::HashMap;

use intriage_case::{Millis, Seconds};

use crate::about;
use crate::client::ClientView;
use crate::engine::{EngineLoad, Refusal, Sequence, Sink};
use crate::fleet::Fleet;
use crate::metrics::{Exporter, StatsLog};
use crate::request::{Finish, Request, RequestId};
use crate::run::{Stop, Watch, run};
use crate::serve::ServeConfig;
use crate::setup::{Mishap, Setup};
use crate::time::Nanos;

/// When the observer looks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    /// From the start of the load to the first scrape.
    pub from: Seconds,
    /// From the first scrape to the last.
    pub length: Seconds,
    /// From one scrape to the next.
    pub every: Seconds,
}

/// A recording: files by name, in the layout of a case.
pub type Recording = Vec<(String, Vec<u8>)>;

/// Unix time at which virtual time begins, in milliseconds: any fixed instant would do.
const EPOCH_MS: u64 = 1_794_700_000_000;

/// Runs a deployment under its load and records what its observer sees.
pub fn rehearse(setup: &Setup, seed: u64, window: Window) -> Recording {
    rehearse_with_log(setup, seed, window, None)
}

/// The same with the server's log, where its first lines are given: state is added every ten seconds.
pub(crate) fn rehearse_with_log(setup: &Setup, seed: u64, window: Window, log: Option<String>) -> Recording {
    let mut watcher = Watcher::new(setup, window);
    watcher.log = log.map(StatsLog::new);
    run(&setup.fleet, &setup.workload, seed, stop(setup, window), &mut watcher);
    watcher.recording(setup)
}

/// When a watched run ends, and what befalls it before.
pub(crate) fn stop(setup: &Setup, window: Window) -> Stop {
    let end = Seconds(window.from.0 + window.length.0);
    Stop {
        arrivals: end,
        requests: u64::MAX,
        // A little later than the last scrape, so that it is made.
        end: Seconds(end.0 + window.every.0 / 2.0),
        every: Some(window.every),
        hang: match setup.mishap {
            Some(Mishap::Hang { after, engine }) => Some((after, engine)),
            _ => None,
        },
        pause: match setup.mishap {
            Some(Mishap::Pause { after, lasting }) => Some((after, Seconds(after.0 + lasting.0))),
            _ => None,
        },
    }
}

/// Exporter and clients in one: the sink of whichever engine speaks.
struct Watcher<'a> {
    setup: &'a Setup,
    window: Window,
    exporter: Exporter,
    speaking: usize,
    open: HashMap<RequestId, Vec<(Nanos, u32)>>,
    clients: Vec<ClientView>,
    files: Recording,
    log: Option<StatsLog>,
}

impl<'a> Watcher<'a> {
    fn new(setup: &'a Setup, window: Window) -> Self {
        let started = Seconds(EPOCH_MS as f64 / 1000.0 - setup.uptime.0);
        Self {
            setup,
            window,
            exporter: Exporter::new(&setup.identity.model, &setup.fleet, started),
            speaking: 0,
            open: HashMap::new(),
            clients: Vec::new(),
            files: Vec::new(),
            log: None,
        }
    }

    fn crashed(&self, now: Nanos) -> bool {
        matches!(self.setup.mishap, Some(Mishap::Crash { after }) if now.seconds() >= after)
    }

    fn recording(mut self, setup: &Setup) -> Recording {
        let config = ServeConfig::of(setup, 0);
        let endpoints = [
            ("endpoints/version.json", about::version()),
            ("endpoints/v1__models.json", about::models(&config, started(setup))),
            ("endpoints/server_info.json", about::server_info(&config, Some("config_format=json"))),
        ];
        self.files.extend(endpoints.map(|(name, body)| (name.to_owned(), body.to_string().into_bytes())));
        let from = Nanos::from_seconds(self.window.from);
        let seen = self.clients.iter().filter(|c| c.ended(from));
        let lines: Vec<String> =
            seen.filter_map(|c| serde_json::to_string(&c.record(EPOCH_MS)).ok()).collect();
        if let Some(log) = self.log {
            self.files.push(("server.log".to_owned(), log.into_text().into_bytes()));
        }
        self.files.push(("client.jsonl".to_owned(), lines.join("\n").into_bytes()));
        self.files
    }
}

impl Watch for Watcher<'_> {
    fn sink(&mut self, engine: usize) -> &mut impl Sink {
        self.speaking = engine;
        self
    }

    fn refused(&mut self, request: &Request, why: Refusal, now: Nanos) {
        self.exporter.refused(request, why, now);
        let status = match why {
            Refusal::TooLong { .. } => 400,
            Refusal::QueueFull { .. } => 503,
        };
        self.exporter.answered(ROUTE, status);
        self.clients.push(ClientView::refused(request, status, now, self.setup.path));
    }

    fn tick(&mut self, fleet: &Fleet, now: Nanos) {
        if !self.crashed(now)
            && let Some(log) = &mut self.log
        {
            log.note(&self.exporter, EPOCH_MS, now);
        }
        if now.seconds() < self.window.from {
            return;
        }
        let at = EPOCH_MS + now.0 / 1_000_000;
        if self.crashed(now) {
            self.files.push((format!("metrics/{at}.failed"), b"connection refused".to_vec()));
            return;
        }
        self.exporter.used_cpu(fleet.front_used(now));
        self.files.push((format!("metrics/{at}.txt"), self.exporter.render().into_bytes()));
    }
}

impl Sink for Watcher<'_> {
    fn admitted(&mut self, sequence: &Sequence, now: Nanos) {
        self.exporter.sink(self.speaking).admitted(sequence, now);
    }

    fn tokens(&mut self, sequence: &Sequence, tokens: u32, gap: Option<Nanos>, now: Nanos) {
        self.exporter.sink(self.speaking).tokens(sequence, tokens, gap, now);
        if !self.crashed(now) {
            self.open.entry(sequence.request.id).or_default().push((now, tokens));
        }
    }

    fn speculated(&mut self, drafted: u32, accepted: u32) {
        self.exporter.sink(self.speaking).speculated(drafted, accepted);
    }

    fn finished(&mut self, sequence: &Sequence, reason: Finish, now: Nanos) {
        self.exporter.sink(self.speaking).finished(sequence, reason, now);
        let tokens = self.open.remove(&sequence.request.id).unwrap_or_default();
        if self.crashed(now) {
            return;
        }
        if reason == Finish::Abort {
            self.clients.push(ClientView::cut(&sequence.request, &tokens, now, self.setup.path));
        } else {
            self.exporter.answered(ROUTE, 200);
            self.clients.push(ClientView::answered(&sequence.request, &tokens, self.setup.path));
        }
    }

    fn stepped(&mut self, load: EngineLoad, now: Nanos) {
        self.exporter.sink(self.speaking).stepped(load, now);
    }
}

/// When the process started, Unix time.
pub(crate) fn started(setup: &Setup) -> Millis {
    Millis(EPOCH_MS.saturating_sub((setup.uptime.0 * 1000.0) as u64))
}

/// The route the load uses.
const ROUTE: &str = "/v1/completions";
