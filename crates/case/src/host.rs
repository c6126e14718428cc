//! The host: the kernel's own texts at one moment, kept as they were read.
//!
//! A snapshot is a small tree of files named as the kernel names them, without the leading slash: `proc/stat`,
//! `proc/4711/task/4712/schedstat`, `sys/fs/cgroup/…/cpu.stat`. In a recording it lies under `host/<unix_ms>/`. Some
//! texts are shortened where the rest is long and says nothing (the interrupt table in `proc/stat`) or is nobody's
//! business (other people's connections in `proc/net/tcp`); the lines kept are the kernel's.
//!
//! What is not a kernel file is a text of our own:
//!
//! | name | content |
//! |---|---|
//! | `statvfs/<path>` | lines `total_bytes N`, `free_bytes N`, `available_bytes N` of the file system at `/<path>` |
//! | `open_files/<pid>` | line `count N`: entries of `/proc/<pid>/fd` |
//! | `numa_pages/<pid>` | sums over `/proc/<pid>/numa_maps`: line `lines N complete` or `lines N cut`, then lines `N<node> <page size in kB> <pages>` and `policy <name> <lines>` |
//! | `pci_path/<address>` | addresses from the root port down to the device, one a line |
//! | `pci_acs/<address>` | line `capability 0xHHHH control 0xHHHH`: the two ACS registers of a bridge, or `none` where it has no ACS |
//! | `tcp_rtt` | lines `<port> <connections> <least> <median> <most>`: round-trip times in microseconds of connections to a port that is listened on |
//! | `listing/<path>` | names in the folder `/<path>`, one a line |
//! | `denied` | lines `<path>\t<why>`: what could not be read, and what would help |
//! | `absent` | lines `<path>`: what this kernel does not have |

use std::collections::BTreeMap;

use crate::Millis;

/// Most bytes of one file: `proc/stat` of a machine with 1,024 CPUs is about 100 kB, and nothing kept here is longer.
pub const MAX_FILE_BYTES: usize = 256 << 10;

/// Most files in one snapshot: 32 processes with 32 threads of 4 files each, and 2,000 for the machine, fit.
pub const MAX_FILES: usize = 8192;

/// Longest name in bytes: cgroup paths of Kubernetes pods are about 250.
pub const MAX_NAME_BYTES: usize = 512;

/// The host at one moment: the first of a case holds everything, later ones only what changes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostSnapshot {
    /// When reading began.
    pub at: Millis,
    /// Texts by name, such as `proc/stat`.
    pub files: BTreeMap<String, String>,
}

impl HostSnapshot {
    /// The text of a file, by its name here.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.files.get(name).map(String::as_str)
    }

    /// Bytes of all texts.
    pub fn size(&self) -> usize {
        self.files.values().map(String::len).sum()
    }
}

/// The name of a kernel path in a snapshot; `None` where it could not be a name, such as one that climbs with `..`.
///
/// systemd writes `\x2d` into cgroup names; a backslash parts folders elsewhere, so it is written `%5C`.
pub fn name_of(path: &str) -> Option<String> {
    let relative = path.strip_prefix('/').unwrap_or(path);
    let name = if relative.contains(['\\', '%']) {
        relative.replace('%', "%25").replace('\\', "%5C")
    } else {
        relative.to_owned()
    };
    is_name(&name).then_some(name)
}

/// Whether a name may stand in a snapshot: relative, going down only, printable, not too long.
pub fn is_name(name: &str) -> bool {
    name.len() <= MAX_NAME_BYTES
        && !name.contains(|c: char| c == '\\' || c.is_control())
        && name.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

/// Splits `<unix_ms>/<name>` as it stands under `host/`.
pub(crate) fn place(file: &str) -> Option<(Millis, &str)> {
    let (time, name) = file.split_once('/')?;
    let digits = !time.is_empty() && time.bytes().all(|b| b.is_ascii_digit());
    let at = Millis(time.parse().ok().filter(|_| digits)?);
    is_name(name).then_some((at, name))
}

/// Puts a file into its snapshot; an error says why it was left out.
pub(crate) fn add(
    host: &mut Vec<HostSnapshot>,
    at: Millis,
    name: &str,
    text: String,
) -> Result<(), &'static str> {
    if text.len() > MAX_FILE_BYTES {
        return Err("larger than a file of the host may be");
    }
    let place = host.partition_point(|snapshot| snapshot.at < at);
    if host.get(place).is_none_or(|snapshot| snapshot.at != at) {
        host.insert(place, HostSnapshot { at, files: BTreeMap::new() });
    }
    let Some(snapshot) = host.get_mut(place) else { return Err("has no place") };
    if snapshot.files.len() >= MAX_FILES && !snapshot.files.contains_key(name) {
        return Err("one file too many");
    }
    snapshot.files.insert(name.to_owned(), text);
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_that_climb_or_start_at_the_root_are_refused() {
        for bad in ["", "/proc/stat", "../x", "proc/../../etc/passwd", "proc//stat", "proc/.", "a\\b", "a\nb"]
        {
            assert!(!is_name(bad), "{bad:?}");
        }
        assert!(!is_name(&"a".repeat(MAX_NAME_BYTES + 1)));
        for good in ["proc/stat", "sys/bus/pci/devices/0000:01:00.0/numa_node", "denied", "proc/1/..x"] {
            assert!(is_name(good), "{good:?}");
        }
        assert_eq!(name_of("/sys/fs/cgroup/../x"), None);
    }

    #[test]
    fn a_slice_named_by_systemd_keeps_its_name() {
        let name = name_of(r"/sys/fs/cgroup/system-vllm\x2dserve.slice/cpu.max").unwrap();
        assert_eq!(name, "sys/fs/cgroup/system-vllm%5Cx2dserve.slice/cpu.max");
        assert_ne!(name_of("/a%5Cb"), name_of(r"/a\b"));
    }

    #[test]
    fn only_a_plain_number_is_a_time() {
        assert_eq!(place("1700/proc/stat"), Some((Millis(1700), "proc/stat")));
        for bad in ["+1/proc/stat", "1700", "x/proc/stat", "/proc/stat", "1700/../x"] {
            assert_eq!(place(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_snapshot_has_limits() {
        let mut host = Vec::new();
        assert!(add(&mut host, Millis(1), "big", "x".repeat(MAX_FILE_BYTES + 1)).is_err());
        for i in 0..MAX_FILES {
            add(&mut host, Millis(1), &format!("f{i}"), String::new()).unwrap();
        }
        assert!(add(&mut host, Millis(1), "one-more", String::new()).is_err());
        assert!(add(&mut host, Millis(1), "f0", "again".into()).is_ok());
        assert!(add(&mut host, Millis(2), "one-more", String::new()).is_ok());
    }

    proptest! {
        #[test]
        fn any_path_is_a_name_or_refused(path in ".{0,80}") {
            if let Some(name) = name_of(&path) {
                prop_assert!(is_name(&name));
            }
        }
    }
}
