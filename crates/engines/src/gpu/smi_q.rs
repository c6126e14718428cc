//! `nvidia-smi -q`: indented `Key : Value` lines under sections.

use intriage_case::Bytes;

use super::{GpuCard, GpuProcess, GpuReadings};

pub(super) fn read(text: &str, readings: &mut GpuReadings) {
    let mut section = "";
    for line in text.lines() {
        let Some((key, value)) = line.split_once(" : ") else {
            section = line.trim();
            continue;
        };
        let (key, value) = (key.trim(), value.trim());
        if key == "Product Name" {
            readings.cards.push(GpuCard::default());
            readings.name.get_or_insert_with(|| value.to_owned());
        }
        if (section, key) == ("FB Memory Usage", "Total") {
            readings.memory = readings.memory.or(mebibytes(value));
        }
        if let Some(card) = readings.cards.last_mut() {
            read_card(card, section, key, value);
        }
    }
    readings.count = Some(readings.cards.len() as u32).filter(|n| *n > 0);
}

fn read_card(card: &mut GpuCard, section: &str, key: &str, value: &str) {
    match (section, key) {
        // Before driver 535 the section was called throttle reasons.
        ("Clocks Event Reasons" | "Clocks Throttle Reasons", _) => read_reason(card, key, value),
        ("Utilization", "GPU" | "Gpu") => card.util = number(value, " %").map(|p| p / 100.0),
        ("GPU Power Readings" | "Power Readings", "Current Power Limit" | "Power Limit") => {
            card.power_limit = number(value, " W");
        }
        ("GPU Power Readings" | "Power Readings", "Default Power Limit") => {
            card.power_limit_default = number(value, " W");
        }
        ("Clocks", "SM") => card.sm_clock = number(value, " MHz"),
        ("Max Clocks", "SM") => card.sm_clock_max = number(value, " MHz"),
        ("PCIe Generation", "Max") => card.pcie_generation = value.parse().ok().map(|max| (max, max)),
        ("PCIe Generation", "Current") => set_now(&mut card.pcie_generation, value),
        ("Link Width", "Max") => {
            card.pcie_width = value.trim_end_matches('x').parse().ok().map(|max| (max, max));
        }
        ("Link Width", "Current") => set_now(&mut card.pcie_width, value.trim_end_matches('x')),
        ("Processes", _) => read_process(card, key, value),
        _ => {}
    }
}

fn read_reason(card: &mut GpuCard, key: &str, value: &str) {
    let active = match value {
        "Active" => true,
        "Not Active" => false,
        _ => return,
    };
    match key {
        "Idle" => card.idle = Some(active),
        "SW Power Cap" => card.power_capped = Some(active),
        "HW Slowdown" | "HW Thermal Slowdown" | "HW Power Brake Slowdown" | "SW Thermal Slowdown" => {
            card.slowed_down = Some(active || card.slowed_down == Some(true));
        }
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

fn set_now(pair: &mut Option<(u32, u32)>, value: &str) {
    if let (Some(pair), Ok(now)) = (pair, value.parse()) {
        pair.0 = now;
    }
}

fn number(text: &str, unit: &str) -> Option<f64> {
    text.strip_suffix(unit)?.trim().parse().ok()
}

fn mebibytes(text: &str) -> Option<Bytes> {
    number(text, " MiB").map(|m| Bytes(m * 1_048_576.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings(text: &str) -> GpuReadings {
        let mut readings = GpuReadings::default();
        read(text, &mut readings);
        readings
    }

    #[test]
    fn name_and_memory_are_read() {
        let text = "GPU 00000000:00:00.0\n    Product Name                          : NVIDIA H200\n    FB Memory Usage\n        Total                             : 143771 MiB\n        Used                              : 133159 MiB\n    BAR1 Memory Usage\n        Total                             : 262144 MiB\n";
        let readings = readings(text);
        assert_eq!(readings.name.as_deref(), Some("NVIDIA H200"));
        assert_eq!(readings.memory, Some(Bytes(143_771.0 * 1_048_576.0)));
        assert_eq!(readings.count, Some(1));
        assert_eq!(readings.cards[0], GpuCard::default());
    }

    #[test]
    fn a_card_shows_its_link_its_clocks_and_who_uses_it() {
        let text = "    Product Name                : NVIDIA H200\n            PCIe Generation\n                Max                     : 5\n                Current                 : 1\n            Link Width\n                Max                     : 16x\n                Current                 : 16x\n    Clocks Event Reasons\n        Idle                            : Active\n        SW Power Cap                    : Not Active\n        HW Slowdown                     : Not Active\n            HW Thermal Slowdown         : Not Active\n    Utilization\n        GPU                             : 0 %\n    GPU Power Readings\n        Current Power Limit             : 700.00 W\n        Default Power Limit             : 700.00 W\n    Clocks\n        SM                              : 345 MHz\n    Max Clocks\n        SM                              : 1980 MHz\n    Processes\n        Process ID                      : 879\n            Type                        : C\n            Name                        : VLLM::EngineCore\n            Used GPU Memory             : 1024 MiB\n";
        let card = &readings(text).cards[0];
        assert_eq!((card.pcie_generation, card.pcie_width), (Some((1, 5)), Some((16, 16))));
        assert_eq!((card.idle, card.power_capped, card.slowed_down), (Some(true), Some(false), Some(false)));
        assert_eq!((card.sm_clock, card.sm_clock_max), (Some(345.0), Some(1980.0)));
        assert_eq!(
            (card.power_limit, card.power_limit_default, card.util),
            (Some(700.0), Some(700.0), Some(0.0))
        );
        let process =
            GpuProcess { pid: 879, name: "VLLM::EngineCore".into(), memory: Some(Bytes(1_073_741_824.0)) };
        assert_eq!(card.processes.as_deref(), Some(&[process][..]));
    }

    #[test]
    fn a_hidden_process_list_is_not_an_empty_one() {
        let readings = readings(
            "    Product Name        : NVIDIA L4\n    Processes           : None\n    Product Name        : NVIDIA L4\n",
        );
        assert_eq!(readings.count, Some(2));
        assert!(readings.cards.iter().all(|c| c.processes.is_none()));
    }
}
