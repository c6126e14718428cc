//! The root under which the kernel's files are read: `/`, or a tree recorded elsewhere.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Most entries of a folder looked at.
const MAX_ENTRIES: usize = 65_536;

/// Why a file was given up.
pub(super) const UNANSWERED: &str = "the kernel did not answer";

/// Where `/proc` and `/sys` are found. Clones tell each other where they are.
#[derive(Debug, Clone)]
pub struct Root {
    path: PathBuf,
    /// What is being read, and since when: the kernel may never answer.
    visiting: Arc<Mutex<Option<(String, Instant)>>>,
    avoided: BTreeSet<String>,
}

impl Root {
    /// This machine.
    pub fn live() -> Self {
        Self::at("/")
    }

    /// A tree that holds `proc` and `sys`, such as `/host` in a container or a recorded one.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), visiting: Arc::default(), avoided: BTreeSet::new() }
    }

    /// Whether this is the running machine.
    pub fn is_live(&self) -> bool {
        self.path == Path::new("/")
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.path.join(path.trim_start_matches('/'))
    }

    /// Does what may never end, where others see it; an error where it is to be avoided.
    pub(super) fn visit<T>(&self, path: &str, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        if self.avoided.contains(path) {
            return Err(io::Error::new(io::ErrorKind::TimedOut, UNANSWERED));
        }
        self.is_at(Some((path.to_owned(), Instant::now())));
        let result = work();
        self.is_at(None);
        result
    }

    /// What somebody has been reading here or in a clone for at least this long.
    pub(super) fn stuck_at(&self, time: Duration) -> Option<String> {
        let visiting = self.visiting.lock().unwrap_or_else(PoisonError::into_inner);
        visiting.as_ref().filter(|(_, since)| since.elapsed() >= time).map(|(path, _)| path.clone())
    }

    /// The same root for somebody else, who also keeps away from `path`.
    pub(super) fn without(&self, path: String) -> Self {
        let mut avoided = self.avoided.clone();
        avoided.insert(path);
        Self { path: self.path.clone(), visiting: Arc::default(), avoided }
    }

    /// What is kept away from.
    pub(super) fn avoided(&self) -> impl Iterator<Item = &str> {
        self.avoided.iter().map(String::as_str)
    }

    fn is_at(&self, place: Option<(String, Instant)>) {
        *self.visiting.lock().unwrap_or_else(PoisonError::into_inner) = place;
    }

    /// Reads at most `limit` bytes into `buffer`; `true` if that was all of it.
    ///
    /// Plain reads into a buffer that is used again: `fs::read` asks for sizes that the kernel's files do not have.
    pub(super) fn read(&self, path: &str, limit: usize, buffer: &mut Vec<u8>) -> io::Result<bool> {
        self.visit(path, || self.read_now(path, limit, buffer))
    }

    fn read_now(&self, path: &str, limit: usize, buffer: &mut Vec<u8>) -> io::Result<bool> {
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
        self.visit(path, || Ok(fs::read_dir(self.path(path))?.count()))
    }

    /// Where a link leads, unresolved.
    pub(super) fn link(&self, path: &str) -> io::Result<String> {
        self.visit(path, || Ok(fs::read_link(self.path(path))?.to_string_lossy().into_owned()))
    }
}
