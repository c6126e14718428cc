//! Bytes from a path or the standard input, but not without end.

use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// The largest file read, in bytes.
pub const LIMIT: u64 = 2 << 30;

/// What errors call this path.
pub(crate) fn name(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}

/// All bytes of a file; `-` is the standard input.
pub(crate) fn open(path: &Path) -> Result<Vec<u8>> {
    if path == Path::new("-") {
        return bounded(std::io::stdin().lock(), LIMIT);
    }
    bounded(std::fs::File::open(path)?, LIMIT)
}

/// All bytes of a reader that has at most `limit`.
pub(crate) fn bounded(from: impl Read, limit: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(Error::new(ErrorKind::FileTooLarge, format!("larger than {limit} bytes")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_never_ends_is_refused() {
        assert_eq!(bounded(&b"12345"[..], 5).unwrap(), b"12345");
        assert_eq!(bounded(std::io::repeat(7), 5).unwrap_err().to_string(), "larger than 5 bytes");
    }
}
