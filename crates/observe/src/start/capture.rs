//! What a process writes, as it comes: its two ends kept for the case, its lines handed on, and a copy where one is wanted.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};

use crate::logs::around_gap;

/// Longest line that is looked at; what is longer is cut there for the one who watches, and kept whole.
const LONGEST_LINE: usize = 16 << 10;

/// Where a copy of the output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copy {
    /// Nowhere.
    Nowhere,
    /// To standard error.
    Stderr,
    /// To standard output.
    Stdout,
}

/// The output so far, shared between who reads and who watches.
#[derive(Clone)]
pub(super) struct Capture {
    kept: Arc<Mutex<Kept>>,
    copy: Arc<AtomicU8>,
}

struct Kept {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    most_head: usize,
    most_tail: usize,
    dropped: u64,
}

impl Capture {
    pub(super) fn new(most: usize, copy: Copy) -> Self {
        let kept = Kept {
            head: Vec::new(),
            tail: VecDeque::new(),
            most_head: most / 4,
            most_tail: most - most / 4,
            dropped: 0,
        };
        Self { kept: Arc::new(Mutex::new(kept)), copy: Arc::new(AtomicU8::new(copy as u8)) }
    }

    /// From now on a copy goes there.
    pub(super) fn copy_to(&self, copy: Copy) {
        self.copy.store(copy as u8, Ordering::Relaxed);
    }

    /// Reads to the end and sends each line; a progress bar's lines end with a carriage return.
    pub(super) fn read(&self, mut from: impl Read, lines: &SyncSender<String>) {
        let (mut chunk, mut line) = (vec![0; 64 << 10], Vec::new());
        loop {
            let read = match from.read(&mut chunk) {
                Ok(0) => break,
                Ok(read) => read,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(_) => break,
            };
            self.put(&chunk[..read]);
            self.pass_on(&chunk[..read]);
            for byte in &chunk[..read] {
                match byte {
                    b'\n' | b'\r' => send(&mut line, lines),
                    byte if line.len() < LONGEST_LINE => line.push(*byte),
                    _ => {}
                }
            }
        }
        send(&mut line, lines);
    }

    /// The text so far with what was left out of its middle, in bytes.
    pub(super) fn text(&self) -> (Vec<u8>, u64) {
        let kept = self.lock();
        let tail: Vec<u8> = kept.tail.iter().copied().collect();
        if kept.dropped == 0 {
            return ([kept.head.as_slice(), &tail].concat(), 0);
        }
        let (bytes, cut) = around_gap(kept.head.clone(), &tail);
        (bytes, kept.dropped + cut)
    }

    fn put(&self, mut bytes: &[u8]) {
        let mut kept = self.lock();
        let room = kept.most_head.saturating_sub(kept.head.len());
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        kept.head.extend_from_slice(head);
        bytes = rest;
        kept.tail.extend(bytes);
        let over = kept.tail.len().saturating_sub(kept.most_tail);
        kept.tail.drain(..over);
        kept.dropped += over as u64;
    }

    /// Whoever does not read the copy any more does not hold up the server.
    fn pass_on(&self, bytes: &[u8]) {
        let copy = self.copy.load(Ordering::Relaxed);
        if copy == Copy::Stderr as u8 {
            let _ = std::io::stderr().write_all(bytes);
        } else if copy == Copy::Stdout as u8 {
            let mut out = std::io::stdout().lock();
            let _ = out.write_all(bytes).and_then(|()| out.flush());
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        // Nothing in between can fail: what a dead reader left is whole.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn send(line: &mut Vec<u8>, lines: &SyncSender<String>) {
    if !line.is_empty() {
        // Nobody may be left to hear it.
        let _ = lines.send(String::from_utf8_lossy(line).into_owned());
        line.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn both_ends_stay_and_every_line_is_handed_on() {
        let text = (0..1000).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n") + "\n";
        let (send, lines) = mpsc::sync_channel(1000);
        let capture = Capture::new(400, Copy::Nowhere);
        capture.read(text.as_bytes(), &send);
        drop(send);
        assert_eq!(lines.iter().count(), 1000);
        let (kept, dropped) = capture.text();
        let kept = String::from_utf8(kept).unwrap();
        assert!(kept.starts_with("line 0\n") && kept.ends_with("line 999\n"), "{kept}");
        assert!(kept.contains("left the middle of this log out") && dropped > 8000, "{dropped}");
    }

    #[test]
    fn a_progress_bar_and_a_line_without_an_end_are_lines() {
        let (send, lines) = mpsc::sync_channel(1000);
        let capture = Capture::new(1 << 20, Copy::Nowhere);
        capture.read(&b"0%\r50%\r100%\nlast"[..], &send);
        drop(send);
        assert_eq!(lines.iter().collect::<Vec<_>>(), ["0%", "50%", "100%", "last"]);
        assert_eq!(capture.text(), (b"0%\r50%\r100%\nlast".to_vec(), 0));
    }
}
