//! AMD cards, as their driver shows them in sysfs.

use super::gather::Gather;

const DRM: &str = "/sys/class/drm";

/// AMD's number on PCI.
const AMD: &str = "0x1002";

/// Cards looked at; a machine has eight, and plugs of displays are listed among them.
const MAX_ENTRIES: usize = 256;

/// What stays.
const FACTS: &[&str] = &[
    "vendor",
    "uevent",
    "unique_id",
    "product_name",
    "numa_node",
    "local_cpulist",
    "mem_info_vram_total",
    "max_link_speed",
    "max_link_width",
];

/// What moves.
const MOVES: &[&str] = &[
    "gpu_busy_percent",
    "mem_busy_percent",
    "mem_info_vram_used",
    "pp_dpm_sclk",
    "pp_dpm_mclk",
    "current_link_speed",
    "current_link_width",
    "pcie_replay_count",
];

/// Ends of the names of sensors: those that stay, and those that move.
const SENSOR_FACTS: &[&str] = &["_label", "_crit", "_cap_default", "_cap_min", "_cap_max"];
const SENSOR_MOVES: &[&str] = &["_input", "_average", "_cap"];

/// Cards of AMD's found in a full snapshot, so that later ones need not search.
pub(super) fn facts(gather: &mut Gather<'_>) -> Vec<String> {
    let names = gather.root.list(DRM, MAX_ENTRIES);
    let is_card = |name: &String| name.strip_prefix("card").is_some_and(|n| n.parse::<u32>().is_ok());
    let mut cards = Vec::new();
    for name in names.into_iter().filter(is_card) {
        let folder = format!("{DRM}/{name}/device");
        let vendor = format!("{folder}/vendor");
        // A card without a vendor is no PCI device.
        gather.take_if_there(&vendor, str::to_owned);
        if gather.kept(&vendor).is_some_and(|id| id.trim() == AMD) {
            cards.push(folder);
        }
    }
    for folder in &cards {
        for file in FACTS {
            gather.take_if_there(&format!("{folder}/{file}"), str::to_owned);
        }
        sensors(gather, folder, SENSOR_FACTS);
    }
    if !cards.is_empty() {
        gather.take_if_there("/sys/module/amdgpu/version", str::to_owned);
    }
    moves(gather, &cards);
    cards
}

/// What moves, of cards found before.
pub(super) fn moves(gather: &mut Gather<'_>, cards: &[String]) {
    for folder in cards {
        for file in MOVES {
            gather.take_if_there(&format!("{folder}/{file}"), str::to_owned);
        }
        sensors(gather, folder, SENSOR_MOVES);
        for file in gather.root.list(&format!("{folder}/ras"), 64) {
            if file.ends_with("_err_count") || file.starts_with("aca_") {
                gather.take_if_there(&format!("{folder}/ras/{file}"), str::to_owned);
            }
        }
    }
}

fn sensors(gather: &mut Gather<'_>, folder: &str, ends: &[&str]) {
    for monitor in gather.root.list(&format!("{folder}/hwmon"), 4) {
        let base = format!("{folder}/hwmon/{monitor}");
        for file in gather.root.list(&base, 128) {
            let measures = file.starts_with("temp") || file.starts_with("power1");
            if measures && ends.iter().any(|end| file.ends_with(end)) {
                gather.take_if_there(&format!("{base}/{file}"), str::to_owned);
            }
        }
    }
}
