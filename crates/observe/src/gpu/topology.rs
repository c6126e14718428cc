//! How cards reach each other and which CPUs are close.

use std::ffi::c_ulong;
use std::fmt::Write as _;

use intriage_case::gpu::GpuPath;
use nvml_wrapper::Device;
use nvml_wrapper::enum_wrappers::device::{P2pCapabilitiesIndex, P2pStatus, TopologyLevel};

/// Machine words asked for: 1,024 CPUs.
const AFFINITY_WORDS: usize = 16;

pub(super) fn paths(devices: &[Device<'_>]) -> Vec<GpuPath> {
    let mut paths = Vec::new();
    for (from, one) in devices.iter().enumerate() {
        for (to, other) in devices.iter().enumerate().skip(from + 1) {
            // The call wants the other device for itself; a second handle is the same card.
            let Ok(handle) = other.nvml().device_by_index(to as u32) else { continue };
            let Ok(level) = one.topology_common_ancestor(handle) else { continue };
            let linked = one.p2p_status(other, P2pCapabilitiesIndex::NvLink).ok();
            paths.push(GpuPath {
                from: from as u32,
                to: to as u32,
                through: name(level).to_owned(),
                nvlink: linked.map(|status| status == P2pStatus::Ok),
            });
        }
    }
    paths
}

/// As `nvidia-smi topo -m` writes it.
fn name(level: TopologyLevel) -> &'static str {
    match level {
        TopologyLevel::Internal => "X",
        TopologyLevel::Single => "PIX",
        TopologyLevel::Multiple => "PXB",
        TopologyLevel::HostBridge => "PHB",
        TopologyLevel::Node => "NODE",
        TopologyLevel::System => "SYS",
    }
}

/// The CPUs close to a card, such as `0-31,64-95`.
pub(super) fn near_cpus(device: &Device<'_>) -> Option<String> {
    let words = device.cpu_affinity(AFFINITY_WORDS).ok()?;
    let list = cpu_list(&words);
    (!list.is_empty()).then_some(list)
}

/// A mask of machine words, lowest CPUs first, as a list of ranges.
fn cpu_list(words: &[c_ulong]) -> String {
    const BITS: usize = c_ulong::BITS as usize;
    let is_set = |cpu: usize| words.get(cpu / BITS).is_some_and(|word| word >> (cpu % BITS) & 1 == 1);
    let mut list = String::new();
    let mut cpu = 0;
    while cpu < words.len() * BITS {
        if !is_set(cpu) {
            cpu += 1;
            continue;
        }
        let first = cpu;
        while is_set(cpu + 1) {
            cpu += 1;
        }
        let comma = if list.is_empty() { "" } else { "," };
        // Writing into a String cannot fail.
        let _ =
            if first == cpu { write!(list, "{comma}{cpu}") } else { write!(list, "{comma}{first}-{cpu}") };
        cpu += 1;
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_read_as_ranges() {
        assert_eq!(cpu_list(&[0b1011]), "0-1,3");
        assert_eq!(cpu_list(&[c_ulong::MAX, 1]), format!("0-{}", c_ulong::BITS));
        assert_eq!(cpu_list(&[0, 0]), "");
        assert_eq!(cpu_list(&[1 << 31, 1 << 1]), format!("31,{}", c_ulong::BITS + 1));
    }
}
