//! A log of any length within bounded memory: its start, the lines of its middle that tell, its end.

use std::collections::VecDeque;

use intriage_engines::{LeftOut, Sieve};

/// Whole lines that are looked through at once, in bytes.
const BLOCK: usize = 256 << 10;

/// What is kept of a log. One that is no longer than the limit is kept as it is.
pub(super) struct Kept {
    most: usize,
    head: Vec<u8>,
    /// Whether the head is closed; it ends with a line.
    begun: bool,
    /// The lines of the middle, once there is one.
    sieve: Option<Sieve>,
    /// Blocks of whole lines.
    tail: VecDeque<Vec<u8>>,
    /// Bytes of the blocks.
    length: usize,
    /// Behind the last block: lines, and the start of one whose end has not come.
    open: Vec<u8>,
    /// Bytes so far of a line that is too long to be kept, while it comes.
    long: Option<u64>,
    /// What was left out besides the middle.
    left_out: LeftOut,
}

impl Kept {
    /// Keeps at most so many bytes, the lines that tell of gaps aside.
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            head: Vec::new(),
            begun: false,
            sieve: None,
            tail: VecDeque::new(),
            length: 0,
            open: Vec::new(),
            long: None,
            left_out: LeftOut::default(),
        }
    }

    /// Takes in the next bytes.
    pub(super) fn put(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if let Some(length) = self.long {
                bytes = self.rest_of_line(length, bytes);
                continue;
            }
            // Never more at once than a block: what is looked through goes as a whole.
            let (now, later) = bytes.split_at(bytes.len().min(self.block().max(1)));
            self.open.extend_from_slice(now);
            self.settle();
            bytes = later;
        }
    }

    /// These bytes alone are kept, and so many were left out.
    pub(super) fn replace(&mut self, bytes: Vec<u8>, left_out: u64) {
        *self = Self::new(usize::MAX);
        self.open = bytes;
        self.left_out = LeftOut { lines: 0, bytes: left_out };
    }

    /// Leaves out what stands behind the last line end.
    pub(super) fn end_with_a_line(&mut self) {
        let whole = self.open.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        self.open.truncate(whole);
        self.long = None;
    }

    /// What there is, and what is missing in its middle.
    pub(super) fn finish(mut self) -> (Vec<u8>, LeftOut) {
        if let Some(length) = self.long.take() {
            self.end_long_line(length);
        }
        let mut left_out = self.left_out;
        let mut bytes = self.head;
        if let Some(sieve) = self.sieve {
            let (text, middle) = sieve.finish();
            bytes.extend_from_slice(text.as_bytes());
            left_out.lines += middle.lines;
            left_out.bytes += middle.bytes;
        }
        for block in self.tail {
            bytes.extend_from_slice(&block);
        }
        bytes.extend_from_slice(&self.open);
        (bytes, left_out)
    }

    /// Bytes that are kept now, the middle aside.
    fn size(&self) -> usize {
        self.head.len() + self.length + self.open.len()
    }

    /// Puts the lines that have come where they belong.
    fn settle(&mut self) {
        if self.open.len() >= self.block() {
            let whole = memchr::memrchr(b'\n', &self.open).map_or(0, |at| at + 1);
            if whole > 0 {
                let mut rest = Vec::with_capacity(self.open.len());
                rest.extend_from_slice(&self.open[whole..]);
                let mut block = std::mem::replace(&mut self.open, rest);
                block.truncate(whole);
                self.close(block);
            }
        }
        // Once the log is too long, its end has half of the room.
        let room = if self.sieve.is_some() { self.head.len() + self.most / 2 } else { self.most };
        while self.size() > room {
            self.begun = true;
            let Some(block) = self.tail.pop_front() else { break };
            self.length -= block.len();
            let (head, most) = (&self.head, self.most / 4);
            self.sieve.get_or_insert_with(|| Sieve::behind(head, most)).lines(&block);
        }
        if self.open.len() > self.most {
            self.long = Some(self.open.len() as u64);
            self.open = Vec::new();
        }
    }

    /// Takes in a block of whole lines.
    fn close(&mut self, mut block: Vec<u8>) {
        if !self.begun {
            let room = (self.most / 4).saturating_sub(self.head.len());
            if block.len() <= room {
                self.head.extend_from_slice(&block);
                return;
            }
            self.begun = true;
            let whole = memchr::memrchr(b'\n', &block[..room]).map_or(0, |at| at + 1);
            self.head.extend_from_slice(&block[..whole]);
            block.drain(..whole);
        }
        self.length += block.len();
        block.shrink_to_fit();
        self.tail.push_back(block);
    }

    fn block(&self) -> usize {
        BLOCK.min(self.most / 16)
    }

    /// Passes over the rest of a line that is too long; what follows it.
    fn rest_of_line<'a>(&mut self, length: u64, bytes: &'a [u8]) -> &'a [u8] {
        let Some(end) = memchr::memchr(b'\n', bytes) else {
            self.long = Some(length + bytes.len() as u64);
            return &[];
        };
        self.long = None;
        self.end_long_line(length + end as u64 + 1);
        &bytes[end + 1..]
    }

    /// A line that tells of it stands where the line stood.
    fn end_long_line(&mut self, length: u64) {
        self.left_out.lines += 1;
        self.left_out.bytes += length;
        self.open.extend_from_slice(LeftOut { lines: 1, bytes: length }.line().as_bytes());
        self.open.push(b'\n');
    }
}
