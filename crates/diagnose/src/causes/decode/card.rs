//! What the GPU readings tell: is the card busy, or does it wait?

use intriage_case::{Fact, Quantity, Ratio, Source};
use intriage_engines::Setting;

use crate::evidence::Evidence;
use crate::thresholds::Limit;
use crate::weighing::Test;

/// What to do where there are no readings.
const NO_READINGS: &str = "there are no GPU readings of the window (nvidia-smi dmon -s pucvmet)";

/// No kernel runs for much of the time. That some kernel runs does not make a card busy, but where
/// none runs it is not.
pub(super) fn card_waits(e: &Evidence<'_>) -> Test {
    let Some(busy) = e.observed.gpu.busy_share() else { return Test::Unknown(NO_READINGS.into()) };
    let idle = Ratio(1.0 - busy.get());
    if busy.get() >= e.limit(Limit::GpuBusyHigh) {
        return Test::Fails(reading(
            format!("a kernel runs {busy} of the time: the card does not wait"),
            busy,
        ));
    }
    if busy.get() < e.limit(Limit::GpuBusyLow) {
        return Test::Holds(reading(
            format!("no kernel runs {idle} of the time while requests are served"),
            busy,
        ));
    }
    Test::Unknown(format!(
        "a kernel runs {busy} of the time: too much to say that the card waits, too little to say that it does not"
    ))
}

/// The memory is touched for so little of the time that its bandwidth is not the limit.
pub(super) fn memory_waits(e: &Evidence<'_>) -> Test {
    let busy = e.observed.gpu.samples.iter().filter(|s| s.util.is_some_and(|u| u > 0.0));
    let shares: Vec<f64> = busy.filter_map(|s| s.memory_util).collect();
    let Some(share) = Ratio::of(shares.iter().sum(), shares.len() as f64) else {
        return Test::Unknown(NO_READINGS.into());
    };
    Test::when(
        share.get() < e.limit(Limit::MemoryBusyLow),
        reading(format!("GPU memory is read or written {share} of the time"), share),
    )
}

/// The model runs on a CPU: there is no card.
pub(super) fn no_card(e: &Evidence<'_>) -> Test {
    match e.observed.config.text(Setting::Device) {
        Some("cpu") => Test::Holds(e.setting_fact(Setting::Device, "the model runs on a CPU")),
        Some(device) => Test::Fails(e.setting_fact(Setting::Device, format!("the model runs on {device}"))),
        None => Test::Unknown("what the model runs on is not stated".into()),
    }
}

fn reading(says: String, share: Ratio) -> Fact {
    Fact {
        says,
        value: Some(Quantity::from(share)),
        limit: None,
        signal: None,
        source: Source::Gpu { tool: "nvidia-smi dmon".into() },
    }
}
