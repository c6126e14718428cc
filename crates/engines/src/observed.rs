//! What was observed: a case read through its engine's dialect.

use std::collections::BTreeSet;

use intriage_case::{
    Aggregate, Case, ClientRequest, Histogram, LogText, Millis, PathProbe, ScrapeOutcome, Series, Signal,
    Source,
};

use crate::config::{Config, ConfigTable, Role, Setting, SettingValue, ask, compare, from_json};
use crate::detect::{Identity, detect, version_of_log};
use crate::dialect::{Dialect, Engine, dialect};
use crate::exposition::{self, Exposition};
use crate::gpu::{GpuReadings, read_gpu};
use crate::host::{Host, read_host};
use crate::log::{Known, LogReadings, Pasted, Xid, read_logs, told};
use crate::log_requests::told_by_log;
use crate::model::{Model, read_model};
use crate::version::Version;
use crate::{scrapes, vllm};

/// One engine behind the address: a model and a data-parallel rank.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instance {
    /// Served model.
    pub model: Option<String>,
    /// Data-parallel rank.
    pub engine: Option<String>,
}

/// One signal of one instance over the window.
#[derive(Debug, Clone, PartialEq)]
pub struct Track {
    /// The signal.
    pub signal: Signal,
    /// Whose.
    pub instance: Instance,
    /// The kept label's value, such as the finish reason.
    pub key: Option<String>,
    /// The metric it was read from.
    pub metric: &'static str,
    /// The data, one entry per readable scrape.
    pub data: TrackData,
}

/// A track's data, one entry per readable scrape.
#[derive(Debug, Clone, PartialEq)]
pub enum TrackData {
    /// A counter or gauge.
    Values(Series),
    /// Cumulative histograms.
    Histograms(Vec<Option<Histogram>>),
}

/// Everything a case says, in engine-neutral words.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Observed {
    /// Who answered.
    pub identity: Identity,
    /// When the readable scrapes were made.
    pub times: Vec<Millis>,
    /// Where lines of a log stand in place of scrapes: the first of them. See [`through_log`](Self::through_log).
    pub lines: Option<Source>,
    /// Scrapes that failed, with the reason.
    pub failed: Vec<(Millis, String)>,
    /// Every signal found.
    pub tracks: Vec<Track>,
    /// The configuration.
    pub config: Config,
    /// The configuration in columns: asked for, resolved, seen, default.
    pub table: ConfigTable,
    /// The same server at another release, where a log of it was given.
    pub before: Option<Before>,
    /// What the logs tell.
    pub log: LogReadings,
    /// What GPU tools tell.
    pub gpu: GpuReadings,
    /// What the kernel of the serving machine tells.
    pub host: Option<Host>,
    /// What the model's files tell.
    pub model: Option<Model>,
    /// Requests as their client saw them.
    pub client: Vec<ClientRequest>,
    /// Ways to the server, as probes found them.
    pub paths: Vec<PathProbe>,
    /// What a reader should know about the evidence itself.
    pub notes: Vec<String>,
}

/// The same server at another release, as a log of it tells.
#[derive(Debug, Clone, PartialEq)]
pub struct Before {
    /// The release.
    pub version: Version,
    /// The log's name in the case.
    pub file: String,
    /// Its configuration.
    pub config: Config,
}

/// Reads a case. Pure: the same case gives the same result anywhere.
pub fn read(case: &Case) -> Observed {
    let Some(mut pasted) = Pasted::of(&case.logs) else { return read_plain(case) };
    // Everything but the logs, which may be large, as it is.
    let plain = Case {
        target: case.target.clone(),
        intent: case.intent.clone(),
        scrapes: case.scrapes.clone(),
        endpoints: case.endpoints.clone(),
        logs: std::mem::take(&mut pasted.logs),
        command_line: case.command_line.clone(),
        manifests: case.manifests.clone(),
        gpu: case.gpu.clone(),
        host: case.host.clone(),
        client: case.client.clone(),
        model: case.model.clone(),
        replicas: case.replicas.clone(),
        collected: case.collected.clone(),
        paths: case.paths.clone(),
        notes: case.notes.clone(),
        redacted: case.redacted,
        start: case.start.clone(),
    };
    let mut observed = read_plain(&plain);
    pasted.renumber(&mut observed);
    observed.notes.append(&mut pasted.notes);
    observed
}

/// Reads a case whose logs are plain.
fn read_plain(case: &Case) -> Observed {
    let mut observed = Observed {
        host: read_host(&case.host),
        model: case.model.as_ref().map(read_model),
        client: case.client.clone(),
        paths: case.paths.clone(),
        notes: case.notes.clone(),
        ..Observed::default()
    };
    let neighbours = observed.host.as_mut().and_then(|host| host.keep_answering(&case.target.name));
    observed.notes.extend(neighbours);
    let mut parsed: Vec<(Millis, Exposition<'_>)> = Vec::new();
    for scrape in &case.scrapes {
        match &scrape.outcome {
            ScrapeOutcome::Failed(why) => observed.failed.push((scrape.at, why.clone())),
            ScrapeOutcome::Body(bytes) => {
                let exposition = exposition::parse(bytes);
                if let Some(problem) = &exposition.problem {
                    let kept = exposition.samples.len();
                    observed.notes.push(format!(
                        "the scrape at {} is damaged ({problem}); {kept} samples before it were used",
                        scrape.at.0
                    ));
                }
                if exposition.samples.is_empty() {
                    observed.failed.push((scrape.at, "the body holds no metrics".to_owned()));
                } else {
                    parsed.push((scrape.at, exposition));
                }
            }
        }
    }
    observed.gpu = read_gpu(case, &parsed);
    observed.gpu.reports = Xid::reports(&case.logs, times(case, observed.host.as_ref()));
    observed.times = parsed.iter().map(|(t, _)| *t).collect();
    observed.identity = detect(case, parsed.last().map(|(_, last)| last));
    if let Some(engine) = observed.identity.engine {
        read_as(dialect(engine), case, &parsed, &mut observed);
    } else {
        if !parsed.is_empty() {
            observed.notes.push(unknown_engine());
        }
        // A kernel's log belongs to no engine and still tells.
        let known = times(case, observed.host.as_ref());
        observed.log = read_logs(None, &case.logs, known, &mut observed.config);
    }
    observed.notes.extend(observed.log.chains.iter().filter_map(told));
    if observed.times.is_empty() && observed.tells_of_several_queues() {
        observed.notes.push("logs that stand side by side tell of queues: they are of several servers, so check each of them alone".to_owned());
    }
    observed
}

/// What dates the lines of a log: when the case was collected, and when its machine started.
fn times(case: &Case, host: Option<&Host>) -> Known {
    let scraped = case.scrapes.last().map(|scrape| scrape.at);
    let looked = case.host.last().map(|snapshot| snapshot.at);
    Known { around: scraped.max(looked), booted: host.and_then(|host| host.kernel.booted) }
}

fn read_as(dialect: &Dialect, case: &Case, parsed: &[(Millis, Exposition<'_>)], observed: &mut Observed) {
    let release = observed.identity.release().cloned();
    observed.tracks = scrapes::tracks(dialect, release.as_ref(), case.intent.model.as_deref(), parsed);
    if let Some(model) = &case.intent.model
        && !observed.identity.models.contains(model)
    {
        let known = observed.identity.models.join(", ");
        observed.notes.push(format!("no metrics of a model called {model:?} were found; served: {known}"));
    }
    let known = times(case, observed.host.as_ref());
    let config = &mut observed.config;
    let models = &observed.identity.models;
    let heard = ask(dialect, case, models, observed.host.as_ref(), config, &mut observed.notes);
    if case.endpoints.contains_key("/v1/models") && !models.is_empty() {
        let source = Source::Endpoint { path: "/v1/models".to_owned() };
        config.state(Setting::ServedModel, SettingValue::Text(models.join(", ")), source);
    }
    for path in ["/server_info", "/get_server_info", "/props", "/v1/models"] {
        if let Some(value) = case.endpoints.get(path).and_then(|body| serde_json::from_str(body).ok()) {
            from_json(dialect, &value, &Source::Endpoint { path: path.to_owned() }, config);
            if path.ends_with("server_info") {
                config.tell();
            }
        }
    }
    let (logs, earlier) = by_release(dialect.engine, case, observed.identity.version.as_ref());
    observed.log = read_logs(Some(dialect), logs.iter().copied(), known, config);
    observed.before = earlier.last().map(|(version, log)| {
        let mut config = Config::default();
        read_logs(Some(dialect), [*log], known, &mut config);
        Before { version: version.clone(), file: log.name.clone(), config }
    });
    for (version, log) in &earlier {
        observed.notes.push(format!(
            "{} is the log of another release ({version}): only its settings were read",
            log.name
        ));
    }
    let told = told_by_log(observed);
    observed.tracks.extend(told);
    let has_gpu = observed.gpu.name.is_some();
    let config = &mut observed.config;
    from_info_metric(dialect, parsed, has_gpu, config);
    from_tracks(&observed.tracks, config);
    if dialect.engine == Engine::Vllm {
        vllm::state_pool(&mut observed.config);
        vllm::state_defaults(observed);
    }
    let others = if dialect.engine == Engine::Vllm { vllm::other_defaults(observed) } else { Vec::new() };
    observed.table = compare(dialect, observed, &heard, &others);
    let newest = Version::parse(dialect.newest_known);
    if let (Some(version), Some(newest)) = (&observed.identity.version, newest)
        && *version > newest
    {
        observed.notes.push(format!(
            "{} {version} is newer than the newest release these tables were checked against ({newest}); names and defaults may have changed",
            dialect.name
        ));
    }
}

/// The logs of this release (and those that name none), and those of another one, the newest last.
fn by_release<'a>(
    engine: Engine,
    case: &'a Case,
    running: Option<&Version>,
) -> (Vec<&'a LogText>, Vec<(Version, &'a LogText)>) {
    let (mut now, mut earlier) = (Vec::new(), Vec::new());
    for log in &case.logs {
        match (version_of_log(engine, log), running) {
            (Some((version, _)), Some(running)) if version.cmp(running).is_ne() => {
                earlier.push((version, log));
            }
            _ => now.push(log),
        }
    }
    earlier.sort_by(|a, b| a.0.cmp(&b.0));
    (now, earlier)
}

fn unknown_engine() -> String {
    let known: Vec<&str> = Engine::ALL.iter().map(|e| dialect(*e).name).collect();
    format!("these metrics belong to no engine known here ({})", known.join(", "))
}

/// `vllm:cache_config_info{block_size="16",…}` carries settings as labels.
fn from_info_metric(
    dialect: &Dialect,
    parsed: &[(Millis, Exposition<'_>)],
    has_gpu: bool,
    config: &mut Config,
) {
    let Some((_, last)) = parsed.last() else { return };
    for sample in &last.samples {
        let is_info = sample.name.ends_with("_config_info")
            && dialect.prefixes.iter().any(|p| sample.name.starts_with(p));
        if is_info {
            let source = Source::Metric { name: sample.name.to_owned() };
            let labels: Vec<(String, String)> =
                sample.labels.iter().map(|(k, v)| (k.to_owned(), v.into_owned())).collect();
            let fields = labels.iter().map(|(k, v)| (k.as_str(), v.as_str()));
            crate::config::from_fields(dialect, fields, &source, Role::Resolved, config);
            if dialect.engine == Engine::Vllm && !has_gpu {
                vllm::state_device(&labels, &source, config);
            }
            // Engines of one server share their settings: the first one speaks for all.
            break;
        }
    }
}

/// Gauges that are really settings.
fn from_tracks(tracks: &[Track], config: &mut Config) {
    const SETTINGS: [(Signal, Setting); 5] = [
        (Signal::KvCapacity, Setting::KvCapacity),
        (Signal::KvMaxConcurrency, Setting::MaxConcurrency),
        (Signal::SchedulerSlots, Setting::MaxSequences),
        (Signal::SchedulerTokenBudget, Setting::TokenBudget),
        (Signal::ContextWindow, Setting::ContextWindow),
    ];
    for (signal, setting) in SETTINGS {
        let Some(track) = tracks.iter().find(|t| t.signal == signal) else { continue };
        let TrackData::Values(series) = &track.data else { continue };
        if let Some(value) = series.last().filter(|v| *v > 0.0) {
            let source = Source::Metric { name: track.metric.to_owned() };
            config.state(setting, SettingValue::Number(value), source);
        }
    }
}

impl Observed {
    /// The engine's name for messages: `vLLM`, or `this server` where it is unknown.
    pub fn engine_name(&self) -> &'static str {
        self.identity.engine.map_or("this server", |e| dialect(e).name)
    }

    /// The tracks of a signal.
    pub fn tracks(&self, signal: Signal) -> impl Iterator<Item = &Track> {
        self.tracks.iter().filter(move |t| t.signal == signal)
    }

    /// The metric a signal was read from.
    pub fn metric(&self, signal: Signal) -> Option<&'static str> {
        self.tracks(signal).next().map(|t| t.metric)
    }

    /// The engines that run requests, in order.
    pub fn instances(&self) -> Vec<Instance> {
        let all: BTreeSet<&Instance> = self.tracks(Signal::RequestsRunning).map(|t| &t.instance).collect();
        all.into_iter().cloned().collect()
    }

    /// A counter or gauge over the window, of one instance or of all, of one key or of all.
    pub fn series(&self, signal: Signal, of: Option<&Instance>, key: Option<&str>) -> Option<Series> {
        let tracks = self
            .tracks(signal)
            .filter(|t| of.is_none_or(|i| t.instance == *i || t.instance == Instance::default()))
            .filter(|t| key.is_none_or(|k| t.key.as_deref() == Some(k)));
        let mut total: Option<Series> = None;
        for track in tracks {
            let TrackData::Values(series) = &track.data else { continue };
            total = Some(match total {
                None => series.clone(),
                Some(sum) => match signal.aggregate() {
                    Aggregate::Sum => sum.combine(series, |a, b| a + b),
                    Aggregate::Max => sum.combine(series, f64::max),
                },
            });
        }
        total
    }

    /// A counter or gauge over the window, of all instances: from the metrics, or where they lack it from the periodic
    /// lines of a log. A log's values stand at the times of its lines, not at those of the scrapes.
    pub fn series_or_log(&self, signal: Signal) -> Option<Series> {
        self.series(signal, None, None)
            .filter(|series| !series.is_empty())
            .or_else(|| self.log.signal(signal))
    }

    /// The keys of a split signal, such as finish reasons.
    pub fn keys(&self, signal: Signal) -> Vec<String> {
        let keys: BTreeSet<&String> = self.tracks(signal).filter_map(|t| t.key.as_ref()).collect();
        keys.into_iter().cloned().collect()
    }

    /// Cumulative histograms by scrape, of one instance or merged over all.
    pub fn histograms(&self, signal: Signal, of: Option<&Instance>) -> Option<Vec<Option<Histogram>>> {
        let mut total: Option<Vec<Option<Histogram>>> = None;
        for track in self.tracks(signal).filter(|t| of.is_none_or(|i| t.instance == *i)) {
            let TrackData::Histograms(states) = &track.data else { continue };
            total = Some(match total {
                None => states.clone(),
                Some(merged) => merged
                    .into_iter()
                    .zip(states)
                    .map(|pair| match pair {
                        (Some(a), Some(b)) => Some(a.merge(b).0),
                        (a, b) => a.or_else(|| b.clone()),
                    })
                    .collect(),
            });
        }
        total
    }

    /// Why a signal is not there, as the end of a sentence.
    pub fn why_missing(&self, signal: Signal) -> String {
        let Some(engine) = self.identity.engine else {
            return format!("no known engine's metrics were found, so {signal} is unknown");
        };
        let dialect = dialect(engine);
        let name = dialect.name;
        let meaning = signal.meaning();
        if let Some(known) = dialect.availability.iter().find(|a| a.signal == signal) {
            return format!("{name} does not expose {signal} ({meaning}): {}", known.why);
        }
        let rows: Vec<_> = dialect.metrics.iter().filter(|r| r.signal == signal).collect();
        let Some(newest) = rows.first() else {
            return format!("{name} does not expose {signal} ({meaning})");
        };
        match &self.identity.version {
            Some(version) if !rows.iter().any(|r| r.range.holds(version)) => {
                format!(
                    "{name} {version} does not expose {signal} ({meaning}); {} has it from {} on",
                    newest.metric, newest.range.since
                )
            }
            _ => format!("{} is not in the scrapes", newest.metric),
        }
    }
}
