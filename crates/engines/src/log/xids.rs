//! What the driver's Xid numbers mean, whose fault they are, and how grave.

mod reports;

use crate::gpu::Gravity;

/// One Xid number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Xid {
    /// The number in the driver's line.
    pub number: u32,
    /// What it means.
    pub meaning: &'static str,
    /// Whose fault it is, until more is known.
    pub fault: XidFault,
    /// How grave it is where the line says no more than the number.
    pub gravity: Gravity,
    /// What is done about it first.
    pub action: &'static str,
}

/// Whose fault an Xid is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum XidFault {
    /// The application's own: a wrong access ends its work and the GPU is well.
    Application,
    /// The GPU, its memory, its links or its slot.
    Hardware,
    /// The driver or the firmware it talks to.
    Driver,
}

impl Xid {
    /// The driver's advice what to do with a GPU.
    pub(crate) const ADVICE: u32 = 154;

    /// The Xid of this number, where it is known.
    pub fn of(number: u32) -> Option<&'static Self> {
        XIDS.iter().find(|xid| xid.number == number)
    }

    /// How grave it is with what its line says behind the number: links tell whether an error was fatal, and the
    /// driver's advice what it advises.
    pub(crate) fn gravity_in(&self, rest: &str) -> Gravity {
        match self.number {
            Self::ADVICE if Self::advised(rest) == Some("None") => Gravity::Notice,
            NVLINK_5_FIRST..=NVLINK_5_LAST
                if rest.to_ascii_lowercase().replace('-', "").contains("nonfatal") =>
            {
                Gravity::Suspect
            }
            _ => self.gravity,
        }
    }

    /// `GPU Reset Required` in `GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)`.
    pub(crate) fn advised(rest: &str) -> Option<&str> {
        let (_, to) = rest.rsplit_once(" to ")?;
        Some(to.split_once('(')?.1.split_once(')')?.0)
    }

    /// Every Xid known here, by number.
    pub const ALL: &'static [Self] = XIDS;
}

/// The links of Blackwell have a number for each of their parts.
const NVLINK_5_FIRST: u32 = 144;
const NVLINK_5_LAST: u32 = 150;

const fn xid(number: u32, of: (XidFault, Gravity), meaning: &'static str, action: &'static str) -> Xid {
    Xid { number, meaning, fault: of.0, gravity: of.1, action }
}

use Gravity::{Drain, Notice, Reset, Suspect};
use XidFault::{Application, Driver, Hardware};

const RESET_DRIVER: &str = "reset the GPU; look at the driver";
const FABRIC: &str = "drain the node and restart it";

// From gpu-specs.json (Xid actions) and causes.json (gpu-ecc-xid-fault); 145 from NVIDIA/open-gpu-kernel-modules#1355; the
// others from NVIDIA's catalogue of Xids. A number that is not here is told as unknown, never passed over.
const XIDS: &[Xid] = &[
    xid(
        13,
        (Application, Notice),
        "graphics engine exception",
        "look at the application first; at the GPU if it repeats on one",
    ),
    xid(
        31,
        (Application, Notice),
        "access to memory that is not mapped",
        "look at the application and its kernels first",
    ),
    xid(
        32,
        (Driver, Suspect),
        "the GPU was sent commands it cannot read",
        "look at the driver and the PCIe link",
    ),
    xid(43, (Application, Notice), "a channel of the GPU was reset", "look at the application first"),
    xid(45, (Application, Notice), "a channel was cleaned up", "look for the Xid before it"),
    xid(48, (Hardware, Reset), "uncorrectable memory error", "drain and reset the GPU"),
    xid(54, (Hardware, Drain), "the GPU's power cable is missing or loose", "look at the power connectors"),
    xid(
        61,
        (Driver, Suspect),
        "the GPU's power controller stopped for a moment",
        "reset the GPU if it repeats; look at the driver",
    ),
    xid(62, (Driver, Reset), "the GPU's power controller halted", RESET_DRIVER),
    xid(63, (Hardware, Notice), "a memory row is marked for replacement", "reset the GPU when it suits"),
    xid(64, (Hardware, Drain), "a memory row could not be replaced", "drain; return the GPU if it repeats"),
    xid(
        74,
        (Hardware, Reset),
        "NVLink error",
        "look at the links' error counters and the fabric manager; drain if it repeats",
    ),
    xid(
        79,
        (Hardware, Drain),
        "the GPU fell off the bus",
        "drain the node; look at power, slot and temperature",
    ),
    xid(92, (Hardware, Notice), "many corrected memory errors", "watch; drain if they grow"),
    xid(
        94,
        (Hardware, Reset),
        "uncorrectable error, contained",
        "restart the process it hit, reset the GPU later",
    ),
    xid(95, (Hardware, Drain), "uncorrectable error, not contained", "drain the node and reset"),
    xid(
        109,
        (Driver, Suspect),
        "the GPU did not change to other work in time",
        "look at the driver and at what ran; reset the GPU if it repeats",
    ),
    xid(119, (Driver, Reset), "the GPU's system processor does not answer", RESET_DRIVER),
    xid(120, (Driver, Reset), "the GPU's system processor failed", RESET_DRIVER),
    xid(
        136,
        (Hardware, Suspect),
        "NVLinks could not be brought up",
        "look at the fabric manager; reset the GPUs",
    ),
    xid(
        137,
        (Application, Notice),
        "access over NVLink to memory that is not mapped",
        "look at the application first",
    ),
    xid(
        140,
        (Hardware, Reset),
        "uncorrectable memory error the driver could not deal with",
        "drain and reset the GPU",
    ),
    xid(
        143,
        (Hardware, Reset),
        "the GPU could not be initialised",
        "reset the GPU; have it replaced if it stays",
    ),
    xid(144, (Hardware, Reset), "NVLink error (SAW)", FABRIC),
    xid(145, (Hardware, Reset), "NVLink fabric error that cannot be corrected", FABRIC),
    xid(146, (Hardware, Reset), "NVLink error (TLW)", FABRIC),
    xid(147, (Hardware, Reset), "NVLink error (TREX)", FABRIC),
    xid(148, (Hardware, Reset), "NVLink error (NVLPW)", FABRIC),
    xid(149, (Hardware, Reset), "NVLink error (NETIR)", FABRIC),
    xid(150, (Hardware, Reset), "NVLink error (MSE)", FABRIC),
    xid(154, (Driver, Reset), "the driver changed what it advises for the GPU", "do what it advises"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_applications_own_faults_are_told_from_the_hardwares() {
        let fault = |number| Xid::of(number).map(|xid| xid.fault);
        for number in [13, 31, 43, 45] {
            assert_eq!(fault(number), Some(Application), "{number}");
        }
        for number in [48, 63, 64, 74, 79, 92, 94, 95, 140] {
            assert_eq!(fault(number), Some(Hardware), "{number}");
        }
        for number in [62, 119, 120] {
            assert_eq!(fault(number), Some(Driver), "{number}");
        }
    }

    #[test]
    fn what_needs_a_reset_is_graver_than_what_is_only_noted() {
        let gravity = |number| Xid::of(number).map(|xid| xid.gravity);
        for number in [48, 62, 74, 94, 119, 120, 140, 149, 154] {
            assert_eq!(gravity(number), Some(Reset), "{number}");
        }
        for number in [64, 79, 95] {
            assert_eq!(gravity(number), Some(Drain), "{number}");
        }
        for number in [13, 31, 43, 45, 63, 92] {
            assert_eq!(gravity(number), Some(Notice), "{number}");
        }
        assert!(Notice < Suspect && Suspect < Reset && Reset < Drain);
    }

    #[test]
    fn some_lines_say_how_grave_they_are() {
        let gravity = |number, rest: &str| Xid::of(number).unwrap().gravity_in(rest);
        let advice = |to| format!("GPU recovery action changed from 0x1 (GPU Reset Required) to {to}");
        assert_eq!(gravity(154, &advice("0x2 (Node Reboot Required)")), Reset);
        assert_eq!(gravity(154, &advice("0x0 (None)")), Notice);
        assert_eq!(gravity(149, "NETIR_LINK_EVT Fatal XC0 i0 Link 05"), Reset);
        assert_eq!(gravity(149, "NETIR_LINK_EVT Nonfatal XC0 i0 Link 05"), Suspect);
    }

    #[test]
    fn numbers_stand_in_order_and_once() {
        assert!(Xid::ALL.windows(2).all(|pair| pair[0].number < pair[1].number));
    }
}
