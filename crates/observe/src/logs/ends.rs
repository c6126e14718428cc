//! The start and the end of a text that may be too long to keep.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What stands where something is missing; a line of its own.
const GAP: &[u8] = b"\n[intriage left the middle of this log out]\n";

/// Bytes read at once.
const CHUNK: usize = 64 << 10;

/// What has come of a log so far, shared between who reads and who waits.
#[derive(Clone)]
pub(super) struct Ends {
    kept: Arc<Mutex<Kept>>,
    /// Set by who no longer waits.
    stop: Arc<AtomicBool>,
}

struct Kept {
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
            head: Vec::new(),
            tail: VecDeque::new(),
            most_head,
            most_tail: most - most_head,
            dropped: 0,
        };
        Self { kept: Arc::new(Mutex::new(kept)), stop: Arc::default() }
    }

    /// Reads a stream to its end.
    pub(super) fn stream(&self, mut from: impl Read) -> io::Result<()> {
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
        self.stream(Read::by_ref(&mut file).take(head))?;
        let start = kind.len() - tail;
        self.lock().dropped = start - head;
        file.seek(SeekFrom::Start(start))?;
        // What is written while it is read belongs to the next one.
        self.stream(file.take(tail))
    }

    /// What there is, and how many bytes are missing in its middle; the reader is told to stop.
    pub(super) fn finish(&self) -> (Vec<u8>, u64) {
        self.stop.store(true, Ordering::Relaxed);
        let mut kept = self.lock();
        let mut bytes = std::mem::take(&mut kept.head);
        if kept.dropped > 0 {
            bytes.extend_from_slice(GAP);
        }
        let (front, back) = kept.tail.as_slices();
        bytes.extend_from_slice(front);
        bytes.extend_from_slice(back);
        kept.tail = VecDeque::new();
        (bytes, kept.dropped)
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
