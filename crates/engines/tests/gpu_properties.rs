//! Whatever the texts of GPU tools say, cards are read, and what is read of them are numbers.

use intriage_case::{
    Bytes, Case, Celsius, GpuEvidence, Hertz, HostSnapshot, Millis, Ratio, Scrape, ScrapeOutcome, Watts,
};
use intriage_engines::{GpuReadings, read, recognise_gpu_text};
use proptest::prelude::*;

/// Pieces that open the readers' branches, between numbers that overflow, go negative or are none.
const PIECES: &[&str] = &[
    "GPU 00000000:19:00.0\n",
    "    Product Name : NVIDIA H200\n",
    "    Utilization\n        GPU : ",
    "    GPU Power Readings\n        Power Draw : ",
    "    Temperature\n        GPU T.Limit Temp : ",
    "# gpu pwr sm pclk\n",
    "index, utilization.gpu [%], power.draw [W], clocks_event_reasons.active\n",
    "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} ",
    "DCGM_FI_DEV_FB_USED{gpu=\"4294967295\"} ",
    "DCGM_FI_DEV_XID_ERRORS{gpu=\"0\",GPU_I_ID=\"1\"} ",
    "[{\"gpu\": ",
    "{\"gpu_data\": [{\"gpu\": 0, \"usage\": {\"gfx_activity\": {\"value\": ",
    ", \"power\": {\"socket_power\": ",
    "}}}]}",
    "}]",
    "0",
    "1",
    "-1",
    "1e999",
    "NaN",
    "18446744073709551615",
    "9223372036854775794",
    "0xffffffffffffffffff",
    "N/A",
    "[N/A]",
    " %",
    " W",
    " C",
    " MHz",
    " : ",
    ", ",
    "\n",
    "é",
];

/// Files of an AMD card.
const FILES: &[&str] = &[
    "gpu_busy_percent",
    "mem_info_vram_used",
    "pp_dpm_sclk",
    "current_link_speed",
    "max_link_width",
    "uevent",
    "hwmon/hwmon0/temp1_label",
    "hwmon/hwmon0/temp1_input",
    "hwmon/hwmon0/power1_average",
    "hwmon/hwmon",
    "ras/umc_err_count",
];

const LINES: &[&str] = &[
    "0: 500Mhz *\n",
    "1: 1e999Mhz\n",
    ": *\n",
    "junction\n",
    "32.0 GT/s PCIe\n",
    "Unknown\n",
    "ue: 18446744073709551615\n",
    "ue: 1\n",
    "ce: -1\n",
    "PCI_SLOT_NAME=\n",
    "nan\n",
    "99\n",
    "",
];

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES), 0..40).prop_map(|pieces| pieces.concat())
}

fn are_numbers(gpu: &GpuReadings) -> bool {
    let cards = gpu.cards.iter().chain(&gpu.before).flat_map(|card| {
        [
            card.memory.map(Bytes::get),
            card.util.map(Ratio::get),
            card.power.map(Watts::get),
            card.temperature.map(Celsius::get),
            card.heat_left.map(Celsius::get),
            card.sm_clock.now.map(Hertz::get),
            card.sm_clock.most.map(Hertz::get),
        ]
    });
    let samples = gpu
        .samples
        .iter()
        .flat_map(|s| [s.util.map(Ratio::get), s.power.map(Watts::get), s.sm_clock.map(Hertz::get)]);
    cards.chain(samples).flatten().all(|v| !v.is_nan())
}

proptest! {
    #[test]
    fn any_text_of_any_tool_is_read(text in text(), tool in prop::sample::select(&GpuEvidence::TEXTS[..])) {
        let _ = recognise_gpu_text(&text);
        let mut case = Case::default();
        for (name, place) in case.gpu.texts_mut() {
            *place = (name == tool).then(|| text.clone());
        }
        let gpu = read(&case).gpu;
        prop_assert!(are_numbers(&gpu), "{gpu:?}");
        for card in &gpu.cards {
            let _ = gpu.under_load(card);
        }
    }

    #[test]
    fn any_page_of_an_exporter_is_read(text in text()) {
        let outcome = ScrapeOutcome::Body(text.into_bytes());
        let mut case = Case::default();
        case.gpu.dcgm = vec![Scrape { at: Millis(1), outcome }];
        prop_assert!(are_numbers(&read(&case).gpu));
    }

    #[test]
    fn any_folder_of_a_card_is_read(files in prop::collection::vec((prop::sample::select(FILES), prop::sample::select(LINES)), 0..30)) {
        let folder = "sys/class/drm/card7/device";
        let mut snapshot = HostSnapshot { at: Millis(1), ..HostSnapshot::default() };
        snapshot.files.insert(format!("{folder}/vendor"), "0x1002\n".into());
        for (name, line) in files {
            snapshot.files.entry(format!("{folder}/{name}")).or_default().push_str(line);
        }
        let gpu = read(&Case { host: vec![snapshot.clone(), snapshot], ..Case::default() }).gpu;
        prop_assert!(gpu.cards.len() == 1 && are_numbers(&gpu), "{gpu:?}");
    }
}
