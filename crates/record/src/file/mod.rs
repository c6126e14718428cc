//! The file of a run: raw events in columns, block by block.
//!
//! `INTRIAGE-RUN 1\n`, then blocks: one byte of kind, the length of the payload and the CRC-32 of kind and payload (both 4
//! bytes, little endian), the payload. Kinds: `h` the header (JSON, first), `c` chunks, `r` ended requests, `f` the client's facts
//! (JSON, last). Numbers are LEB128; columns stand one after the other, each with its length, so that a reader can
//! skip one. Chunks of a request may lie in several blocks and come before the request's own row.
//!
//! A run that was killed ends inside a block or without `f`: everything before is whole.

mod columns;
mod read;
mod write;

pub use read::{ReadError, RunFile, read, read_header};
pub use write::Writer;

/// How every such file begins.
pub const MAGIC: &[u8] = b"INTRIAGE-RUN 1\n";

/// Bytes of a block at most: what a reader will allocate for one.
pub const MOST_BLOCK: usize = 64 << 20;

pub(crate) const HEADER: u8 = b'h';
pub(crate) const CHUNKS: u8 = b'c';
pub(crate) const REQUESTS: u8 = b'r';
pub(crate) const FACTS: u8 = b'f';

fn check_sum(kind: u8, payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&[kind]);
    hasher.update(payload);
    hasher.finalize()
}

#[cfg(test)]
mod tests;
