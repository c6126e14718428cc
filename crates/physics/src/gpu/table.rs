//! The table of GPUs as the file holds it.

use std::sync::LazyLock;

use intriage_case::{Bytes, PerSecond, Ratio};
use serde::Deserialize;

use super::{Gpu, GpuLink};

/// Dense peaks in tera-operations a second.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub(super) struct Peaks {
    pub(super) bf16: Option<f64>,
    pub(super) fp16: Option<f64>,
    pub(super) fp8: Option<f64>,
    pub(super) int8: Option<f64>,
    pub(super) fp4: Option<f64>,
}

pub(super) struct Table {
    pub(super) gpus: Vec<Gpu>,
    pub(super) usual: Vec<Usual>,
    pub(super) pcie_gb_s_per_lane: Vec<(u32, f64)>,
}

/// The file could only fail to read if it were edited wrongly; a test reads it.
pub(super) static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let file: File = serde_json::from_str(include_str!("../../data/gpus.json")).unwrap_or_default();
    file.into()
});

#[derive(Deserialize)]
pub(super) struct Usual {
    pub(super) name: String,
    pub(super) id: String,
    pub(super) means: String,
}

#[derive(Deserialize, Default)]
struct File {
    defaults: Defaults,
    pcie_gb_s_per_lane: std::collections::BTreeMap<String, f64>,
    usual: Vec<Usual>,
    gpus: Vec<Row>,
}

#[derive(Deserialize, Default, Clone, Copy)]
struct Defaults {
    mfu: (f64, f64),
    mbu: (f64, f64),
}

#[derive(Deserialize)]
struct Row {
    id: String,
    aliases: Vec<String>,
    device_names: Vec<String>,
    arch: String,
    memory_gb: f64,
    memory_mib: Option<f64>,
    bandwidth_gb_s: f64,
    tflops: Peaks,
    pcie: Pcie,
    link: Option<Link>,
    max_sm_clock_mhz: Option<f64>,
    peak_clock_mhz: Option<f64>,
    mem_bw_fraction: Option<f64>,
    flops_fraction: Option<f64>,
    confidence: String,
    notes: String,
}

#[derive(Deserialize)]
struct Pcie {
    r#gen: u32,
    lanes: u32,
}

#[derive(Deserialize)]
struct Link {
    kind: String,
    gb_s: f64,
}

impl From<File> for Table {
    fn from(file: File) -> Self {
        let lanes = file.pcie_gb_s_per_lane.iter();
        let pcie_gb_s_per_lane = lanes.filter_map(|(name, gb_s)| Some((name.parse().ok()?, *gb_s))).collect();
        let gpus = file.gpus.into_iter().map(|row| row.gpu(file.defaults)).collect();
        Self { gpus, usual: file.usual, pcie_gb_s_per_lane }
    }
}

impl Row {
    fn gpu(self, defaults: Defaults) -> Gpu {
        // A measured best case caps what good software can reach; it never raises the usual range.
        let capped = |(low, high): (f64, f64), best: Option<f64>| {
            let high = best.map_or(high, |best| high.min(best));
            (Ratio(low.min(high)), Ratio(high))
        };
        Gpu {
            memory: Bytes(self.memory_mib.map_or(self.memory_gb * 1e9, |mib| mib * 1_048_576.0)),
            bandwidth: PerSecond(Bytes(self.bandwidth_gb_s * 1e9)),
            pcie_gen: self.pcie.r#gen,
            pcie_lanes: self.pcie.lanes,
            link: self
                .link
                .map(|link| GpuLink { kind: link.kind, bandwidth: PerSecond(Bytes(link.gb_s * 1e9)) }),
            max_sm_clock_mhz: self.max_sm_clock_mhz,
            peak_clock_mhz: self.peak_clock_mhz.or(self.max_sm_clock_mhz),
            mfu: capped(defaults.mfu, self.flops_fraction),
            mbu: capped(defaults.mbu, self.mem_bw_fraction),
            id: self.id,
            aliases: self.aliases,
            device_names: self.device_names,
            arch: self.arch,
            confidence: self.confidence,
            notes: self.notes,
            peaks: self.tflops,
        }
    }
}
