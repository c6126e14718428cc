//! A DCGM exporter's page: cards and samples from `DCGM_FI_DEV_*` series.

mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use intriage_case::gpu::{ClockReasons, GpuCard, GpuSample};
use intriage_case::{Bytes, Celsius, Hertz, Millis, Ratio, Seconds, Watts};

use self::table::Means;
use crate::exposition::{Exposition, Sample};

/// What one page says.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) driver: Option<String>,
    /// In order of their index.
    pub(super) cards: Vec<GpuCard>,
    /// One of each card.
    pub(super) samples: Vec<GpuSample>,
}

/// Whether a page has series of DCGM.
pub(super) fn is_dcgm(page: &Exposition<'_>) -> bool {
    page.samples.iter().any(|s| s.name.starts_with(table::PREFIX))
}

/// Reads a page that was taken at this time.
pub(super) fn read(at: Millis, page: &Exposition<'_>) -> Page {
    let mut driver = None;
    let mut seen: BTreeMap<u32, Seen> = BTreeMap::new();
    for sample in page.samples.iter().filter(|s| s.name.starts_with(table::PREFIX)) {
        let label = |name: &str| sample.labels.get(name).filter(|v| !v.is_empty());
        // What belongs to no card is a switch's or a processor's.
        let Some(index) = label("gpu").and_then(|gpu| gpu.parse().ok()) else { continue };
        if driver.is_none() {
            driver = label("DCGM_FI_DRIVER_VERSION").map(std::borrow::Cow::into_owned);
        }
        let one = seen.entry(index).or_insert_with(|| Seen::new(at, index, sample));
        // A slice of a card says nothing of the card but that it is cut.
        if label("GPU_I_ID").is_some() {
            one.card.mig = Some(true);
        } else if let Some(row) = table::of(sample.name).filter(|_| !table::is_blank(sample.value)) {
            one.put(row.means, sample.value * row.scale);
        }
    }
    let mut page = Page { driver, ..Page::default() };
    for one in seen.into_values() {
        let (card, sample) = one.finish();
        page.cards.push(card);
        page.samples.push(sample);
    }
    page
}

/// One card of a page in the making.
struct Seen {
    card: GpuCard,
    sample: GpuSample,
    free: Option<f64>,
    reserved: Option<f64>,
}

impl Seen {
    fn new(at: Millis, index: u32, series: &Sample<'_>) -> Self {
        let label =
            |name| series.labels.get(name).map(std::borrow::Cow::into_owned).filter(|v| !v.is_empty());
        let card = GpuCard {
            index,
            name: label("modelName"),
            uuid: label("UUID"),
            pci: label("pci_bus_id"),
            ..GpuCard::default()
        };
        let sample = GpuSample { at: Some(at), index, ..GpuSample::default() };
        Self { card, sample, free: None, reserved: None }
    }

    fn put(&mut self, means: Means, value: f64) {
        let (card, whole, count) = (&mut self.card, value as u32, value as u64);
        match means {
            Means::Util => card.util = Some(Ratio(value)),
            Means::MemoryUtil => self.sample.memory_util = Some(Ratio(value)),
            Means::SmClock => card.sm_clock.now = Some(Hertz(value)),
            Means::SmClockMost => card.sm_clock.most = Some(Hertz(value)),
            Means::MemoryClock => card.memory_clock.now = Some(Hertz(value)),
            Means::MemoryClockMost => card.memory_clock.most = Some(Hertz(value)),
            Means::Temperature => card.temperature = Some(Celsius(value)),
            // A card without a sensor there says zero.
            Means::MemoryTemperature => {
                card.memory_temperature = Some(Celsius(value)).filter(|_| value > 0.0);
            }
            Means::SlowdownAt => card.slowdown_at = Some(Celsius(value)).filter(|_| value > 0.0),
            Means::Power => card.power = Some(Watts(value)),
            Means::PowerEnforced => card.power_limits.enforced = Some(Watts(value)),
            Means::PowerDefault => card.power_limits.default = Some(Watts(value)),
            Means::Used => card.memory_used = Some(Bytes(value)),
            Means::Free => self.free = Some(value),
            Means::Reserved => self.reserved = Some(value),
            Means::Total => card.memory = Some(Bytes(value)),
            Means::Reasons => card.reasons = Some(ClockReasons(count)),
            Means::HeldByPower => card.held_for.power_cap = Some(Seconds(value)),
            Means::HeldByHeat => card.held_for.hardware_thermal = Some(Seconds(value)),
            Means::Generation => card.pcie_generation.now = Some(whole),
            Means::GenerationMost => card.pcie_generation.most = Some(whole),
            Means::Lanes => card.pcie_width.now = Some(whole),
            Means::LanesMost => card.pcie_width.most = Some(whole),
            Means::Replays => card.pcie_replays = Some(count),
            Means::CorrectedVolatile => card.ecc.volatile_corrected = Some(count),
            Means::UncorrectedVolatile => card.ecc.volatile_uncorrected = Some(count),
            Means::CorrectedAggregate => card.ecc.aggregate_corrected = Some(count),
            Means::UncorrectedAggregate => card.ecc.aggregate_uncorrected = Some(count),
            Means::RowsCorrected => card.ecc.remapped_corrected = Some(count),
            Means::RowsUncorrected => card.ecc.remapped_uncorrected = Some(count),
            Means::RowFailed => card.ecc.remap_failed = Some(value > 0.0),
            Means::RowPending => card.ecc.remap_pending = Some(value > 0.0),
            Means::Xid => card.last_xid = Some(whole),
        }
    }

    /// The card, and what of it moves.
    fn finish(mut self) -> (GpuCard, GpuSample) {
        let card = &mut self.card;
        // The exporter has no total by default: it is the sum of its parts.
        if let (None, Some(used), Some(free)) = (card.memory, card.memory_used, self.free) {
            card.memory = Some(Bytes(used.get() + free + self.reserved.unwrap_or(0.0)));
        }
        let sample = GpuSample {
            util: card.util,
            power: card.power,
            sm_clock: card.sm_clock.now,
            memory_clock: card.memory_clock.now,
            temperature: card.temperature,
            memory_temperature: card.memory_temperature,
            memory_used: card.memory_used,
            reasons: card.reasons,
            pcie_generation: card.pcie_generation.now,
            pcie_width: card.pcie_width.now,
            ..self.sample
        };
        (self.card, sample)
    }
}
