//! GPUs through NVML, the driver's own library, loaded at run time: without it there is a reason, not a failure.
//!
//! Where the library cannot be had the vendors' tools are asked ([`GpuTools`]), and an exporter where its URL is given
//! ([`DcgmWatch`]). AMD's cards are also among the files of the host ([`crate::host`]).

mod exporter;
mod sampled;
mod standing;
mod tools;
mod topology;

use std::ffi::OsStr;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use intriage_case::gpu::GpuSurvey;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml, cuda_driver_version_major, cuda_driver_version_minor};
use thiserror::Error;

pub use exporter::DcgmWatch;
pub use tools::GpuTools;
pub(crate) use tools::ToolWatch;

/// Time between two samples: short enough to see a clock sag between two batches.
pub const SAMPLE_EVERY: Duration = Duration::from_millis(100);

/// Every so many samples, one of everything: links, heat and counters move slowly and cost the driver more.
const WHOLE_EVERY: usize = 10;

/// Most samples kept of all cards together: an hour of one card, or 30 s of a hundred.
const MOST_SAMPLES: usize = 36_000;

/// The library as drivers install it; the plain name comes with developer packages only.
const LIBRARIES: [&str; 2] = ["libnvidia-ml.so.1", "libnvidia-ml.so"];

/// Why NVML told nothing.
#[derive(Debug, Error)]
pub enum GpuError {
    /// No driver on this machine, or not in this container.
    #[error(
        "no NVIDIA driver library (libnvidia-ml.so.1) here; in a container it comes with the NVIDIA runtime and the capability 'utility'"
    )]
    NoDriver,
    /// The driver refused.
    #[error("NVML: {0}")]
    Nvml(#[from] NvmlError),
    /// The thread that samples could not be started, or died.
    #[error("cannot sample the GPUs: {0}")]
    Thread(String),
}

/// Looks at every card once.
pub fn survey() -> Result<GpuSurvey, GpuError> {
    let nvml = open()?;
    let devices = devices(&nvml)?;
    let mut survey = begun(&nvml);
    survey.cards = standing::cards(&nvml, &devices);
    survey.paths = topology::paths(&devices);
    Ok(survey)
}

/// Samples every card from now until [`GpuWatch::stop`].
pub struct GpuWatch {
    stop: Sender<()>,
    thread: JoinHandle<Result<GpuSurvey, GpuError>>,
}

impl GpuWatch {
    /// Begins; fails at once where there is nothing to sample.
    pub fn start(every: Duration) -> Result<Self, GpuError> {
        let nvml = open()?;
        devices(&nvml)?;
        let (stop, stopped) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("gpu".into())
            .spawn(move || {
                let devices = devices(&nvml)?;
                let mut survey = begun(&nvml);
                survey.before = standing::cards(&nvml, &devices);
                let mut due = Instant::now();
                for turn in 0_usize.. {
                    let look = if turn.is_multiple_of(WHOLE_EVERY) {
                        sampled::sample
                    } else {
                        sampled::quick_sample
                    };
                    if survey.samples.len() + devices.len() <= MOST_SAMPLES {
                        survey.samples.extend(devices.iter().enumerate().map(|(index, d)| look(index, d)));
                    }
                    due += every;
                    match stopped.recv_timeout(due.saturating_duration_since(Instant::now())) {
                        Err(RecvTimeoutError::Timeout) => {}
                        // Told to stop, or nobody is left to tell.
                        _ => break,
                    }
                }
                survey.cards = standing::cards(&nvml, &devices);
                survey.paths = topology::paths(&devices);
                Ok(survey)
            })
            .map_err(|e| GpuError::Thread(e.to_string()))?;
        Ok(Self { stop, thread })
    }

    /// Ends the sampling and looks at every card once more.
    pub fn stop(self) -> Result<GpuSurvey, GpuError> {
        // The thread may have ended by itself: then its own error tells.
        let _ = self.stop.send(());
        self.thread.join().map_err(|_| GpuError::Thread("the sampling thread died".into()))?
    }
}

fn open() -> Result<Nvml, GpuError> {
    for library in LIBRARIES {
        match Nvml::builder().lib_path(OsStr::new(library)).init() {
            Ok(nvml) => return Ok(nvml),
            Err(NvmlError::LibloadingError(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(GpuError::NoDriver)
}

fn devices(nvml: &Nvml) -> Result<Vec<Device<'_>>, GpuError> {
    // A card that has fallen off the bus is left out here; the kernel log tells of it.
    Ok((0..nvml.device_count()?).filter_map(|index| nvml.device_by_index(index).ok()).collect())
}

fn begun(nvml: &Nvml) -> GpuSurvey {
    let cuda = nvml.sys_cuda_driver_version().ok();
    GpuSurvey {
        source: nvml.sys_nvml_version().map_or("NVML".to_owned(), |v| format!("NVML {v}")),
        driver: nvml.sys_driver_version().ok(),
        cuda: cuda.map(|v| format!("{}.{}", cuda_driver_version_major(v), cuda_driver_version_minor(v))),
        ..GpuSurvey::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_driver_there_is_a_reason() {
        // On a machine with a card both answers must tell something.
        match (survey(), GpuWatch::start(SAMPLE_EVERY)) {
            (Err(why), Err(again)) => assert_eq!(why.to_string(), again.to_string()),
            (Ok(survey), Ok(watch)) => {
                let watched = watch.stop().unwrap();
                assert_eq!(survey.cards.len(), watched.cards.len());
                assert!(watched.samples.len() >= watched.cards.len());
            }
            (once, watch) => panic!("{once:?} but {:?}", watch.err()),
        }
    }
}
