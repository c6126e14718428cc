//! What the driver or the kernel wrote of one device: a GPU, a switch between GPUs, a slot.

use std::fmt;

use intriage_case::Source;

use crate::log::{LogTime, Xid, XidFault};

/// What one log says of one device, all lines of a kind together.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceReport {
    /// What it says.
    pub said: Complaint,
    /// The log's name.
    pub file: String,
    /// The first such line, from 1.
    pub line: u32,
    /// How many lines say it.
    pub count: u32,
    /// When the last of them was written, where its date is known.
    pub written: Option<LogTime>,
}

impl DeviceReport {
    /// As a fact's source.
    pub fn source(&self) -> Source {
        Source::Log { file: self.file.clone(), line: self.line }
    }
}

/// What a line says of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    /// What was reported.
    pub what: Reported,
    /// How grave that is; `None` for an Xid nobody here knows.
    pub gravity: Option<Gravity>,
    /// Where the device sits.
    pub device: Option<BusPlace>,
    /// Who ran on it, or whose driver spoke; what the driver advises.
    pub detail: Option<String>,
}

/// What was reported of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reported {
    /// The driver's Xid of a GPU.
    Xid(u32),
    /// The driver's SXid of an NVLink switch.
    SwitchXid(u32),
    /// A GPU fell off its bus, without a number.
    Lost,
    /// The device's PCIe link had an error that was not corrected.
    PcieUncorrected,
}

impl Reported {
    /// Whether it is the process's own doing and no sign against the device.
    pub fn is_own_doing(self) -> bool {
        matches!(self, Self::Xid(number) if Xid::of(number).is_some_and(|xid| xid.fault == XidFault::Application))
    }

    /// Whether the device is gone: tools that list devices no longer list it.
    pub const fn is_lost(self) -> bool {
        matches!(self, Self::Lost | Self::Xid(79))
    }
}

/// How grave a report is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gravity {
    /// Nothing is broken now: the process's own doing, or something to watch.
    Notice,
    /// The device, its driver or what ran on it: the line does not tell.
    Suspect,
    /// The device must be reset.
    Reset,
    /// The device must be taken out.
    Drain,
}

/// A place on the PCI bus, without the function: `0000:19:00`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BusPlace {
    domain: u32,
    bus: u8,
    device: u8,
}

impl BusPlace {
    /// `0000:19:00`, `00000000:19:00.0`: tools write the domain with four digits or eight.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(':');
        let (domain, bus, last) = (parts.next()?, parts.next()?, parts.next()?);
        let device = last.split_once('.').map_or(last, |(device, _)| device);
        // A time of day has three parts, too, and two digits in front.
        let shaped = matches!(domain.len(), 4 | 8) && bus.len() == 2 && device.len() == 2;
        if !shaped || parts.next().is_some() {
            return None;
        }
        Some(Self {
            domain: u32::from_str_radix(domain, 16).ok()?,
            bus: u8::from_str_radix(bus, 16).ok()?,
            device: u8::from_str_radix(device, 16).ok()?,
        })
    }
}

impl fmt::Display for BusPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}:{:02x}:{:02x}", self.domain, self.bus, self.device)
    }
}

/// Kinds have few digits; a long number is something else.
const MOST_XID: u32 = 9_999;
const MOST_SWITCH_XID: u32 = 99_999;

impl Complaint {
    /// Texts one of which stands in every such line.
    pub(crate) const MARKS: &'static [&'static str] =
        &["Xid ", "fallen off the bus", "PCIe Bus Error: severity=Uncorrect"];

    /// Whether both say the same of the same device.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        (self.what, self.gravity, self.device) == (other.what, other.gravity, other.device)
    }

    /// What a line says; `None` where it says nothing of a device.
    pub(crate) fn in_line(line: &str) -> Option<Self> {
        if let Some((before, rest)) = line.split_once("Xid ") {
            return numbered(before.ends_with('S'), rest);
        }
        if let Some((before, rest)) = line.split_once("PCIe Bus Error: severity=Uncorrect") {
            let words: Vec<&str> = before.split_whitespace().collect();
            let at = words.iter().rposition(|word| place(word).is_some());
            return Some(Self {
                what: Reported::PcieUncorrected,
                gravity: Some(if rest.contains("(Fatal)") { Gravity::Reset } else { Gravity::Suspect }),
                device: at.and_then(|at| place(words[at])),
                detail: at.and_then(|at| at.checked_sub(1)).map(|at| short(words[at])),
            });
        }
        (line.contains("fallen off the bus") && line.contains("NVRM")).then(|| Self {
            what: Reported::Lost,
            gravity: Some(Gravity::Drain),
            device: line.split_whitespace().find_map(place),
            detail: None,
        })
    }
}

/// What stands behind `Xid `: `(PCI:0000:19:00): 79, pid=1, name=python3, …`, or a number alone.
fn numbered(of_a_switch: bool, rest: &str) -> Option<Complaint> {
    let mut rest = rest.trim_start();
    let mut device = None;
    if let Some((bracketed, behind)) = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        let name = bracketed.split_whitespace().next().unwrap_or_default();
        device = BusPlace::parse(name.strip_prefix("PCI:").unwrap_or(name));
        rest = behind;
    }
    let rest = rest.trim_start_matches([' ', ':', '=', '(']);
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (number, rest) = (rest[..end].parse::<u32>().ok().filter(|n| *n > 0)?, &rest[end..]);
    if of_a_switch {
        // `, Fatal, Link 32 …` or `, Non-fatal, …`.
        let fatal = rest.trim_start_matches([',', ' ']).starts_with("Fatal");
        let gravity = Some(if fatal { Gravity::Reset } else { Gravity::Notice });
        let what = Reported::SwitchXid(number);
        return (number <= MOST_SWITCH_XID).then_some(Complaint { what, gravity, device, detail: None });
    }
    let gravity = Xid::of(number).map(|xid| xid.gravity_in(rest));
    let process = || rest.split_once("name=").and_then(|(_, name)| name.split(',').next());
    let process = || process().map(str::trim).filter(|name| !name.is_empty() && !name.contains("<unknown>"));
    let advice = Xid::advised(rest).filter(|_| number == Xid::ADVICE);
    let detail = advice.or_else(process).map(short);
    (number <= MOST_XID).then_some(Complaint { what: Reported::Xid(number), gravity, device, detail })
}

fn place(word: &str) -> Option<BusPlace> {
    BusPlace::parse(word.trim_matches(|c: char| !c.is_ascii_hexdigit()))
}

fn short(text: &str) -> String {
    text.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> Complaint {
        Complaint::in_line(line).unwrap_or_else(|| panic!("{line}"))
    }

    #[test]
    fn a_line_names_its_device_and_who_ran_there() {
        let told = said(
            "kernel: NVRM: Xid (PCI:0000:19:00): 31, pid=599, name=VLLM::EngineCor, Ch 00000008, MMU Fault",
        );
        assert_eq!((told.what, told.gravity), (Reported::Xid(31), Some(Gravity::Notice)));
        assert_eq!(told.device.map(|d| d.to_string()).as_deref(), Some("0000:19:00"));
        assert_eq!(told.detail.as_deref(), Some("VLLM::EngineCor"));
        let slice =
            said("NVRM: Xid (PCI:0000:01:00 GPU-I:05): 13, pid='<unknown>', name=<unknown>, Graphics");
        assert_eq!((slice.device, slice.detail), (BusPlace::parse("00000000:01:00.0"), None));
        assert_eq!(said("6x Xid 79 (fell off the bus)").what, Reported::Xid(79));
        assert_eq!(said("NVRM: Xid (PCI:0000:19:00): 171, x").gravity, None);
    }

    #[test]
    fn the_drivers_advice_is_kept() {
        let told = said(
            "NVRM: Xid (PCI:0000:00:06): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
        );
        assert_eq!(
            (told.gravity, told.detail.as_deref()),
            (Some(Gravity::Reset), Some("GPU Reset Required"))
        );
    }

    #[test]
    fn a_switch_tells_fatal_errors_from_others() {
        let of = |kind: &str| {
            said(&format!("nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, {kind}, Link 32 LTSSM Fault Up"))
        };
        assert_eq!(of("Fatal").what, Reported::SwitchXid(20_034));
        assert_eq!(
            [of("Fatal").gravity, of("Non-fatal").gravity],
            [Some(Gravity::Reset), Some(Gravity::Notice)]
        );
    }

    #[test]
    fn a_slot_and_a_lost_card_are_read_without_a_number() {
        let slot = said(
            "2026-11-15T02:30:20.1+00:00 gpu01 kernel: nvidia 0000:00:06.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Transaction Layer, (Receiver ID)",
        );
        assert_eq!((slot.what, slot.gravity), (Reported::PcieUncorrected, Some(Gravity::Reset)));
        assert_eq!((slot.device, slot.detail.as_deref()), (BusPlace::parse("0000:00:06"), Some("nvidia")));
        let lost = said("[Sun Nov 15 02:42:50 2026] NVRM: GPU 0000:19:00.0: GPU has fallen off the bus.");
        assert_eq!((lost.what, lost.device), (Reported::Lost, BusPlace::parse("0000:19:00")));
        for none in ["Xid Errors : none", "Xid 0", "the card has not fallen off the bus", "Xid 123456789"] {
            assert_eq!(Complaint::in_line(none), None, "{none}");
        }
    }
}
