//! What the GPU readings tell: is the card busy, or does it wait?

use intriage_case::{Fact, Quantity, Ratio, Source};

use crate::evidence::Evidence;
use crate::thresholds::Limit;
use crate::weighing::Test;

/// What to do where there are no readings.
const NO_READINGS: &str = "there are no GPU readings of the window (nvidia-smi dmon -s pucvmet)";

/// No kernel runs for much of the time. That some kernel runs does not make a card busy, but where
/// none runs it is not.
pub(in crate::causes) fn card_waits(e: &Evidence<'_>) -> Test {
    let Some(busy) = e.observed.gpu.busy_share() else { return Test::Unknown(NO_READINGS.into()) };
    let idle = Ratio(1.0 - busy.get());
    if busy.get() >= e.limit(Limit::GpuBusyHigh) {
        return Test::Fails(reading(
            e,
            format!("a kernel runs {busy} of the time: the card does not wait"),
            busy,
        ));
    }
    if busy.get() < e.limit(Limit::GpuBusyLow) {
        return Test::Holds(reading(
            e,
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
    let busy = e.observed.gpu.samples.iter().filter(|s| s.util.is_some_and(|u| u.get() > 0.0));
    let shares: Vec<f64> = busy.filter_map(|s| s.memory_util).map(Ratio::get).collect();
    let Some(share) = Ratio::of(shares.iter().sum(), shares.len() as f64) else {
        return Test::Unknown(NO_READINGS.into());
    };
    Test::when(
        share.get() < e.limit(Limit::MemoryBusyLow),
        reading(e, format!("GPU memory is read or written {share} of the time"), share),
    )
}

fn reading(e: &Evidence<'_>, says: String, share: Ratio) -> Fact {
    Fact {
        says,
        value: Some(Quantity::from(share)),
        limit: None,
        signal: None,
        source: Source::Gpu { tool: e.observed.gpu.samples_source.clone() },
    }
}
