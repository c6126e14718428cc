//! What `nvidia-smi -q` printed is read whole, and what it does not tell is absent.

use intriage_case::gpu::{HeldFor, NowAndMost};

use super::*;

fn readings(text: &str) -> GpuReadings {
    let mut readings = GpuReadings::default();
    read(text, &mut readings);
    readings
}

fn recorded(name: &str) -> GpuReadings {
    let path = format!("{}/../../fixtures/recordings/{name}/smi_q.txt", env!("CARGO_MANIFEST_DIR"));
    readings(&std::fs::read_to_string(path).unwrap())
}

#[test]
fn a_real_h200_is_read_whole() {
    let readings = recorded("vllm-h200-healthy");
    assert_eq!((readings.driver.as_deref(), readings.cuda.as_deref()), (Some("580.159.04"), Some("13.0")));
    let [card] = &readings.cards[..] else { panic!("{readings:#?}") };
    assert_eq!(card.name.as_deref(), Some("NVIDIA H200"));
    assert_eq!(card.pci.as_deref(), Some("00000000:00:06.0"));
    assert_eq!(card.memory, Some(Bytes(143_771.0 * 1_048_576.0)));
    assert_eq!(card.sm_clock, NowAndMost { now: Some(Hertz(1.98e9)), most: Some(Hertz(1.98e9)) });
    assert_eq!((card.pcie_generation.both(), card.pcie_width.both()), (Some((5, 5)), Some((16, 16))));
    assert_eq!(card.pcie_replays, Some(1));
    assert_eq!(card.reasons, Some(ClockReasons(0)));
    assert_eq!(
        card.held_for,
        HeldFor {
            power_cap: Some(Seconds(16.987_751)),
            software_thermal: Some(Seconds(0.0)),
            hardware_thermal: Some(Seconds(0.0)),
            power_brake: Some(Seconds(0.0)),
        }
    );
    // 53 below the limit, slowed down 2 above it.
    assert_eq!((card.temperature, card.heat_left), (Some(Celsius(34.0)), Some(Celsius(55.0))));
    assert_eq!(card.power_limits.enforced, Some(Watts(700.0)));
    assert_eq!((card.mig, card.persistence), (Some(false), Some(true)));
    assert_eq!((card.ecc.enabled, card.ecc.volatile_uncorrected), (Some(true), Some(0)));
    assert_eq!((card.ecc.remap_pending, card.ecc.remap_failed), (Some(false), Some(false)));
    let processes = card.processes.as_deref().unwrap();
    assert_eq!((processes[0].pid, processes[0].name.as_str()), (879, "VLLM::EngineCore"));
}

#[test]
fn an_idle_card_says_so() {
    let text = "    Product Name                : NVIDIA H200\n            PCIe Generation\n                Max                     : 5\n                Current                 : 1\n    Clocks Event Reasons\n        Idle                            : Active\n        SW Power Cap                    : Not Active\n    Utilization\n        GPU                             : 0 %\n";
    let card = &readings(text).cards[0];
    assert_eq!(card.pcie_generation.both(), Some((1, 5)));
    assert_eq!((card.reasons, card.util), (Some(ClockReasons::IDLE), Some(Ratio(0.0))));
}

#[test]
fn errors_of_all_memories_are_added_up() {
    let text = "    Product Name : NVIDIA A100\n    ECC Errors\n        Volatile\n            SRAM Uncorrectable Parity : 1\n            SRAM Uncorrectable SEC-DED : 2\n            DRAM Correctable : 7\n            DRAM Uncorrectable : 4\n";
    let ecc = readings(text).cards[0].ecc;
    assert_eq!((ecc.volatile_corrected, ecc.volatile_uncorrected), (Some(7), Some(7)));
    assert_eq!(ecc.aggregate_uncorrected, None);
}

#[test]
fn worn_memory_and_the_drivers_advice_are_read() {
    let text = "    Product Name : NVIDIA H200\n    GPU Recovery Action : Reset\n    ECC Errors\n        Aggregate\n            DRAM Uncorrectable : 3\n            SRAM Threshold Exceeded : Yes\n";
    let card = &readings(text).cards[0];
    assert_eq!(card.recovery_action.as_deref(), Some("Reset"));
    let ecc = card.ecc;
    assert_eq!((ecc.aggregate_uncorrected, ecc.sram_threshold_exceeded), (Some(3), Some(true)));
    let well = readings("    Product Name : NVIDIA H200\n    GPU Recovery Action : None\n");
    assert_eq!(well.cards[0].recovery_action, None);
}

#[test]
fn a_negative_temperature_is_no_reading_and_a_negative_distance_is() {
    let text = "    Product Name : NVIDIA H200\n    Temperature\n        GPU Current Temp : -12 C\n        GPU T.Limit Temp : 50 C\n        GPU Slowdown T.Limit Temp : -2 C\n        Memory Current Temp : -1 C\n";
    let card = &readings(text).cards[0];
    assert_eq!((card.temperature, card.memory_temperature), (None, None));
    assert_eq!(card.heat_left, Some(Celsius(52.0)));
}

#[test]
fn a_hidden_process_list_is_not_an_empty_one() {
    let readings = readings(
        "    Product Name        : NVIDIA L4\n    Processes           : None\n    Product Name        : NVIDIA L4\n",
    );
    assert_eq!(readings.cards.len(), 2);
    assert!(readings.cards.iter().all(|c| c.processes.is_none()));
}
