//! The chunked body of a request.

use memchr::memchr;

/// Longest line of a chunk's size or of a trailer, in bytes.
const LINE: usize = 4096;

/// What a look at the buffer gave.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// More bytes are needed.
    More,
    /// The body ended.
    Done,
}

/// A body on its way; keeps its place, so that no byte is looked at twice.
#[derive(Debug, Default)]
pub(super) struct Chunked {
    /// Where the next undecoded byte is, from the start of the buffer.
    pub(super) at: usize,
    /// Bytes left of the chunk that is being read.
    left: usize,
    state: State,
    pub(super) body: Vec<u8>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Size,
    Data,
    AfterData,
    Trailer,
}

impl Chunked {
    pub(super) fn from(at: usize) -> Self {
        Self { at, ..Self::default() }
    }

    /// Decodes what has come; the error is a sentence. `most` limits the body, in bytes.
    pub(super) fn advance(&mut self, buffer: &[u8], most: usize) -> Result<Progress, &'static str> {
        loop {
            let rest = buffer.get(self.at..).unwrap_or_default();
            if self.state == State::Data {
                let take = rest.len().min(self.left);
                self.body.extend_from_slice(rest.get(..take).unwrap_or_default());
                self.at += take;
                self.left -= take;
                if self.left > 0 {
                    return Ok(Progress::More);
                }
                self.state = State::AfterData;
                continue;
            }
            let Some(end) = memchr(b'\n', rest) else {
                return if rest.len() > LINE {
                    Err("a line of the chunked body is too long")
                } else {
                    Ok(Progress::More)
                };
            };
            if end > LINE {
                return Err("a line of the chunked body is too long");
            }
            let line = rest.get(..end).unwrap_or_default();
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            self.at += end + 1;
            self.state = match self.state {
                State::Size => {
                    self.left = size(line).ok_or("a chunk without a size")?;
                    if self.body.len().saturating_add(self.left) > most {
                        return Err("the body is too large");
                    }
                    if self.left == 0 { State::Trailer } else { State::Data }
                }
                State::AfterData if line.is_empty() => State::Size,
                State::Trailer if line.is_empty() => return Ok(Progress::Done),
                State::Trailer => State::Trailer,
                State::AfterData | State::Data => return Err("a chunk is longer than its size"),
            };
        }
    }
}

/// The size in a chunk's first line; extensions are ignored.
fn size(line: &[u8]) -> Option<usize> {
    let line = std::str::from_utf8(line).ok()?;
    let digits = line.split(';').next()?.trim();
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    usize::from_str_radix(digits, 16).ok()
}
