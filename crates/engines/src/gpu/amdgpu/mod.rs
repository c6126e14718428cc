//! AMD cards in sysfs, as the amdgpu driver writes them: from the host's snapshots.
//!
//! Files and units: the kernel's documentation of amdgpu (`Documentation/gpu/amdgpu/thermal.rst`, hwmon) and
//! knowledge/crates.md; `ras/*_err_count` as ROCm's amdsmi library reads it. hwmon counts in microwatts and
//! thousandths of a degree.

#[cfg(test)]
mod tests;

use intriage_case::gpu::{GpuCard, GpuSample, GpuVendor, NowAndMost};
use intriage_case::{Bytes, Celsius, Hertz, HostSnapshot, Ratio, Watts};

const DRM: &str = "sys/class/drm/";
/// AMD's number on PCI.
const AMD: &str = "0x1002";

/// What sysfs tells of AMD cards.
#[derive(Debug, Default)]
pub(super) struct Amdgpu {
    pub(super) driver: Option<String>,
    pub(super) cards: Vec<GpuCard>,
    pub(super) before: Vec<GpuCard>,
    pub(super) samples: Vec<GpuSample>,
}

/// Reads snapshots in order of time; nothing where there is no AMD card in them.
pub(super) fn read(snapshots: &[HostSnapshot]) -> Amdgpu {
    let Some(first) = snapshots.first() else { return Amdgpu::default() };
    let folders = folders(first);
    if folders.is_empty() {
        return Amdgpu::default();
    }
    let cards = |upto: &[HostSnapshot]| -> Vec<GpuCard> {
        folders
            .iter()
            .zip(0..)
            .map(|(folder, index)| Device { folder, facts: first, seen: upto }.card(index))
            .collect()
    };
    let samples = snapshots.iter().flat_map(|snapshot| {
        folders.iter().zip(0..).filter_map(move |(folder, index)| {
            let device = Device { folder, facts: first, seen: std::slice::from_ref(snapshot) };
            // A snapshot that did not look at the card has no moment of it.
            device.whole("gpu_busy_percent").map(|_| device.sample(index, snapshot))
        })
    });
    Amdgpu {
        driver: first
            .text("sys/module/amdgpu/version")
            .map(|v| v.trim().to_owned())
            .filter(|v| !v.is_empty()),
        before: if snapshots.len() > 1 { cards(&snapshots[..1]) } else { Vec::new() },
        samples: samples.collect(),
        cards: cards(snapshots),
    }
}

/// PCIe's generation by the speed of a lane in GT/s.
pub(super) fn generation(speed: f64) -> Option<u32> {
    const SPEEDS: [f64; 7] = [2.5, 5.0, 8.0, 16.0, 32.0, 64.0, 128.0];
    let at = SPEEDS.iter().position(|known| (known - speed).abs() < 0.3)?;
    u32::try_from(at + 1).ok()
}

/// `card0`, `card1`… of AMD's, by number; `card0-DP-1` is a plug.
fn folders(snapshot: &HostSnapshot) -> Vec<String> {
    let below = snapshot.files.range(DRM.to_owned()..).take_while(|(name, _)| name.starts_with(DRM));
    let mut cards: Vec<(u32, String)> = below
        .filter_map(|(name, text)| {
            let card = name.strip_prefix(DRM)?.strip_suffix("/device/vendor")?;
            let number = card.strip_prefix("card")?.parse().ok()?;
            (text.trim() == AMD).then(|| (number, format!("{DRM}{card}/device")))
        })
        .collect();
    cards.sort();
    cards.into_iter().map(|(_, folder)| folder).collect()
}

/// One card in some snapshots: the latest text of a file counts.
struct Device<'a> {
    folder: &'a str,
    /// Where sensors are named: names are read once.
    facts: &'a HostSnapshot,
    seen: &'a [HostSnapshot],
}

impl Device<'_> {
    fn card(&self, index: u32) -> GpuCard {
        let now = self.look();
        let mut card = GpuCard {
            index,
            vendor: Some(GpuVendor::Amd),
            name: self.line("product_name"),
            uuid: self.line("unique_id"),
            pci: self.text("uevent").and_then(slot),
            numa_node: self.whole("numa_node").map(|n| n as u32),
            near_cpus: self.line("local_cpulist"),
            memory: self.whole("mem_info_vram_total").map(Bytes),
            memory_used: now.memory_used,
            util: now.util,
            sm_clock: self.clock("pp_dpm_sclk"),
            memory_clock: self.clock("pp_dpm_mclk"),
            power: now.power,
            temperature: now.temperature,
            memory_temperature: now.memory_temperature,
            slowdown_at: self.heat(&["junction", "edge"], "crit"),
            memory_slowdown_at: self.heat(&["mem"], "crit"),
            pcie_generation: NowAndMost { now: now.pcie_generation, most: self.speed("max_link_speed") },
            pcie_width: NowAndMost { now: now.pcie_width, most: self.lanes("max_link_width") },
            pcie_replays: self.whole("pcie_replay_count").map(|n| n as u64),
            ..GpuCard::default()
        };
        card.power_limits.enforced = self.watts("power1_cap");
        card.power_limits.default = self.watts("power1_cap_default");
        card.power_limits.least = self.watts("power1_cap_min");
        card.power_limits.most = self.watts("power1_cap_max");
        [card.ecc.volatile_uncorrected, card.ecc.volatile_corrected] = self.errors();
        card
    }

    fn sample(&self, index: u32, snapshot: &HostSnapshot) -> GpuSample {
        GpuSample { at: Some(snapshot.at), index, ..self.look() }
    }

    /// What moves.
    fn look(&self) -> GpuSample {
        let share = |file| self.whole(file).map(|percent| Ratio(percent / 100.0));
        GpuSample {
            util: share("gpu_busy_percent"),
            memory_util: share("mem_busy_percent"),
            memory_used: self.whole("mem_info_vram_used").map(Bytes),
            // Newer cards have the moment's power alone, older ones a mean.
            power: self.watts("power1_average").or_else(|| self.watts("power1_input")),
            sm_clock: self.clock("pp_dpm_sclk").now,
            memory_clock: self.clock("pp_dpm_mclk").now,
            temperature: self.heat(&["junction", "edge"], "input"),
            memory_temperature: self.heat(&["mem"], "input"),
            pcie_generation: self.speed("current_link_speed"),
            pcie_width: self.lanes("current_link_width"),
            ..GpuSample::default()
        }
    }

    fn text(&self, file: &str) -> Option<&str> {
        let name = format!("{}/{file}", self.folder);
        self.seen.iter().rev().find_map(|snapshot| snapshot.text(&name))
    }

    fn line(&self, file: &str) -> Option<String> {
        self.text(file).map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned)
    }

    fn whole(&self, file: &str) -> Option<f64> {
        number(self.text(file)?)
    }

    fn speed(&self, file: &str) -> Option<u32> {
        generation(self.text(file)?.split_whitespace().next()?.parse().ok()?)
    }

    fn lanes(&self, file: &str) -> Option<u32> {
        self.whole(file).map(|n| n as u32).filter(|lanes| (1..=64).contains(lanes))
    }

    /// Lines such as `1: 1000Mhz *`; the star marks the one in use.
    fn clock(&self, file: &str) -> NowAndMost<Hertz> {
        let mut clock = NowAndMost { now: None, most: None };
        for line in self.text(file).unwrap_or_default().lines() {
            let Some((_, level)) = line.split_once(':') else { continue };
            let digits = level.trim().trim_end_matches('*').trim().to_ascii_lowercase();
            let Some(hertz) = digits.strip_suffix("mhz").and_then(number).map(|mhz| Hertz(mhz * 1e6)) else {
                continue;
            };
            if level.contains('*') {
                clock.now = Some(hertz);
            }
            clock.most = clock.most.filter(|most| *most >= hertz).or(Some(hertz));
        }
        clock
    }

    /// The latest text of a file of the card's hwmon, whatever number it has.
    fn sensor(&self, file: &str) -> Option<f64> {
        let text = self.seen.iter().rev().find_map(|snapshot| {
            monitor(snapshot, self.folder).find(|(name, _)| *name == file).map(|(_, text)| text)
        });
        number(text?)
    }

    fn watts(&self, file: &str) -> Option<Watts> {
        self.sensor(file).map(|microwatts| Watts(microwatts / 1e6))
    }

    /// The first sensor of these names: `temp2_label` names it, `temp2_input` and `temp2_crit` are its values.
    fn heat(&self, labels: &[&str], value: &str) -> Option<Celsius> {
        labels.iter().find_map(|label| {
            let mut named = monitor(self.facts, self.folder);
            let (name, _) = named.find(|(name, text)| name.ends_with("_label") && text.trim() == *label)?;
            let thousandths = self.sensor(&format!("{}_{value}", name.strip_suffix("_label")?))?;
            Some(Celsius(thousandths / 1e3))
        })
    }

    /// Errors not corrected and corrected, over all parts that count: lines `ue: 0` and `ce: 3`.
    fn errors(&self) -> [Option<u64>; 2] {
        let below = format!("{}/ras/", self.folder);
        let mut sums = [None; 2];
        let Some(latest) = self.seen.iter().rev().find(|s| s.files.keys().any(|n| n.starts_with(&below)))
        else {
            return sums;
        };
        let files = latest.files.range(below.clone()..).take_while(|(name, _)| name.starts_with(&below));
        for line in files.flat_map(|(_, text)| text.lines()) {
            for (sum, key) in sums.iter_mut().zip(["ue:", "ce:"]) {
                if let Some(count) = line.trim().strip_prefix(key).and_then(|n| n.trim().parse::<u64>().ok())
                {
                    *sum = Some(sum.unwrap_or(0_u64).saturating_add(count));
                }
            }
        }
        sums
    }
}

/// The files of a card's hwmon in one snapshot, by their own names.
fn monitor<'s>(snapshot: &'s HostSnapshot, folder: &str) -> impl Iterator<Item = (&'s str, &'s str)> {
    let below = format!("{folder}/hwmon/");
    let files = snapshot.files.range(below.clone()..);
    files.map_while(move |(name, text)| Some((name.strip_prefix(&below)?, text.as_str()))).filter_map(
        |(name, text)| {
            let (_, file) = name.split_once('/')?;
            Some((file, text))
        },
    )
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0)
}

/// `PCI_SLOT_NAME=0000:0b:00.0` among others.
fn slot(uevent: &str) -> Option<String> {
    uevent.lines().find_map(|line| line.strip_prefix("PCI_SLOT_NAME=")).map(|slot| slot.trim().to_owned())
}
