//! An H200, idle and at work: what NVML answered and what `nvidia-smi -q` printed in the same minute agree.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use intriage_case::gpu::{ClockReasons, GpuCard, HeldFor};
use intriage_case::{Bytes, Case, Hertz, layout};
use intriage_engines::{GpuReadings, read};

fn readings(state: &str, file: &str) -> GpuReadings {
    let path = format!("{}/tests/h200/{state}/{file}", env!("CARGO_MANIFEST_DIR"));
    let mut case = Case::default();
    assert!(layout::add(&mut case, file, std::fs::read(path).unwrap()));
    read(&case).gpu
}

/// What does not move from one second to the next.
fn standing(card: &GpuCard) -> GpuCard {
    GpuCard {
        // Each knows something the other does not print: the CPUs nearby, the limits of heat. Heat, power and clocks move.
        near_cpus: None,
        slowdown_at: None,
        memory_slowdown_at: None,
        heat_left: None,
        temperature: None,
        memory_temperature: None,
        power: None,
        util: None,
        memory_used: None,
        held_for: HeldFor::default(),
        sm_clock: intriage_case::gpu::NowAndMost { now: None, ..card.sm_clock },
        ..card.clone()
    }
}

#[test]
fn nvml_and_the_tool_tell_the_same_card() {
    for state in ["idle", "busy"] {
        let (nvml, tool) = (readings(state, "gpu.json"), readings(state, "smi_q.txt"));
        assert_eq!((&nvml.driver, &nvml.cuda), (&tool.driver, &tool.cuda));
        let ([ours], [theirs]) = (&nvml.cards[..], &tool.cards[..]) else { panic!("one card each") };
        let (mut ours, mut theirs) = (standing(ours), standing(theirs));
        // One says bytes, the other mebibytes; one lists an empty list, the other nothing.
        for card in [&mut ours, &mut theirs] {
            card.memory = card.memory.map(|b| Bytes((b.get() / 1_048_576.0).floor()));
            for process in card.processes.iter_mut().flatten() {
                process.memory = process.memory.map(|b| Bytes((b.get() / 1_048_576.0).floor()));
            }
            card.processes.get_or_insert_default();
            // The library is not asked for it.
            card.ecc.sram_threshold_exceeded = None;
        }
        assert_eq!(ours, theirs, "{state}");
    }
}

#[test]
fn an_idle_card_sleeps_and_a_busy_one_is_at_its_power_limit() {
    let idle = readings("idle", "gpu.json");
    assert_eq!(idle.under_load(&idle.cards[0]), None);
    assert_eq!(idle.cards[0].reasons, Some(ClockReasons::IDLE));
    let busy = readings("busy", "gpu.json");
    let load = busy.under_load(&busy.cards[0]).unwrap();
    assert_eq!(load.samples, 200);
    assert_eq!((load.pcie_generation, load.pcie_width), (Some(5), Some(16)));
    assert!(load.held_by(ClockReasons::POWER_CAP).unwrap().get() > 0.9);
    assert!(load.held_by(ClockReasons::THERMAL).unwrap().get() < f64::EPSILON);
    assert!(load.sm_clock.unwrap() < Hertz(1.6e9) && load.pcie_rate.unwrap().0 > Bytes(1e6));
}
