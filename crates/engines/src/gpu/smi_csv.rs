//! `nvidia-smi --query-gpu=… --format=csv`: a header of field names, then a line per GPU and interval.

use std::collections::BTreeMap;

use intriage_case::gpu::{ClockReasons, GpuCard, GpuSample, NowAndMost, PowerLimits};
use intriage_case::{Bytes, Celsius, Hertz, Ratio, Watts};

/// The samples of such an output; fields are found by name, in whatever order they were asked for.
pub(super) fn read(text: &str) -> Vec<GpuSample> {
    let mut columns: Vec<&str> = Vec::new();
    let mut samples = Vec::new();
    for line in text.lines() {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        if cells.contains(&"index") {
            columns = cells.into_iter().map(field).collect();
        } else if cells.len() == columns.len() {
            samples.extend(sample(&columns, &cells));
        }
    }
    samples
}

/// The cards as the last line of each shows them, for whoever has nothing better.
pub(super) fn cards(text: &str) -> Vec<GpuCard> {
    let mut cards: BTreeMap<u32, GpuCard> = BTreeMap::new();
    let mut columns: Vec<&str> = Vec::new();
    for line in text.lines() {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        if cells.contains(&"index") {
            columns = cells.into_iter().map(field).collect();
        } else if let Some(sample) =
            (cells.len() == columns.len()).then(|| sample(&columns, &cells)).flatten()
        {
            cards.insert(sample.index, card(&columns, &cells, &sample));
        }
    }
    cards.into_values().collect()
}

fn card(columns: &[&str], cells: &[&str], sample: &GpuSample) -> GpuCard {
    let cell = |name: &str| {
        let at = columns.iter().position(|column| *column == name)?;
        cells.get(at).copied().filter(|text| !text.starts_with('[') && !text.is_empty())
    };
    let number = |name| cell(name)?.split_whitespace().next()?.parse::<f64>().ok().filter(|n| *n >= 0.0);
    let whole = |name| number(name).map(|n| n as u32);
    let megahertz = |name| number(name).map(|mhz| Hertz(mhz * 1e6));
    GpuCard {
        index: sample.index,
        name: cell("name").or_else(|| cell("gpu_name")).map(str::to_owned),
        uuid: cell("uuid").or_else(|| cell("gpu_uuid")).map(str::to_owned),
        pci: cell("pci.bus_id").or_else(|| cell("gpu_bus_id")).map(str::to_owned),
        memory: number("memory.total").map(|mib| Bytes(mib * 1_048_576.0)),
        memory_used: sample.memory_used,
        util: sample.util,
        sm_clock: NowAndMost { now: sample.sm_clock, most: megahertz("clocks.max.sm") },
        memory_clock: NowAndMost { now: sample.memory_clock, most: megahertz("clocks.max.memory") },
        reasons: sample.reasons,
        power: sample.power,
        power_limits: PowerLimits {
            enforced: number("enforced.power.limit").or_else(|| number("power.limit")).map(Watts),
            default: number("power.default_limit").map(Watts),
            ..PowerLimits::default()
        },
        temperature: sample.temperature,
        memory_temperature: sample.memory_temperature,
        pcie_generation: NowAndMost { now: sample.pcie_generation, most: whole("pcie.link.gen.max") },
        pcie_width: NowAndMost { now: sample.pcie_width, most: whole("pcie.link.width.max") },
        ..GpuCard::default()
    }
}

/// `utilization.gpu [%]` names its unit, which the question fixed already.
fn field(column: &str) -> &str {
    column.split_once(" [").map_or(column, |(name, _)| name)
}

fn sample(columns: &[&str], cells: &[&str]) -> Option<GpuSample> {
    let cell = |names: &[&str]| {
        let at = columns.iter().position(|column| names.contains(column))?;
        cells.get(at).copied()
    };
    // Without `nounits` a value carries its unit: `35 %`.
    let number = |names: &[&str]| {
        let text = cell(names)?.split_whitespace().next()?;
        text.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0)
    };
    let whole = |names: &[&str]| number(names).map(|n| n as u32);
    let share = |name| number(&[name]).map(|percent| Ratio(percent / 100.0));
    let megahertz = |names: &[&str]| number(names).map(|mhz| Hertz(mhz * 1e6));
    Some(GpuSample {
        index: whole(&["index"])?,
        util: share("utilization.gpu"),
        memory_util: share("utilization.memory"),
        power: number(&["power.draw", "power.draw.instant"]).map(Watts),
        sm_clock: megahertz(&["clocks.current.sm", "clocks.sm"]),
        memory_clock: megahertz(&["clocks.current.memory", "clocks.mem"]),
        temperature: number(&["temperature.gpu"]).map(Celsius),
        memory_temperature: number(&["temperature.memory"]).map(Celsius),
        memory_used: number(&["memory.used"]).map(|mib| Bytes(mib * 1_048_576.0)),
        reasons: cell(&["clocks_event_reasons.active", "clocks_throttle_reasons.active"]).and_then(mask),
        pcie_generation: whole(&["pcie.link.gen.current", "pcie.link.gen.gpucurrent"]),
        pcie_width: whole(&["pcie.link.width.current"]),
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
