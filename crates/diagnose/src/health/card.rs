//! A card's health: clocks, heat, power, link, memory errors, NVLinks, modes.

use intriage_case::gpu::{ClockReasons, GpuCard, GpuVendor};
use intriage_case::{Bytes, Celsius, Hertz};
use intriage_engines::{GpuReadings, UnderLoad};

use super::{Check, State, errors, link};
use crate::thresholds::{Limit, Thresholds};

const COOL: &str = "airflow, fans, filters, coolant; until then a lower power limit on all cards alike";

pub(super) fn checks(gpu: &GpuReadings, thresholds: &Thresholds) -> Vec<Check> {
    let mut all = Vec::new();
    for card in &gpu.cards {
        let name = card.name.as_deref().unwrap_or("of unknown name");
        let seen = Seen {
            card,
            before: gpu.before.iter().find(|b| b.index == card.index),
            load: gpu.under_load(card),
            nvlink_errors: gpu.nvlink_errors(card),
            alone: gpu.cards.len() == 1,
            source: &gpu.source,
            thresholds,
        };
        all.extend(LOOKS.iter().filter(|(_, of, _)| of.has(card)).map(|(check, _, look)| {
            let Look { state, says, remedy } = look(&seen);
            Check { part: format!("GPU {} {name}", card.index), name: check, state, says, remedy }
        }));
    }
    all
}

type Looking = fn(&Seen<'_>) -> Look;

/// What is looked at, in the order in which it is told; some of it only NVIDIA's cards have.
const LOOKS: [(&str, Of, Looking); 9] = [
    ("clocks", Of::Any, clocks),
    ("heat", Of::Any, heat),
    ("power", Of::Any, power),
    ("pcie", Of::Any, link::link),
    ("memory", Of::Any, memory),
    ("errors", Of::Any, errors::memory_errors),
    ("xid", Of::Exporters, errors::xid),
    ("nvlink", Of::Nvidia, errors::nvlinks),
    ("modes", Of::Nvidia, modes),
];

/// Whose cards have something.
#[derive(Clone, Copy)]
enum Of {
    Any,
    Nvidia,
    /// Those of whom somebody keeps the last Xid.
    Exporters,
}

impl Of {
    fn has(self, card: &GpuCard) -> bool {
        match self {
            Self::Any => true,
            Self::Nvidia => card.vendor != Some(GpuVendor::Amd),
            Self::Exporters => card.last_xid.is_some(),
        }
    }
}

pub(super) struct Seen<'a> {
    pub(super) card: &'a GpuCard,
    pub(super) before: Option<&'a GpuCard>,
    pub(super) load: Option<UnderLoad>,
    pub(super) nvlink_errors: Option<u64>,
    pub(super) alone: bool,
    source: &'a str,
    pub(super) thresholds: &'a Thresholds,
}

impl Seen<'_> {
    fn is_amd(&self) -> bool {
        self.card.vendor == Some(GpuVendor::Amd)
    }

    /// Whether it was the driver's library, which tells of everything the card has.
    pub(super) fn by_the_library(&self) -> bool {
        self.source.starts_with("NVML")
    }
}

pub(super) struct Look {
    state: State,
    says: String,
    remedy: Option<String>,
}

pub(super) fn good(says: impl Into<String>) -> Look {
    Look { state: State::Good, says: says.into(), remedy: None }
}

pub(super) fn unknown(says: impl Into<String>) -> Look {
    Look { state: State::Unknown, says: says.into(), remedy: None }
}

pub(super) fn wrong(state: State, says: impl Into<String>, remedy: &str) -> Look {
    Look { state, says: says.into(), remedy: Some(remedy.to_owned()) }
}

fn clocks(seen: &Seen<'_>) -> Look {
    let Some((now, most)) = seen.card.sm_clock.both() else {
        return unknown(seen.card.sm_clock.now.map_or("no clocks were told".to_owned(), |now| {
            format!("SM {:.0} MHz; the highest it has was not told", now.get() / 1e6)
        }));
    };
    let of = |clock: Hertz| format!("SM {:.0} of {:.0} MHz", clock.get() / 1e6, most.get() / 1e6);
    let Some(load) = &seen.load else {
        let low = now.get() < seen.thresholds.get(Limit::ClockDrop) * most.get();
        let why = if low { ": nothing runs, so a low clock is normal" } else { ", and nothing runs" };
        return good(format!("{}{why}", of(now)));
    };
    let clock = load.sm_clock.unwrap_or(now);
    let says = format!("{} while kernels ran", of(clock));
    if clock.get() >= seen.thresholds.get(Limit::ClockDrop) * most.get() {
        return good(says);
    }
    let held = |reasons| {
        load.held_by(reasons).is_some_and(|share| share.get() > seen.thresholds.get(Limit::ClockEvent))
    };
    if held(ClockReasons::CLOCKS_SETTING) {
        return wrong(
            State::Attention,
            format!("{says}: somebody set the clocks"),
            "nvidia-smi -rgc (and -rac on older drivers) gives them free",
        );
    }
    if held(ClockReasons::POWER_CAP) {
        return good(format!("{says}: held by the power limit, as under full load"));
    }
    // Heat and the power brake speak for themselves below.
    if held(ClockReasons::THERMAL) || held(ClockReasons::POWER_BRAKE) {
        return wrong(State::Attention, says, "see heat and power");
    }
    // Some sources give no reasons; a card that draws all it may is at its limit all the same.
    let limit = seen.card.power_limits.enforced;
    if load.held_by(ClockReasons::POWER_CAP).is_none()
        && let (Some(drawn), Some(limit)) = (load.power, limit)
        && drawn.get() >= seen.thresholds.get(Limit::AtPowerLimit) * limit.get()
    {
        return good(format!("{says}: it draws {drawn} of {limit}, as under full load"));
    }
    let enough = load.samples as f64 >= seen.thresholds.get(Limit::LoadedSamples);
    if load.held_by(ClockReasons::POWER_CAP).is_none() && !enough {
        return good(format!("{says}; too short a look to judge them"));
    }
    wrong(State::Attention, format!("{says}, and no reason is given"), "look again under full load")
}

fn heat(seen: &Seen<'_>) -> Look {
    let Some(now) = seen.card.temperature else { return unknown("no temperature was told") };
    let hottest = seen.load.as_ref().and_then(|load| load.temperature).unwrap_or(now);
    let left = seen.card.heat_left.map(Celsius::get);
    let limit = match (seen.card.slowdown_at, left) {
        (Some(at), _) => format!(", slows down at {at}"),
        (None, Some(left)) => format!(", {left:.0} °C from slowing down"),
        (None, None) => String::new(),
    };
    let memory = seen.card.memory_temperature.map_or(String::new(), |m| format!(", memory {m}"));
    let says = format!("{hottest}{memory}{limit}");
    if let Some(share) = seen.load.as_ref().and_then(|load| load.held_by(ClockReasons::THERMAL))
        && share.get() > seen.thresholds.get(Limit::ClockEvent)
    {
        return wrong(
            State::Bad,
            format!("{says}; heat holds the clocks down {share} of the busy time"),
            COOL,
        );
    }
    let left = left.or(seen.card.slowdown_at.map(|at| at.get() - hottest.get()));
    if left.is_some_and(|left| left <= seen.thresholds.get(Limit::HeatMargin)) {
        return wrong(State::Attention, format!("{says}: no margin is left"), COOL);
    }
    good(says)
}

fn power(seen: &Seen<'_>) -> Look {
    let limits = seen.card.power_limits;
    let Some(limit) = limits.enforced else { return unknown("no power limit was told") };
    let drawn = seen.load.as_ref().and_then(|load| load.power).or(seen.card.power);
    let says = match drawn {
        Some(power) => format!("{power} of {limit}"),
        None => format!("limit {limit}"),
    };
    if let Some(share) = seen.load.as_ref().and_then(|load| load.held_by(ClockReasons::POWER_BRAKE))
        && share.get() > seen.thresholds.get(Limit::ClockEvent)
    {
        return wrong(
            State::Bad,
            format!("{says}; the power supply brakes the card {share} of the busy time"),
            "check the power supply and the rack's power capping",
        );
    }
    if let Some(default) = limits.default.filter(|default| limit < *default) {
        let (index, watts) = (seen.card.index, default.get());
        let reset = if seen.is_amd() {
            format!("amd-smi set -g {index} --power-cap {watts:.0}, unless it is on purpose")
        } else {
            format!("nvidia-smi -i {index} -pl {watts:.0}, unless it is on purpose")
        };
        return wrong(State::Attention, format!("{says}; sold with {default}"), &reset);
    }
    good(says)
}

fn memory(seen: &Seen<'_>) -> Look {
    let (Some(used), Some(total)) = (seen.card.memory_used, seen.card.memory) else {
        return unknown("no memory was told");
    };
    let held = match seen.card.processes.as_deref() {
        // Exporters and the kernel list none at all.
        None if !seen.by_the_library() && !seen.source.starts_with("nvidia-smi") => String::new(),
        None => "; processes are hidden here".to_owned(),
        Some([]) => "; no process computes".to_owned(),
        Some(processes) => {
            let list: Vec<String> = processes
                .iter()
                .map(|p| {
                    let name = if p.name.is_empty() { "unnamed" } else { &p.name };
                    format!("{name} ({}) {}", p.pid, p.memory.unwrap_or(Bytes(0.0)))
                })
                .collect();
            format!("; {}", list.join(", "))
        }
    };
    good(format!("{used} of {total} in use{held}"))
}

fn modes(seen: &Seen<'_>) -> Look {
    if (&seen.card.compute_mode, seen.card.persistence, seen.card.mig) == (&None, None, None) {
        return unknown("modes were not told");
    }
    let mode = seen.card.compute_mode.as_deref().unwrap_or("unknown");
    if mode == "Prohibited" {
        return wrong(State::Bad, "compute mode Prohibited: nothing can run", "nvidia-smi -c 0");
    }
    let persistence = match seen.card.persistence {
        Some(true) => "persistence on",
        Some(false) => "persistence off: the first start after a pause takes seconds longer",
        None => "persistence unknown",
    };
    let says = format!("compute mode {mode}, {persistence}");
    if seen.card.mig == Some(true) {
        return wrong(
            State::Attention,
            format!("MIG is on, {says}"),
            "what runs here has a slice of the card: expect a slice's speed and memory",
        );
    }
    good(says)
}
