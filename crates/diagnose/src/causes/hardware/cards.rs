//! Cards at work: what the causes of this class look at.

use intriage_case::gpu::{ClockReasons, GpuCard};
use intriage_case::{Fact, Hertz, Quantity, Ratio, Seconds, Source};
use intriage_engines::UnderLoad;

use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::thresholds::Limit;

/// What would show a card.
const NO_CARDS: &str =
    "no GPU was read: run `intriage check … --host` on its machine, or give nvidia-smi -q and dmon";
/// Samples alone have no limits to be compared with.
const SAMPLES_ALONE: &str =
    "dmon alone tells no highest clock, no limits and no errors of a card: give nvidia-smi -q beside it";

/// Why there is no card to judge.
pub(super) fn no_cards(e: &Evidence<'_>) -> &'static str {
    if e.observed.gpu.samples.is_empty() { NO_CARDS } else { SAMPLES_ALONE }
}

/// A card seen at work.
pub(super) struct Working<'a> {
    /// The card.
    pub(super) card: &'a GpuCard,
    /// What it did while kernels ran.
    pub(super) load: UnderLoad,
}

impl Working<'_> {
    /// Mean SM clock under load, and the highest the card has.
    pub(super) fn clocks(&self) -> Option<(Hertz, Hertz)> {
        self.load.sm_clock.zip(self.card.sm_clock.most)
    }

    /// `GPU 2`.
    pub(super) fn name(&self) -> String {
        format!("GPU {}", self.card.index)
    }
}

/// The cards seen at work, or why there are none.
pub(super) fn working<'a>(e: &Evidence<'a>) -> Result<Vec<Working<'a>>, String> {
    let gpu = &e.observed.gpu;
    if gpu.cards.is_empty() {
        return Err(no_cards(e).into());
    }
    let working: Vec<Working<'a>> =
        gpu.cards.iter().filter_map(|card| Some(Working { card, load: gpu.under_load(card)? })).collect();
    if working.is_empty() {
        return Err("no card was seen at work: clocks and links count only under load".into());
    }
    Ok(working)
}

/// The slowest card at work.
pub(crate) struct BusyClock {
    /// Mean SM clock while kernels ran.
    pub(crate) now: Hertz,
    /// The highest it has.
    pub(crate) most: Hertz,
    /// The one over the other.
    pub(crate) speed: Ratio,
    /// It draws as much power as a card of its kind may: full load, which slows it by design.
    pub(crate) at_power_limit: bool,
}

/// The clock of the slowest card at work; `None` where no card was read at work.
pub(crate) fn busy_clocks(e: &Evidence<'_>) -> Option<BusyClock> {
    let cards = working(e).ok()?;
    let of = |card: &Working<'_>| {
        let (now, most) = card.clocks()?;
        // A lowered limit is no full load: the card is held below its kind.
        let limits = card.card.power_limits;
        let drawn = card.load.power.zip(limits.default.or(limits.enforced));
        let drawn = drawn.and_then(|(power, limit)| Ratio::of(power.get(), limit.get()));
        let own = limits.enforced.zip(limits.default).is_some_and(|(limit, default)| limit >= default);
        let cap = card.load.held_by(ClockReasons::POWER_CAP);
        let capped = own && cap.is_some_and(|share| share.get() > e.limit(Limit::ClockEvent));
        let at_power_limit = capped || drawn.is_some_and(|d| d.get() >= e.limit(Limit::NearPowerLimit));
        Some(BusyClock { now, most, speed: Ratio::of(now.get(), most.get())?, at_power_limit })
    };
    cards.iter().filter_map(of).min_by(|a, b| a.speed.get().total_cmp(&b.speed.get()))
}

/// A fact read from a card.
pub(super) fn read(e: &Evidence<'_>, says: impl Into<String>, value: impl Into<Quantity>) -> Fact {
    Fact {
        says: says.into(),
        value: Some(value.into()),
        limit: None,
        signal: None,
        source: Source::Gpu { tool: e.observed.gpu.source.clone() },
    }
}

/// What a card at this part of its speed costs: at most the rest of the time kernels take.
pub(super) fn slower_impact(e: &Evidence<'_>, speed: Ratio) -> Impact {
    let lost = Ratio((1.0 - speed.get()).clamp(0.0, 1.0));
    let kernels = e.account.decode.unwrap_or(0.0) + e.account.prefill.map_or(0.0, |p| p.value);
    let time = kernels * lost.get();
    Impact {
        on: ImpactOn::E2e,
        share: e.account.share_of_life(time),
        time: (time > 0.0).then_some(Seconds(time)),
        says: format!("up to {lost} of the time kernels take, {} per request", Seconds(time)),
    }
}
