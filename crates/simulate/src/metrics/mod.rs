//! The metrics page of a simulated engine: vLLM's names, labels and buckets.

mod buckets;
mod log;
mod record;
mod render;

use std::collections::BTreeMap;

use intriage_case::Seconds;
pub(crate) use log::{StatsLog, stamp};
use record::EngineMetrics;

use crate::engine::{EngineConfig, Refusal, Sink};
use crate::fleet::FleetConfig;
use crate::request::Request;
use crate::run::Watch;
use crate::time::Nanos;

/// Counts what engines do and shows it the way vLLM 0.32 does.
#[derive(Debug, Clone)]
pub struct Exporter {
    model: String,
    started: Seconds,
    config: Option<EngineConfig>,
    engines: Vec<EngineMetrics>,
    http: BTreeMap<(String, u16), u64>,
    rejections: u64,
    process_cpu: Seconds,
}

impl Exporter {
    /// Counters at zero. `started` is the Unix time of the process's start.
    pub fn new(model: &str, fleet: &FleetConfig, started: Seconds) -> Self {
        Self {
            model: model.to_owned(),
            started,
            config: fleet.engines.first().cloned(),
            engines: fleet.engines.iter().map(EngineMetrics::new).collect(),
            http: BTreeMap::new(),
            rejections: 0,
            process_cpu: Seconds(0.0),
        }
    }

    /// An HTTP request on a route such as `/v1/completions` was answered.
    pub fn answered(&mut self, route: &str, status: u16) {
        *self.http.entry((route.to_owned(), status)).or_default() += 1;
    }

    /// CPU time the front end has used so far.
    pub const fn used_cpu(&mut self, total: Seconds) {
        self.process_cpu = total;
    }

    /// The page.
    pub fn render(&self) -> String {
        render::page(self)
    }
}

impl Watch for Exporter {
    fn sink(&mut self, engine: usize) -> &mut impl Sink {
        &mut self.engines[engine]
    }

    fn refused(&mut self, _request: &Request, why: Refusal, _now: Nanos) {
        if matches!(why, Refusal::QueueFull { .. }) {
            self.rejections += 1;
        }
    }
}
