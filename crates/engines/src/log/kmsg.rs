//! Records of `/dev/kmsg`: `6,339,5140900,-;message`, then lines of keys that begin with a space.

use std::fmt::Write as _;

/// A record as a line of a kernel log, `[    5.140900] message`; `None` for what programs wrote there themselves, and for
/// what is no record.
///
/// Source of the format: the kernel's `Documentation/ABI/testing/dev-kmsg`.
pub fn kernel_record(record: &str) -> Option<String> {
    let (head, rest) = record.split_once(';')?;
    let mut fields = head.split(',');
    let priority: u32 = fields.next()?.parse().ok()?;
    let micros: u64 = fields.nth(1)?.parse().ok()?;
    // The facility stands above the three bits of the level; zero is the kernel.
    if priority >> 3 != 0 {
        return None;
    }
    let message = rest.lines().next().unwrap_or_default();
    let mut line = String::with_capacity(message.len() + 20);
    // Writing into a String cannot fail.
    let _ = write!(line, "[{:5}.{:06}] ", micros / 1_000_000, micros % 1_000_000);
    line.extend(message.chars().map(|c| if c.is_control() { ' ' } else { c }));
    Some(line)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_kernels_own_records_become_lines() {
        assert_eq!(
            kernel_record("4,1042,987654321,-;NVRM: Xid (PCI:0000:19:00): 79, GPU has fallen off the bus.\n SUBSYSTEM=pci\n").as_deref(),
            Some("[  987.654321] NVRM: Xid (PCI:0000:19:00): 79, GPU has fallen off the bus.")
        );
        // Facility 3 is a daemon's.
        assert_eq!(kernel_record("30,7,1,-;systemd[1]: Started a service.\n"), None);
        for none in ["", "6,1", "x,1,2,-;m", "6,1,-;m"] {
            assert_eq!(kernel_record(none), None, "{none}");
        }
    }

    proptest! {
        #[test]
        fn any_record_is_one_line_or_none(head in "[0-9]{1,3},[0-9]{1,20},[0-9]{1,21}", rest in any::<String>()) {
            if let Some(line) = kernel_record(&format!("{head},-;{rest}")) {
                prop_assert!(!line.contains(|c: char| c.is_control()));
            }
        }
    }
}
