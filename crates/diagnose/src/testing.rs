//! Cases made up for tests: say what the engine showed, get what a cause makes of it.

mod card;
mod client;
mod host;
mod page;
mod path;
mod place;
mod release;

use std::fmt::Write as _;

use intriage_case::{Case, GpuEvidence, LogText, Millis, Profile, Scrape, ScrapeOutcome, Signal};
use intriage_engines::Engine;

use crate::causes::Cause;
use crate::diagnosis::Diagnosis;
use crate::evidence::Evidence;
use crate::thresholds::Thresholds;
use crate::weighing::Judgement;

pub(crate) use card::Card;
pub(crate) use place::Place;

/// Scrapes in a made-up window, five seconds apart.
const SCRAPES: usize = 12;
const STEP_MS: u64 = 5000;
/// A note that stands for no scrapes at all.
const UNASKED: &str = "unasked";

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

    /// What `nvidia-smi -q` printed.
    pub(crate) fn smi_q_text(mut self, text: &str) -> Self {
        self.case.gpu.smi_q = Some(text.to_owned());
        self
    }

    /// What `nvidia-smi --query-gpu` printed.
    pub(crate) fn smi_csv(mut self, text: &str) -> Self {
        self.case.gpu.smi_csv = Some(text.to_owned());
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

    /// Tokens of a vLLM at these mean gaps in seconds, interval by interval.
    pub(crate) fn gaps(self, gaps: &[f64]) -> Self {
        let texts = (0..SCRAPES).map(|i| page::gaps(&gaps[..i.min(gaps.len())])).collect();
        Self { texts, ..self }
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

    /// A service made for bursts.
    pub(crate) fn bursty(mut self) -> Self {
        self.case.intent.profile = Profile::Bursty;
        self
    }

    /// The last `n` scrapes fail with this error.
    pub(crate) fn last_scrapes_fail(mut self, n: usize, why: &str) -> Self {
        self.case.notes.push(format!("fail {n} {why}"));
        self
    }

    /// Nobody asked the server: a log is all there is.
    pub(crate) fn without_scrapes(mut self) -> Self {
        self.case.notes.push(UNASKED.into());
        self
    }

    /// The case as a collector would have made it.
    pub(crate) fn case(&self) -> Case {
        let mut case = self.case.clone();
        let fail = case.notes.iter().find_map(|n| n.strip_prefix("fail ").map(str::to_owned));
        let unasked = case.notes.iter().any(|note| note == UNASKED);
        case.notes.clear();
        if unasked {
            return case;
        }
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
}
