//! Of all that was said about the GPUs, who is believed: the driver's library, then its tools, then what watches it.

use intriage_case::gpu::{GpuCard, GpuVendor};
use intriage_case::{Case, Millis, Scrape};

use super::{GpuReadings, amd_smi, amdgpu, dcgm, dmon, smi_csv, smi_q};
use crate::exposition::{self, Exposition};

/// Reads what there is; an unreadable text gives no readings, never an error. `pages` are the engine's own scrapes: some
/// servers answer for DCGM, too.
pub(crate) fn read_gpu(case: &Case, pages: &[(Millis, Exposition<'_>)]) -> GpuReadings {
    let mut readings = GpuReadings::default();
    surveyed(case, &mut readings);
    nvidia_tools(case, &mut readings);
    exporters(case, pages, &mut readings);
    amd(case, &mut readings);
    let first = readings.cards.first();
    readings.name = first.and_then(|c| c.name.clone());
    readings.memory = first.and_then(|c| c.memory);
    readings.count = Some(readings.cards.len() as u32).filter(|n| *n > 0);
    readings
}

fn surveyed(case: &Case, readings: &mut GpuReadings) {
    let Some(survey) = &case.gpu.survey else { return };
    readings.source.clone_from(&survey.source);
    readings.samples_source.clone_from(&survey.source);
    readings.driver.clone_from(&survey.driver);
    readings.cuda.clone_from(&survey.cuda);
    readings.cards.clone_from(&survey.cards);
    readings.before.clone_from(&survey.before);
    readings.paths.clone_from(&survey.paths);
    readings.samples.clone_from(&survey.samples);
    nvidias(&mut readings.cards);
    nvidias(&mut readings.before);
}

/// NVML's own answers come first: the tools only print them.
fn nvidia_tools(case: &Case, readings: &mut GpuReadings) {
    let gpu = &case.gpu;
    if let Some(text) = gpu.smi_q.as_ref().filter(|_| readings.cards.is_empty()) {
        "nvidia-smi -q".clone_into(&mut readings.source);
        smi_q::read(text, readings);
        if let Some(text) = &gpu.smi_q_before {
            let mut before = GpuReadings::default();
            smi_q::read(text, &mut before);
            readings.before = before.cards;
        }
        nvidias(&mut readings.cards);
        nvidias(&mut readings.before);
    }
    if let Some(text) = gpu.smi_csv.as_ref().filter(|_| readings.samples.is_empty()) {
        "nvidia-smi --query-gpu".clone_into(&mut readings.samples_source);
        readings.samples = smi_csv::read(text);
        readings.reasons_told = smi_csv::reasons_told(text);
    }
    if let Some(text) = gpu.smi_csv.as_ref().filter(|_| readings.cards.is_empty()) {
        readings.cards = smi_csv::cards(text);
        if !readings.cards.is_empty() {
            "nvidia-smi --query-gpu".clone_into(&mut readings.source);
        }
        nvidias(&mut readings.cards);
    }
    if let Some(text) = gpu.dmon.as_ref().filter(|_| readings.samples.is_empty()) {
        "nvidia-smi dmon".clone_into(&mut readings.samples_source);
        readings.samples = dmon::read(text);
    }
}

fn exporters(case: &Case, pages: &[(Millis, Exposition<'_>)], readings: &mut GpuReadings) {
    let asked: Vec<(Millis, Exposition<'_>)> = bodies(&case.gpu.dcgm).collect();
    let found = pages.iter().filter(|(_, page)| dcgm::is_dcgm(page));
    let read: Vec<dcgm::Page> = asked
        .iter()
        .chain(found)
        .map(|(at, page)| dcgm::read(*at, page))
        .filter(|p| !p.cards.is_empty())
        .collect();
    let (Some(first), Some(last)) = (read.first(), read.last()) else { return };
    if !readings.cards.is_empty() {
        // An exporter remembers the last Xid, which nobody else does.
        fill(&mut readings.cards, &last.cards);
        return;
    }
    "DCGM".clone_into(&mut readings.source);
    readings.driver.clone_from(&last.driver);
    readings.cards.clone_from(&last.cards);
    if read.len() > 1 {
        readings.before.clone_from(&first.cards);
    }
    nvidias(&mut readings.cards);
    nvidias(&mut readings.before);
    if readings.samples.is_empty() {
        "DCGM".clone_into(&mut readings.samples_source);
        readings.samples = read.into_iter().flat_map(|page| page.samples).collect();
    }
}

fn bodies(scrapes: &[Scrape]) -> impl Iterator<Item = (Millis, Exposition<'_>)> {
    scrapes.iter().filter_map(|scrape| Some((scrape.at, exposition::parse(scrape.body()?))))
}

/// The kernel's files give cards their numbers and samples; the tool adds names and limits, or speaks alone.
fn amd(case: &Case, readings: &mut GpuReadings) {
    if !readings.cards.is_empty() {
        return;
    }
    let kernel = amdgpu::read(&case.host);
    let tool = |text: &Option<String>| text.as_deref().map(amd_smi::read).unwrap_or_default();
    let (mut cards, _) = tool(&case.gpu.amd_metric);
    let (standing, version) = tool(&case.gpu.amd_static);
    let (mut before, _) = tool(&case.gpu.amd_metric_before);
    let told = !cards.is_empty() || !standing.is_empty();
    for list in [&mut cards, &mut before] {
        fill(list, &standing);
    }
    if cards.is_empty() {
        cards = standing;
    }
    readings.driver = kernel.driver.or(version);
    if kernel.cards.is_empty() {
        readings.cards = cards;
        readings.before = before;
        "amd-smi".clone_into(&mut readings.source);
    } else {
        (readings.cards, readings.before, readings.samples) = (kernel.cards, kernel.before, kernel.samples);
        fill(&mut readings.cards, &cards);
        fill(&mut readings.before, &before);
        "amdgpu".clone_into(&mut readings.samples_source);
        if told { "amdgpu and amd-smi" } else { "amdgpu" }.clone_into(&mut readings.source);
    }
    if readings.cards.is_empty() {
        readings.source.clear();
    }
    for card in readings.cards.iter_mut().chain(&mut readings.before) {
        // Radeon cards have a switch of their own and give its slot's width as theirs: a recorded RX 6600, made with
        // eight lanes, says "8 of 16".
        if !card.name.as_deref().is_some_and(|name| name.contains("Instinct")) {
            card.pcie_width.most = None;
        }
    }
}

/// Adds what another look at the same cards knows. Cards are the same by their place on the bus or their name for life,
/// and by their number only where nothing better is known.
fn fill(cards: &mut [GpuCard], others: &[GpuCard]) {
    for card in cards {
        let same = |other: &&GpuCard| match (slot(card), slot(other), &card.uuid, &other.uuid) {
            (Some(mine), Some(theirs), ..) => mine == theirs,
            (_, _, Some(mine), Some(theirs)) => mine == theirs,
            _ => card.index == other.index,
        };
        if let Some(other) = others.iter().find(same) {
            card.fill(other);
        }
    }
}

/// Tools write the domain with four digits or eight, and in either case.
fn slot(card: &GpuCard) -> Option<String> {
    let (domain, rest) = card.pci.as_deref()?.split_once(':')?;
    Some(format!("{}:{}", domain.trim_start_matches('0'), rest.to_ascii_lowercase()))
}

fn nvidias(cards: &mut [GpuCard]) {
    for card in cards {
        card.vendor.get_or_insert(GpuVendor::Nvidia);
    }
}

#[cfg(test)]
mod tests {
    use intriage_case::gpu::GpuSurvey;
    use intriage_case::{HostSnapshot, ScrapeOutcome};

    use super::*;

    fn dcgm(at: u64, text: &str) -> Scrape {
        Scrape { at: Millis(at), outcome: ScrapeOutcome::Body(text.as_bytes().to_owned()) }
    }

    #[test]
    fn an_exporter_gives_cards_before_after_and_samples() {
        let mut case = Case::default();
        case.gpu.dcgm = vec![
            dcgm(1000, "DCGM_FI_DEV_PCIE_REPLAY_COUNTER{gpu=\"0\"} 4\nDCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 0\n"),
            dcgm(2000, "DCGM_FI_DEV_PCIE_REPLAY_COUNTER{gpu=\"0\"} 9\nDCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 50\n"),
        ];
        let gpu = read_gpu(&case, &[]);
        assert_eq!((gpu.source.as_str(), gpu.samples.len()), ("DCGM", 2));
        assert_eq!((gpu.before[0].pcie_replays, gpu.cards[0].pcie_replays), (Some(4), Some(9)));
        assert_eq!(gpu.cards[0].vendor, Some(GpuVendor::Nvidia));
    }

    #[test]
    fn an_engines_own_page_may_answer_for_dcgm() {
        let text = b"vllm:num_requests_running 1\nDCGM_FI_DEV_GPU_TEMP{gpu=\"3\"} 61\n";
        let gpu = read_gpu(&Case::default(), &[(Millis(1), exposition::parse(text))]);
        assert_eq!((gpu.count, gpu.cards[0].index), (Some(1), 3));
    }

    #[test]
    fn nvml_is_believed_and_the_exporter_adds_the_last_xid() {
        let mut case = Case::default();
        let card = GpuCard { pci: Some("00000000:19:00.0".into()), ..GpuCard::default() };
        case.gpu.survey =
            Some(GpuSurvey { source: "NVML 13".into(), cards: vec![card], ..GpuSurvey::default() });
        let page = "DCGM_FI_DEV_XID_ERRORS{gpu=\"5\",pci_bus_id=\"0000:19:00.0\"} 79\n";
        case.gpu.dcgm = vec![dcgm(1, page)];
        let gpu = read_gpu(&case, &[]);
        assert_eq!((gpu.source.as_str(), gpu.cards.len(), gpu.cards[0].last_xid), ("NVML 13", 1, Some(79)));
        assert_eq!(gpu.cards[0].index, 0);
    }

    #[test]
    fn the_kernel_numbers_amd_cards_and_the_tool_names_them() {
        let files = [
            ("sys/class/drm/card1/device/vendor", "0x1002\n"),
            ("sys/class/drm/card1/device/uevent", "PCI_SLOT_NAME=0000:0b:00.0\n"),
            ("sys/class/drm/card1/device/gpu_busy_percent", "3\n"),
        ];
        let files = files.map(|(n, t)| (n.to_owned(), t.to_owned())).into_iter().collect();
        let mut case = Case { host: vec![HostSnapshot { at: Millis(1), files }], ..Case::default() };
        case.gpu.amd_static = Some(
            r#"[{"gpu": 4, "asic": {"market_name": "AMD Instinct MI300X"}, "bus": {"bdf": "0000:0B:00.0"}}]"#
                .into(),
        );
        let gpu = read_gpu(&case, &[]);
        assert_eq!(
            (gpu.source.as_str(), gpu.name.as_deref()),
            ("amdgpu and amd-smi", Some("AMD Instinct MI300X"))
        );
        assert_eq!((gpu.cards[0].index, gpu.samples.len()), (0, 1));
        // Saved elsewhere, the tool speaks alone.
        case.host.clear();
        let gpu = read_gpu(&case, &[]);
        assert_eq!((gpu.source.as_str(), gpu.cards[0].index), ("amd-smi", 4));
    }

    #[test]
    fn before_and_after_of_the_tool_show_what_grew() {
        let q = |replays| {
            format!(
                "GPU 00000000:19:00.0\n    Product Name : NVIDIA L4\n    Replays Since Reset : {replays}\n"
            )
        };
        let mut case = Case::default();
        (case.gpu.smi_q_before, case.gpu.smi_q) = (Some(q(1)), Some(q(7)));
        let gpu = read_gpu(&case, &[]);
        assert_eq!((gpu.before[0].pcie_replays, gpu.cards[0].pcie_replays), (Some(1), Some(7)));
    }

    #[test]
    fn a_radeons_most_lanes_are_its_slots_and_not_believed() {
        let told = |name: &str| {
            let mut case = Case::default();
            case.gpu.amd_static = Some(format!(
                r#"[{{"gpu": 0, "asic": {{"market_name": "{name}"}}, "bus": {{"max_pcie_width": 16}}}}]"#
            ));
            read_gpu(&case, &[]).cards[0].pcie_width.most
        };
        assert_eq!((told("Navi 23 [Radeon RX 6600]"), told("AMD Instinct MI300X")), (None, Some(16)));
    }

    #[test]
    fn nothing_said_is_nothing_read() {
        assert_eq!(read_gpu(&Case::default(), &[]), GpuReadings::default());
    }
}
