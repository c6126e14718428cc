//! The vendors' own tools, where the driver's library cannot be had: `nvidia-smi` and `amd-smi`.
//!
//! What they print is kept as they print it, before and after the window; `nvidia-smi` also samples in between.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use intriage_case::GpuEvidence;
use intriage_engines::{GpuText, recognise_gpu_text};

use crate::command::{self, Running};

/// One look with a tool: seconds where the driver has to be woken first, and about 15 kB a card.
const LOOK_TIME: Duration = Duration::from_secs(4);
const LOOK_BYTES: usize = 4 << 20;

/// Samples: about 100 bytes a card and line, so an hour of sixteen cards fits.
const SAMPLE_BYTES: usize = 16 << 20;

/// Time between two samples in milliseconds, as the tool takes it. Each costs it a few milliseconds a card.
const SAMPLE_EVERY: &str = "500";

/// How long a question may take until its first answer; one the tool does not understand ends it at once.
const FIRST_ANSWER: Duration = Duration::from_secs(2);

/// What is sampled; see `nvidia-smi --help-query-gpu`.
const FIELDS: &str = "index,utilization.gpu,utilization.memory,power.draw,clocks.current.sm,clocks.current.memory,\
temperature.gpu,temperature.memory,memory.used,pcie.link.gen.current,pcie.link.width.current";

/// The reasons for clocks have this name since driver 535, the second before; a tool that knows neither is asked without.
const REASONS: [&str; 3] = [",clocks_event_reasons.active", ",clocks_throttle_reasons.active", ""];

/// Where the tools lie.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GpuTools {
    /// `nvidia-smi`.
    pub nvidia_smi: Option<PathBuf>,
    /// `amd-smi`.
    pub amd_smi: Option<PathBuf>,
}

impl GpuTools {
    /// Those that can be run by their names.
    pub fn on_path() -> Self {
        Self { nvidia_smi: command::find("nvidia-smi"), amd_smi: command::find("amd-smi") }
    }
}

/// Asks the tools from now until [`ToolWatch::stop`].
pub(crate) struct ToolWatch {
    stop: Sender<()>,
    thread: JoinHandle<Result<GpuEvidence, String>>,
}

impl ToolWatch {
    /// Begins; `None` where there is no tool.
    pub(crate) fn start(tools: GpuTools) -> Option<Self> {
        if tools == GpuTools::default() {
            return None;
        }
        let (stop, stopped) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let mut reasons = Vec::new();
            if let Some(tool) = &tools.nvidia_smi {
                match nvidia(tool, &stopped) {
                    Ok(evidence) => return Ok(evidence),
                    Err(why) => reasons.push(format!("nvidia-smi: {why}")),
                }
            }
            if let Some(tool) = &tools.amd_smi {
                match amd(tool, &stopped) {
                    Ok(evidence) => return Ok(evidence),
                    Err(why) => reasons.push(format!("amd-smi: {why}")),
                }
            }
            Err(reasons.join("; "))
        });
        Some(Self { stop, thread })
    }

    /// Ends with a last look at every card.
    pub(crate) fn stop(self) -> Result<GpuEvidence, String> {
        // The thread may have ended by itself: then its own error tells.
        let _ = self.stop.send(());
        self.thread.join().map_err(|_| "the thread that asks the tool died".to_owned())?
    }
}

fn nvidia(tool: &Path, stopped: &Receiver<()>) -> Result<GpuEvidence, String> {
    let before = look(tool, &["-q"], GpuText::SmiQ)?;
    let sampler = sampler(tool);
    wait(stopped);
    let smi_csv = sampler.map(|running| running.stop().text).filter(|text| !text.is_empty());
    // A card that is lost in the window ends the tool: the first look still counts.
    let (smi_q_before, smi_q) = match look(tool, &["-q"], GpuText::SmiQ) {
        Ok(after) => (Some(before), after),
        Err(_) => (None, before),
    };
    Ok(GpuEvidence { smi_q: Some(smi_q), smi_q_before, smi_csv, ..GpuEvidence::default() })
}

/// The first question the tool understands, being answered; `None` where it understands none.
fn sampler(tool: &Path) -> Option<Running> {
    for reasons in REASONS {
        let query = format!("--query-gpu={FIELDS}{reasons}");
        let args = [query.as_str(), "--format=csv,nounits", "-lms", SAMPLE_EVERY];
        let mut running = Running::start(tool, &args, SAMPLE_BYTES).ok()?;
        let mut waited = Duration::ZERO;
        while !running.has_ended() && waited < FIRST_ANSWER {
            if recognise_gpu_text(&running.so_far()) == Some(GpuText::SmiCsv) {
                return Some(running);
            }
            std::thread::sleep(Duration::from_millis(20));
            waited += Duration::from_millis(20);
        }
        running.stop();
    }
    None
}

fn amd(tool: &Path, stopped: &Receiver<()>) -> Result<GpuEvidence, String> {
    let standing = look(tool, &["static", "--json"], GpuText::AmdStatic);
    let before = look(tool, &["metric", "--json"], GpuText::AmdMetric)?;
    wait(stopped);
    let (amd_metric_before, amd_metric) = match look(tool, &["metric", "--json"], GpuText::AmdMetric) {
        Ok(after) => (Some(before), after),
        Err(_) => (None, before),
    };
    Ok(GpuEvidence {
        amd_static: standing.ok(),
        amd_metric: Some(amd_metric),
        amd_metric_before,
        ..GpuEvidence::default()
    })
}

fn look(tool: &Path, args: &[&str], kind: GpuText) -> Result<String, String> {
    let said = command::run(tool, args, LOOK_TIME, LOOK_BYTES).map_err(|e| e.to_string())?;
    if recognise_gpu_text(&said.text) == Some(kind) {
        return Ok(said.text);
    }
    Err(if said.well { format!("{} said nothing known here", kind.name()) } else { said.why })
}

fn wait(stopped: &Receiver<()>) {
    // Told to stop, or nobody is left to tell: either ends it.
    let _ = stopped.recv();
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use intriage_case::Case;
    use intriage_case::gpu::ClockReasons;
    use intriage_engines::read;

    use super::*;

    /// A tool that answers like the real one: `-q` with what an H200 said, queries it does not know with a refusal.
    fn fake(folder: &Path, script: &str) -> PathBuf {
        let path = folder.join("tool");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn h200(state: &str) -> String {
        format!("{}/../engines/tests/h200/{state}/smi_q.txt", env!("CARGO_MANIFEST_DIR"))
    }

    fn watch(tools: GpuTools, mut until: impl FnMut() -> bool) -> Result<GpuEvidence, String> {
        let watch = ToolWatch::start(tools).unwrap();
        while !until() && !watch.thread.is_finished() {
            std::thread::sleep(Duration::from_millis(10));
        }
        watch.stop()
    }

    #[test]
    fn nvidia_smi_is_asked_before_after_and_in_between() {
        let folder = tempfile::tempdir().unwrap();
        let answered = folder.path().join("answered");
        let script = format!(
            r#"case "$1" in
-q) cat {} ;;
*clocks_event_reasons*) echo 'Field "clocks_event_reasons.active" is not a valid field to query.'; exit 2 ;;
*) echo 'index, utilization.gpu [%], clocks.current.sm [MHz], clocks_throttle_reasons.active'
   echo '0, 100, 1485, 0x0000000000000004'; touch {}; exec sleep 600 ;;
esac"#,
            h200("busy"),
            answered.display()
        );
        let tools = GpuTools { nvidia_smi: Some(fake(folder.path(), &script)), ..GpuTools::default() };
        let evidence = watch(tools, || answered.exists()).unwrap();
        let gpu = read(&Case { gpu: evidence, ..Case::default() }).gpu;
        assert_eq!((gpu.source.as_str(), gpu.name.as_deref()), ("nvidia-smi -q", Some("NVIDIA H200")));
        assert_eq!((gpu.before.len(), gpu.cards.len()), (1, 1));
        assert_eq!(gpu.samples.first().and_then(|s| s.reasons), Some(ClockReasons::POWER_CAP));
    }

    #[test]
    fn a_tool_without_a_driver_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let script =
            "echo \"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\"; exit 9";
        let tools = GpuTools { nvidia_smi: Some(fake(folder.path(), script)), ..GpuTools::default() };
        let why = watch(tools, || false).unwrap_err();
        assert!(why.starts_with("nvidia-smi: NVIDIA-SMI has failed"), "{why}");
    }

    #[test]
    fn amd_smi_is_asked_what_stands_and_what_moves() {
        let folder = tempfile::tempdir().unwrap();
        let done = folder.path().join("done");
        let script = format!(
            r#"case "$1" in
static) echo '[{{"gpu": 0, "asic": {{"market_name": "AMD Instinct MI300X"}}}}]' ;;
metric) echo '[{{"gpu": 0, "usage": {{"gfx_activity": {{"value": 0, "unit": "%"}}}}}}]'; touch {} ;;
esac"#,
            done.display()
        );
        let tools = GpuTools { amd_smi: Some(fake(folder.path(), &script)), ..GpuTools::default() };
        let evidence = watch(tools, || done.exists()).unwrap();
        let gpu = read(&Case { gpu: evidence, ..Case::default() }).gpu;
        assert_eq!((gpu.source.as_str(), gpu.name.as_deref()), ("amd-smi", Some("AMD Instinct MI300X")));
        assert_eq!(gpu.under_load(&gpu.cards[0]), None, "an idle card");
    }

    #[test]
    fn without_a_tool_there_is_nothing_to_watch() {
        assert!(ToolWatch::start(GpuTools::default()).is_none());
    }
}
