//! What the causes look at: signals over the judged window, in the scope that hurts.

use intriage_case::{
    Fact, Histogram, Intent, Quantity, Ratio, Requests, Seconds, Series, Signal, Source, Statistic,
};
use intriage_case::{Objective, ObjectiveMetric, Profile};
use intriage_engines::{Instance, Observed, Setting};

use crate::account::Account;
use crate::clients::Clients;
use crate::diagnosis::ObjectiveResult;
use crate::floor::Floor;
use crate::objectives::{judge_objectives, signal_of};
use crate::paths::Paths;
use crate::thresholds::{Limit, Thresholds};
use crate::timeline::Timeline;

/// The evidence of one case, ready to be weighed.
///
/// Limits such as the sequence cap hold per engine, so where several engines stand behind one
/// address the signals are those of the fullest one.
#[derive(Debug)]
pub struct Evidence<'a> {
    /// Everything observed.
    pub observed: &'a Observed,
    /// What the user wants.
    pub intent: &'a Intent,
    /// The thresholds in force.
    pub thresholds: &'a Thresholds,
    /// Where the time went.
    pub account: Account,
    /// What the card could do at best, or why that is not known.
    pub(crate) floor: Result<Floor, String>,
    /// What the clients saw, or why that is not known.
    pub(crate) clients: Result<Clients, String>,
    /// What probes saw of the ways to the server, or why that is not known.
    pub(crate) paths: Result<Paths, String>,
    /// How each stated objective fared.
    pub(crate) objectives: Vec<ObjectiveResult>,
    /// What happened when, and the account of every interval.
    pub(crate) timeline: Timeline,
    scope: Option<Instance>,
    busy: Vec<usize>,
}

impl<'a> Evidence<'a> {
    /// Prepares the evidence of an observation.
    pub fn new(observed: &'a Observed, intent: &'a Intent, thresholds: &'a Thresholds) -> Self {
        let scope = fullest(observed);
        let mut evidence = Self {
            observed,
            intent,
            thresholds,
            account: Account::default(),
            floor: Err(String::new()),
            clients: Err(String::new()),
            paths: Paths::of(&observed.paths, thresholds),
            objectives: Vec::new(),
            timeline: Timeline::default(),
            scope,
            busy: Vec::new(),
        };
        evidence.busy = evidence.find_busy();
        evidence.account = Account::of(&evidence);
        evidence.clients = Clients::of(&evidence);
        evidence.floor = Floor::of(&evidence);
        if let Ok(floor) = &evidence.floor {
            let most = floor.most_prompt_time(&evidence);
            evidence.account.know_floor(Seconds(floor.decode), most.map(Ratio));
        }
        evidence.objectives = judge_objectives(&evidence);
        evidence.timeline = Timeline::of(&evidence);
        evidence
    }

    /// A threshold's value.
    pub fn limit(&self, limit: Limit) -> f64 {
        self.thresholds.get(limit)
    }

    /// The engine the limits are judged on, where there are several.
    pub fn scope(&self) -> Option<&Instance> {
        self.scope.as_ref()
    }

    /// Scrapes in which requests ran or waited, or tokens had moved since the one before.
    pub fn busy(&self) -> &[usize] {
        &self.busy
    }

    /// What each look at the server was, for messages.
    pub fn looks(&self) -> &'static str {
        if self.observed.lines.is_some() { "lines" } else { "scrapes" }
    }

    /// Busy scrapes in which requests waited.
    pub fn waiting_scrapes(&self) -> Vec<usize> {
        let Some(waiting) = self.gauge(Signal::RequestsWaiting) else { return Vec::new() };
        self.busy.iter().copied().filter(|&i| waiting.at(i).is_some_and(|w| w > 0.0)).collect()
    }

    /// Of these scrapes those before which tokens had moved; all of them where that leaves too few.
    ///
    /// Engines set their gauges at the end of a step, so during a long step every scrape repeats the
    /// state before it: one reading, however often it is taken.
    pub fn fresh(&self, scrapes: &[usize]) -> Vec<usize> {
        let fresh: Vec<usize> = scrapes.iter().copied().filter(|&i| self.tokens_moved(i)).collect();
        if fresh.len() < 3 { scrapes.to_vec() } else { fresh }
    }

    /// Whether tokens moved between the scrape before and this one.
    fn tokens_moved(&self, i: usize) -> bool {
        [Signal::TokensGenerated, Signal::TokensPrompt].into_iter().any(|s| {
            let Some(series) = self.observed.series(s, None, None) else { return false };
            let before = i.checked_sub(1).and_then(|j| series.at(j));
            matches!((before, series.at(i)), (Some(a), Some(b)) if b > a)
        })
    }

    /// First to last readable scrape.
    pub fn elapsed(&self) -> Seconds {
        match (self.observed.times.first(), self.observed.times.last()) {
            (Some(first), Some(last)) => last.since(*first),
            _ => Seconds(0.0),
        }
    }

    /// Time covered by the busy scrapes, each counted with the interval that led to it.
    pub fn busy_time(&self) -> Seconds {
        let times = &self.observed.times;
        Seconds(self.busy.iter().filter(|&&i| i > 0).map(|&i| times[i].since(times[i - 1]).get()).sum())
    }

    /// A gauge or counter, scrape by scrape.
    pub fn gauge(&self, signal: Signal) -> Option<Series> {
        self.observed.series(signal, self.scope.as_ref(), None).filter(|s| !s.is_empty())
    }

    /// Mean of a gauge over the busy scrapes.
    pub fn mean_busy(&self, signal: Signal) -> Option<f64> {
        self.gauge(signal)?.mean_at(&self.busy)
    }

    /// Increase of a counter over the window, all engines together.
    pub fn delta(&self, signal: Signal) -> Option<f64> {
        Some(self.observed.series(signal, None, None)?.counter()?.delta)
    }

    /// Increase of a counter under one key, such as a finish reason; 0 where the key never appeared
    /// but the counter is there with others. A counter without keys does not tell.
    pub fn delta_by(&self, signal: Signal, key: &str) -> Option<f64> {
        match self.observed.series(signal, None, Some(key)) {
            Some(series) => Some(series.counter()?.delta),
            None => (!self.observed.keys(signal).is_empty()).then_some(0.0),
        }
    }

    /// How often counters fell back to zero: the process restarted.
    pub fn restarts(&self) -> u32 {
        [Signal::TokensGenerated, Signal::TokensPrompt, Signal::RequestsFinished]
            .into_iter()
            .filter_map(|s| Some(self.observed.series(s, None, None)?.counter()?.resets))
            .max()
            .unwrap_or(0)
    }

    /// What a histogram gained over the window, all engines together; restarts taken into account.
    pub fn histogram(&self, signal: Signal) -> Option<Histogram> {
        self.histogram_where(signal, |_| true)
    }

    /// What a histogram gained in the intervals that end at scrapes where `wanted` holds.
    pub fn histogram_where(&self, signal: Signal, wanted: impl Fn(usize) -> bool) -> Option<Histogram> {
        let states = self.observed.histograms(signal, None)?;
        let mut gained = Histogram::default();
        let mut before: Option<&Histogram> = None;
        for (i, state) in states.iter().enumerate() {
            let Some(now) = state else { continue };
            if let Some(then) = before
                && wanted(i)
            {
                gained = gained.merge(&now.since(then).0).0;
            }
            before = Some(now);
        }
        Some(gained)
    }

    /// Exact mean of a histogram over the window.
    pub fn mean(&self, signal: Signal) -> Option<f64> {
        self.histogram(signal)?.mean()
    }

    /// Requests finished in the window.
    pub fn finished(&self) -> Option<Requests> {
        self.delta(Signal::RequestsFinished)
            .or_else(|| self.histogram(Signal::LatencyE2e).map(|h| h.count()))
            .map(Requests)
    }

    /// A setting's number.
    pub fn setting(&self, setting: Setting) -> Option<f64> {
        self.observed.config.number(setting)
    }

    /// Where a setting's value was read.
    pub fn setting_source(&self, setting: Setting) -> Source {
        self.observed
            .config
            .get(setting)
            .map_or(Source::Derived { from: "nothing states it".into() }, |s| s.source.clone())
    }

    /// Whether the objective is throughput rather than latency.
    pub fn wants_throughput(&self) -> bool {
        self.intent.profile == Profile::Batch
    }

    /// The tightest objective on a metric, as a time.
    pub fn objective(&self, metric: ObjectiveMetric) -> Option<Seconds> {
        let limits =
            self.intent.objectives.iter().filter(|o| o.metric == metric).filter_map(Objective::limit_time);
        limits.reduce(|a, b| if a < b { a } else { b })
    }

    /// The measured statistic an objective asks for.
    pub fn measured(&self, metric: ObjectiveMetric, statistic: Statistic) -> Option<f64> {
        if metric == ObjectiveMetric::Errors {
            return self.failed_share().map(Ratio::get);
        }
        let signal = signal_of(metric);
        let histogram = self.histogram(signal)?;
        match statistic {
            Statistic::Mean => histogram.mean(),
            Statistic::Quantile(q) => histogram.quantile(q).map(|b| b.estimate),
        }
    }

    /// Share of answered requests that failed, by HTTP status or the engine's own count.
    pub fn failed_share(&self) -> Option<Ratio> {
        if self.observed.metric(Signal::HttpResponses).is_some() {
            let all = self.delta(Signal::HttpResponses)?;
            return Ratio::of(all - self.answered(|status| status < 400), all);
        }
        let errors = self.delta(Signal::RequestsErrors)?;
        Ratio::of(errors, errors + self.finished()?.get())
    }

    /// Answers whose status passes `wanted`; grouped statuses (`4xx`) count as their first (400).
    pub fn answered(&self, wanted: impl Fn(u16) -> bool) -> f64 {
        self.observed
            .keys(Signal::HttpResponses)
            .iter()
            .filter(|key| key.replace('x', "0").parse().is_ok_and(&wanted))
            .filter_map(|key| self.delta_by(Signal::HttpResponses, key))
            .fold(0.0, |sum, n| sum + n)
    }

    /// A fact about one signal.
    pub fn fact(&self, signal: Signal, says: impl Into<String>, value: f64) -> Fact {
        Fact {
            says: says.into(),
            value: Some(Quantity::new(value, signal.unit())),
            limit: None,
            signal: Some(signal),
            source: match (&self.observed.lines, self.observed.metric(signal)) {
                (Some(line), _) => line.clone(),
                (None, Some(name)) => Source::Metric { name: name.to_owned() },
                (None, None) => Source::Derived { from: signal.name().to_owned() },
            },
        }
    }

    /// A fact computed from several signals.
    pub fn derived(&self, says: impl Into<String>, value: impl Into<Quantity>, from: &str) -> Fact {
        Fact {
            says: says.into(),
            value: Some(value.into()),
            limit: None,
            signal: None,
            source: Source::Derived { from: from.to_owned() },
        }
    }

    /// A fact about a setting.
    pub fn setting_fact(&self, setting: Setting, says: impl Into<String>) -> Fact {
        Fact {
            says: says.into(),
            value: None,
            limit: None,
            signal: None,
            source: self.setting_source(setting),
        }
    }

    fn find_busy(&self) -> Vec<usize> {
        let loaded = |i: usize| {
            [Signal::RequestsRunning, Signal::RequestsWaiting]
                .into_iter()
                .any(|s| self.observed.series(s, None, None).and_then(|g| g.at(i)).is_some_and(|v| v > 0.0))
        };
        (0..self.observed.times.len()).filter(|&i| loaded(i) || self.tokens_moved(i)).collect()
    }
}

/// The engine with the most waiting (then running) requests; `None` where there is only one.
fn fullest(observed: &Observed) -> Option<Instance> {
    let instances = observed.instances();
    if instances.len() < 2 {
        return None;
    }
    let load = |instance: &Instance| -> f64 {
        let total = |signal| -> f64 {
            observed.series(signal, Some(instance), None).map_or(0.0, |s| s.known().map(|(_, v)| v).sum())
        };
        total(Signal::RequestsWaiting) * 1e6 + total(Signal::RequestsRunning)
    };
    instances.into_iter().max_by(|a, b| load(a).total_cmp(&load(b)))
}
