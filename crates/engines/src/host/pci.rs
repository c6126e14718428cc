//! Devices on PCI Express: where GPUs, network cards and disks hang, and how fast their links run.

use super::text;
use super::window::Window;

/// A device that matters to inference.
#[derive(Debug, Clone, PartialEq)]
pub struct PciDevice {
    /// Its address, such as `0000:17:00.0`.
    pub address: String,
    /// What it is.
    pub kind: DeviceKind,
    /// Vendor and device number, such as `0x10de` and `0x2335`.
    pub id: Option<(u32, u32)>,
    /// The NUMA node it hangs on.
    pub node: Option<NodeOf>,
    /// CPUs near it.
    pub local_cpus: Option<Vec<u32>>,
    /// Its link.
    pub link: Option<Link>,
    /// How the IOMMU treats its traffic, such as `identity` (untranslated) or `DMA-FQ`; `None` where no IOMMU is active.
    pub iommu: Option<String>,
    /// The bridges above it, the root port first.
    pub bridges: Vec<Bridge>,
}

/// What a device is, from its class code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeviceKind {
    /// A GPU: display controllers of any sort.
    Gpu,
    /// Some other accelerator.
    Accelerator,
    /// A network card, InfiniBand included.
    Network,
    /// An NVMe disk.
    Nvme,
}

/// Where firmware says a device hangs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeOf {
    /// On this node.
    Node(u32),
    /// Firmware does not say, as in most virtual machines and on machines of one node.
    Unstated,
}

/// A link now and at best.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// Speed now in GT/s; idle GPUs lower it to save power.
    pub speed: f64,
    /// Highest speed in GT/s that both ends know.
    pub speed_max: f64,
    /// Lanes now.
    pub lanes: u32,
    /// Most lanes.
    pub lanes_max: u32,
}

/// A bridge between the processor and a device.
#[derive(Debug, Clone, PartialEq)]
pub struct Bridge {
    /// Its address.
    pub address: String,
    /// Its access control; `None` where it was not readable, which takes root.
    pub acs: Option<Acs>,
    /// Its link.
    pub link: Option<Link>,
}

/// Access control services of a bridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acs {
    /// The bridge has none.
    Missing,
    /// The bridge has it, with these control bits.
    Control(u16),
}

impl Acs {
    /// Whether traffic between devices is sent up to the root first: request or completion redirect is on.
    pub fn redirects_peers(self) -> bool {
        // Bits 2 and 3 of the control register.
        matches!(self, Self::Control(bits) if bits & 0b1100 != 0)
    }
}

impl DeviceKind {
    /// The kind of a class code such as `0x030200`; `None` for what does not matter here.
    pub fn of_class(class: &str) -> Option<Self> {
        let code = hex(class)?;
        match (code >> 16, (code >> 8) & 0xff) {
            (0x03, _) => Some(Self::Gpu),
            (0x12, _) => Some(Self::Accelerator),
            (0x02, _) => Some(Self::Network),
            (0x01, 0x08) => Some(Self::Nvme),
            _ => None,
        }
    }
}

const DEVICES: &str = "sys/bus/pci/devices/";

pub(super) fn read(window: Window<'_>) -> Vec<PciDevice> {
    let mut devices: Vec<PciDevice> =
        window.folders(DEVICES).into_iter().filter_map(|address| one(window, address)).collect();
    devices.sort_by(|a, b| (a.kind, &a.address).cmp(&(b.kind, &b.address)));
    devices
}

fn one(window: Window<'_>, address: &str) -> Option<PciDevice> {
    let file = |name: &str| window.last(&format!("{DEVICES}{address}/{name}")).map(str::trim);
    let above = window.last(&format!("pci_path/{address}")).unwrap_or_default();
    Some(PciDevice {
        kind: DeviceKind::of_class(file("class")?)?,
        address: address.to_owned(),
        id: file("vendor").and_then(hex).zip(file("device").and_then(hex)),
        node: file("numa_node").and_then(node),
        local_cpus: file("local_cpulist").and_then(text::list),
        link: link(window, address),
        iommu: file("iommu_group/type").map(str::to_owned),
        bridges: above
            .lines()
            .filter(|a| *a != address && !a.is_empty())
            .map(|a| Bridge { address: a.to_owned(), acs: acs(window, a), link: link(window, a) })
            .collect(),
    })
}

pub(super) fn node(text: &str) -> Option<NodeOf> {
    match text.parse::<i64>().ok()? {
        n if n < 0 => Some(NodeOf::Unstated),
        n => u32::try_from(n).ok().map(NodeOf::Node),
    }
}

/// Speeds read `32.0 GT/s PCIe`; a device without a link says `Unknown`.
fn link(window: Window<'_>, address: &str) -> Option<Link> {
    let first = |name: &str| {
        window.last(&format!("{DEVICES}{address}/{name}"))?.split_whitespace().next().map(str::to_owned)
    };
    let speed = |name: &str| first(name)?.parse::<f64>().ok().filter(|s| s.is_finite() && *s > 0.0);
    // An unplugged or virtual link has 0 lanes, or 255 of them.
    let lanes = |name: &str| first(name)?.parse::<u32>().ok().filter(|l| (1..=64).contains(l));
    Some(Link {
        speed: speed("current_link_speed")?,
        speed_max: speed("max_link_speed")?,
        lanes: lanes("current_link_width")?,
        lanes_max: lanes("max_link_width")?,
    })
}

fn acs(window: Window<'_>, address: &str) -> Option<Acs> {
    let text = window.last(&format!("pci_acs/{address}"))?.trim();
    if text == "none" {
        return Some(Acs::Missing);
    }
    let control = text.split_whitespace().skip_while(|w| *w != "control").nth(1)?;
    Some(Acs::Control(u16::try_from(hex(control)?).ok()?))
}

fn hex(text: &str) -> Option<u32> {
    u32::from_str_radix(text.trim().strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::moment;
    use super::*;

    fn device(files: &[(&str, &str)]) -> Vec<PciDevice> {
        let base = "sys/bus/pci/devices/0000:17:00.0";
        let names: Vec<String> =
            files
                .iter()
                .map(|(n, _)| {
                    if n.contains("pci_") || n.contains(':') {
                        (*n).to_owned()
                    } else {
                        format!("{base}/{n}")
                    }
                })
                .collect();
        let files: Vec<(&str, &str)> =
            names.iter().map(String::as_str).zip(files.iter().map(|f| f.1)).collect();
        read(Window::new(&moment(&files)))
    }

    #[test]
    fn a_gpu_on_half_its_lanes_behind_a_switch_that_redirects() {
        let devices = device(&[
            ("class", "0x030200\n"),
            ("vendor", "0x10de\n"),
            ("device", "0x2335\n"),
            ("numa_node", "1\n"),
            ("current_link_speed", "16.0 GT/s PCIe\n"),
            ("max_link_speed", "32.0 GT/s PCIe\n"),
            ("current_link_width", "8\n"),
            ("max_link_width", "16\n"),
            ("iommu_group/type", "DMA-FQ\n"),
            ("pci_path/0000:17:00.0", "0000:15:01.0\n0000:16:00.0\n0000:17:00.0\n"),
            ("pci_acs/0000:15:01.0", "capability 0x001f control 0x001d\n"),
            ("pci_acs/0000:16:00.0", "none\n"),
        ]);
        let gpu = &devices[0];
        assert_eq!((gpu.kind, gpu.node), (DeviceKind::Gpu, Some(NodeOf::Node(1))));
        assert_eq!(gpu.link, Some(Link { speed: 16.0, speed_max: 32.0, lanes: 8, lanes_max: 16 }));
        assert_eq!(gpu.iommu.as_deref(), Some("DMA-FQ"));
        let [port, switch] = &gpu.bridges[..] else { panic!("two bridges") };
        assert!(port.acs.unwrap().redirects_peers());
        assert_eq!(switch.acs, Some(Acs::Missing));
    }

    #[test]
    fn what_firmware_does_not_say_is_not_a_node() {
        let devices =
            device(&[("class", "0x020000\n"), ("numa_node", "-1\n"), ("max_link_speed", "Unknown\n")]);
        assert_eq!((devices[0].kind, devices[0].node), (DeviceKind::Network, Some(NodeOf::Unstated)));
        assert_eq!((devices[0].link, devices[0].bridges.len()), (None, 0));
        assert!(device(&[("class", "0x060400\n")]).is_empty());
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "[ -~\n]{0,40}") {
            device(&[("class", "0x030000"), ("numa_node", &text), ("current_link_width", &text), ("max_link_speed", &text), ("pci_path/0000:17:00.0", &text)]);
            let _ = DeviceKind::of_class(&text);
        }
    }
}
