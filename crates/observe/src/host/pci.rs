//! One device on PCI Express with the bridges above it.

use intriage_case::host::MAX_FILE_BYTES;

use super::acs::{self, Found};
use super::gather::Gather;

/// Deepest chain of bridges followed.
const MAX_BRIDGES: usize = 16;

/// What is read of a device beside its class.
const FILES: &[&str] = &["vendor", "device", "numa_node", "local_cpulist", "iommu_group/type"];
/// What is read of a device and of every bridge above it.
const LINK: &[&str] = &["current_link_speed", "max_link_speed", "current_link_width", "max_link_width"];

/// Takes a device's files, its path, and the links and access control of its bridges.
pub(super) fn device(gather: &mut Gather<'_>, address: &str) {
    let base = format!("/sys/bus/pci/devices/{address}");
    for file in FILES.iter().chain(LINK) {
        gather.take(&format!("{base}/{file}"));
    }
    // The link leads to `../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0`.
    let Ok(target) = gather.root.link(&base) else { return };
    let chain: Vec<&str> = target.split('/').filter(|part| is_address(part)).take(MAX_BRIDGES + 1).collect();
    gather.put(&format!("pci_path/{address}"), chain.join("\n") + "\n");
    for bridge in chain.iter().filter(|a| **a != address) {
        for file in LINK {
            gather.take(&format!("/sys/bus/pci/devices/{bridge}/{file}"));
        }
        access_control(gather, bridge);
    }
}

fn access_control(gather: &mut Gather<'_>, bridge: &str) {
    let path = format!("/sys/bus/pci/devices/{bridge}/config");
    let mut config = Vec::new();
    if let Err(error) = gather.root.read(&path, MAX_FILE_BYTES, &mut config) {
        gather.refused(&path, &error);
        return;
    }
    let name = format!("pci_acs/{bridge}");
    match acs::find(&config) {
        Found::Registers { capability, control } => {
            gather.put(&name, format!("capability {capability:#06x} control {control:#06x}\n"));
        }
        Found::None => gather.put(&name, "none\n".to_owned()),
        Found::Hidden => gather.deny(
            &path,
            "only its first bytes were shown; root would add whether bridges redirect traffic between GPUs (ACS)",
        ),
    }
}

/// `0000:17:00.0`
fn is_address(part: &str) -> bool {
    let mut fields = part.split([':', '.']);
    let hex = |f: &str| !f.is_empty() && f.bytes().all(|b| b.is_ascii_hexdigit());
    part.len() >= 12 && fields.by_ref().take(4).filter(|f| hex(f)).count() == 4 && fields.next().is_none()
}
