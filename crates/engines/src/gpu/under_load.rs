//! A card while it worked: idle moments say nothing about clocks and links.

use intriage_case::gpu::{ClockReasons, GpuCard, GpuSample, GpuVendor};
use intriage_case::{Bytes, Celsius, Hertz, PerSecond, Ratio, Watts};

use super::GpuReadings;

/// Up to here an AMD card is idle: a recorded one showed 1 % with nothing on it.
const AMD_IDLE: f64 = 0.05;

/// What one card did while kernels ran.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct UnderLoad {
    /// Moments looked at in which some kernel ran.
    pub samples: usize,
    /// Mean share of time in which some kernel ran.
    pub util: Option<Ratio>,
    /// Mean SM clock.
    pub sm_clock: Option<Hertz>,
    /// Mean board power.
    pub power: Option<Watts>,
    /// Highest temperature of the chip.
    pub temperature: Option<Celsius>,
    /// Highest temperature of the memory.
    pub memory_temperature: Option<Celsius>,
    /// Highest PCIe generation the link reached.
    pub pcie_generation: Option<u32>,
    /// Most lanes the link had.
    pub pcie_width: Option<u32>,
    /// Bytes a second over PCIe in the busier direction, mean over the window.
    pub pcie_rate: Option<PerSecond<Bytes>>,
    /// The reasons given at each moment.
    reasons: Vec<ClockReasons>,
    /// The reasons that could be given at all; `None` for all.
    told: Option<ClockReasons>,
    /// Shares of time in which power and heat held the clocks, where the tool counts them itself.
    held: [Option<Ratio>; 2],
}

impl UnderLoad {
    /// Share of the busy moments in which any of these reasons held the clocks down; `None` where none was seen and not
    /// all of them could have been.
    pub fn held_by(&self, reasons: ClockReasons) -> Option<Ratio> {
        if self.reasons.is_empty() {
            let [power, heat] = self.held;
            return match reasons {
                ClockReasons::POWER_CAP => power,
                ClockReasons::THERMAL => heat,
                _ => None,
            };
        }
        let hits = self.reasons.iter().filter(|r| r.any_of(reasons)).count();
        if hits == 0 && self.told.is_some_and(|told| told.0 & reasons.0 != reasons.0) {
            return None;
        }
        Ratio::of(hits as f64, self.reasons.len() as f64)
    }
}

impl GpuReadings {
    /// What a card did while kernels ran; `None` where it was never seen at work.
    pub fn under_load(&self, card: &GpuCard) -> Option<UnderLoad> {
        // An idle AMD card is seen a percent or two busy with itself.
        let least = if card.vendor == Some(GpuVendor::Amd) { AMD_IDLE } else { 0.0 };
        let works = |util: Option<Ratio>| util.is_some_and(|u| u.get() > least);
        let busy: Vec<&GpuSample> = self.busy_samples(card.index).filter(|s| works(s.util)).collect();
        if busy.is_empty() {
            return works(card.util).then(|| UnderLoad { told: self.reasons_told, ..at_one_look(card) });
        }
        let mean = |of: &dyn Fn(&GpuSample) -> Option<f64>| {
            let values: Vec<f64> = busy.iter().filter_map(|s| of(s)).collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        let most =
            |of: &dyn Fn(&GpuSample) -> Option<f64>| busy.iter().filter_map(|s| of(s)).reduce(f64::max);
        Some(UnderLoad {
            samples: busy.len(),
            util: mean(&|s| s.util.map(Ratio::get)).map(Ratio),
            sm_clock: mean(&|s| s.sm_clock.map(Hertz::get)).map(Hertz),
            power: mean(&|s| s.power.map(Watts::get)).map(Watts),
            temperature: most(&|s| s.temperature.map(Celsius::get)).map(Celsius),
            memory_temperature: most(&|s| s.memory_temperature.map(Celsius::get)).map(Celsius),
            pcie_generation: busy.iter().filter_map(|s| s.pcie_generation).max(),
            pcie_width: busy.iter().filter_map(|s| s.pcie_width).max(),
            pcie_rate: pcie_rate(&busy),
            reasons: busy.iter().filter_map(|s| s.reasons).collect(),
            told: self.reasons_told,
            held: [
                mean(&|s| s.power_held.map(Ratio::get)).map(Ratio),
                mean(&|s| s.thermal_held.map(Ratio::get)).map(Ratio),
            ],
        })
    }
}

/// A single look at a working card, such as `nvidia-smi -q` gives.
fn at_one_look(card: &GpuCard) -> UnderLoad {
    UnderLoad {
        samples: 1,
        util: card.util,
        sm_clock: card.sm_clock.now,
        power: card.power,
        temperature: card.temperature,
        memory_temperature: card.memory_temperature,
        pcie_generation: card.pcie_generation.now,
        pcie_width: card.pcie_width.now,
        pcie_rate: None,
        reasons: card.reasons.into_iter().collect(),
        told: None,
        held: [None; 2],
    }
}

/// From the counters of the first and the last busy moment that has them; `None` where they do not grow.
fn pcie_rate(busy: &[&GpuSample]) -> Option<PerSecond<Bytes>> {
    let rate = |of: fn(&GpuSample) -> Option<Bytes>| {
        let mut counted = busy.iter().filter_map(|s| Some((s.at?, of(s)?.get())));
        let (began, first) = counted.next()?;
        let (ended, last) = counted.next_back()?;
        let time = ended.since(began).get();
        (time > 0.0 && last >= first).then(|| (last - first) / time)
    };
    let both = [rate(|s| s.pcie_sent), rate(|s| s.pcie_received)];
    both.into_iter().flatten().reduce(f64::max).map(|bytes| PerSecond(Bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use intriage_case::Millis;

    use super::*;

    fn sample(at: u64, util: f64) -> GpuSample {
        GpuSample {
            at: Some(Millis(at)),
            util: Some(Ratio(util)),
            sm_clock: Some(Hertz(if util > 0.0 { 1.8e9 } else { 3.45e8 })),
            reasons: Some(if util > 0.0 { ClockReasons::POWER_CAP } else { ClockReasons::IDLE }),
            pcie_generation: Some(if util > 0.0 { 5 } else { 1 }),
            pcie_sent: Some(Bytes(at as f64 * 1e3)),
            pcie_received: Some(Bytes(at as f64 * 4e3)),
            ..GpuSample::default()
        }
    }

    #[test]
    fn idle_moments_do_not_count() {
        let readings = GpuReadings {
            samples: vec![sample(0, 0.0), sample(1000, 0.9), sample(2000, 1.0), sample(3000, 0.0)],
            ..GpuReadings::default()
        };
        let load = readings.under_load(&GpuCard::default()).unwrap();
        assert_eq!((load.samples, load.sm_clock, load.pcie_generation), (2, Some(Hertz(1.8e9)), Some(5)));
        assert_eq!(load.held_by(ClockReasons::POWER_CAP), Some(Ratio(1.0)));
        assert_eq!(load.held_by(ClockReasons::IDLE), Some(Ratio(0.0)));
        assert_eq!(load.pcie_rate, Some(PerSecond(Bytes(4e6))));
    }

    #[test]
    fn a_reason_nobody_asked_for_is_not_known_to_be_absent() {
        let readings = GpuReadings {
            samples: vec![sample(1000, 0.9)],
            reasons_told: Some(ClockReasons::POWER_CAP.with(ClockReasons::HARDWARE_THERMAL)),
            ..GpuReadings::default()
        };
        let load = readings.under_load(&GpuCard::default()).unwrap();
        assert_eq!(load.held_by(ClockReasons::POWER_CAP), Some(Ratio(1.0)));
        assert_eq!(load.held_by(ClockReasons::HARDWARE_THERMAL), Some(Ratio(0.0)));
        assert_eq!(
            (load.held_by(ClockReasons::POWER_BRAKE), load.held_by(ClockReasons::THERMAL)),
            (None, None)
        );
    }

    #[test]
    fn a_card_never_seen_at_work_has_no_load() {
        let readings = GpuReadings { samples: vec![sample(0, 0.0)], ..GpuReadings::default() };
        assert_eq!(readings.under_load(&GpuCard::default()), None);
        let looked = GpuCard { util: Some(Ratio(0.7)), ..GpuCard::default() };
        assert_eq!(GpuReadings::default().under_load(&looked).unwrap().samples, 1);
    }
}
