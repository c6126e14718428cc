//! The root under which the kernel's files are read: `/`, or a tree recorded elsewhere.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Most entries of a folder looked at.
const MAX_ENTRIES: usize = 65_536;

/// Where `/proc` and `/sys` are found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root(PathBuf);

impl Root {
    /// This machine.
    pub fn live() -> Self {
        Self(PathBuf::from("/"))
    }

    /// A tree that holds `proc` and `sys`, such as `/host` in a container or a recorded one.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Whether this is the running machine.
    pub fn is_live(&self) -> bool {
        self.0 == Path::new("/")
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.0.join(path.trim_start_matches('/'))
    }

    /// Reads at most `limit` bytes into `buffer`; `true` if that was all of it.
    ///
    /// Plain reads into a buffer that is used again: `fs::read` asks for sizes that the kernel's files do not have.
    pub(super) fn read(&self, path: &str, limit: usize, buffer: &mut Vec<u8>) -> io::Result<bool> {
        let mut file = File::open(self.path(path))?;
        let mut filled = 0;
        loop {
            if buffer.len() < filled + 4096 {
                buffer.resize((filled + 4096).max(buffer.len() * 2), 0);
            }
            match file.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
            if filled > limit {
                buffer.truncate(limit);
                return Ok(false);
            }
        }
        buffer.truncate(filled);
        Ok(true)
    }

    /// The names in a folder, sorted, the first `limit` of them; none where it cannot be listed.
    pub(super) fn list(&self, path: &str, limit: usize) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path(path)) else { return Vec::new() };
        let names = entries.flatten().filter_map(|e| e.file_name().into_string().ok());
        let mut names: Vec<String> = names.take(MAX_ENTRIES).collect();
        names.sort_unstable();
        names.truncate(limit);
        names
    }

    /// The numbers in a folder, sorted: processes or threads.
    pub(super) fn numbers(&self, path: &str, limit: usize) -> Vec<u32> {
        let Ok(entries) = fs::read_dir(self.path(path)) else { return Vec::new() };
        let names = entries.flatten().filter_map(|e| e.file_name().to_str()?.parse().ok());
        let mut numbers: Vec<u32> = names.take(limit).collect();
        numbers.sort_unstable();
        numbers
    }

    /// How many entries a folder has.
    pub(super) fn count(&self, path: &str) -> io::Result<usize> {
        Ok(fs::read_dir(self.path(path))?.count())
    }

    /// Where a link leads, unresolved.
    pub(super) fn link(&self, path: &str) -> io::Result<String> {
        Ok(fs::read_link(self.path(path))?.to_string_lossy().into_owned())
    }
}
