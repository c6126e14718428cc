//! Clocks of a GPU that fell while it worked.

use intriage_case::gpu::{ClockReasons, GpuSample};
use intriage_case::{Hertz, Millis, Ratio, Watts};

use super::events::{Event, EventKind, when};
use super::mean;
use crate::evidence::Evidence;
use crate::thresholds::Limit;

/// Reasons that slow a card down beyond what its power limit does all day.
const SLOWDOWN: ClockReasons =
    ClockReasons::THERMAL.with(ClockReasons::HARDWARE_SLOWDOWN).with(ClockReasons::POWER_BRAKE);

/// Stretches of busy moments in which a card's clocks were held down.
pub(super) fn throttles(e: &Evidence<'_>) -> Vec<Event> {
    let mut cards: Vec<u32> = e.observed.gpu.samples.iter().map(|sample| sample.index).collect();
    cards.sort_unstable();
    cards.dedup();
    cards.into_iter().flat_map(|index| card(e, index)).collect()
}

fn card(e: &Evidence<'_>, index: u32) -> Vec<Event> {
    let gpu = &e.observed.gpu;
    let told = gpu.cards.iter().find(|card| card.index == index).and_then(|card| card.sm_clock.most);
    let is_busy = |sample: &&GpuSample| sample.util.is_some_and(|u| u.get() >= e.limit(Limit::GpuBusyLow));
    let busy: Vec<&GpuSample> =
        gpu.samples.iter().filter(|sample| sample.index == index).filter(is_busy).collect();
    let clocks = || busy.iter().filter_map(|sample| sample.sm_clock);
    let Some(most) = told.or_else(|| clocks().reduce(|a, b| if b > a { b } else { a })) else {
        return Vec::new();
    };
    let is_low = |sample: &GpuSample| {
        let low = sample.sm_clock.is_some_and(|now| now.get() < e.limit(Limit::ClockDrop) * most.get());
        low || sample.reasons.is_some_and(|reasons| reasons.any_of(SLOWDOWN))
    };
    let mut found = Vec::new();
    let mut i = 0;
    while i < busy.len() {
        let run = busy[i..].iter().take_while(|sample| is_low(sample)).count();
        if run as f64 >= e.limit(Limit::LoadedSamples) {
            found.extend(event(e, index, most, &busy, i, i + run));
        }
        i += run.max(1);
    }
    found
}

/// The busy moments `from..end`; where the tool gives no times only a card that was slow throughout has one.
fn event(
    e: &Evidence<'_>,
    index: u32,
    most: Hertz,
    busy: &[&GpuSample],
    from: usize,
    end: usize,
) -> Option<Event> {
    let window = (e.observed.times.first().copied()?, e.observed.times.last().copied()?);
    let time = |i: usize| -> Option<Millis> { busy.get(i)?.at };
    let whole = from == 0 && end == busy.len();
    let (start, until) = match (time(from), time(end).or_else(|| time(end - 1))) {
        (Some(start), Some(until)) => (start, until),
        _ if whole => window,
        _ => return None,
    };
    let open = end == busy.len();
    let low = &busy[from..end];
    let lowest = low.iter().filter_map(|s| s.sm_clock).reduce(|a, b| if b < a { b } else { a });
    let reasons = low.iter().filter_map(|s| s.reasons).fold(ClockReasons(0), ClockReasons::with);
    let reason = if reasons.any_of(SLOWDOWN.with(ClockReasons::POWER_CAP).with(ClockReasons::CLOCKS_SETTING))
    {
        format!(" ({reasons})")
    } else {
        String::new()
    };
    let clock = lowest.map_or("a lower clock".to_owned(), |lowest| {
        let part = Ratio::of(lowest.get(), most.get()).map_or(String::new(), |part| format!(", {part}"));
        format!("as little as {lowest} of {most}{part}")
    });
    let says = format!(
        "{} GPU {index} ran at {clock} while it worked{reason}{}",
        when(start, until, open),
        power(e, index, low)
    );
    let event = Event::new(EventKind::Throttle, start, until, says).usual(most).open(open);
    Some(if let Some(lowest) = lowest { event.size(lowest) } else { event })
}

/// Mean power of the moments and the limit it stands against: a card that draws what it may is as fast as it may be.
fn power(e: &Evidence<'_>, index: u32, low: &[&GpuSample]) -> String {
    let drawn = mean(low.iter().filter_map(|sample| sample.power).map(Watts::get));
    let limit = e
        .observed
        .gpu
        .cards
        .iter()
        .find(|card| card.index == index)
        .and_then(|card| card.power_limits.enforced);
    match (drawn, limit) {
        (Some(drawn), Some(limit)) => format!(" and drew {} of {limit}", Watts(drawn)),
        _ => String::new(),
    }
}
