//! What GPU tools print, read into the case's own words for cards.

mod amd_smi;
mod amdgpu;
mod dcgm;
mod dmon;
mod gather;
mod recognise;
mod report;
mod smi_csv;
mod smi_q;
mod under_load;

use intriage_case::gpu::{ClockReasons, GpuCard, GpuPath, GpuSample, GpuSurvey, NvLink};
use intriage_case::{Bytes, Ratio};

pub(crate) use gather::read_gpu;
pub use recognise::{GpuText, recognise_gpu_text};
pub use report::{BusPlace, Complaint, DeviceReport, Gravity, Reported};
pub use under_load::UnderLoad;

/// Everything read from GPU tools.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GpuReadings {
    /// Who was asked: `NVML 13.580.65`, `nvidia-smi -q`, `DCGM`, `amdgpu`…
    pub source: String,
    /// Who gave the samples.
    pub samples_source: String,
    /// The kernel driver's version.
    pub driver: Option<String>,
    /// The newest CUDA the driver speaks.
    pub cuda: Option<String>,
    /// Samples in order of time.
    pub samples: Vec<GpuSample>,
    /// Product name of the first card, such as `NVIDIA H200`.
    pub name: Option<String>,
    /// Memory of one GPU.
    pub memory: Option<Bytes>,
    /// Number of GPUs listed.
    pub count: Option<u32>,
    /// Each card as it stood.
    pub cards: Vec<GpuCard>,
    /// Each card as it stood at the beginning of the window, for counters; empty after a single look.
    pub before: Vec<GpuCard>,
    /// How each two cards reach each other.
    pub paths: Vec<GpuPath>,
    /// Which reasons for low clocks the tool was asked for; `None` where it tells of all.
    pub reasons_told: Option<ClockReasons>,
    /// What the driver and the kernel wrote of devices.
    pub reports: Vec<DeviceReport>,
}

impl GpuReadings {
    /// The card at a place on the bus.
    pub fn card_at(&self, device: BusPlace) -> Option<&GpuCard> {
        self.cards.iter().find(|card| place(card) == Some(device))
    }

    /// Whether a device is one of the cards; `None` where not all of them tell where they sit.
    pub fn is_listed(&self, device: BusPlace) -> Option<bool> {
        if self.card_at(device).is_some() {
            return Some(true);
        }
        let all_tell = !self.cards.is_empty() && self.cards.iter().all(|card| place(card).is_some());
        all_tell.then_some(false)
    }

    /// What was read, without the samples; `None` where there was no card to read.
    pub fn survey(&self) -> Option<GpuSurvey> {
        (!self.cards.is_empty()).then(|| GpuSurvey {
            source: self.source.clone(),
            driver: self.driver.clone(),
            cuda: self.cuda.clone(),
            cards: self.cards.clone(),
            before: self.before.clone(),
            paths: self.paths.clone(),
            samples: Vec::new(),
        })
    }

    /// Samples of one card in which some kernel ran.
    pub fn busy_samples(&self, index: u32) -> impl Iterator<Item = &GpuSample> {
        self.samples.iter().filter(move |s| s.index == index && s.util.is_some_and(|u| u.get() > 0.0))
    }

    /// Errors of a card's NVLinks that came in the window; `None` after a single look.
    pub fn nvlink_errors(&self, card: &GpuCard) -> Option<u64> {
        let before = self.before.iter().find(|b| b.index == card.index)?;
        let then = |link: u32| before.nvlinks.iter().find(|l| l.link == link).map(NvLink::errors);
        let grown = card.nvlinks.iter().filter_map(|l| l.errors().checked_sub(then(l.link)?));
        Some(grown.fold(0, u64::saturating_add))
    }

    /// Mean share of time some kernel ran, over the seconds in which any did.
    ///
    /// Seconds without a kernel are idle time around the load, not gaps inside it.
    pub fn busy_share(&self) -> Option<Ratio> {
        let busy: Vec<f64> =
            self.samples.iter().filter_map(|s| s.util).map(Ratio::get).filter(|u| *u > 0.0).collect();
        // The first and last second of a load are cut by the sampling.
        let inner = if busy.len() > 4 { &busy[1..busy.len() - 1] } else { &busy[..] };
        Ratio::of(inner.iter().sum(), inner.len() as f64)
    }
}

fn place(card: &GpuCard) -> Option<BusPlace> {
    BusPlace::parse(card.pci.as_deref()?)
}
