//! Cases made up for tests: say what the engine showed, get what a cause makes of it.

mod card;
mod client;
mod host;
mod release;

use std::fmt::Write as _;

use intriage_case::{
    AddressSeen, Case, Family, GpuEvidence, Kind, LogText, Millis, PathProbe, Profile, Resolved, Route,
    Scrape, ScrapeOutcome, Signal, StreamSeen,
};
use intriage_engines::{Engine, How, dialect};

use crate::causes::Cause;
use crate::diagnosis::Diagnosis;
use crate::evidence::Evidence;
use crate::thresholds::Thresholds;
use crate::weighing::Judgement;

pub(crate) use card::Card;

/// Scrapes in a made-up window, five seconds apart.
const SCRAPES: usize = 12;
const STEP_MS: u64 = 5000;

/// Values of a histogram, and how often each was seen.
type Observations = Vec<(f64, f64)>;

/// A made-up case: a busy minute of one engine.
///
/// Gauges hold at every scrape; counters and histograms gain their total evenly over the window.
#[derive(Debug, Clone)]
pub(crate) struct Given {
    engine: Engine,
    version: String,
    gauges: Vec<(Signal, Vec<f64>)>,
    counters: Vec<(Signal, Option<String>, Vec<f64>)>,
    histograms: Vec<(Signal, Vec<(f64, f64)>)>,
    halves: Vec<(Signal, [Observations; 2])>,
    ttft_sums: Vec<f64>,
    raw: String,
    /// Text of each scrape, by the part of the window gone.
    texts: Vec<String>,
    case: Case,
}

impl Given {
    /// A vLLM of this version.
    pub(crate) fn vllm(version: &str) -> Self {
        Self::engine(Engine::Vllm, version)
    }

    /// Any engine.
    pub(crate) fn engine(engine: Engine, version: &str) -> Self {
        Self {
            engine,
            version: version.to_owned(),
            gauges: Vec::new(),
            counters: Vec::new(),
            histograms: Vec::new(),
            halves: Vec::new(),
            ttft_sums: Vec::new(),
            raw: String::new(),
            texts: Vec::new(),
            case: Case::default(),
        }
    }

    /// The command line; an empty one takes it away.
    pub(crate) fn flags(mut self, flags: &str) -> Self {
        self.case.command_line = Some(flags.to_owned()).filter(|f| !f.is_empty());
        self
    }

    /// The body of an endpoint.
    pub(crate) fn endpoint(mut self, path: &str, body: &str) -> Self {
        self.case.endpoints.insert(path.to_owned(), body.to_owned());
        self
    }

    /// This card and this checkpoint, as vLLM's developer mode tells them.
    pub(crate) fn on_card(self, card: &str, checkpoint: &str) -> Self {
        let body = format!(
            r#"{{"vllm_config":{{"model_config":{{"model":"{checkpoint}"}}}},"system_env":{{"nvidia_gpu_models":"GPU 0: {card}"}}}}"#
        );
        self.endpoint("/server_info", &body)
    }

    /// What a probe saw of one way, the first one being straight: five answers of 32 pieces with this first token and
    /// gap between pieces in seconds, in so many reads.
    pub(crate) fn probed(mut self, url: &str, first: f64, gap: f64, reads: u32) -> Self {
        let seconds = |s| Some(intriage_case::Seconds(s));
        let stream = StreamSeen {
            status: Some(200),
            headers: seconds(0.003),
            first: seconds(first),
            last: seconds(first + 31.0 * gap),
            chunks: 32,
            gap_p50: seconds(gap),
            reads,
            ..StreamSeen::default()
        };
        let address = AddressSeen {
            family: Family::V4,
            address: "192.0.2.7".into(),
            connect: seconds(0.001),
            failed: None,
            error: None,
        };
        self.case.paths.push(PathProbe {
            url: url.to_owned(),
            route: if self.case.paths.is_empty() { Route::Direct } else { Route::Via },
            resolved: Resolved { a: 1, ..Resolved::default() },
            addresses: vec![address],
            tls: None,
            first_byte: seconds(0.003),
            streams: vec![stream; 5],
            held: Vec::new(),
            error: None,
        });
        self
    }

    /// Changes what the last probe saw.
    pub(crate) fn but(mut self, change: impl Fn(&mut PathProbe)) -> Self {
        change(self.case.paths.last_mut().expect("a probe comes before its change"));
        self
    }

    /// Adds a server log.
    pub(crate) fn log(mut self, text: &str) -> Self {
        self.case.logs.push(LogText { name: "server.log".into(), text: text.to_owned() });
        self
    }

    /// What `nvidia-smi dmon` showed: so many percent busy throughout.
    pub(crate) fn gpu_busy(mut self, percent: u32) -> Self {
        let mut text = String::from("# gpu    pwr     sm    mem   pclk\n# Idx      W      %      %    MHz\n");
        for _ in 0..SCRAPES * 5 {
            let _ = writeln!(text, "    0    300    {percent}     20   1980");
        }
        self.case.gpu = GpuEvidence { dmon: Some(text), ..GpuEvidence::default() };
        self
    }

    /// The model's `config.json`.
    pub(crate) fn model_config(mut self, json: &str) -> Self {
        let files = self.case.model.get_or_insert_default();
        files.texts.insert("config.json".into(), json.into());
        self
    }

    /// What `nvidia-smi -q` calls the card.
    pub(crate) fn smi_q(mut self, name: &str) -> Self {
        self.case.gpu.smi_q =
            Some(format!("Attached GPUs : 1\nGPU 00000000:00:06.0\n    Product Name : {name}\n"));
        self
    }

    /// Runs on a GPU, as the start-up log says.
    pub(crate) fn on_gpu(self) -> Self {
        let version = &self.version;
        let line = format!(
            "INFO [core.py:1] Initializing a V1 LLM engine (v{version}) with config: model='m', device_config=cuda, load_format=auto\n"
        );
        self.log(&line)
    }

    /// Size of the KV pool in tokens.
    pub(crate) fn pool(mut self, tokens: f64) -> Self {
        self.raw = format!(
            "vllm:cache_config_info{{engine=\"0\",kv_cache_size_tokens=\"{tokens}\",block_size=\"16\"}} 1\n"
        );
        self
    }

    /// Lines added to every scrape as they are.
    pub(crate) fn raw(mut self, lines: &str) -> Self {
        self.raw.push_str(lines);
        self
    }

    /// Lines of each scrape, given how much of the window is gone, 0 to 1.
    pub(crate) fn each_scrape(mut self, lines: impl Fn(f64) -> String) -> Self {
        self.texts = (0..SCRAPES).map(|i| lines(i as f64 / (SCRAPES - 1) as f64)).collect();
        self
    }

    /// A gauge that holds at every scrape.
    pub(crate) fn gauge(self, signal: Signal, value: f64) -> Self {
        self.gauges(signal, &[value])
    }

    /// A gauge scrape by scrape; the last value goes on.
    pub(crate) fn gauges(mut self, signal: Signal, values: &[f64]) -> Self {
        self.gauges.retain(|(s, _)| *s != signal);
        self.gauges.push((signal, values.to_vec()));
        self
    }

    /// A counter that gains `total` over the window.
    pub(crate) fn counter(self, signal: Signal, total: f64) -> Self {
        self.counter_by(signal, None, total)
    }

    /// A counter scrape by scrape; the last value goes on.
    pub(crate) fn counters(mut self, signal: Signal, values: &[f64]) -> Self {
        self.counters.retain(|(s, _, _)| *s != signal);
        self.counters.push((signal, None, values.to_vec()));
        self
    }

    /// Requests finished for a reason over the window.
    pub(crate) fn finished(self, reason: &str, total: f64) -> Self {
        self.counter_by(Signal::RequestsFinished, Some(reason), total)
    }

    /// Answers by status (`2xx`) over the window.
    pub(crate) fn answered(self, status: &str, total: f64) -> Self {
        self.counter_by(Signal::HttpResponses, Some(status), total)
    }

    fn counter_by(mut self, signal: Signal, key: Option<&str>, total: f64) -> Self {
        let key = key.map(str::to_owned);
        self.counters.retain(|(s, k, _)| (*s, k) != (signal, &key));
        let values = (0..SCRAPES).map(|i| total * i as f64 / (SCRAPES - 1) as f64).collect();
        self.counters.push((signal, key, values));
        self
    }

    /// What a histogram gained over the window: `(value, how often)`.
    pub(crate) fn observed(mut self, signal: Signal, values: &[(f64, f64)]) -> Self {
        self.histograms.retain(|(s, _)| *s != signal);
        self.histograms.push((signal, values.to_vec()));
        self
    }

    /// What a histogram gained in the first and in the second half of the window: `(value, how often)`.
    pub(crate) fn observed_in_halves(
        mut self,
        signal: Signal,
        first: &[(f64, f64)],
        second: &[(f64, f64)],
    ) -> Self {
        self.halves.retain(|(s, _)| *s != signal);
        self.halves.push((signal, [first.to_vec(), second.to_vec()]));
        self
    }

    /// First tokens with these cumulative sums in seconds, ten more at each scrape.
    pub(crate) fn ttft_sums(mut self, sums: &[f64]) -> Self {
        self.ttft_sums = sums.to_vec();
        self
    }

    /// Takes a signal away.
    pub(crate) fn without(mut self, signal: Signal) -> Self {
        self.gauges.retain(|(s, _)| *s != signal);
        self.counters.retain(|(s, _, _)| *s != signal);
        self.histograms.retain(|(s, _)| *s != signal);
        self
    }

    /// An objective, such as `ttft.p95=500ms`.
    pub(crate) fn objective(mut self, text: &str) -> Self {
        self.case.intent.objectives.push(text.parse().expect("a test's objective is well formed"));
        self
    }

    /// A batch job.
    pub(crate) fn batch(mut self) -> Self {
        self.case.intent.profile = Profile::Batch;
        self
    }

    /// The last `n` scrapes fail with this error.
    pub(crate) fn last_scrapes_fail(mut self, n: usize, why: &str) -> Self {
        self.case.notes.push(format!("fail {n} {why}"));
        self
    }

    /// The case as a collector would have made it.
    pub(crate) fn case(&self) -> Case {
        let mut case = self.case.clone();
        let fail = case.notes.iter().find_map(|n| n.strip_prefix("fail ").map(str::to_owned));
        case.notes.clear();
        let (fails, why) = fail
            .as_deref()
            .and_then(|f| f.split_once(' '))
            .map_or((0, ""), |(n, w)| (n.parse().unwrap_or(0), w));
        for i in 0..SCRAPES {
            let at = Millis(1_700_000_000_000 + i as u64 * STEP_MS);
            let outcome = if i >= SCRAPES - fails {
                ScrapeOutcome::Failed(why.to_owned())
            } else {
                ScrapeOutcome::Body(self.scrape(i).into_bytes())
            };
            case.scrapes.push(Scrape { at, outcome });
        }
        case.endpoints.insert("/version".into(), format!("{{\"version\":\"{}\"}}", self.version));
        case
    }

    /// What one cause makes of it.
    pub(crate) fn judge(&self, cause: &Cause) -> Judgement {
        let evidence = self.case();
        let observed = intriage_engines::read(&evidence);
        let thresholds = Thresholds::default();
        (cause.judge)(&Evidence::new(&observed, &evidence.intent, &thresholds))
    }

    /// What the evidence says, before any cause is judged.
    pub(crate) fn with_evidence<T>(&self, look: impl Fn(&Evidence<'_>) -> T) -> T {
        let case = self.case();
        let observed = intriage_engines::read(&case);
        let thresholds = Thresholds::default();
        look(&Evidence::new(&observed, &case.intent, &thresholds))
    }

    /// The whole verdict.
    pub(crate) fn verdict(&self) -> Diagnosis {
        crate::diagnose(&self.case(), &Thresholds::default())
    }

    fn scrape(&self, i: usize) -> String {
        let mut text = self.raw.clone();
        text.push_str(self.texts.get(i).map_or("", String::as_str));
        for (signal, values) in &self.gauges {
            let value = values.get(i).or(values.last()).copied().unwrap_or(0.0);
            let (name, labels) = self.metric(*signal, None);
            let _ = writeln!(text, "{name}{labels} {value}");
        }
        for (signal, key, values) in &self.counters {
            let value = values.get(i).or(values.last()).copied().unwrap_or(0.0);
            let (name, labels) = self.metric(*signal, key.as_deref());
            let _ = writeln!(text, "{name}{labels} {value}");
        }
        for (signal, values) in &self.histograms {
            self.write_histogram(&mut text, *signal, values, i as f64 / (SCRAPES - 1) as f64);
        }
        for (signal, [first, second]) in &self.halves {
            let gone = 2.0 * i as f64 / (SCRAPES - 1) as f64;
            let part = |values: &[(f64, f64)], part: f64| -> Vec<(f64, f64)> {
                values.iter().map(|(v, n)| (*v, n * part.clamp(0.0, 1.0))).collect()
            };
            let gained = [part(first, gone), part(second, gone - 1.0)].concat();
            self.write_histogram(&mut text, *signal, &gained, 1.0);
        }
        if let Some(sum) = self.ttft_sums.get(i) {
            let (name, labels) = self.metric(Signal::LatencyTtft, None);
            let _ = writeln!(text, "{name}_sum{labels} {sum}\n{name}_count{labels} {}", 10 * i);
        }
        text
    }

    fn write_histogram(&self, text: &mut String, signal: Signal, values: &[(f64, f64)], part: f64) {
        const BOUNDS: [f64; 24] = [
            0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 10.0, 20.0, 50.0, 100.0,
            200.0, 500.0, 1000.0, 2000.0, 5000.0, 8192.0, 20_000.0, 100_000.0,
        ];
        let (name, labels) = self.metric(signal, None);
        let inner = labels.trim_start_matches('{').trim_end_matches('}');
        let comma = if inner.is_empty() { "" } else { "," };
        for bound in BOUNDS.into_iter().chain([f64::INFINITY]) {
            let count: f64 = values.iter().filter(|(v, _)| *v <= bound).map(|(_, n)| n * part).sum();
            let le = if bound.is_finite() { bound.to_string() } else { "+Inf".into() };
            let _ = writeln!(text, "{name}_bucket{{{inner}{comma}le=\"{le}\"}} {count}");
        }
        let sum: f64 = values.iter().map(|(v, n)| v * n * part).sum();
        let count: f64 = values.iter().map(|(_, n)| n * part).sum();
        let _ = writeln!(text, "{name}_sum{labels} {sum}\n{name}_count{labels} {count}");
    }

    /// The metric this engine shows the signal with, with the labels its row asks for.
    fn metric(&self, signal: Signal, key: Option<&str>) -> (&'static str, String) {
        let row = dialect(self.engine)
            .metrics
            .iter()
            .find(|r| {
                r.signal == signal
                    && !matches!(r.how, How::Label(_) | How::LabelProduct(..) | How::LabelCount(_))
            })
            .unwrap_or_else(|| panic!("{} has no metric for {signal}", self.engine));
        assert!(signal.kind() != Kind::Histogram || key.is_none());
        let mut labels = Vec::new();
        if self.engine == Engine::Vllm && row.metric.starts_with("vllm:") {
            labels.push("engine=\"0\",model_name=\"m\"".to_owned());
        }
        if let How::Where(label, [first, ..]) = row.how {
            labels.push(format!("{label}=\"{first}\""));
        }
        if let (Some(label), Some(key)) = (row.split, key) {
            labels.push(format!("{label}=\"{key}\""));
        }
        (row.metric, if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) })
    }
}
