//! Answers of HTTP/1.1: the head, and a body by chunks, by length or up to the end of the connection.

use thiserror::Error;

use super::head::Head;

/// Bytes of a head at most.
const MOST_HEAD: usize = 64 << 10;
/// Header lines at most.
const MOST_LINES: usize = 100;
/// Bytes of the line that announces a chunk at most.
const MOST_CHUNK_LINE: usize = 4 << 10;

/// What is wrong with an answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HttpError {
    /// The head is not HTTP.
    #[error("the answer does not begin as HTTP does: {0}")]
    NotHttp(String),
    /// The head does not end.
    #[error("a head of more than {} KiB or {MOST_LINES} lines", MOST_HEAD >> 10)]
    HeadTooLong,
    /// A chunk is announced by something other than its length.
    #[error("a chunk whose length is not a number")]
    ChunkLength,
    /// A body in an encoding that was not asked for.
    #[error("the body is encoded as '{0}', which was not asked for")]
    Encoding(String),
}

/// Where an answer stands after a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// More is to come.
    More,
    /// It is complete; so many bytes of the piece belong to what follows.
    Done {
        /// Bytes left over.
        left: usize,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Head,
    /// So many bytes of the body are to come.
    Length(u64),
    /// Until the connection closes.
    Close,
    /// The line that announces a chunk.
    ChunkLine,
    /// So many bytes of the chunk are to come.
    Chunk(u64),
    /// The line end after a chunk.
    ChunkEnd,
    /// Lines after the last chunk; whether the present line is empty so far.
    Trailer {
        empty: bool,
    },
    Done,
}

/// Reads one answer after the other from pieces of a connection.
#[derive(Debug)]
pub struct Answer {
    state: State,
    buffer: Vec<u8>,
    line: usize,
    length: u64,
    digits: u8,
    extension: bool,
    /// What the head says.
    pub head: Head,
    /// The server will close the connection after this answer.
    pub closes: bool,
}

impl Default for Answer {
    fn default() -> Self {
        Self {
            state: State::Head,
            buffer: Vec::new(),
            line: 0,
            length: 0,
            digits: 0,
            extension: false,
            head: Head::default(),
            closes: false,
        }
    }
}

impl Answer {
    /// Ready for the next answer on the connection.
    pub fn reset(&mut self) {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        *self = Self { buffer, ..Self::default() };
    }

    /// Reads one more piece; `body` gets the status and parts of the body.
    pub fn read(
        &mut self,
        mut piece: &[u8],
        mut body: impl FnMut(u16, &[u8]),
    ) -> Result<Progress, HttpError> {
        loop {
            match self.state {
                State::Done => return Ok(Progress::Done { left: piece.len() }),
                // A body of no bytes is complete at once.
                State::Length(0) => self.state = State::Done,
                _ if piece.is_empty() => return Ok(Progress::More),
                State::Head => piece = self.head(piece)?,
                State::Length(left) => {
                    let (part, rest) = split(piece, left);
                    self.state = State::Length(left - part.len() as u64);
                    body(self.head.status, part);
                    piece = rest;
                }
                State::Close => {
                    body(self.head.status, piece);
                    piece = &[];
                }
                State::ChunkLine => piece = self.chunk_line(piece)?,
                State::Chunk(left) => {
                    let (part, rest) = split(piece, left);
                    let left = left - part.len() as u64;
                    self.state = if left == 0 { State::ChunkEnd } else { State::Chunk(left) };
                    body(self.head.status, part);
                    piece = rest;
                }
                State::ChunkEnd => {
                    // CRLF; some send LF alone.
                    match piece[0] {
                        b'\r' => {}
                        b'\n' => self.begin_chunk_line(),
                        _ => return Err(HttpError::ChunkLength),
                    }
                    piece = &piece[1..];
                }
                State::Trailer { empty } => {
                    match piece[0] {
                        b'\n' if empty => self.state = State::Done,
                        b'\n' => self.state = State::Trailer { empty: true },
                        b'\r' => {}
                        _ => self.state = State::Trailer { empty: false },
                    }
                    self.line += 1;
                    if self.line > MOST_HEAD {
                        return Err(HttpError::HeadTooLong);
                    }
                    piece = &piece[1..];
                }
            }
        }
    }

    /// The connection closed: whether the answer is complete by that.
    pub fn is_complete_at_close(&self) -> bool {
        matches!(self.state, State::Close | State::Done)
    }

    fn begin_chunk_line(&mut self) {
        (self.line, self.length, self.digits, self.extension) = (0, 0, 0, false);
        self.state = State::ChunkLine;
    }

    fn chunk_line<'a>(&mut self, mut piece: &'a [u8]) -> Result<&'a [u8], HttpError> {
        while let Some((&byte, rest)) = piece.split_first() {
            piece = rest;
            self.line += 1;
            if self.line > MOST_CHUNK_LINE {
                return Err(HttpError::ChunkLength);
            }
            match byte {
                b'\n' => {
                    if self.digits == 0 {
                        return Err(HttpError::ChunkLength);
                    }
                    self.state = if self.length == 0 {
                        self.line = 0;
                        State::Trailer { empty: true }
                    } else {
                        State::Chunk(self.length)
                    };
                    return Ok(piece);
                }
                b'\r' => {}
                b';' | b' ' | b'\t' => self.extension = true,
                _ if self.extension => {}
                _ => {
                    let digit = (byte as char).to_digit(16).ok_or(HttpError::ChunkLength)?;
                    self.digits = self.digits.saturating_add(1);
                    if self.digits > 15 {
                        return Err(HttpError::ChunkLength);
                    }
                    self.length = self.length << 4 | u64::from(digit);
                }
            }
        }
        Ok(piece)
    }

    fn head<'a>(&mut self, piece: &'a [u8]) -> Result<&'a [u8], HttpError> {
        let before = self.buffer.len();
        // Without a copy where the whole head is in one piece.
        if before == 0 {
            if let Some(length) = self.parse_head(piece)? {
                return Ok(&piece[length..]);
            }
            self.buffer.extend_from_slice(piece);
            return self.head_limit(&piece[piece.len()..]);
        }
        self.buffer.extend_from_slice(piece);
        let buffer = std::mem::take(&mut self.buffer);
        let parsed = self.parse_head(&buffer);
        self.buffer = buffer;
        match parsed? {
            Some(length) => {
                self.buffer.clear();
                Ok(&piece[length.saturating_sub(before)..])
            }
            None => self.head_limit(&piece[piece.len()..]),
        }
    }

    fn head_limit<'a>(&self, rest: &'a [u8]) -> Result<&'a [u8], HttpError> {
        if self.buffer.len() > MOST_HEAD { Err(HttpError::HeadTooLong) } else { Ok(rest) }
    }

    /// The length of the head, where it is whole.
    fn parse_head(&mut self, bytes: &[u8]) -> Result<Option<usize>, HttpError> {
        let mut lines = [httparse::EMPTY_HEADER; MOST_LINES];
        let mut head = httparse::Response::new(&mut lines);
        let length = match head.parse(bytes) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => return Err(HttpError::HeadTooLong),
            Err(why) => return Err(HttpError::NotHttp(why.to_string())),
        };
        let status = head.code.unwrap_or(0);
        if (100..200).contains(&status) {
            // An interim answer: the real one follows.
            return self.parse_head(&bytes[length..]).map(|rest| rest.map(|r| r + length));
        }
        self.head = Head { status, ..Head::default() };
        self.closes = head.version == Some(0);
        let (mut chunked, mut known) = (false, None);
        for line in head.headers.iter() {
            let is = |name: &str| line.name.eq_ignore_ascii_case(name);
            let value = || String::from_utf8_lossy(line.value).trim().to_owned();
            if is("transfer-encoding") {
                chunked = value().to_ascii_lowercase().contains("chunked");
            } else if is("content-length") {
                known = Some(
                    value()
                        .parse()
                        .map_err(|_| HttpError::NotHttp("its length is not a number".to_owned()))?,
                );
            } else if is("connection") {
                let value = value().to_ascii_lowercase();
                self.closes = value.contains("close") || (self.closes && !value.contains("keep-alive"));
            } else {
                self.head.line(line.name, line.value)?;
            }
        }
        match (chunked, known) {
            (true, _) => self.begin_chunk_line(),
            (false, _) if matches!(status, 204 | 304) => self.state = State::Length(0),
            (false, Some(length)) => self.state = State::Length(length),
            (false, None) => {
                self.state = State::Close;
                self.closes = true;
            }
        }
        Ok(Some(length))
    }
}

fn split(piece: &[u8], left: u64) -> (&[u8], &[u8]) {
    piece.split_at(usize::try_from(left).unwrap_or(usize::MAX).min(piece.len()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn read(pieces: &[&[u8]]) -> Result<(Vec<u8>, Progress, u16), HttpError> {
        let mut answer = Answer::default();
        let mut body = Vec::new();
        let mut progress = Progress::More;
        for piece in pieces {
            progress = answer.read(piece, |_, part| body.extend_from_slice(part))?;
        }
        Ok((body, progress, answer.head.status))
    }

    const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n06\r\n world\r\n0\r\nX: y\r\n\r\n";

    #[test]
    fn bodies_by_chunks_by_length_and_up_to_the_close() {
        let done = Progress::Done { left: 0 };
        assert_eq!(read(&[CHUNKED]).unwrap(), (b"hello world".to_vec(), done, 200));
        let length = b"HTTP/1.1 404 Not Found\r\ncontent-length: 3\r\n\r\nabcHTTP";
        assert_eq!(read(&[length]).unwrap(), (b"abc".to_vec(), Progress::Done { left: 4 }, 404));
        let empty = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
        assert_eq!(read(&[empty]).unwrap(), (Vec::new(), done, 200));
        let close = b"HTTP/1.0 200 OK\r\n\r\nabc";
        assert_eq!(read(&[close]).unwrap(), (b"abc".to_vec(), Progress::More, 200));
        let interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx";
        assert_eq!(read(&[interim]).unwrap(), (b"x".to_vec(), done, 200));
    }

    #[test]
    fn what_is_not_http_is_refused() {
        assert!(matches!(read(&[b"\x16\x03\x01garbage\r\n\r\n"]), Err(HttpError::NotHttp(_))));
        assert!(matches!(read(&[b"HTTP/1.1 abc\r\n\r\n"]), Err(HttpError::NotHttp(_))));
        let bad = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n";
        assert_eq!(read(&[bad]), Err(HttpError::ChunkLength));
        let long = vec![b'a'; 100_000];
        assert_eq!(read(&[b"HTTP/1.1 200 OK\r\nX: ", &long]), Err(HttpError::HeadTooLong));
        let gzip = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n";
        assert_eq!(read(&[gzip]), Err(HttpError::Encoding("gzip".to_owned())));
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(cuts in proptest::collection::vec(0usize..CHUNKED.len(), 0..8)) {
            let mut cuts = cuts;
            cuts.extend([0, CHUNKED.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|w| &CHUNKED[w[0]..w[1]]).collect();
            prop_assert_eq!(read(&pieces).unwrap(), (b"hello world".to_vec(), Progress::Done { left: 0 }, 200));
        }

        #[test]
        fn junk_never_panics(junk in proptest::collection::vec(any::<u8>(), 0..300), cut in 0usize..300) {
            let mut bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
            bytes.extend_from_slice(&junk);
            let (a, b) = bytes.split_at(cut.min(bytes.len()));
            let _ = read(&[a, b]);
            let _ = read(&[&junk]);
        }
    }
}
