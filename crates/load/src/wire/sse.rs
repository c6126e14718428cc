//! Server-sent events by the standard (WHATWG HTML §9.2.6): any line end, comments, several events a read, lines and
//! characters split anywhere, several data lines an event.

use memchr::memchr2;
use thiserror::Error;

/// Bytes of a line, or of an event's data, at most: a server that never ends its line must not fill the memory.
pub const MOST_LINE: usize = 16 << 20;

/// One event of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event<'a> {
    /// Its `event` field; empty where it has none.
    pub name: &'a [u8],
    /// Its data lines, joined by line feeds.
    pub data: &'a [u8],
    /// Bytes it took in the body, line ends and comments before it included.
    pub bytes: usize,
}

/// A line or an event over [`MOST_LINE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a line of more than {} MiB", MOST_LINE >> 20)]
pub struct LineTooLong;

/// Reads events from pieces of a body.
#[derive(Debug, Default)]
pub struct Events {
    /// A line whose end has not come yet.
    partial: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    name: Vec<u8>,
    /// Bytes since the last event.
    bytes: usize,
    /// The last byte was a carriage return: a line feed that follows belongs to it.
    after_return: bool,
    begun: bool,
}

impl Events {
    /// Reads one more piece of the body; `each` gets every event that is complete.
    pub fn read(&mut self, mut piece: &[u8], mut each: impl FnMut(Event<'_>)) -> Result<(), LineTooLong> {
        while !piece.is_empty() {
            if self.after_return {
                self.after_return = false;
                if piece[0] == b'\n' {
                    piece = &piece[1..];
                    self.bytes += 1;
                    continue;
                }
            }
            let Some(end) = memchr2(b'\n', b'\r', piece) else {
                if self.partial.len() + piece.len() > MOST_LINE {
                    return Err(LineTooLong);
                }
                self.bytes += piece.len();
                self.partial.extend_from_slice(piece);
                return Ok(());
            };
            self.after_return = piece[end] == b'\r';
            let (line, rest) = (&piece[..end], &piece[end + 1..]);
            self.bytes += end + 1;
            // The common case, without a copy: one whole data line and the empty line that ends the event.
            if rest.first() == Some(&b'\n')
                && !self.after_return
                && self.is_between()
                && line.starts_with(b"data:")
                && self.begun
            {
                let data = field_value(&line[5..]);
                each(Event { name: &[], data, bytes: self.bytes + 1 });
                self.bytes = 0;
                piece = &rest[1..];
                continue;
            }
            if self.partial.is_empty() {
                self.line(line, &mut each)?;
            } else {
                let mut whole = std::mem::take(&mut self.partial);
                whole.extend_from_slice(line);
                self.line(&whole, &mut each)?;
                whole.clear();
                self.partial = whole;
            }
            piece = rest;
        }
        Ok(())
    }

    /// Bytes that came since the last whole event: a stream that ends here was cut.
    pub fn pending(&self) -> usize {
        if self.is_between() { 0 } else { self.bytes }
    }

    /// Ready for the next stream.
    pub fn reset(&mut self) {
        self.partial.clear();
        self.data.clear();
        self.name.clear();
        (self.has_data, self.bytes, self.after_return, self.begun) = (false, 0, false, false);
    }

    fn is_between(&self) -> bool {
        self.partial.is_empty() && !self.has_data && self.name.is_empty()
    }

    fn line(&mut self, mut line: &[u8], each: &mut impl FnMut(Event<'_>)) -> Result<(), LineTooLong> {
        if !self.begun {
            // A byte order mark may stand before everything.
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
            self.begun = true;
        }
        if line.is_empty() {
            if self.has_data {
                each(Event { name: &self.name, data: &self.data, bytes: self.bytes });
                self.data.clear();
                self.has_data = false;
                self.bytes = 0;
            }
            self.name.clear();
            return Ok(());
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], field_value(&line[colon + 1..])),
            None => (line, &line[line.len()..]),
        };
        match field {
            b"data" => {
                if self.data.len() + value.len() > MOST_LINE {
                    return Err(LineTooLong);
                }
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            b"event" => {
                self.name.clear();
                self.name.extend_from_slice(value);
            }
            // Comments (an empty field), ids and retry times say nothing about the answer.
            _ => {}
        }
        Ok(())
    }
}

/// One blank after the colon belongs to the syntax.
fn field_value(value: &[u8]) -> &[u8] {
    value.strip_prefix(b" ").unwrap_or(value)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn all(pieces: &[&[u8]]) -> Vec<(String, String)> {
        let mut events = Events::default();
        let mut seen = Vec::new();
        for piece in pieces {
            events
                .read(piece, |e| {
                    seen.push((
                        String::from_utf8_lossy(e.name).into_owned(),
                        String::from_utf8_lossy(e.data).into_owned(),
                    ));
                })
                .unwrap();
        }
        seen
    }

    /// A stream, and the events (name, data) the standard says it holds.
    type Case = (&'static str, &'static [u8], &'static [(&'static str, &'static str)]);

    /// The conformance corpus.
    const CORPUS: &[Case] = &[
        ("one event", b"data: a\n\n", &[("", "a")]),
        ("no blank after the colon", b"data:a\n\n", &[("", "a")]),
        ("only one blank belongs to the syntax", b"data:  a\n\n", &[("", " a")]),
        ("several events a read", b"data: a\n\ndata: b\n\ndata: c\n\n", &[("", "a"), ("", "b"), ("", "c")]),
        ("CRLF", b"data: a\r\n\r\ndata: b\r\n\r\n", &[("", "a"), ("", "b")]),
        ("CR alone", b"data: a\r\rdata: b\r\r", &[("", "a"), ("", "b")]),
        ("line ends mixed", b"data: a\n\r\ndata: b\r\n\ndata: c\r\n\r\n", &[("", "a"), ("", "b"), ("", "c")]),
        ("several data lines", b"data: YHOO\ndata: +2\ndata: 10\n\n", &[("", "YHOO\n+2\n10")]),
        ("an empty data line is a line", b"data\ndata\n\n", &[("", "\n")]),
        ("data without a colon is empty data", b"data\n\n", &[("", "")]),
        ("empty data is an event", b"data:\n\n", &[("", "")]),
        ("a comment before", b": ping\n\ndata: a\n\n", &[("", "a")]),
        ("a comment inside", b"data: a\n: ping\ndata: b\n\n", &[("", "a\nb")]),
        ("comments alone are no event", b":\n\n:\n\n: x\n\n", &[]),
        ("a name", b"event: error\ndata: {}\n\n", &[("error", "{}")]),
        ("a name lasts for one event", b"event: error\ndata: 1\n\ndata: 2\n\n", &[("error", "1"), ("", "2")]),
        ("a name without data is no event", b"event: ping\n\ndata: a\n\n", &[("", "a")]),
        ("the last name counts", b"event: a\nevent: b\ndata: x\n\n", &[("b", "x")]),
        ("ids and retry times are skipped", b"id: 1\nretry: 3000\ndata: a\n\n", &[("", "a")]),
        ("unknown fields are skipped", b"foo: bar\nbaz\ndata: a\n\n", &[("", "a")]),
        ("field names are exact", b" data: x\nData: y\ndata : z\ndata: a\n\n", &[("", "a")]),
        ("colons in the value", b"data: a: b: c\n\n", &[("", "a: b: c")]),
        ("a byte order mark", b"\xef\xbb\xbfdata: a\n\n", &[("", "a")]),
        ("a byte order mark later is no syntax", b"data: a\n\n\xef\xbb\xbfdata: b\n\n", &[("", "a")]),
        ("an event that is not ended is none", b"data: a\n\ndata: b\n", &[("", "a")]),
        ("a line that is not ended is none", b"data: a\n\ndata: b", &[("", "a")]),
        ("blank lines between", b"\n\n\ndata: a\n\n\n\n", &[("", "a")]),
        ("UTF-8", "data: grüße 你好\n\n".as_bytes(), &[("", "grüße 你好")]),
        ("two streams' end marker", b"data: [DONE]\n\n", &[("", "[DONE]")]),
    ];

    #[test]
    fn the_corpus_is_read_as_the_standard_says() {
        for (name, stream, events) in CORPUS {
            let expected: Vec<_> = events.iter().map(|(n, d)| ((*n).to_owned(), (*d).to_owned())).collect();
            assert_eq!(all(&[stream]), expected, "{name}: in one piece");
            let bytes: Vec<&[u8]> = stream.chunks(1).collect();
            assert_eq!(all(&bytes), expected, "{name}: byte by byte");
        }
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(which in 0..CORPUS.len(), cuts in proptest::collection::vec(0usize..60, 0..6)) {
            let stream = CORPUS[which].1;
            let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(stream.len())).collect();
            cuts.extend([0, stream.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|w| &stream[w[0]..w[1]]).collect();
            prop_assert_eq!(all(&pieces), all(&[stream]));
        }

        #[test]
        fn every_byte_belongs_to_an_event_or_is_pending(stream in proptest::collection::vec(proptest::sample::select(b"data: x\r\n".to_vec()), 0..200)) {
            let mut events = Events::default();
            let mut counted = 0;
            events.read(&stream, |e| counted += e.bytes).unwrap();
            prop_assert!(counted + events.bytes == stream.len());
        }
    }

    #[test]
    fn a_line_that_never_ends_is_refused() {
        let mut events = Events::default();
        let piece = vec![b'x'; 1 << 20];
        let read = (0..20).try_for_each(|_| events.read(&piece, |_| ()));
        assert_eq!(read, Err(LineTooLong));
    }

    #[test]
    fn a_cut_event_is_seen() {
        let mut events = Events::default();
        events.read(b"data: a\n\ndata: b", |_| ()).unwrap();
        assert!(events.pending() > 0);
        events.reset();
        assert_eq!(events.pending(), 0);
    }
}
