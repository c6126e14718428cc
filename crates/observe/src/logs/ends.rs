//! The start and the end of a text that may be too long to keep.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

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
    /// Set by who no longer waits.
    stop: Arc<AtomicBool>,
}

struct Kept {
    /// Why the end of the log never came.
    missing: Option<String>,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    most_head: usize,
    most_tail: usize,
    dropped: u64,
}

impl Ends {
    pub(super) fn new(most: usize) -> Self {
        let most_head = most / 4;
        let kept = Kept {
            missing: None,
            head: Vec::new(),
            tail: VecDeque::new(),
            most_head,
            most_tail: most - most_head,
            dropped: 0,
        };
        Self { kept: Arc::new(Mutex::new(kept)), stop: Arc::default() }
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
            let mut kept = self.lock();
            kept.missing = Some(missing.to_owned());
            kept.end_with_a_line();
        }
        Ok(())
    }

    fn plain(&self, mut from: impl Read) -> io::Result<()> {
        let mut chunk = vec![0; CHUNK];
        while !self.stop.load(Ordering::Relaxed) {
            match from.read(&mut chunk) {
                Ok(0) => return Ok(()),
                Ok(n) => self.put(&chunk[..n]),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Reads a file; of one that is too long the middle is not even read.
    pub(super) fn file(&self, path: &Path) -> io::Result<()> {
        let mut file = File::open(path)?;
        let kind = file.metadata()?;
        let (head, tail) = {
            let kept = self.lock();
            (kept.most_head as u64, kept.most_tail as u64)
        };
        if !kind.is_file() || kind.len() <= head + tail {
            return self.stream(file);
        }
        // What is packed has no middle to leave out before it is unpacked.
        match Plain::of(&mut file, MOST_UNPACKED)? {
            Plain::Packed(from) => return self.packed(*from),
            Plain::Text(_) => file.rewind()?,
        }
        self.plain(Read::by_ref(&mut file).take(head))?;
        let start = kind.len() - tail;
        self.lock().dropped = start - head;
        file.seek(SeekFrom::Start(start))?;
        // What is written while it is read belongs to the next one.
        self.plain(file.take(tail))
    }

    /// What there is, and how many bytes are missing in its middle; the reader is told to stop.
    pub(super) fn finish(&self) -> (Vec<u8>, u64) {
        self.stop.store(true, Ordering::Relaxed);
        let mut kept = self.lock();
        let mut head = std::mem::take(&mut kept.head);
        let mut tail = std::mem::take(&mut kept.tail);
        let tail = tail.make_contiguous();
        if kept.dropped == 0 {
            head.extend_from_slice(tail);
            return (head, 0);
        }
        let (bytes, cut) = around_gap(head, tail);
        (bytes, kept.dropped + cut)
    }

    /// Why the end of the log never came, where it was packed and that could be told.
    pub(super) fn missing(&self) -> Option<String> {
        self.lock().missing.clone()
    }

    fn put(&self, mut bytes: &[u8]) {
        let mut kept = self.lock();
        let room = kept.most_head.saturating_sub(kept.head.len());
        if room > 0 {
            let (head, rest) = bytes.split_at(room.min(bytes.len()));
            kept.head.extend_from_slice(head);
            bytes = rest;
        }
        kept.tail.extend(bytes);
        let over = kept.tail.len().saturating_sub(kept.most_tail);
        kept.tail.drain(..over);
        kept.dropped += over as u64;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        // Nothing in between can fail: what a dead reader left is whole.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// Leaves out what stands behind the last line end.
    fn end_with_a_line(&mut self) {
        let line = self.tail.iter().rposition(|byte| *byte == b'\n');
        match line {
            Some(at) => self.tail.truncate(at + 1),
            None if self.tail.is_empty() || self.dropped == 0 => {
                self.tail.clear();
                let whole = self.head.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
                self.head.truncate(whole);
            }
            None => self.tail.clear(),
        }
    }
}
