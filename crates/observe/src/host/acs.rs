//! The access control registers of a bridge, from its configuration space.

/// Where extended capabilities begin; users other than root see only the first 64 bytes.
const EXTENDED: usize = 0x100;
/// The number of the ACS capability.
const ACS: u32 = 0x000d;
/// No configuration space holds more capabilities than this.
const MAX_CAPABILITIES: usize = 128;

/// What a bridge's configuration space says of ACS.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The capability and control registers.
    Registers { capability: u16, control: u16 },
    /// The bridge has no ACS.
    None,
    /// The bytes end before the extended capabilities.
    Hidden,
}

/// Walks the extended capabilities; every step stays within the bytes, and a chain that loops ends.
pub(super) fn find(config: &[u8]) -> Found {
    if config.len() <= EXTENDED {
        return Found::Hidden;
    }
    let word = |at: usize| config.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes);
    let mut at = EXTENDED;
    for _ in 0..MAX_CAPABILITIES {
        let Some(header) = word(at).filter(|h| !matches!(*h, 0 | u32::MAX)) else { return Found::None };
        if header & 0xffff == ACS {
            // Capability in the lower half, control in the upper.
            return match word(at + 4) {
                Some(both) => Found::Registers { capability: both as u16, control: (both >> 16) as u16 },
                None => Found::Hidden,
            };
        }
        at = (header >> 20) as usize;
        if at < EXTENDED {
            return Found::None;
        }
    }
    Found::None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(capabilities: &[(usize, u32, u32)]) -> Vec<u8> {
        let mut bytes = vec![0; 4096];
        for (at, header, body) in capabilities {
            bytes[*at..at + 4].copy_from_slice(&header.to_le_bytes());
            bytes[at + 4..at + 8].copy_from_slice(&body.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn the_registers_are_found_behind_another_capability() {
        let bytes = space(&[(0x100, 0x1480_0001, 0), (0x148, 0x0001_000d, 0x001d_001f)]);
        assert_eq!(find(&bytes), Found::Registers { capability: 0x1f, control: 0x1d });
    }

    #[test]
    fn none_hidden_and_looping_are_told_apart() {
        assert_eq!(find(&space(&[])), Found::None);
        assert_eq!(find(&[0; 64]), Found::Hidden);
        assert_eq!(find(&space(&[(0x100, 0x1000_0001, 0)])), Found::None);
        assert_eq!(find(&[0xff; 4096]), Found::None);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(0u8.., 0..600)) {
            find(&bytes);
        }
    }
}
