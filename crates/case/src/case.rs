//! The case: all evidence about one incident, as it was collected.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::gpu::GpuSurvey;
use crate::manifest::{self, ManifestText};
use crate::model::ModelFiles;
use crate::{ClientRequest, Collected, HostSnapshot, Intent, Millis, PathProbe, Replica, StartRun};

/// All that was collected about one server over one window, and what its user wants of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Case {
    /// What was looked at.
    pub target: Target,
    /// The user's intent.
    pub intent: Intent,
    /// Scrapes of the metrics endpoint in order of time.
    pub scrapes: Vec<Scrape>,
    /// Other endpoints' bodies by path, such as `/version`.
    pub endpoints: BTreeMap<String, String>,
    /// Server logs.
    pub logs: Vec<LogText>,
    /// The command line the server was started with.
    pub command_line: Option<String>,
    /// Files that say how the server is meant to be started, in the order they apply.
    pub manifests: Vec<ManifestText>,
    /// What GPU tools said.
    pub gpu: GpuEvidence,
    /// The serving machine in order of time; the first snapshot holds everything, later ones what changes.
    pub host: Vec<HostSnapshot>,
    /// Requests as their client saw them.
    pub client: Vec<ClientRequest>,
    /// The model's files on the serving machine.
    pub model: Option<ModelFiles>,
    /// The start of the server, where intriage ran it.
    pub start: Option<StartRun>,
    /// Other servers of the same deployment, each with evidence of its own; what is judged is the rest of this case.
    pub replicas: Vec<Replica>,
    /// What each collector brought, and what was skipped and why.
    pub collected: Vec<Collected>,
    /// Ways to the server, as probes found them.
    pub paths: Vec<PathProbe>,
    /// What the collector wants a reader to know: what it skipped and why.
    pub notes: Vec<String>,
    /// Whether its writer made it safe; an old or foreign case may be so and not say it.
    pub redacted: bool,
}

/// What was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Target {
    /// What the user called it: a URL, a folder's or a file's name.
    pub name: String,
}

impl Target {
    /// The name of what is collected without a server's address.
    pub const THIS_MACHINE: &'static str = "this machine";

    /// The machine intriage runs on, whatever runs there.
    pub fn this_machine() -> Self {
        Self { name: Self::THIS_MACHINE.into() }
    }
}

/// One reading of the metrics endpoint.
#[derive(Debug, Clone, PartialEq)]
pub struct Scrape {
    /// When it was read.
    pub at: Millis,
    /// What came back.
    pub outcome: ScrapeOutcome,
}

/// What a scrape brought.
#[derive(Debug, Clone, PartialEq)]
pub enum ScrapeOutcome {
    /// The body, as sent.
    Body(Vec<u8>),
    /// The error, as the collector put it.
    Failed(String),
}

impl Scrape {
    /// The body, where there is one.
    pub fn body(&self) -> Option<&[u8]> {
        match &self.outcome {
            ScrapeOutcome::Body(bytes) => Some(bytes),
            ScrapeOutcome::Failed(_) => None,
        }
    }
}

/// A server log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogText {
    /// Its name in the case, such as `server.log`.
    pub name: String,
    /// Its text; bytes that are not UTF-8 were replaced when it was read.
    pub text: String,
}

impl LogText {
    /// The name of the kernel's log, which is the machine's and no server's.
    pub const KERNEL: &'static str = "kernel.log";
}

/// What GPU tools said: texts as they were printed, and what NVML answered.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GpuEvidence {
    /// Output of `nvidia-smi dmon`.
    pub dmon: Option<String>,
    /// Output of `nvidia-smi -q`, at the end of the window.
    pub smi_q: Option<String>,
    /// Output of `nvidia-smi -q` at its beginning, so that counters can be seen to grow.
    pub smi_q_before: Option<String>,
    /// Output of `nvidia-smi --query-gpu=… --format=csv` over the window.
    pub smi_csv: Option<String>,
    /// Output of `amd-smi static --json`, or whatever JSON of amd-smi was given.
    pub amd_static: Option<String>,
    /// Output of `amd-smi metric --json`, at the end of the window.
    pub amd_metric: Option<String>,
    /// Output of `amd-smi metric --json` at its beginning.
    pub amd_metric_before: Option<String>,
    /// Pages of a DCGM exporter in order of time.
    pub dcgm: Vec<Scrape>,
    /// What intriage itself read through NVML.
    pub survey: Option<GpuSurvey>,
}

impl Case {
    /// Adds a log; a second one of the same name gets a number, so that facts can tell them apart.
    pub fn add_log(&mut self, mut log: LogText) {
        let stem = log.name.strip_suffix(".log").unwrap_or(&log.name).to_owned();
        let mut number = 1;
        while self.logs.iter().any(|known| known.name == log.name) {
            number += 1;
            log.name = format!("{stem}-{number}.log");
        }
        self.logs.push(log);
    }

    /// Adds a manifest behind those there are; one that is there already moves to the end. An error says why it was left out.
    pub fn add_manifest(&mut self, manifest: ManifestText) -> Result<(), &'static str> {
        manifest::add(&mut self.manifests, manifest)
    }

    /// Whether nothing at all was collected.
    pub fn is_empty(&self) -> bool {
        self.scrapes.is_empty()
            && self.endpoints.is_empty()
            && self.logs.is_empty()
            && self.host.is_empty()
            && self.gpu.is_empty()
            && self.manifests.is_empty()
            && self.model.is_none()
            && self.replicas.is_empty()
    }
}

impl GpuEvidence {
    /// The names of the texts' files in a recording.
    pub const TEXTS: [&'static str; 7] = [
        "dmon.txt",
        "smi_q.txt",
        "smi_q_before.txt",
        "smi.csv",
        "amd_static.json",
        "amd_metric.json",
        "amd_metric_before.json",
    ];

    /// The texts there are, by the names of their files.
    pub fn texts(&self) -> impl Iterator<Item = (&'static str, &String)> {
        let texts = [
            &self.dmon,
            &self.smi_q,
            &self.smi_q_before,
            &self.smi_csv,
            &self.amd_static,
            &self.amd_metric,
            &self.amd_metric_before,
        ];
        Self::TEXTS.into_iter().zip(texts).filter_map(|(name, text)| Some((name, text.as_ref()?)))
    }

    /// The places of all texts, by the names of their files.
    pub fn texts_mut(&mut self) -> impl Iterator<Item = (&'static str, &mut Option<String>)> {
        let texts = [
            &mut self.dmon,
            &mut self.smi_q,
            &mut self.smi_q_before,
            &mut self.smi_csv,
            &mut self.amd_static,
            &mut self.amd_metric,
            &mut self.amd_metric_before,
        ];
        Self::TEXTS.into_iter().zip(texts)
    }

    /// Whether no tool said anything.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
