//! Made-up cards: an H100 as it is sold, and what can be wrong with it.

use intriage_case::gpu::{
    ClockReasons, EccErrors, GpuCard, GpuSample, GpuSurvey, NowAndMost, NvLink, PowerLimits,
};
use intriage_case::{Bytes, Celsius, Hertz, Millis, Ratio, Watts};

use super::Given;

/// Samples of a made-up card, ten a second.
const SAMPLES: u64 = 100;

/// A made-up card with its samples.
#[derive(Debug, Clone)]
pub(crate) struct Card {
    stands: GpuCard,
    samples: Vec<GpuSample>,
    rate: Option<f64>,
}

impl Card {
    /// An H100 as it is sold.
    pub(crate) fn h100() -> Self {
        let card = GpuCard {
            name: Some("NVIDIA H100 80GB HBM3".into()),
            sm_clock: NowAndMost { now: None, most: Some(Hertz(1.98e9)) },
            temperature: Some(Celsius(60.0)),
            slowdown_at: Some(Celsius(89.0)),
            power_limits: PowerLimits {
                enforced: Some(Watts(700.0)),
                default: Some(Watts(700.0)),
                ..PowerLimits::default()
            },
            pcie_generation: NowAndMost { now: Some(5), most: Some(5) },
            pcie_width: NowAndMost { now: Some(16), most: Some(16) },
            ..GpuCard::default()
        };
        Self { stands: card, samples: Vec::new(), rate: None }
    }

    /// Where it sits.
    pub(crate) fn at_slot(mut self, pci: &str) -> Self {
        self.stands.pci = Some(pci.into());
        self
    }

    /// Its temperature.
    pub(crate) fn at(mut self, temperature: Celsius) -> Self {
        self.stands.temperature = Some(temperature);
        self
    }

    /// Its power limit.
    pub(crate) fn limited(mut self, limit: Watts) -> Self {
        self.stands.power_limits.enforced = Some(limit);
        self
    }

    /// Its link now, and the bytes a second over it.
    pub(crate) fn linked(mut self, generation: u32, lanes: u32, rate: Option<f64>) -> Self {
        self.stands.pcie_generation.now = Some(generation);
        self.stands.pcie_width.now = Some(lanes);
        self.rate = rate;
        self
    }

    /// So many NVLinks, so many of them up.
    pub(crate) fn nvlinks(mut self, count: u32, up: usize) -> Self {
        let link = |link: u32| NvLink { link, active: Some((link as usize) < up), ..NvLink::default() };
        self.stands.nvlinks = (0..count).map(link).collect();
        self
    }

    /// Memory errors since the driver started.
    pub(crate) fn errors(mut self, corrected: u64, uncorrected: u64) -> Self {
        self.stands.ecc = EccErrors {
            volatile_corrected: Some(corrected),
            volatile_uncorrected: Some(uncorrected),
            ..EccErrors::default()
        };
        self
    }

    /// Works throughout at this clock in MHz, for this reason.
    pub(crate) fn busy(self, util: f64, mhz: f64, reasons: ClockReasons) -> Self {
        self.busy_with(util, mhz, 100, reasons)
    }

    /// Works throughout; the reason holds in so many percent of the samples.
    pub(crate) fn busy_with(mut self, util: f64, mhz: f64, percent: u64, reasons: ClockReasons) -> Self {
        self.stands.util = Some(Ratio(util));
        self.stands.sm_clock.now = Some(Hertz(mhz * 1e6));
        let sample = |i: u64| GpuSample {
            at: Some(Millis(1_700_000_000_000 + i * 100)),
            util: Some(Ratio(util)),
            sm_clock: Some(Hertz(mhz * 1e6)),
            temperature: self.stands.temperature,
            reasons: Some(if i < percent { reasons } else { ClockReasons(0) }),
            pcie_generation: self.stands.pcie_generation.now,
            pcie_width: self.stands.pcie_width.now,
            pcie_received: self.rate.map(|rate| Bytes(rate * i as f64 / 10.0)),
            ..GpuSample::default()
        };
        self.samples = (0..SAMPLES).map(sample).collect();
        self
    }

    /// Draws this much while it works.
    pub(crate) fn drawing(mut self, power: Watts) -> Self {
        self.samples.iter_mut().for_each(|sample| sample.power = Some(power));
        self
    }

    /// Nothing runs.
    pub(crate) fn idle(mut self, mhz: f64) -> Self {
        self.stands.util = Some(Ratio(0.0));
        self.stands.sm_clock.now = Some(Hertz(mhz * 1e6));
        self
    }
}

impl Given {
    /// These cards, as NVML told of them.
    pub(crate) fn cards(mut self, cards: &[Card]) -> Self {
        let mut survey = GpuSurvey { source: "NVML 13".into(), ..GpuSurvey::default() };
        for (card, index) in cards.iter().zip(0..) {
            survey.cards.push(GpuCard { index, ..card.stands.clone() });
            survey.samples.extend(card.samples.iter().map(|s| GpuSample { index, ..s.clone() }));
        }
        self.case.gpu.survey = Some(survey);
        self
    }
}
