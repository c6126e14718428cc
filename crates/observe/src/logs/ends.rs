//! Reads a log that may be too long to keep.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use intriage_engines::LeftOut;

use super::kept::Kept;
use super::packed::{MOST_UNPACKED, Plain, Unpacking};

/// What stands where something is missing; a line of its own.
const GAP: &[u8] = b"[intriage left the middle of this log out]\n";

/// Bytes read at once.
const CHUNK: usize = 64 << 10;

/// The two ends of a log with a line between them that tells of the gap, and how many bytes at its edges went with the
/// middle. A line that was cut has lost what its secret is known by: `Authorization: `, or the name before a `=`.
pub(crate) fn around_gap(mut head: Vec<u8>, tail: &[u8]) -> (Vec<u8>, u64) {
    let whole = head.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let next = tail.iter().position(|byte| *byte == b'\n').map_or(tail.len(), |at| at + 1);
    let cut = head.len() - whole + next;
    head.truncate(whole);
    head.extend_from_slice(GAP);
    head.extend_from_slice(&tail[next..]);
    (head, cut as u64)
}

/// What has come of a log so far, shared between who reads and who waits.
#[derive(Clone)]
pub(super) struct Ends {
    kept: Arc<Mutex<Kept>>,
    /// Why the end of the log never came.
    missing: Arc<Mutex<Option<String>>>,
    /// Set by who no longer waits.
    stop: Arc<AtomicBool>,
    most: usize,
}

impl Ends {
    pub(super) fn new(most: usize) -> Self {
        Self {
            kept: Arc::new(Mutex::new(Kept::new(most))),
            missing: Arc::default(),
            stop: Arc::default(),
            most,
        }
    }

    /// Reads a stream to its end, packed or not.
    pub(super) fn stream(&self, from: impl Read) -> io::Result<()> {
        match Plain::of(from, MOST_UNPACKED)? {
            Plain::Text(from) => self.plain(from),
            Plain::Packed(from) => self.packed(*from),
        }
    }

    /// Unpacks a log. A line whose end is missing may have lost what its secret is known by.
    fn packed(&self, mut from: Unpacking<impl Read>) -> io::Result<()> {
        self.plain(&mut from)?;
        if let Some(missing) = from.missing() {
            *self.missing.lock().unwrap_or_else(PoisonError::into_inner) = Some(missing.to_owned());
            self.lock().end_with_a_line();
        }
        Ok(())
    }

    fn plain(&self, mut from: impl Read) -> io::Result<()> {
        let mut chunk = vec![0; CHUNK];
        while !self.stop.load(Ordering::Relaxed) {
            match from.read(&mut chunk) {
                Ok(0) => return Ok(()),
                Ok(n) => self.lock().put(&chunk[..n]),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Reads a file; of one that is longer than `whole` the middle is not even read.
    pub(super) fn file(&self, path: &Path, whole: u64) -> io::Result<()> {
        let mut file = File::open(path)?;
        let kind = file.metadata()?;
        if !kind.is_file() || kind.len() <= whole.max(self.most as u64) {
            return self.stream(file);
        }
        // What is packed has no middle to leave out before it is unpacked.
        match Plain::of(&mut file, MOST_UNPACKED)? {
            Plain::Packed(from) => return self.packed(*from),
            Plain::Text(_) => file.rewind()?,
        }
        let head = (self.most / 4) as u64;
        let tail = self.most as u64 - head;
        let mut start = Vec::new();
        Read::by_ref(&mut file).take(head).read_to_end(&mut start)?;
        file.seek(SeekFrom::Start(kind.len() - tail))?;
        let mut end = Vec::new();
        // What is written while it is read belongs to the next one.
        file.take(tail).read_to_end(&mut end)?;
        let (bytes, cut) = around_gap(start, &end);
        self.lock().replace(bytes, kind.len() - head - tail + cut);
        Ok(())
    }

    /// What there is, and what is missing in its middle; the reader is told to stop.
    pub(super) fn finish(&self) -> (Vec<u8>, LeftOut) {
        self.stop.store(true, Ordering::Relaxed);
        let mut kept = self.lock();
        std::mem::replace(&mut *kept, Kept::new(0)).finish()
    }

    /// Why the end of the log never came, where it was packed and that could be told.
    pub(super) fn missing(&self) -> Option<String> {
        self.missing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        // Nothing in between can fail: what a dead reader left is whole.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
