//! A dialect: one engine's way of saying the signals, as tables with version ranges.

use std::fmt;

use intriage_case::Signal;

use crate::config::{VariableChange, VariableRow};
use crate::{Setting, VersionRange};
use crate::{dynamo, llamacpp, lmdeploy, ollama, sglang, tgi, trtllm, vllm};

/// The engines intriage knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Engine {
    /// vLLM, both engines and both front ends.
    Vllm,
    /// SGLang.
    Sglang,
    /// Hugging Face text-generation-inference.
    Tgi,
    /// TensorRT-LLM, by trtllm-serve or Triton.
    TensorRtLlm,
    /// llama.cpp's llama-server.
    LlamaCpp,
    /// LMDeploy.
    Lmdeploy,
    /// NVIDIA Dynamo's front end.
    Dynamo,
    /// Ollama.
    Ollama,
}

impl Engine {
    /// Every engine, in the order detection tries them: a front end may pass another engine's
    /// metrics through, so the engines come first.
    pub const ALL: &[Self] = &[
        Self::Vllm,
        Self::Sglang,
        Self::Tgi,
        Self::TensorRtLlm,
        Self::LlamaCpp,
        Self::Lmdeploy,
        Self::Dynamo,
        Self::Ollama,
    ];

    /// The key used in tables and output, such as `vllm`.
    pub fn key(self) -> &'static str {
        dialect(self).key
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(dialect(*self).name)
    }
}

/// Everything intriage knows about how one engine talks.
#[derive(Debug)]
pub struct Dialect {
    /// Which engine.
    pub engine: Engine,
    /// Key in tables and output.
    pub key: &'static str,
    /// The name people use.
    pub name: &'static str,
    /// What its metric names begin with.
    pub prefixes: &'static [&'static str],
    /// `owned_by` in `/v1/models`.
    pub owned_by: &'static [&'static str],
    /// Metrics by signal; for one signal the earlier row wins where both have data.
    pub metrics: &'static [MetricRow],
    /// Signals this engine cannot show, or only under a condition, and why.
    pub availability: &'static [Availability],
    /// Command-line flags that matter to a diagnosis.
    pub flags: &'static [Flag],
    /// Environment variables that set what a flag sets.
    pub variables: &'static [VariableRow],
    /// Environment variables that some releases do not read.
    pub variables_gone: &'static [VariableChange],
    /// What the engine's own environment variables begin with.
    pub variable_prefixes: &'static [&'static str],
    /// Values in log lines that tell the resolved configuration.
    pub log_values: &'static [LogValue],
    /// Token budgets of a step the engine starts with by default, by hardware.
    pub default_budgets: &'static [f64],
    /// Endpoints worth asking beside the metrics; a query is sent and left out of the stored path.
    pub endpoints: &'static [&'static str],
    /// The newest release a recording or source reading was made of.
    pub newest_known: &'static str,
}

/// The dialect of an engine.
pub fn dialect(engine: Engine) -> &'static Dialect {
    match engine {
        Engine::Vllm => &vllm::DIALECT,
        Engine::Sglang => &sglang::DIALECT,
        Engine::Tgi => &tgi::DIALECT,
        Engine::TensorRtLlm => &trtllm::DIALECT,
        Engine::LlamaCpp => &llamacpp::DIALECT,
        Engine::Lmdeploy => &lmdeploy::DIALECT,
        Engine::Dynamo => &dynamo::DIALECT,
        Engine::Ollama => &ollama::DIALECT,
    }
}

/// One metric that carries a signal.
#[derive(Debug, Clone, Copy)]
pub struct MetricRow {
    /// The signal.
    pub signal: Signal,
    /// The metric as exposed; for a histogram the base name.
    pub metric: &'static str,
    /// How its value becomes the signal's.
    pub how: How,
    /// The label whose value is kept as a key, such as `finished_reason`.
    pub split: Option<&'static str>,
    /// The releases that have it with this meaning.
    pub range: VersionRange,
}

/// How a metric's value becomes the signal's.
#[derive(Debug, Clone, Copy)]
pub enum How {
    /// As it is.
    Same,
    /// Only series whose label has one of these values.
    Where(&'static str, &'static [&'static str]),
    /// Times a factor, into the signal's unit.
    Scale(f64),
    /// Times the KV block size: the metric counts blocks.
    TimesBlockSize,
    /// The number in a label of an info metric.
    Label(&'static str),
    /// The product of two labels' numbers.
    LabelProduct(&'static str, &'static str),
    /// How many names a label lists, separated by commas; of several series the newest by value.
    LabelCount(&'static str),
    /// A sum (this metric) over a count (that one): a histogram without buckets.
    Over(&'static str),
    /// Times another metric of the same scrape.
    Times(&'static str),
    /// Plus another metric of the same scrape.
    Plus(&'static str),
    /// The `_sum` of a histogram, read as a counter.
    SumOfHistogram,
}

impl MetricRow {
    /// A metric that is the signal as it stands, in every release.
    pub const fn same(signal: Signal, metric: &'static str) -> Self {
        Self { signal, metric, how: How::Same, split: None, range: VersionRange::ALL }
    }

    /// With a transformation.
    #[must_use]
    pub const fn how(mut self, how: How) -> Self {
        self.how = how;
        self
    }

    /// Keeping a label as key.
    #[must_use]
    pub const fn by(mut self, label: &'static str) -> Self {
        self.split = Some(label);
        self
    }

    /// From a release on.
    #[must_use]
    pub const fn since(mut self, since: &'static str) -> Self {
        self.range.since = since;
        self
    }

    /// Up to and including a release.
    #[must_use]
    pub const fn until(mut self, until: &'static str) -> Self {
        self.range.until = until;
        self
    }
}

/// Why a signal may be missing from an engine that otherwise talks.
#[derive(Debug, Clone, Copy)]
pub struct Availability {
    /// The signal.
    pub signal: Signal,
    /// Reads after "…: ", such as `llama.cpp keeps no such histogram`.
    pub why: &'static str,
}

/// A command-line flag.
#[derive(Debug, Clone, Copy)]
pub struct Flag {
    /// The spellings, dashes included; the first is the one to recommend.
    pub names: &'static [&'static str],
    /// What it sets.
    pub setting: Setting,
    /// How its value is read.
    pub value: FlagValue,
}

/// How a flag's value is read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FlagValue {
    /// A number follows.
    Number,
    /// A text follows.
    Text,
    /// The flag alone switches the setting to this.
    Switch(bool),
}

/// A number in a log line that tells the resolved configuration.
#[derive(Debug, Clone, Copy)]
pub struct LogValue {
    /// Text the line must contain.
    pub line: &'static str,
    /// The number stands directly behind this text (thousands separators allowed).
    pub after: &'static str,
    /// What it sets.
    pub setting: Setting,
    /// Multiplied into the setting's unit.
    pub scale: f64,
}
