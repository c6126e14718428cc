//! The answer as data: what `--format json` prints, schema `intriage.diagnosis/1`.

use intriage_case::{Fact, Millis, Objective, Profile, Quantity, Ratio, Seconds, StartRun};
use intriage_engines::{ConfigTable, LogStory, Model};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::prediction::Prediction;
use crate::symptoms::{Aspect, Symptom};
use crate::timeline::Event;

/// The version of the diagnosis format.
pub const SCHEMA: &str = "intriage.diagnosis/1";

/// The whole answer for one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Diagnosis {
    /// Always `intriage.diagnosis/1`.
    pub schema: String,
    /// The version that judged.
    pub intriage: String,
    /// What was looked at.
    pub target: String,
    /// The workload profile it was judged for.
    pub profile: Profile,
    /// Which engine answered.
    pub engine: EngineSummary,
    /// What the model's files on the serving machine tell; null where none were collected.
    #[serde(default)]
    pub model: Option<Model>,
    /// The start that intriage ran itself, with its phases; null where it ran none.
    #[serde(default)]
    pub start: Option<StartRun>,
    /// The window that was judged.
    pub window: WindowSummary,
    /// The answer.
    pub verdict: Verdict,
    /// The load and its figures.
    #[serde(default)]
    pub context: Context,
    /// Every aspect of the service: whether it hurts, and by which yardstick.
    #[serde(default)]
    pub symptoms: Vec<Symptom>,
    /// What happened when inside the window.
    #[serde(default)]
    pub timeline: Vec<Event>,
    /// Where the time went, with what is left unexplained.
    pub segments: Vec<Segment>,
    /// The objectives given and how they fared.
    pub objectives: Vec<ObjectiveResult>,
    /// Causes that hold, the primary first.
    pub findings: Vec<Finding>,
    /// Causes that do not hold, with the fact that speaks against each.
    pub ruled_out: Vec<RuledOut>,
    /// Causes nobody could judge on this evidence, and what would settle them.
    pub cannot_tell: Vec<Unjudged>,
    /// What to change for the primary finding, best first.
    pub remedies: Vec<RemedyOut>,
    /// What changes for the primary finding are expected to do, from a replay of the case. The judge
    /// leaves this empty; who prints the diagnosis may fill it.
    #[serde(default)]
    pub predictions: Vec<Prediction>,
    /// Why there is no prediction for the primary finding, where one was tried.
    #[serde(default)]
    pub no_prediction: Option<String>,
    /// Conditions that look alarming and are not.
    pub benign: Vec<Named>,
    /// What the log tells of the last process in it, from its start to its end; null where there is no log of an engine.
    #[serde(default)]
    pub log_story: Option<LogStory>,
    /// The configuration in columns: asked for, resolved, seen, default.
    #[serde(default)]
    pub config: ConfigTable,
    /// What else a reader should know.
    pub notes: Vec<String>,
}

/// Who answered.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct EngineSummary {
    /// The engine's key, such as `vllm`; null where none was recognised.
    pub name: Option<String>,
    /// The engine's name as people write it, such as `vLLM`.
    pub title: Option<String>,
    /// Its version, as it says.
    pub version: Option<String>,
    /// Served models.
    pub models: Vec<String>,
    /// Engines behind the address.
    pub instances: u32,
}

/// The window that was judged.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct WindowSummary {
    /// First readable scrape, in milliseconds since the Unix epoch.
    pub start: Option<Millis>,
    /// Last readable scrape.
    pub end: Option<Millis>,
    /// First to last readable scrape.
    pub seconds: Seconds,
    /// Readable scrapes.
    pub scrapes: u32,
    /// Scrapes that failed.
    pub failed_scrapes: u32,
    /// Scrapes in which requests were running or waiting.
    pub busy_scrapes: u32,
    /// Requests that finished inside the window, where the engine counts them.
    pub finished_requests: Option<f64>,
}

/// Whether something is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Nothing is wrong.
    Healthy,
    /// Something is wrong; see `primary`.
    Finding,
    /// The evidence does not allow a verdict.
    CannotTell,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// Whether something is wrong.
    pub status: Status,
    /// Whether that is proven: something hurts and its cause is confirmed, or everything that matters was seen and is fine.
    #[serde(default)]
    pub proven: bool,
    /// The answer in one sentence.
    pub answer: String,
    /// The cause that comes first.
    pub primary: Primary,
    /// The next best explanation.
    pub runner_up: Option<RunnerUp>,
    /// Where something hurts and no cause fits completely: the nearest ones, and what each lacks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<Candidate>,
}

/// A cause that might explain what hurts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Candidate {
    /// A catalogue id.
    pub cause: String,
    /// What it lacks, in one sentence.
    pub lacks: String,
}

/// The cause that comes first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Primary {
    /// A catalogue id; null where nothing is wrong, or where no known cause explains what hurts.
    pub cause: Option<String>,
    /// How sure, 0 to 1: the share of verdicts with this weight of evidence that were right.
    pub confidence: f64,
    /// The aspect that hurts most: `queue`, `decode step`, `errors`…; null where nothing hurts.
    #[serde(default)]
    pub segment: Option<Aspect>,
    /// The cause's class, such as `queueing`.
    #[serde(default)]
    pub class: Option<String>,
    /// The layer the cause lives in, such as `memory`.
    #[serde(default)]
    pub layer: Option<String>,
}

/// The next best explanation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunnerUp {
    /// A catalogue id.
    pub cause: String,
    /// How sure, 0 to 1.
    pub confidence: f64,
    /// The cause in one sentence.
    pub says: String,
}

/// What a segment is a part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SegmentOf {
    /// Time to first token.
    Ttft,
    /// Time per output token.
    Tpot,
    /// Requests and tokens per second against the limit that binds.
    Throughput,
    /// GPU memory.
    Memory,
}

/// A part of the time (or memory, or throughput) that was measured or bounded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Segment {
    /// What it is a part of.
    pub of: SegmentOf,
    /// Its name: `queue`, `prefill`, `unexplained`…
    pub name: String,
    /// The best estimate.
    pub value: Quantity,
    /// At least this much, in the same unit.
    pub low: f64,
    /// At most this much, in the same unit.
    pub high: f64,
    /// Its share of the whole; absent where the parts do not add up to one.
    pub share: Option<Ratio>,
    /// How it was found.
    pub source: String,
}

/// An objective and how it fared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObjectiveResult {
    /// The objective, such as `ttft.p95 ≤ 500 ms`.
    pub objective: String,
    /// True if met, false if missed, null if the evidence is too coarse or missing.
    pub met: Option<bool>,
    /// What was measured, with its bounds.
    pub measured: String,
    /// The objective as data, for those who compute with it.
    #[serde(skip)]
    pub asked: Option<Objective>,
}

/// How a cause was judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Mechanism and effect are both seen and nothing speaks against it.
    Confirmed,
    /// Everything that can be seen passively fits; a probe would confirm it.
    Likely,
    /// Something seen is incompatible with it.
    RuledOut,
    /// The evidence it needs is missing.
    CannotTell,
}

/// What a finding costs, and of what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ImpactOn {
    /// The server does not serve at all.
    Availability,
    /// Requests fail.
    Errors,
    /// The wait for the first token.
    Ttft,
    /// The pace of tokens.
    Tpot,
    /// A request's whole life.
    E2e,
    /// Work done per second.
    Throughput,
    /// Memory.
    Memory,
    /// The trust in the figures themselves.
    Measurement,
}

/// What a finding costs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Impact {
    /// Of what.
    pub on: ImpactOn,
    /// Share of a request's life (or of requests, or of capacity) it explains, 0 to 1.
    pub share: Ratio,
    /// The time it explains per request, where it is time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub time: Option<Seconds>,
    /// In words.
    pub says: String,
}

/// A cause that holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Catalogue id.
    pub cause: String,
    /// How it was judged.
    pub outcome: Outcome,
    /// How sure, 0 to 1.
    pub confidence: f64,
    /// The cause in one sentence, with this case's numbers.
    pub says: String,
    /// What it costs.
    pub impact: Option<Impact>,
    /// Facts that speak for it.
    #[serde(rename = "for")]
    pub facts_for: Vec<Fact>,
    /// Facts that speak against it, or that temper it.
    pub against: Vec<Fact>,
    /// What would make it surer and was not there.
    pub missing: Vec<String>,
    /// The finding this one follows from, if it is only an effect.
    pub effect_of: Option<String>,
    /// The finding this one stands behind: demand that drove the server into that limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drives: Option<String>,
}

/// A cause that does not hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RuledOut {
    /// Catalogue id.
    pub cause: String,
    /// The facts that speak against it.
    pub because: Vec<Fact>,
}

/// A cause that could not be judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Unjudged {
    /// Catalogue id.
    pub cause: String,
    /// What was missing, as sentences.
    pub missing: Vec<String>,
    /// The probe that would settle it.
    pub probe: String,
}

/// A change to make.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RemedyOut {
    /// The cause it is for.
    pub cause: String,
    /// The change with exact flags for this engine and version.
    pub change: String,
    /// What to expect.
    pub effect: String,
    /// What it costs or risks.
    pub cost: String,
    /// How to see that it worked.
    pub confirm: String,
    /// How to take it back.
    pub undo: String,
}

/// Something with an id and a sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Named {
    /// Catalogue id.
    pub id: String,
    /// One sentence.
    pub says: String,
}
