//! This machine, saved texts and exporters: what `check`, `collect` and `host` add beside a server.

use std::time::{Duration, Instant};

use intriage_case::{Bytes, Case, Collected, Gathered, Scrape, Seconds};
use intriage_observe::gpu::DcgmWatch;
use intriage_observe::{Address, MachineWatch, read_gpu_file};

use crate::cli::GpuArgs;
use crate::failure::Failure;

/// Looks under way.
pub(super) struct Looking {
    began: Instant,
    saved: Case,
    machine: Option<MachineWatch>,
    exporter: Option<DcgmWatch>,
}

impl Looking {
    /// Begins with what the command line asks for; a file or a URL that is none shows at once. With a window the machine's last
    /// look is taken at its end.
    pub(super) fn start(host: bool, args: &GpuArgs, window: Option<Duration>) -> Result<Self, Failure> {
        let began = Instant::now();
        let exporter = match &args.dcgm {
            Some(url) => Some(url.parse::<Address>().map_err(|e| Failure::Usage(format!("--dcgm: {e}")))?),
            None => None,
        };
        let saved = saved(args)?;
        let start = if args.gpu_file.is_empty() { MachineWatch::start } else { MachineWatch::without_gpus };
        Ok(Self {
            began,
            saved,
            exporter: exporter.as_ref().map(DcgmWatch::start),
            machine: host.then(|| start(window)),
        })
    }

    /// Whether something is watched over a window.
    pub(super) fn watches(&self) -> bool {
        self.machine.is_some() || self.exporter.is_some()
    }

    /// Ends, and adds what was seen to the case with its inventory.
    pub(super) fn stop(self, case: &mut Case) {
        if let Some(machine) = self.machine {
            machine.stop(case);
        }
        case.collected.extend(self.saved.collected);
        if !self.saved.gpu.is_empty() {
            case.gpu = self.saved.gpu;
        }
        let Some(exporter) = self.exporter else { return };
        let outcome = match exporter.stop() {
            Ok(pages) => {
                let failed = pages.iter().filter(|page| page.body().is_none()).count();
                let all = pages.len();
                case.gpu.dcgm = pages;
                if failed == 0 {
                    Gathered::Whole
                } else {
                    Gathered::Partly { why: format!("{failed} of {all} pages failed") }
                }
            }
            Err(why) => Gathered::Skipped { why },
        };
        let size = case.gpu.dcgm.iter().filter_map(Scrape::body).map(<[u8]>::len).sum();
        case.collected.push(part("dcgm", outcome, self.began, size));
    }
}

/// The texts of `--gpu-file`, for a case that does not exist yet.
pub(super) fn saved(args: &GpuArgs) -> Result<Case, Failure> {
    let mut case = Case::default();
    for path in &args.gpu_file {
        let began = Instant::now();
        let kind = read_gpu_file(&mut case, path)?;
        let size = std::fs::metadata(path).map_or(0, |file| file.len() as usize);
        case.collected.push(part(
            &format!("{} {}", kind.name(), path.display()),
            Gathered::Whole,
            began,
            size,
        ));
    }
    Ok(case)
}

fn part(what: &str, outcome: Gathered, began: Instant, size: usize) -> Collected {
    let took = Seconds(began.elapsed().as_secs_f64());
    Collected { what: what.to_owned(), outcome, took, size: Bytes(size as f64), budget: None }
}
