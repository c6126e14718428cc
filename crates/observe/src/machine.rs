//! This machine beside a server: kernel and GPUs, each from a thread of its own.

use std::time::{Duration, Instant};

use intriage_case::{Bytes, Case, Collected, Gathered, Seconds};

use crate::gpu::{GpuWatch, SAMPLE_EVERY};
use crate::host::HostWatch;

/// Time between two looks at the kernel's counters.
const COUNTERS_EVERY: Duration = Duration::from_secs(1);

/// Looks at kernel and GPUs from now until [`MachineWatch::stop`].
pub struct MachineWatch {
    began: Instant,
    gpus: Result<GpuWatch, String>,
    host: Result<HostWatch, String>,
}

impl MachineWatch {
    /// Begins; what cannot be seen is told at the end, in the case.
    pub fn start() -> Self {
        Self {
            began: Instant::now(),
            gpus: GpuWatch::start(SAMPLE_EVERY).map_err(|e| e.to_string()),
            host: HostWatch::start(COUNTERS_EVERY).map_err(|e| e.to_string()),
        }
    }

    /// Ends, and adds what was seen to the case with its inventory.
    pub fn stop(self, case: &mut Case) {
        let gpus = self.gpus.and_then(|watch| watch.stop().map_err(|e| e.to_string()));
        let host = self.host.and_then(|watch| watch.stop().map_err(|e| e.to_string()));
        let took = Seconds(self.began.elapsed().as_secs_f64());
        let mut tell = |what: &str, outcome, size: usize| {
            case.collected.push(Collected { what: what.into(), outcome, took, size: Bytes(size as f64) });
        };
        match gpus {
            Ok(survey) => {
                let size = serde_json::to_vec(&survey).map_or(0, |json| json.len());
                tell("gpu", Gathered::Whole, size);
                case.gpu.survey = Some(survey);
            }
            Err(why) => tell("gpu", Gathered::Skipped { why }, 0),
        }
        match host {
            Ok(snapshots) => {
                let size = snapshots.iter().flat_map(|s| s.files.values()).map(String::len).sum();
                let denied: usize = snapshots.first().map_or(0, denied);
                let outcome = if denied == 0 {
                    Gathered::Whole
                } else {
                    Gathered::Partly {
                        why: format!(
                            "{denied} files of the kernel may not be read by this user; root would add them"
                        ),
                    }
                };
                tell("host", outcome, size);
                case.host = snapshots;
            }
            Err(why) => tell("host", Gathered::Skipped { why }, 0),
        }
    }
}

/// Files that exist and could not be read.
fn denied(snapshot: &intriage_case::HostSnapshot) -> usize {
    snapshot.text("denied").map_or(0, |list| list.lines().count())
}
