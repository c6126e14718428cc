//! What the driver's Xid numbers mean, and whose fault they are.

/// One Xid number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Xid {
    /// The number in the driver's line.
    pub number: u32,
    /// What it means.
    pub meaning: &'static str,
    /// Whose fault it is, until more is known.
    pub fault: XidFault,
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
    /// The Xid of this number, where it is known.
    pub fn of(number: u32) -> Option<&'static Self> {
        XIDS.iter().find(|xid| xid.number == number)
    }

    /// Every Xid known here, by number.
    pub const ALL: &'static [Self] = XIDS;
}

const fn xid(number: u32, fault: XidFault, meaning: &'static str, action: &'static str) -> Xid {
    Xid { number, meaning, fault, action }
}

use XidFault::{Application, Driver, Hardware};

// From gpu-specs.json (Xid actions) and causes.json (gpu-ecc-xid-fault); 145 from NVIDIA/open-gpu-kernel-modules#1355.
const XIDS: &[Xid] = &[
    xid(
        13,
        Application,
        "graphics engine exception",
        "look at the application first; at the GPU if it repeats on one",
    ),
    xid(
        31,
        Application,
        "access to memory that is not mapped",
        "look at the application and its kernels first",
    ),
    xid(43, Application, "a channel of the GPU was reset", "look at the application first"),
    xid(45, Application, "a channel was cleaned up", "look for the Xid before it"),
    xid(48, Hardware, "uncorrectable memory error", "drain and reset the GPU"),
    xid(63, Hardware, "a memory row is marked for replacement", "reset the GPU when it suits"),
    xid(64, Hardware, "a memory row could not be replaced", "drain; return the GPU if it repeats"),
    xid(
        74,
        Hardware,
        "NVLink error",
        "look at the links' error counters and the fabric manager; drain if it repeats",
    ),
    xid(79, Hardware, "the GPU fell off the bus", "drain the node; look at power, slot and temperature"),
    xid(92, Hardware, "many corrected memory errors", "watch; drain if they grow"),
    xid(94, Hardware, "uncorrectable error, contained", "restart the process it hit, reset the GPU later"),
    xid(95, Hardware, "uncorrectable error, not contained", "drain the node and reset"),
    xid(119, Driver, "the GPU's system processor does not answer", "reset the GPU; look at the driver"),
    xid(120, Driver, "the GPU's system processor failed", "reset the GPU; look at the driver"),
    xid(145, Hardware, "NVLink fabric error that cannot be corrected", "drain the node and restart it"),
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
        for number in [48, 63, 64, 74, 79, 92, 94, 95] {
            assert_eq!(fault(number), Some(Hardware), "{number}");
        }
        for number in [119, 120] {
            assert_eq!(fault(number), Some(Driver), "{number}");
        }
        assert_eq!(fault(62), None, "an incident names it, nobody says what it means");
    }

    #[test]
    fn numbers_stand_in_order_and_once() {
        assert!(Xid::ALL.windows(2).all(|pair| pair[0].number < pair[1].number));
    }
}
