//! This machine beside a server: kernel and GPUs, each from a thread of its own and within its own budget.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use intriage_case::{Budget, Bytes, Case, Collected, Gathered, GpuEvidence, HostSnapshot, Seconds};

use crate::gpu::{GpuTools, GpuWatch, SAMPLE_EVERY, ToolWatch};
use crate::host::{HostError, HostWatch, MOST_BYTES};
use crate::kernel_log;

/// Time between two looks at the kernel's counters.
const COUNTERS_EVERY: Duration = Duration::from_secs(1);

/// How long each may take to end after the window. A driver with a broken card may never answer; a tool that is run once
/// more has 4 s, and with a window of 10 s all must end within 15 s.
const GRACE: Duration = Duration::from_millis(4500);

/// Most bytes of a survey of the GPUs: its samples are limited, and a card's state has some kilobytes.
const MOST_SURVEY: usize = 16 << 20;

/// Looks at kernel and GPUs from now until [`MachineWatch::stop`].
pub struct MachineWatch {
    began: Instant,
    /// When it ends by itself.
    end: Option<Instant>,
    gpus: Option<Watched<GpuEvidence>>,
    host: Result<HostWatch, HostError>,
}

/// Who is asked for the cards.
enum Cards {
    Nvml(GpuWatch),
    /// With the reason why it is not the library.
    Tools(ToolWatch, String),
    Nobody(String),
}

impl MachineWatch {
    /// Begins; what cannot be seen is told at the end, in the case. With a window the last look is taken at its end, however
    /// long [`Self::stop`] is in coming.
    pub fn start(window: Option<Duration>) -> Self {
        let kernel = Self::without_gpus(window);
        let end = kernel.end;
        let gpus = Watched::start(move |stop| {
            let cards = Cards::start();
            stop.wait(end);
            cards.stop()
        });
        Self { gpus: Some(gpus), ..kernel }
    }

    /// Begins without the GPUs: somebody saved what a tool said of them.
    pub fn without_gpus(window: Option<Duration>) -> Self {
        let began = Instant::now();
        let end = window.and_then(|window| began.checked_add(window));
        Self { began, end, gpus: None, host: HostWatch::start(COUNTERS_EVERY, end) }
    }

    /// Ends, and adds what was seen to the case with its inventory.
    pub fn stop(self, case: &mut Case) {
        let end = self.end.map_or_else(Instant::now, |end| end.min(Instant::now()));
        let (window, until) = (end - self.began, end + GRACE);
        // Read at the end, so that it holds what happened in the window; all are told before any is waited for.
        let log = Watched::start(|_| kernel_log::read());
        let gpus = self.gpus.map(Watched::told);
        let host = self.host.inspect(HostWatch::tell);
        let gpus = gpus.map(|gpus| gpus.result(until));
        let host = host.and_then(|host| host.result(until));
        let log = log.result(until);
        let time = Seconds((window + GRACE).as_secs_f64());
        let began = self.began;
        let mut tell = |what: &str, outcome, ended: Instant, size: usize, most: usize| {
            let budget = Some(Budget { time, size: Bytes(most as f64) });
            case.collected.push(Collected {
                what: what.into(),
                outcome,
                took: Seconds((ended - began).as_secs_f64()),
                size: Bytes(size as f64),
                budget,
            });
        };
        match gpus {
            Some((Ok(evidence), ended)) => {
                let outcome = gap(&evidence).map_or(Gathered::Whole, |why| Gathered::Partly { why });
                tell("gpu", outcome, ended, size(&evidence), MOST_SURVEY);
                case.gpu = GpuEvidence { dcgm: std::mem::take(&mut case.gpu.dcgm), ..evidence };
            }
            Some((Err(why), ended)) => {
                match host.as_ref().ok().and_then(|(seen, _)| seen.first()).map(amd_cards) {
                    // The kernel shows AMD's cards itself, among the files of the host.
                    Some(1..) => tell(
                        "gpu",
                        Gathered::Partly {
                            why: "AMD cards as the kernel shows them; amd-smi would add their limits".into(),
                        },
                        ended,
                        0,
                        MOST_SURVEY,
                    ),
                    _ => tell("gpu", Gathered::Skipped { why }, ended, 0, MOST_SURVEY),
                }
            }
            None => {}
        }
        match host {
            Ok((snapshots, ended)) => {
                let size = snapshots.iter().map(HostSnapshot::size).sum();
                tell("host", outcome(&snapshots, size), ended, size, MOST_BYTES);
                case.host = snapshots;
            }
            Err(error) => {
                tell("host", Gathered::Skipped { why: error.to_string() }, Instant::now(), 0, MOST_BYTES);
            }
        }
        let (log, ended) = log;
        match log {
            Ok(log) => {
                tell("kernel log", Gathered::Whole, ended, log.text.len(), kernel_log::MOST_BYTES);
                case.add_log(log);
            }
            Err(why) => tell("kernel log", Gathered::Skipped { why }, ended, 0, kernel_log::MOST_BYTES),
        }
    }
}

fn outcome(snapshots: &[HostSnapshot], size: usize) -> Gathered {
    let hidden = not_read(snapshots);
    let full = (size >= MOST_BYTES).then(|| "looking ended when its budget was used up".to_owned());
    let why: Vec<String> = hidden.into_iter().chain(full).collect();
    if why.is_empty() { Gathered::Whole } else { Gathered::Partly { why: why.join("; ") } }
}

impl Cards {
    fn start() -> Self {
        match GpuWatch::start(SAMPLE_EVERY) {
            Ok(watch) => Self::Nvml(watch),
            Err(why) => match ToolWatch::start(GpuTools::on_path()) {
                Some(watch) => Self::Tools(watch, why.to_string()),
                None => Self::Nobody(why.to_string()),
            },
        }
    }

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

/// What a tool did not tell.
fn gap(gpu: &GpuEvidence) -> Option<String> {
    let lost_nvidia = gpu.smi_q.is_some() && gpu.smi_q_before.is_none();
    let lost_amd = gpu.amd_metric.is_some() && gpu.amd_metric_before.is_none();
    let unsampled = gpu.smi_q.is_some() && gpu.smi_csv.is_none();
    let told = [
        (lost_nvidia, "nvidia-smi did not answer at the end of the window"),
        (lost_amd, "amd-smi did not answer at the end of the window"),
        (unsampled, "nvidia-smi gave no samples"),
    ];
    let why: Vec<&str> = told.into_iter().filter(|(is, _)| *is).map(|(_, says)| says).collect();
    (!why.is_empty()).then(|| why.join("; "))
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

/// What of the machine could not be read, by reason: one name for all that share it.
fn not_read(snapshots: &[HostSnapshot]) -> Vec<String> {
    let lists = snapshots.iter().filter_map(|snapshot| snapshot.text("denied"));
    let mut names_by_reason: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, why) in lists.flat_map(str::lines).filter_map(|line| line.split_once('\t')) {
        names_by_reason.entry(why).or_default().insert(name);
    }
    let told = names_by_reason.iter().map(|(why, names)| match (names.first(), names.len()) {
        (Some(name), 2..) => format!("{name} and {} more: {why}", names.len() - 1),
        (name, _) => format!("{}: {why}", name.unwrap_or(&"")),
    });
    told.collect()
}

/// A collector on a thread of its own, which is left behind where it does not come back.
struct Watched<T> {
    stop: Sender<()>,
    /// What it found, and when it ended.
    result: Receiver<(Result<T, String>, Instant)>,
}

/// What a collector waits for.
struct Stop(Receiver<()>);

impl Stop {
    /// Until told, until nobody is left to tell, or until the end.
    fn wait(&self, end: Option<Instant>) {
        let _ = match end {
            Some(end) => self.0.recv_timeout(end.saturating_duration_since(Instant::now())).ok(),
            None => self.0.recv().ok(),
        };
    }
}

impl<T: Send + 'static> Watched<T> {
    fn start(work: impl FnOnce(&Stop) -> Result<T, String> + Send + 'static) -> Self {
        let (stop, stopped) = mpsc::channel();
        let (send, result) = mpsc::channel();
        // Where no thread can be started the sender is gone at once, and the result says so.
        let _ = std::thread::Builder::new().name("machine".into()).spawn(move || {
            let result = work(&Stop(stopped));
            let _ = send.send((result, Instant::now()));
        });
        Self { stop, result }
    }

    fn told(self) -> Self {
        // It may have ended by itself: then the result is there.
        let _ = self.stop.send(());
        self
    }

    /// What it found, and when it ended or was left behind.
    fn result(self, until: Instant) -> (Result<T, String>, Instant) {
        let why = match self.result.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(result) => return result,
            Err(RecvTimeoutError::Timeout) => format!("it did not end within {GRACE:?} after the window"),
            Err(RecvTimeoutError::Disconnected) => "the thread that looks could not run".into(),
        };
        (Err(why), Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_read_is_told_by_its_reason() {
        let list = "proc/7/io\tpermission denied; root would add disk use\nproc/8/io\tpermission denied; root would add disk use\ntcp_rtt\tss is not installed\n";
        let files = BTreeMap::from([("denied".to_owned(), list.to_owned())]);
        let snapshot = HostSnapshot { at: intriage_case::Millis(1), files };
        let Gathered::Partly { why } = outcome(&[snapshot], 10) else { panic!("something is missing") };
        assert_eq!(
            why,
            "proc/7/io and 1 more: permission denied; root would add disk use; tcp_rtt: ss is not installed"
        );
    }

    #[test]
    fn a_collector_that_never_comes_back_is_left_behind() {
        let stuck: Watched<()> = Watched::start(|_| {
            std::thread::park();
            Ok(())
        });
        let error = stuck.told().result(Instant::now()).0.unwrap_err();
        assert!(error.contains("did not end"), "{error}");
        let fine = Watched::start(|stop| {
            stop.wait(None);
            Ok(7)
        });
        assert_eq!(fine.told().result(Instant::now() + Duration::from_mins(1)).0, Ok(7));
    }
}
