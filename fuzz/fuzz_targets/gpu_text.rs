//! Whatever a GPU tool, an exporter or the kernel prints of cards, reading it ends in cards whose figures are numbers.
#![no_main]

use std::collections::BTreeMap;

use intriage_case::gpu::{GpuCard, GpuSample};
use intriage_case::{
    Bytes, Case, Celsius, GpuEvidence, Hertz, HostSnapshot, Millis, Ratio, Scrape, ScrapeOutcome, Watts,
};
use intriage_engines::{kernel_record, read, recognise_gpu_text};
use libfuzzer_sys::fuzz_target;

// The same text is given to every reader: most bytes mean something to one of them only.
fuzz_target!(|text: &str| {
    let _ = recognise_gpu_text(text);
    if let Some(line) = kernel_record(text) {
        assert!(!line.contains('\n'));
    }
    for name in GpuEvidence::TEXTS {
        let mut case = Case::default();
        for (place, slot) in case.gpu.texts_mut() {
            if place == name {
                *slot = Some(text.to_owned());
            }
        }
        check(&case);
    }
    let mut told = Case::default();
    told.gpu.dcgm =
        vec![Scrape { at: Millis(1000), outcome: ScrapeOutcome::Body(text.as_bytes().to_owned()) }];
    check(&told);
    check(&Case { host: sysfs(text), ..Case::default() });
});

/// Lines `@name` begin a file of an AMD card's folder, a line `@@` begins the second snapshot.
fn sysfs(text: &str) -> Vec<HostSnapshot> {
    let folder = "sys/class/drm/card0/device";
    let vendor = (format!("{folder}/vendor"), "0x1002\n".to_owned());
    let mut snapshots = vec![HostSnapshot { at: Millis(1000), files: BTreeMap::from([vendor]) }];
    let mut name = String::new();
    for line in text.split_inclusive('\n') {
        match line.strip_prefix('@') {
            Some("@\n") => snapshots.push(HostSnapshot { at: Millis(2000), files: BTreeMap::new() }),
            Some(file) => name = format!("{folder}/{}", file.trim()),
            None => {
                if let Some(snapshot) = snapshots.last_mut() {
                    snapshot.files.entry(name.clone()).or_default().push_str(line);
                }
            }
        }
    }
    snapshots
}

fn check(case: &Case) {
    let gpu = read(case).gpu;
    gpu.cards.iter().chain(&gpu.before).for_each(figures_are_numbers);
    gpu.samples.iter().for_each(moments_are_numbers);
    for card in &gpu.cards {
        let _ = gpu.under_load(card);
    }
}

fn figures_are_numbers(card: &GpuCard) {
    let all = [
        card.memory.map(Bytes::get),
        card.memory_used.map(Bytes::get),
        card.util.map(Ratio::get),
        card.power.map(Watts::get),
        card.temperature.map(Celsius::get),
        card.sm_clock.now.map(Hertz::get),
        card.sm_clock.most.map(Hertz::get),
    ];
    assert!(all.into_iter().flatten().all(|v| !v.is_nan()), "{card:?}");
}

fn moments_are_numbers(sample: &GpuSample) {
    let all = [sample.util.map(Ratio::get), sample.power.map(Watts::get), sample.sm_clock.map(Hertz::get)];
    assert!(all.into_iter().flatten().all(|v| !v.is_nan()), "{sample:?}");
}
