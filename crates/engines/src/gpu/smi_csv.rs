//! `nvidia-smi --query-gpu=… --format=csv`: a header of field names, then a line per GPU and interval.

use std::collections::BTreeMap;
use std::rc::Rc;

use intriage_case::gpu::{ClockReasons, EccErrors, GpuCard, GpuSample, NowAndMost, PowerLimits};
use intriage_case::{Bytes, Celsius, Hertz, Ratio, Watts};

/// The samples of such an output; fields are found by name, in whatever order they were asked for.
pub(super) fn read(text: &str) -> Vec<GpuSample> {
    rows(text).iter().filter_map(sample).collect()
}

/// The cards as the last line of each shows them, for whoever has nothing better.
pub(super) fn cards(text: &str) -> Vec<GpuCard> {
    let cards: BTreeMap<u32, GpuCard> = rows(text)
        .iter()
        .filter_map(|row| Some((row.whole(&["index"])?, card(row, &sample(row)?))))
        .collect();
    cards.into_values().collect()
}

/// Which clock reasons the output tells of at all; `None` where it has the driver's whole mask, or none.
pub(super) fn reasons_told(text: &str) -> Option<ClockReasons> {
    let rows = rows(text);
    if rows.iter().any(|row| row.cell(&MASKS).and_then(mask).is_some()) {
        return None;
    }
    let told = REASONS.iter().filter(|(name, _)| rows.iter().any(|row| row.reason(name).is_some()));
    told.map(|(_, reason)| *reason).reduce(ClockReasons::with)
}

/// The reasons as one number; drivers before 535 call them throttle reasons.
const MASKS: [&str; 2] = ["clocks_event_reasons.active", "clocks_throttle_reasons.active"];

/// The reasons in columns of their own. Source: `nvidia-smi --help-query-gpu`.
const REASONS: [(&str, ClockReasons); 8] = [
    ("gpu_idle", ClockReasons::IDLE),
    ("applications_clocks_setting", ClockReasons::CLOCKS_SETTING),
    ("sw_power_cap", ClockReasons::POWER_CAP),
    ("hw_slowdown", ClockReasons::HARDWARE_SLOWDOWN),
    ("sync_boost", ClockReasons::SYNC_BOOST),
    ("sw_thermal_slowdown", ClockReasons::SOFTWARE_THERMAL),
    ("hw_thermal_slowdown", ClockReasons::HARDWARE_THERMAL),
    ("hw_power_brake_slowdown", ClockReasons::POWER_BRAKE),
];

/// A line with the names of its columns.
struct Row<'a> {
    columns: Rc<[&'a str]>,
    cells: Vec<&'a str>,
}

impl Row<'_> {
    /// The value of the first of these fields; what a card does not tell stands in brackets.
    fn cell(&self, names: &[&str]) -> Option<&str> {
        let at = self.columns.iter().position(|column| names.contains(column))?;
        self.cells.get(at).copied().filter(|text| !text.starts_with('[') && !text.is_empty())
    }

    /// Without `nounits` a value carries its unit: `35 %`.
    fn number(&self, names: &[&str]) -> Option<f64> {
        let text = self.cell(names)?.split_whitespace().next()?;
        text.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0)
    }

    fn whole(&self, names: &[&str]) -> Option<u32> {
        self.number(names).map(|n| n as u32)
    }

    fn count(&self, name: &str) -> Option<u64> {
        self.cell(&[name])?.parse().ok()
    }

    /// `Active` or `Not Active`, `Yes` or `No`, `Enabled` or `Disabled`; some fields give a number.
    fn flag(&self, name: &str) -> Option<bool> {
        match self.cell(&[name])? {
            "Active" | "Yes" | "Enabled" | "1" => Some(true),
            "Not Active" | "No" | "Disabled" | "0" => Some(false),
            _ => None,
        }
    }

    fn reason(&self, name: &str) -> Option<bool> {
        ["event", "throttle"].iter().find_map(|kind| self.flag(&format!("clocks_{kind}_reasons.{name}")))
    }

    /// Why the clocks are where they are: the driver's mask, else the columns there are.
    fn reasons(&self) -> Option<ClockReasons> {
        if let Some(mask) = self.cell(&MASKS).and_then(mask) {
            return Some(mask);
        }
        let told = REASONS
            .iter()
            .filter_map(|(name, reason)| Some(if self.reason(name)? { *reason } else { ClockReasons(0) }));
        told.reduce(ClockReasons::with)
    }
}

/// The lines that have a cell for each column of the header above them.
fn rows(text: &str) -> Vec<Row<'_>> {
    let mut columns: Rc<[&str]> = Rc::new([]);
    let mut rows = Vec::new();
    for line in text.lines() {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        if cells.contains(&"index") {
            columns = cells.into_iter().map(field).collect();
        } else if cells.len() == columns.len() {
            rows.push(Row { columns: Rc::clone(&columns), cells });
        }
    }
    rows
}

fn card(row: &Row<'_>, sample: &GpuSample) -> GpuCard {
    let megahertz = |name| row.number(&[name]).map(|mhz| Hertz(mhz * 1e6));
    GpuCard {
        index: sample.index,
        name: row.cell(&["name", "gpu_name"]).map(str::to_owned),
        uuid: row.cell(&["uuid", "gpu_uuid"]).map(str::to_owned),
        pci: row.cell(&["pci.bus_id", "gpu_bus_id"]).map(str::to_owned),
        memory: row.number(&["memory.total"]).map(|mib| Bytes(mib * 1_048_576.0)),
        memory_used: sample.memory_used,
        util: sample.util,
        sm_clock: NowAndMost { now: sample.sm_clock, most: megahertz("clocks.max.sm") },
        memory_clock: NowAndMost { now: sample.memory_clock, most: megahertz("clocks.max.memory") },
        reasons: sample.reasons,
        power: sample.power,
        power_limits: PowerLimits {
            enforced: row.number(&["enforced.power.limit"]).or(row.number(&["power.limit"])).map(Watts),
            default: row.number(&["power.default_limit"]).map(Watts),
            ..PowerLimits::default()
        },
        temperature: sample.temperature,
        memory_temperature: sample.memory_temperature,
        pcie_generation: NowAndMost { now: sample.pcie_generation, most: row.whole(&["pcie.link.gen.max"]) },
        pcie_width: NowAndMost { now: sample.pcie_width, most: row.whole(&["pcie.link.width.max"]) },
        ecc: EccErrors {
            enabled: row.flag("ecc.mode.current"),
            volatile_corrected: row.count("ecc.errors.corrected.volatile.total"),
            volatile_uncorrected: row.count("ecc.errors.uncorrected.volatile.total"),
            aggregate_corrected: row.count("ecc.errors.corrected.aggregate.total"),
            aggregate_uncorrected: row.count("ecc.errors.uncorrected.aggregate.total"),
            remapped_corrected: row.count("remapped_rows.correctable"),
            remapped_uncorrected: row.count("remapped_rows.uncorrectable"),
            remap_pending: row.flag("remapped_rows.pending"),
            remap_failed: row.flag("remapped_rows.failure"),
            ..EccErrors::default()
        },
        mig: row.flag("mig.mode.current"),
        ..GpuCard::default()
    }
}

/// `utilization.gpu [%]` names its unit, which the question fixed already.
fn field(column: &str) -> &str {
    column.split_once(" [").map_or(column, |(name, _)| name)
}

fn sample(row: &Row<'_>) -> Option<GpuSample> {
    let share = |name| row.number(&[name]).map(|percent| Ratio(percent / 100.0));
    let megahertz = |names: &[&str]| row.number(names).map(|mhz| Hertz(mhz * 1e6));
    Some(GpuSample {
        index: row.whole(&["index"])?,
        util: share("utilization.gpu"),
        memory_util: share("utilization.memory"),
        power: row.number(&["power.draw", "power.draw.instant"]).map(Watts),
        sm_clock: megahertz(&["clocks.current.sm", "clocks.sm"]),
        memory_clock: megahertz(&["clocks.current.memory", "clocks.mem"]),
        temperature: row.number(&["temperature.gpu"]).map(Celsius),
        memory_temperature: row.number(&["temperature.memory"]).map(Celsius),
        memory_used: row.number(&["memory.used"]).map(|mib| Bytes(mib * 1_048_576.0)),
        reasons: row.reasons(),
        pcie_generation: row.whole(&["pcie.link.gen.current", "pcie.link.gen.gpucurrent"]),
        pcie_width: row.whole(&["pcie.link.width.current"]),
        ..GpuSample::default()
    })
}

/// `0x0000000000000004`.
fn mask(text: &str) -> Option<ClockReasons> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok().map(ClockReasons)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_name_and_what_a_card_lacks_is_absent() {
        let text = "index, utilization.gpu [%], power.draw [W], clocks.current.sm [MHz], temperature.memory, clocks_event_reasons.active, pcie.link.width.current\n0, 97, 693.21, 1485, [N/A], 0x0000000000000004, 16\n1, 0, 76.10, 345, 41, 0x0000000000000001, 16\n";
        let samples = read(text);
        assert_eq!(samples.len(), 2);
        assert_eq!(
            (samples[0].util, samples[0].power, samples[0].memory_temperature),
            (Some(Ratio(0.97)), Some(Watts(693.21)), None)
        );
        assert_eq!(samples[0].reasons, Some(ClockReasons::POWER_CAP));
        assert_eq!((samples[1].index, samples[1].reasons), (1, Some(ClockReasons::IDLE)));
    }

    #[test]
    fn a_table_alone_shows_its_cards() {
        let text = "index, name, temperature.gpu, utilization.gpu [%], clocks.current.sm [MHz], clocks.max.sm [MHz], power.limit [W]\n0, NVIDIA H100 PCIe, 40, 0 %, 345 MHz, 1755 MHz, 350.00 W\n0, NVIDIA H100 PCIe, 61, 99 %, 1410 MHz, 1755 MHz, 350.00 W\n";
        let cards = cards(text);
        assert_eq!(cards.len(), 1);
        assert_eq!(cards[0].name.as_deref(), Some("NVIDIA H100 PCIe"));
        assert_eq!(cards[0].sm_clock, NowAndMost { now: Some(Hertz(1410e6)), most: Some(Hertz(1755e6)) });
        assert_eq!(
            (cards[0].temperature, cards[0].power_limits.enforced),
            (Some(Celsius(61.0)), Some(Watts(350.0)))
        );
    }

    #[test]
    fn memory_errors_and_reasons_have_columns_of_their_own() {
        for kind in ["event", "throttle"] {
            let text = format!(
                "index, utilization.gpu [%], ecc.errors.uncorrected.volatile.total, clocks_{kind}_reasons.hw_thermal_slowdown, clocks_{kind}_reasons.sw_power_cap\n0, 98 %, 7, Active, Not Active\n"
            );
            assert_eq!(cards(&text)[0].ecc.volatile_uncorrected, Some(7));
            assert_eq!(read(&text)[0].reasons, Some(ClockReasons::HARDWARE_THERMAL));
            let told = ClockReasons::HARDWARE_THERMAL.with(ClockReasons::POWER_CAP);
            assert_eq!(reasons_told(&text), Some(told));
        }
        let text = "index, clocks_throttle_reasons.active, clocks_throttle_reasons.gpu_idle\n0, 0x0000000000000084, Not Active\n";
        assert_eq!(read(text)[0].reasons, Some(ClockReasons(0x84)));
        assert_eq!(reasons_told(text), None, "the mask is whole");
    }

    #[test]
    fn values_may_carry_their_units() {
        let samples = read("index, utilization.gpu [%], memory.used [MiB]\n0, 35 %, 81559 MiB\n");
        assert_eq!(samples[0].memory_used, Some(Bytes(81_559.0 * 1_048_576.0)));
    }

    #[test]
    fn a_refusal_and_a_line_cut_in_the_middle_give_no_sample() {
        assert!(read("Field \"clocks_event_reasons.active\" is not a valid field to query.\n").is_empty());
        assert!(read("index, utilization.gpu [%], power.draw [W]\n0, 9\n").is_empty());
    }
}
