//! `nvidia-smi --query-gpu=… --format=csv`: a header of field names, then a line per GPU and interval.

use intriage_case::gpu::{ClockReasons, GpuSample};
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
