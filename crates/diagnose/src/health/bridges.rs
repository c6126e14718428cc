//! What stands between GPUs on PCI Express: access control of bridges, and the IOMMU.

use intriage_engines::host::{Acs, DeviceKind, Host};

use super::host::check as told;
use super::{Check, State};

const REDIRECT: &str = "switch ACS off in the BIOS, or setpci on each bridge at start; not on machines that hand GPUs to virtual machines";

/// Whether GPUs can reach each other directly; nothing on machines with fewer than two.
pub(super) fn check(host: &Host) -> Option<Check> {
    let gpus: Vec<_> = host.devices.iter().filter(|device| device.kind == DeviceKind::Gpu).collect();
    if gpus.len() < 2 {
        return None;
    }
    let iommu = match host.kernel.iommus.as_deref() {
        None => "IOMMU unknown".to_owned(),
        Some([]) => "no IOMMU".to_owned(),
        Some(_) => gpus
            .iter()
            .find_map(|gpu| gpu.iommu.as_deref())
            .map_or("IOMMU on".to_owned(), |mode| format!("IOMMU {mode}")),
    };
    let bridges: Vec<_> = gpus.iter().flat_map(|gpu| &gpu.bridges).collect();
    let redirecting = bridges.iter().find(|bridge| bridge.acs.is_some_and(Acs::redirects_peers));
    if let Some(bridge) = redirecting {
        let says =
            format!("the bridge {} sends traffic between GPUs up to the root (ACS), {iommu}", bridge.address);
        return Some(told("peers", State::Attention, says, Some(REDIRECT)));
    }
    if bridges.iter().any(|bridge| bridge.acs.is_none()) {
        let says = format!("{iommu}; access control of bridges (ACS) is shown to root alone");
        return Some(told("peers", State::Unknown, says, None));
    }
    Some(told("peers", State::Good, format!("no bridge redirects traffic between GPUs, {iommu}"), None))
}

#[cfg(test)]
mod tests {
    use intriage_case::{HostSnapshot, Millis};
    use intriage_engines::host::read_host;

    use super::*;

    fn two_gpus(acs: &[(&str, &str)]) -> Option<State> {
        let mut files = vec![("listing/sys/class/iommu".to_owned(), "dmar0\n".to_owned())];
        for (gpu, bridge) in [("0000:17:00.0", "0000:16:01.0"), ("0000:65:00.0", "0000:64:01.0")] {
            files.push((format!("sys/bus/pci/devices/{gpu}/class"), "0x030200\n".into()));
            files.push((format!("pci_path/{gpu}"), format!("{bridge}\n{gpu}\n")));
        }
        files.extend(acs.iter().map(|(bridge, text)| (format!("pci_acs/{bridge}"), (*text).to_owned())));
        let snapshot = HostSnapshot { at: Millis(1), files: files.into_iter().collect() };
        check(&read_host(&[snapshot]).unwrap()).map(|c| c.state)
    }

    #[test]
    fn redirection_is_worth_a_look_and_what_only_root_sees_is_unknown() {
        let on = "capability 0x001f control 0x000c\n";
        assert_eq!(two_gpus(&[("0000:16:01.0", on), ("0000:64:01.0", "none\n")]), Some(State::Attention));
        assert_eq!(two_gpus(&[("0000:16:01.0", "none\n"), ("0000:64:01.0", "none\n")]), Some(State::Good));
        assert_eq!(two_gpus(&[("0000:16:01.0", "none\n")]), Some(State::Unknown));
    }
}
