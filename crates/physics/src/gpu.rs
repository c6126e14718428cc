//! The GPUs that are known, and what each could do at best.

mod table;

use intriage_case::{Bytes, PerSecond, Ratio};
use serde::{Deserialize, Serialize};
use table::{Peaks, TABLE};

/// Floating-point (or integer) operations a second.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FlopPerSecond(pub f64);

impl FlopPerSecond {
    /// The bare number.
    pub const fn get(self) -> f64 {
        self.0
    }
}

/// The arithmetic of the matrix units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Math {
    /// 16-bit floats with a large exponent.
    Bf16,
    /// 16-bit floats with a small exponent.
    Fp16,
    /// 8-bit floats.
    Fp8,
    /// 8-bit integers.
    Int8,
    /// 4-bit floats.
    Fp4,
}

/// One accelerator, as its maker specifies it: dense peaks, decimal units, one device.
#[derive(Debug, Clone, PartialEq)]
pub struct Gpu {
    /// Name in the table, such as `nvidia-h100-sxm5-80gb`.
    pub id: String,
    /// Short names that mean this part and no other.
    pub aliases: Vec<String>,
    /// Names that NVML or its like reports.
    pub device_names: Vec<String>,
    /// Generation of the chip.
    pub arch: String,
    /// Memory as the driver reports it (or, where unknown, as sold).
    pub memory: Bytes,
    /// Peak memory bandwidth.
    pub bandwidth: PerSecond<Bytes>,
    /// Generation of the host link.
    pub pcie_gen: u32,
    /// Lanes of the host link.
    pub pcie_lanes: u32,
    /// Direct link to other GPUs, where there is one.
    pub link: Option<GpuLink>,
    /// Highest SM clock in megahertz, where known.
    pub max_sm_clock_mhz: Option<f64>,
    /// SM clock in megahertz for which the peaks are stated, where known.
    pub peak_clock_mhz: Option<f64>,
    /// Share of peak FLOP/s that good prefill reaches, from and to.
    pub mfu: (Ratio, Ratio),
    /// Share of peak bandwidth that good decode reaches, from and to.
    pub mbu: (Ratio, Ratio),
    /// How far the figures are trusted: high, medium or low.
    pub confidence: String,
    /// What to know about the part.
    pub notes: String,
    peaks: Peaks,
}

/// A direct link between GPUs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GpuLink {
    /// What it is, such as `nvlink4`.
    pub kind: String,
    /// One direction, all lanes together.
    pub bandwidth: PerSecond<Bytes>,
}

impl Gpu {
    /// Peak rate of one arithmetic, `None` where the part has no unit for it.
    pub fn peak(&self, math: Math) -> Option<FlopPerSecond> {
        let tera = match math {
            Math::Bf16 => self.peaks.bf16,
            Math::Fp16 => self.peaks.fp16,
            Math::Fp8 => self.peaks.fp8,
            Math::Int8 => self.peaks.int8,
            Math::Fp4 => self.peaks.fp4,
        };
        tera.map(|tera| FlopPerSecond(tera * 1e12))
    }

    /// The arithmetic this part would use for weights meant for `wanted`, with its peak.
    ///
    /// Without a unit for it, weights are unpacked and multiplied as 16 bit: fewer bytes, no more FLOP/s.
    pub fn math_for(&self, wanted: Math) -> (Math, FlopPerSecond) {
        for math in [wanted, Math::Bf16, Math::Fp16] {
            if let Some(peak) = self.peak(math) {
                return (math, peak);
            }
        }
        (Math::Bf16, FlopPerSecond(0.0))
    }

    /// Peak bandwidth of the host link in one direction.
    pub fn pcie(&self) -> PerSecond<Bytes> {
        pcie_bandwidth(self.pcie_gen, self.pcie_lanes)
    }

    /// The same part running its SMs at an observed clock: arithmetic slows with it, memory does not.
    ///
    /// A clock above that of the stated peaks, or no known clock, changes nothing.
    #[must_use]
    pub fn with_clock(&self, observed_mhz: f64) -> Self {
        let mut gpu = self.clone();
        if let Some(peak) = self.peak_clock_mhz
            && observed_mhz > 0.0
            && observed_mhz < peak
        {
            let share = observed_mhz / peak;
            let scaled = |peak: Option<f64>| peak.map(|tera| tera * share);
            let Peaks { bf16, fp16, fp8, int8, fp4 } = self.peaks;
            gpu.peaks = Peaks {
                bf16: scaled(bf16),
                fp16: scaled(fp16),
                fp8: scaled(fp8),
                int8: scaled(int8),
                fp4: scaled(fp4),
            };
        }
        gpu
    }
}

/// Peak of a PCIe link in one direction, after encoding; 0 for a generation that is not in the table.
pub fn pcie_bandwidth(generation: u32, lanes: u32) -> PerSecond<Bytes> {
    let per_lane = TABLE.pcie_gb_s_per_lane.iter().find(|(known, _)| *known == generation);
    PerSecond(Bytes(per_lane.map_or(0.0, |(_, gb_s)| gb_s * 1e9 * f64::from(lanes))))
}

/// All GPUs in the table.
pub fn all() -> &'static [Gpu] {
    &TABLE.gpus
}

/// A GPU found by name.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The part.
    pub gpu: Gpu,
    /// What was assumed, where the name covers several parts.
    pub note: Option<String>,
}

/// The GPU of this id, short name or device name, in any letter case.
pub fn find(name: &str) -> Result<Found, UnknownGpu> {
    let wanted = plain(name);
    let is = |known: &str| plain(known) == wanted;
    let exact = all().iter().find(|gpu| {
        is(&gpu.id) || gpu.device_names.iter().any(|name| is(name)) || gpu.aliases.iter().any(|name| is(name))
    });
    // `NVIDIA H200` is what NVML says of one part; `h200` is what people say of two.
    let said_by_driver =
        all().iter().any(|gpu| gpu.device_names.iter().any(|device| device.trim() == name.trim()));
    let usual = TABLE.usual.iter().find(|usual| is(&usual.name)).filter(|_| !said_by_driver);
    if let Some(usual) = usual
        && let Some(gpu) = all().iter().find(|gpu| gpu.id == usual.id)
    {
        let note = Some(format!("{} is read as {}", name.trim(), usual.means));
        return Ok(Found { gpu: gpu.clone(), note });
    }
    exact.map(|gpu| Found { gpu: gpu.clone(), note: None }).ok_or_else(|| UnknownGpu {
        name: name.chars().take(80).collect(),
        known: crate::suggest::closest_first(&wanted, all().iter().map(short)).join(", "),
    })
}

/// A GPU by name, with the number of them in a node where the name begins with it: `8xh200`.
pub fn find_node(name: &str) -> Result<(Option<u32>, Found), UnknownGpu> {
    let text = name.trim();
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    let (count, rest) = text.split_at(digits);
    let part = rest.trim_start().strip_prefix(['x', 'X', '×', '*']);
    match (count.parse::<u32>(), part) {
        (Ok(count), Some(part)) => find(part).map(|found| (Some(count), found)),
        _ => find(text).map(|found| (None, found)),
    }
}

/// The shortest name that means this part and no other.
pub fn short(gpu: &Gpu) -> &str {
    gpu.aliases.iter().map(String::as_str).min_by_key(|alias| alias.len()).unwrap_or(&gpu.id)
}

/// Letters and digits only, without the maker's name.
fn plain(name: &str) -> String {
    let lower = name.trim().to_lowercase();
    let words: Vec<&str> = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !matches!(*word, "" | "nvidia" | "amd" | "instinct" | "tesla" | "geforce" | "intel"))
        .collect();
    words.concat()
}

/// A GPU that is not in the table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("GPU `{name}` is not known; known are {known}")]
pub struct UnknownGpu {
    /// The name as given, shortened.
    pub name: String,
    /// Short names of the known parts, closest first.
    pub known: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> String {
        find(name).unwrap().gpu.id
    }

    #[test]
    fn the_table_reads_and_every_name_in_it_finds_its_part() {
        assert_eq!(all().len(), 36);
        for gpu in all() {
            assert_eq!(id(&gpu.id), gpu.id);
            for name in gpu.device_names.iter().chain(&gpu.aliases) {
                assert_eq!(id(name), gpu.id, "{name}");
            }
            assert!(gpu.math_for(Math::Bf16).1.get() > 0.0 && gpu.bandwidth.0.get() > 0.0);
        }
    }

    #[test]
    fn a_marketing_name_is_the_usual_part_and_says_so() {
        let found = find("H100").unwrap();
        assert_eq!(found.gpu.id, "nvidia-h100-sxm5-80gb");
        assert!(found.note.unwrap().contains("h100-pcie"));
        assert_eq!(find("NVIDIA H100 80GB HBM3").unwrap().note, None);
        assert_eq!(find("NVIDIA H200").unwrap().note, None);
        assert!(find("h200").unwrap().note.is_some());
        assert_eq!(id("rtx 4090"), "nvidia-rtx-4090");
    }

    #[test]
    fn a_number_before_the_name_is_a_node() {
        let node = |name: &str| find_node(name).map(|(count, found)| (count, found.gpu.id)).unwrap();
        assert_eq!(node("8xh200"), (Some(8), id("h200")));
        assert_eq!(node("4 × A100-80"), (Some(4), "nvidia-a100-sxm4-80gb".to_owned()));
        assert_eq!(node("a100-80gb"), (None, id("a100-80")));
        assert_eq!(node("4090"), (None, id("rtx-4090")));
        assert!(find_node("8xh2oo").is_err() && find_node("x").is_err() && find_node("").is_err());
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones_closest_first() {
        let error = find("h1oo-pcie").unwrap_err();
        assert!(error.known.starts_with("h100-pcie, "), "{error}");
        assert!(find("").is_err());
    }

    #[test]
    fn a_lower_clock_slows_arithmetic_and_not_memory() {
        let h100 = find("h100-sxm").unwrap().gpu;
        let slow = h100.with_clock(915.0);
        assert_eq!(slow.peak(Math::Bf16).unwrap().get(), 989e12 / 2.0);
        assert_eq!(slow.bandwidth, h100.bandwidth);
        assert_eq!(h100.with_clock(f64::NAN), h100);
        assert_eq!(h100.with_clock(-1.0), h100);
        assert_eq!(h100.with_clock(2500.0), h100);
    }

    #[test]
    fn what_the_hardware_lacks_runs_as_sixteen_bit() {
        assert_eq!(find("a100").unwrap().gpu.math_for(Math::Fp8).0, Math::Bf16);
        assert_eq!(find("t4").unwrap().gpu.math_for(Math::Bf16).0, Math::Fp16);
        assert_eq!(find("b200").unwrap().gpu.math_for(Math::Fp4).0, Math::Fp4);
    }

    #[test]
    fn pcie_gen5_x16_is_eight_times_gen3_x8() {
        let ratio = pcie_bandwidth(5, 16).0.get() / pcie_bandwidth(3, 8).0.get();
        assert!((ratio - 8.0).abs() < 0.01, "{ratio}");
        assert_eq!(pcie_bandwidth(9, 16).0.get(), 0.0);
    }
}
