//! An idle H200 as the tools of driver 580 print it: every form is known by its text, and its fields are read as they stand.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

use intriage_case::gpu::{ClockReasons, GpuCard, NowAndMost};
use intriage_case::{Bytes, Case, Celsius, Hertz, Ratio, Watts, layout};
use intriage_engines::{GpuReadings, GpuText, read, recognise_gpu_text};

fn text(file: &str) -> String {
    let path = format!("{}/tests/h200/tools/{file}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

/// A file as it would lie in a recording.
fn readings(file: &str, kind: GpuText, name: &str) -> GpuReadings {
    assert_eq!(recognise_gpu_text(&text(file)), Some(kind), "{file}");
    let mut case = Case::default();
    assert!(layout::add(&mut case, name, text(file).into_bytes()));
    read(&case).gpu
}

fn one(gpu: &GpuReadings) -> &GpuCard {
    let [card] = &gpu.cards[..] else { panic!("one card: {:?}", gpu.cards) };
    card
}

fn both<T: Copy>(now: T, most: T) -> NowAndMost<T> {
    NowAndMost { now: Some(now), most: Some(most) }
}

#[test]
fn a_query_gives_the_fields_it_asked_for() {
    let gpu = readings("query.csv", GpuText::SmiCsv, "smi.csv");
    let card = one(&gpu);
    assert_eq!((card.index, card.name.as_deref()), (0, Some("NVIDIA H200")));
    assert_eq!(card.ecc.volatile_uncorrected, Some(0));
    assert_eq!((card.ecc.volatile_corrected, card.ecc.aggregate_uncorrected), (Some(0), Some(0)));
    assert_eq!(card.reasons, Some(ClockReasons::IDLE));
    assert_eq!(card.sm_clock, both(Hertz(345e6), Hertz(1980e6)));
    assert_eq!((card.temperature, card.power), (Some(Celsius(36.0)), Some(Watts(79.83))));
    assert_eq!(card.power_limits.enforced, Some(Watts(700.0)));
    assert_eq!((card.pcie_generation, card.pcie_width), (both(5, 5), both(16, 16)));
    assert_eq!(card.util, Some(Ratio(0.0)));
    assert_eq!(gpu.reasons_told, None);
}

#[test]
fn a_query_of_other_fields_gives_those_and_what_the_card_does_not_tell_is_absent() {
    let gpu = readings("query_old.csv", GpuText::SmiCsv, "smi.csv");
    let card = one(&gpu);
    assert_eq!(card.reasons, Some(ClockReasons::IDLE));
    assert_eq!((card.ecc.remap_pending, card.ecc.remap_failed), (Some(false), Some(false)));
    assert_eq!((card.temperature, card.power, card.ecc.volatile_uncorrected), (None, None, None));
}

#[test]
fn dmon_with_a_date_a_time_or_both_before_the_card_gives_the_same_samples() {
    for (file, count) in [("dmon_d.txt", 2), ("dmon_dt.txt", 3), ("dmon_t.txt", 3)] {
        let gpu = readings(file, GpuText::Dmon, "dmon.txt");
        assert_eq!(gpu.samples.len(), count, "{file}");
        for sample in &gpu.samples {
            assert_eq!(
                (sample.index, sample.util, sample.memory_util),
                (0, Some(Ratio(0.0)), Some(Ratio(0.0)))
            );
            assert_eq!((sample.power, sample.temperature), (Some(Watts(79.0)), Some(Celsius(36.0))));
            assert_eq!(sample.memory_temperature, Some(Celsius(41.0)));
            assert_eq!((sample.sm_clock, sample.memory_clock), (Some(Hertz(345e6)), Some(Hertz(3201e6))));
            // Only one of the three was asked for the memory.
            assert_eq!(sample.memory_used, (file == "dmon_t.txt").then_some(Bytes(0.0)), "{file}");
        }
    }
}

#[test]
fn the_whole_report_is_of_a_card_that_sleeps_and_has_no_errors() {
    let gpu = readings("q.txt", GpuText::SmiQ, "smi_q.txt");
    assert_eq!((gpu.driver.as_deref(), gpu.cuda.as_deref()), (Some("580.159.04"), Some("13.0")));
    let card = one(&gpu);
    assert_eq!(card.uuid.as_deref(), Some("GPU-00000000-1111-2222-3333-444444444444"));
    assert_eq!(card.memory, Some(Bytes(143_771.0 * 1_048_576.0)));
    assert_eq!((card.memory_used, card.util), (Some(Bytes(0.0)), Some(Ratio(0.0))));
    assert_eq!(card.reasons, Some(ClockReasons::IDLE));
    assert_eq!(card.sm_clock, both(Hertz(345e6), Hertz(1980e6)));
    assert_eq!(
        (card.pcie_generation, card.pcie_width, card.pcie_replays),
        (both(5, 5), both(16, 16), Some(0))
    );
    assert_eq!((card.temperature, card.memory_temperature), (Some(Celsius(36.0)), Some(Celsius(41.0))));
    // 51 degrees up to the limit, and it slows down 2 above that.
    assert_eq!((card.heat_left, card.performance_state), (Some(Celsius(53.0)), Some(0)));
    let limits = card.power_limits;
    assert_eq!((limits.enforced, limits.default), (Some(Watts(700.0)), Some(Watts(700.0))));
    assert_eq!((limits.least, limits.most), (Some(Watts(200.0)), Some(Watts(700.0))));
    let ecc = card.ecc;
    assert_eq!(
        (ecc.enabled, ecc.volatile_uncorrected, ecc.aggregate_uncorrected),
        (Some(true), Some(0), Some(0))
    );
    assert_eq!((ecc.remap_pending, ecc.remap_failed), (Some(false), Some(false)));
    assert_eq!(ecc.sram_threshold_exceeded, Some(false));
    assert!(gpu.under_load(card).is_none());
}
