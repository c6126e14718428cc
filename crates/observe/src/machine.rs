//! This machine beside a server: kernel and GPUs, each from a thread of its own.

use std::time::{Duration, Instant};

use intriage_case::{Bytes, Case, Collected, Gathered, GpuEvidence, HostSnapshot, Seconds};

use crate::gpu::{GpuTools, GpuWatch, SAMPLE_EVERY, ToolWatch};
use crate::host::HostWatch;
use crate::kernel_log;

/// Time between two looks at the kernel's counters.
const COUNTERS_EVERY: Duration = Duration::from_secs(1);

/// Looks at kernel and GPUs from now until [`MachineWatch::stop`].
pub struct MachineWatch {
    began: Instant,
    gpus: Option<Cards>,
    host: Result<HostWatch, String>,
}

/// Who is asked for the cards.
enum Cards {
    Nvml(GpuWatch),
    /// With the reason why it is not the library.
    Tools(ToolWatch, String),
    Nobody(String),
}

impl MachineWatch {
    /// Begins; what cannot be seen is told at the end, in the case.
    pub fn start() -> Self {
        let gpus = match GpuWatch::start(SAMPLE_EVERY) {
            Ok(watch) => Cards::Nvml(watch),
            Err(why) => match ToolWatch::start(GpuTools::on_path()) {
                Some(watch) => Cards::Tools(watch, why.to_string()),
                None => Cards::Nobody(why.to_string()),
            },
        };
        Self { gpus: Some(gpus), ..Self::without_gpus() }
    }

    /// Begins without the GPUs: somebody saved what a tool said of them.
    pub fn without_gpus() -> Self {
        Self {
            began: Instant::now(),
            gpus: None,
            host: HostWatch::start(COUNTERS_EVERY).map_err(|e| e.to_string()),
        }
    }

    /// Ends, and adds what was seen to the case with its inventory.
    pub fn stop(self, case: &mut Case) {
        // Read at the end, so that it holds what happened in the window.
        let log = std::thread::spawn(kernel_log::read);
        let gpus = self.gpus.map(Cards::stop);
        let host = self.host.and_then(|watch| watch.stop().map_err(|e| e.to_string()));
        let log = log.join().unwrap_or_else(|_| Err("the thread that reads it died".into()));
        let took = Seconds(self.began.elapsed().as_secs_f64());
        let mut tell = |what: &str, outcome, size: usize| {
            case.collected.push(Collected { what: what.into(), outcome, took, size: Bytes(size as f64) });
        };
        match gpus {
            Some(Ok(evidence)) => {
                tell("gpu", Gathered::Whole, size(&evidence));
                case.gpu = GpuEvidence { dcgm: std::mem::take(&mut case.gpu.dcgm), ..evidence };
            }
            Some(Err(why)) => match host.as_ref().ok().and_then(|seen| seen.first()).map(amd_cards) {
                // The kernel shows AMD's cards itself, among the files of the host.
                Some(1..) => tell(
                    "gpu",
                    Gathered::Partly {
                        why: "AMD cards as the kernel shows them; amd-smi would add their limits".into(),
                    },
                    0,
                ),
                _ => tell("gpu", Gathered::Skipped { why }, 0),
            },
            None => {}
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
        match log {
            Ok(log) => {
                tell("kernel log", Gathered::Whole, log.text.len());
                case.add_log(log);
            }
            Err(why) => tell("kernel log", Gathered::Skipped { why }, 0),
        }
    }
}

impl Cards {
    fn stop(self) -> Result<GpuEvidence, String> {
        match self {
            Self::Nvml(watch) => {
                let survey = watch.stop().map_err(|e| e.to_string())?;
                Ok(GpuEvidence { survey: Some(survey), ..GpuEvidence::default() })
            }
            Self::Tools(watch, library) => watch.stop().map_err(|why| format!("{library}; {why}")),
            Self::Nobody(why) => Err(why),
        }
    }
}

fn size(gpu: &GpuEvidence) -> usize {
    let survey = gpu.survey.as_ref().and_then(|survey| serde_json::to_vec(survey).ok());
    gpu.texts().map(|(_, text)| text.len()).sum::<usize>() + survey.map_or(0, |json| json.len())
}

/// AMD's cards in a snapshot.
fn amd_cards(snapshot: &HostSnapshot) -> usize {
    let cards = snapshot.files.iter().filter(|(name, _)| name.ends_with("/device/vendor"));
    cards.filter(|(name, id)| name.starts_with("sys/class/drm/") && id.trim() == "0x1002").count()
}

/// Files that exist and could not be read.
fn denied(snapshot: &HostSnapshot) -> usize {
    snapshot.text("denied").map_or(0, |list| list.lines().count())
}
