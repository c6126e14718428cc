//! `nvidia-smi -q`: indented `Key : Value` lines under sections.

use intriage_case::gpu::{ClockReasons, GpuCard, GpuProcess};
use intriage_case::{Bytes, Celsius, Hertz, Ratio, Seconds, Watts};

use super::GpuReadings;

#[cfg(test)]
mod tests;

pub(super) fn read(text: &str, readings: &mut GpuReadings) {
    let mut section = "";
    // Newer cards print how far they are from their limit instead of the limit.
    let mut margins = Margins::default();
    for line in text.lines() {
        let Some((key, value)) = line.split_once(" : ") else {
            section = line.trim();
            // `GPU 00000000:19:00.0` opens a card; short forms of the text begin with its name.
            if let Some(pci) = line.strip_prefix("GPU ") {
                let index = readings.cards.len() as u32;
                let pci = Some(pci.trim().to_owned());
                readings.cards.push(GpuCard { index, pci, ..GpuCard::default() });
                margins = Margins::default();
            }
            continue;
        };
        let (key, value) = (key.trim(), value.trim());
        if value == "N/A" {
            continue;
        }
        match key {
            "Driver Version" => readings.driver = Some(value.to_owned()),
            "CUDA Version" => readings.cuda = Some(value.to_owned()),
            "Product Name" if readings.cards.last().is_none_or(|card| card.name.is_some()) => {
                let index = readings.cards.len() as u32;
                readings.cards.push(GpuCard { index, ..GpuCard::default() });
                margins = Margins::default();
            }
            _ => {}
        }
        if let Some(card) = readings.cards.last_mut() {
            read_line(card, section, key, value);
            margins.read(card, section, key, value);
        }
    }
}

fn read_line(card: &mut GpuCard, section: &str, key: &str, value: &str) {
    match key {
        "Product Name" => card.name = Some(value.to_owned()),
        "GPU UUID" => card.uuid = Some(value.to_owned()),
        "Persistence Mode" => card.persistence = switch(value),
        "Compute Mode" => card.compute_mode = Some(value.to_owned()),
        "Performance State" => card.performance_state = value.trim_start_matches('P').parse().ok(),
        "GPU Recovery Action" => card.recovery_action = Some(value.to_owned()).filter(|v| v != "None"),
        "Replays Since Reset" => card.pcie_replays = value.parse().ok(),
        _ => read_in_section(card, section, key, value),
    }
}

fn read_in_section(card: &mut GpuCard, section: &str, key: &str, value: &str) {
    match (section, key) {
        // Before driver 535 the section was called throttle reasons.
        ("Clocks Event Reasons" | "Clocks Throttle Reasons", _) => read_reason(card, key, value),
        ("Clocks Event Reasons Counters", "SW Power Capping") => card.held_for.power_cap = micros(value),
        ("Clocks Event Reasons Counters", "SW Thermal Slowdown") => {
            card.held_for.software_thermal = micros(value);
        }
        ("Clocks Event Reasons Counters", "HW Thermal Slowdown") => {
            card.held_for.hardware_thermal = micros(value);
        }
        ("Clocks Event Reasons Counters", "HW Power Braking") => card.held_for.power_brake = micros(value),
        ("FB Memory Usage", "Total") => card.memory = mebibytes(value),
        ("FB Memory Usage", "Used") => card.memory_used = mebibytes(value),
        ("Utilization", "GPU" | "Gpu") => card.util = number(value, " %").map(|p| Ratio(p / 100.0)),
        ("GPU Power Readings" | "Power Readings", _) => read_power(card, key, value),
        ("Clocks", "SM") => card.sm_clock.now = megahertz(value),
        ("Clocks", "Memory") => card.memory_clock.now = megahertz(value),
        ("Max Clocks", "SM") => card.sm_clock.most = megahertz(value),
        ("Max Clocks", "Memory") => card.memory_clock.most = megahertz(value),
        ("PCIe Generation", "Max") => card.pcie_generation.most = value.parse().ok(),
        ("PCIe Generation", "Current") => card.pcie_generation.now = value.parse().ok(),
        ("Link Width", "Max") => card.pcie_width.most = value.trim_end_matches('x').parse().ok(),
        ("Link Width", "Current") => card.pcie_width.now = value.trim_end_matches('x').parse().ok(),
        ("MIG Mode", "Current") => card.mig = switch(value),
        ("ECC Mode", "Current") => card.ecc.enabled = switch(value),
        ("Volatile", key) => {
            let ecc = &mut card.ecc;
            add_errors(&mut ecc.volatile_corrected, &mut ecc.volatile_uncorrected, key, value);
        }
        ("Aggregate", "SRAM Threshold Exceeded") => card.ecc.sram_threshold_exceeded = yes(value),
        ("Aggregate", key) => {
            let ecc = &mut card.ecc;
            add_errors(&mut ecc.aggregate_corrected, &mut ecc.aggregate_uncorrected, key, value);
        }
        ("Remapped Rows", "Correctable Error") => card.ecc.remapped_corrected = value.parse().ok(),
        ("Remapped Rows", "Uncorrectable Error") => card.ecc.remapped_uncorrected = value.parse().ok(),
        ("Remapped Rows", "Pending") => card.ecc.remap_pending = yes(value),
        ("Remapped Rows", "Remapping Failure Occurred") => card.ecc.remap_failed = yes(value),
        ("Processes", _) => read_process(card, key, value),
        _ => {}
    }
}

fn read_power(card: &mut GpuCard, key: &str, value: &str) {
    let watts = number(value, " W").map(Watts);
    match key {
        "Instantaneous Power Draw" | "Power Draw" => card.power = watts,
        "Current Power Limit" | "Power Limit" => card.power_limits.enforced = watts,
        "Default Power Limit" => card.power_limits.default = watts,
        "Min Power Limit" => card.power_limits.least = watts,
        "Max Power Limit" => card.power_limits.most = watts,
        _ => {}
    }
}

/// The chip's distance from its limit, until the line comes that says where beyond it the card slows down.
#[derive(Default)]
struct Margins {
    left: Option<f64>,
}

impl Margins {
    fn read(&mut self, card: &mut GpuCard, section: &str, key: &str, value: &str) {
        if section != "Temperature" {
            return;
        }
        let Some(degrees) = number(value, " C") else { return };
        // Only distances from a limit may be negative: a card below freezing is one that cannot be read.
        let warm = (degrees >= 0.0).then_some(Celsius(degrees));
        match key {
            "GPU Current Temp" => card.temperature = warm,
            "Memory Current Temp" => card.memory_temperature = warm,
            "GPU Slowdown Temp" => card.slowdown_at = warm,
            "Memory Max Operating Temp" => card.memory_slowdown_at = warm,
            "GPU T.Limit Temp" => self.left = Some(degrees),
            "GPU Slowdown T.Limit Temp" => {
                card.heat_left = self.left.map(|left| Celsius(left - degrees));
            }
            _ => {}
        }
    }
}

fn read_reason(card: &mut GpuCard, key: &str, value: &str) {
    let known = card.reasons.unwrap_or_default();
    match (value, ClockReasons::named(key)) {
        ("Active", Some(reason)) => card.reasons = Some(known.with(reason)),
        ("Not Active", Some(_)) => card.reasons = Some(known),
        _ => {}
    }
}

fn read_process(card: &mut GpuCard, key: &str, value: &str) {
    let list = card.processes.get_or_insert_default();
    match key {
        "Process ID" => list.push(GpuProcess { pid: value.parse().unwrap_or(0), ..GpuProcess::default() }),
        "Name" => {
            if let Some(process) = list.last_mut() {
                value.clone_into(&mut process.name);
            }
        }
        "Used GPU Memory" => {
            if let Some(process) = list.last_mut() {
                process.memory = mebibytes(value);
            }
        }
        _ => {}
    }
}

/// Errors of the card's memories are listed one by one: SRAM parity, SRAM SEC-DED, DRAM.
fn add_errors(corrected: &mut Option<u64>, uncorrected: &mut Option<u64>, key: &str, value: &str) {
    let Ok(count) = value.parse::<u64>() else { return };
    let sum = if key.contains("Uncorrectable") {
        uncorrected
    } else if key.contains("Correctable") {
        corrected
    } else {
        return;
    };
    *sum = Some(sum.unwrap_or(0).saturating_add(count));
}

fn switch(value: &str) -> Option<bool> {
    match value {
        "Enabled" => Some(true),
        "Disabled" => Some(false),
        _ => None,
    }
}

fn yes(value: &str) -> Option<bool> {
    match value {
        "Yes" => Some(true),
        "No" => Some(false),
        _ => None,
    }
}

fn number(text: &str, unit: &str) -> Option<f64> {
    text.strip_suffix(unit)?.trim().parse().ok()
}

fn megahertz(text: &str) -> Option<Hertz> {
    number(text, " MHz").map(|mhz| Hertz(mhz * 1e6))
}

fn micros(text: &str) -> Option<Seconds> {
    number(text, " us").map(|us| Seconds(us / 1e6))
}

fn mebibytes(text: &str) -> Option<Bytes> {
    number(text, " MiB").map(|m| Bytes(m * 1_048_576.0))
}
