//! One snapshot in the making: reads files, keeps texts within their limits, remembers what was refused.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};

use intriage_case::host::{MAX_FILE_BYTES, MAX_FILES, name_of};
use intriage_case::{HostSnapshot, Millis};

use super::root::Root;

/// A snapshot in the making.
pub(super) struct Gather<'r> {
    pub(super) root: &'r Root,
    buffer: Vec<u8>,
    files: BTreeMap<String, String>,
    denied: BTreeMap<String, String>,
    absent: BTreeSet<String>,
}

/// Files that only their owner or root may read, by how their path ends, and what reading them would add.
const WOULD_ADD: &[(&str, &str)] = &[
    ("/environ", "settings in the process's environment"),
    ("/io", "bytes the process read from storage"),
    ("/numa_maps", "where the process's memory lies"),
    ("/fd", "the number of open files"),
    ("/mountinfo", "the file system that holds the model"),
    ("/root/dev/shm", "shared memory as the process's container sees it"),
    ("/ns/net", "the process's own network, where it has one"),
    ("/config", "whether bridges redirect traffic between GPUs (ACS)"),
];

impl<'r> Gather<'r> {
    pub(super) fn new(root: &'r Root, buffer: Vec<u8>) -> Self {
        Self { root, buffer, files: BTreeMap::new(), denied: BTreeMap::new(), absent: BTreeSet::new() }
    }

    /// Keeps a file as it is; `false` if it could not be read.
    pub(super) fn take(&mut self, path: &str) -> bool {
        self.take_trimmed(path, str::to_owned)
    }

    /// Keeps what `trim` leaves of a file.
    pub(super) fn take_trimmed(&mut self, path: &str, trim: impl Fn(&str) -> String) -> bool {
        let Some(text) = self.text(path) else { return false };
        self.put(path, trim(&text));
        true
    }

    /// Keeps what `trim` leaves of a file, and says nothing where there is no such file.
    pub(super) fn take_if_there(&mut self, path: &str, trim: impl Fn(&str) -> String) -> bool {
        let kept = self.take_trimmed(path, trim);
        if !kept && let Some(name) = name_of(path) {
            self.absent.remove(&name);
        }
        kept
    }

    /// A text that was kept.
    pub(super) fn kept(&self, path: &str) -> Option<&str> {
        self.files.get(&name_of(path)?).map(String::as_str)
    }

    /// Reads a file without keeping it; why it could not be read is remembered.
    pub(super) fn text(&mut self, path: &str) -> Option<String> {
        match self.root.read(path, MAX_FILE_BYTES, &mut self.buffer) {
            Ok(whole) => {
                if !whole {
                    self.deny(path, "longer than is kept; only its beginning was read");
                }
                Some(String::from_utf8_lossy(&self.buffer).into_owned())
            }
            Err(error) => {
                self.refused(path, &error);
                None
            }
        }
    }

    /// Keeps a text of our own, or one that was read already.
    pub(super) fn put(&mut self, path: &str, mut text: String) {
        let Some(name) = name_of(path) else { return };
        // Bytes that were not text may have grown when they were replaced.
        if text.len() > MAX_FILE_BYTES {
            text.truncate(text.floor_char_boundary(MAX_FILE_BYTES));
        }
        // Room for `denied` and `absent` is kept.
        if self.files.len() + 2 < MAX_FILES {
            self.files.insert(name, text);
        }
    }

    /// Remembers why something is not here.
    pub(super) fn refused(&mut self, path: &str, error: &io::Error) {
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::Unsupported | ErrorKind::NotADirectory => {
                self.absent.extend(name_of(path));
            }
            ErrorKind::PermissionDenied => {
                let adds =
                    WOULD_ADD.iter().find(|(end, _)| path.ends_with(end)).map_or("it", |(_, adds)| adds);
                self.deny(path, &format!("permission denied; root would add {adds}"));
            }
            // The process ended while it was looked at.
            _ if error.raw_os_error() == Some(NO_SUCH_PROCESS) => {}
            _ => self.deny(path, &error.to_string()),
        }
    }

    /// Remembers why something could not be had.
    pub(super) fn deny(&mut self, path: &str, why: &str) {
        if let Some(name) = name_of(path) {
            self.denied.insert(name, why.replace(['\n', '\t'], " "));
        }
    }

    /// Leaves out of `denied` and `absent` what an earlier snapshot has told already.
    pub(super) fn forget(&mut self, told: &BTreeSet<String>) {
        self.denied.retain(|name, _| !told.contains(name));
        self.absent.retain(|name| !told.contains(name));
    }

    /// What is neither readable nor there: not worth asking again.
    pub(super) fn missing(&self) -> impl Iterator<Item = &String> {
        self.absent.iter().chain(self.denied.keys()).filter(|name| !self.files.contains_key(*name))
    }

    /// The snapshot, and the buffer for the next one.
    pub(super) fn finish(mut self, at: Millis) -> (HostSnapshot, Vec<u8>) {
        let denied: Vec<String> = self.denied.iter().map(|(name, why)| format!("{name}\t{why}\n")).collect();
        let absent: Vec<String> = self.absent.iter().map(|name| format!("{name}\n")).collect();
        for (name, lines) in [("denied", denied), ("absent", absent)] {
            if !lines.is_empty() {
                self.put(name, lines.concat());
            }
        }
        (HostSnapshot { at, files: self.files }, self.buffer)
    }
}

/// `ESRCH`, which has no kind of its own.
const NO_SUCH_PROCESS: i32 = 3;
