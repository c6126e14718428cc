//! Requests out of the bytes of a connection, whatever the pieces they come in.

use memchr::memmem;

use super::chunked::{Chunked, Progress};

/// Largest head of a request, in bytes.
const HEAD: usize = 64 * 1024;
/// Largest body of a request, in bytes.
const BODY: usize = 32 << 20;
/// Most header lines.
const LINES: usize = 128;
/// A buffer that grew beyond this many bytes is given back.
const KEEP: usize = 256 * 1024;

/// A whole request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) post: bool,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) x_request_id: Option<String>,
    pub(crate) keep_alive: bool,
    pub(crate) body: Vec<u8>,
}

/// Why the bytes are no request, and the status that says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bad {
    pub(crate) status: u16,
    pub(crate) why: &'static str,
}

/// The bytes of a connection that are not yet requests.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    buffer: Vec<u8>,
    /// Bytes in which no head ends.
    scanned: usize,
    open: Option<Open>,
}

/// A request whose head is read.
#[derive(Debug)]
struct Open {
    request: Request,
    body: Body,
    wants_continue: bool,
}

#[derive(Debug)]
enum Body {
    /// From here to there in the buffer.
    Sized {
        from: usize,
        to: usize,
    },
    Chunked(Chunked),
}

impl Reader {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Whether it holds as much as any request can have.
    pub(crate) fn is_full(&self) -> bool {
        self.buffer.len() > HEAD + 2 * BODY
    }

    /// The next whole request, if it has come.
    pub(crate) fn next(&mut self) -> Result<Option<Request>, Bad> {
        if self.open.is_none() {
            let Some(end) = self.head_end()? else { return Ok(None) };
            let head = self.buffer.get(..end).unwrap_or_default();
            self.open = Some(read_head(head)?);
        }
        let Some(open) = &mut self.open else { return Ok(None) };
        let end = match &mut open.body {
            Body::Sized { from, to } => {
                let Some(bytes) = self.buffer.get(*from..*to) else { return Ok(None) };
                open.request.body = bytes.to_vec();
                *to
            }
            Body::Chunked(chunked) => match chunked.advance(&self.buffer, BODY) {
                Ok(Progress::More) => {
                    // Small chunks are mostly frames; what is decoded need not be kept.
                    self.buffer.drain(..chunked.at);
                    chunked.at = 0;
                    return Ok(None);
                }
                Ok(Progress::Done) => {
                    open.request.body = std::mem::take(&mut chunked.body);
                    chunked.at
                }
                Err(why) => {
                    return Err(Bad { status: if why.contains("large") { 413 } else { 400 }, why });
                }
            },
        };
        self.drop_first(end);
        Ok(self.open.take().map(|open| open.request))
    }

    /// Whether the client waits to be told to send the body; true once a request.
    pub(crate) fn take_continue(&mut self) -> bool {
        self.open.as_mut().is_some_and(|open| std::mem::take(&mut open.wants_continue))
    }

    fn drop_first(&mut self, bytes: usize) {
        if bytes >= self.buffer.len() {
            self.buffer.clear();
        } else {
            self.buffer.drain(..bytes);
        }
        self.buffer.shrink_to(KEEP);
        self.scanned = 0;
    }

    /// Where the head ends, behind its empty line.
    fn head_end(&mut self) -> Result<Option<usize>, Bad> {
        // Empty lines between requests are allowed.
        let blank = self.buffer.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        if blank > 0 {
            self.drop_first(blank);
        }
        let from = self.scanned.saturating_sub(3);
        let found = memmem::find(self.buffer.get(from..).unwrap_or_default(), b"\r\n\r\n");
        let end = found.map(|at| from + at + 4);
        if end.unwrap_or(self.buffer.len()) > HEAD {
            return Err(Bad { status: 431, why: "the head is too large" });
        }
        self.scanned = self.buffer.len();
        Ok(end)
    }
}

fn read_head(head: &[u8]) -> Result<Open, Bad> {
    let bad = |why| Bad { status: 400, why };
    let mut lines = [httparse::EMPTY_HEADER; LINES];
    let mut parsed = httparse::Request::new(&mut lines);
    match parsed.parse(head) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) => return Err(bad("the head breaks off")),
        Err(httparse::Error::TooManyHeaders) => {
            return Err(Bad { status: 431, why: "too many header lines" });
        }
        Err(_) => return Err(bad("this is not HTTP")),
    }
    if parsed.version != Some(1) {
        return Err(Bad { status: 505, why: "only HTTP/1.1 is spoken here" });
    }
    let post = match parsed.method {
        Some("POST") => true,
        Some("GET") => false,
        _ => return Err(Bad { status: 405, why: "only GET and POST are known" }),
    };
    let target = parsed.path.unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut request = Request {
        post,
        path: path.to_owned(),
        query: query.to_owned(),
        x_request_id: None,
        keep_alive: true,
        body: Vec::new(),
    };
    let mut length = None;
    let mut chunked = false;
    let mut wants_continue = false;
    for line in parsed.headers.iter() {
        let value = || std::str::from_utf8(line.value).map(str::trim).unwrap_or_default();
        if line.name.eq_ignore_ascii_case("content-length") {
            let digits = value();
            let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            // More digits than a number has is a body that is too large.
            let bytes = if plain {
                digits.parse().unwrap_or(usize::MAX)
            } else {
                return Err(bad("Content-Length is no number"));
            };
            if length.replace(bytes).is_some_and(|before| before != bytes) {
                return Err(bad("two lengths"));
            }
        } else if line.name.eq_ignore_ascii_case("transfer-encoding") {
            if !value().eq_ignore_ascii_case("chunked") {
                return Err(bad("only chunked is known as Transfer-Encoding"));
            }
            chunked = true;
        } else if line.name.eq_ignore_ascii_case("connection") {
            request.keep_alive &= !value().to_ascii_lowercase().contains("close");
        } else if line.name.eq_ignore_ascii_case("expect") {
            wants_continue = value().eq_ignore_ascii_case("100-continue");
        } else if line.name.eq_ignore_ascii_case("x-request-id") {
            request.x_request_id = Some(value().to_owned());
        }
    }
    let from = head.len();
    let body = match (chunked, length) {
        (true, Some(_)) => return Err(bad("both a length and chunks")),
        (true, None) => Body::Chunked(Chunked::from(from)),
        (false, Some(length)) if length > BODY => {
            return Err(Bad { status: 413, why: "the body is too large" });
        }
        (false, length) => Body::Sized { from, to: from + length.unwrap_or(0) },
    };
    Ok(Open { request, body, wants_continue })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// All requests of some bytes that come in pieces of `step`.
    fn read(bytes: &[u8], step: usize) -> Result<Vec<Request>, Bad> {
        let mut reader = Reader::default();
        let mut requests = Vec::new();
        for piece in bytes.chunks(step.max(1)) {
            reader.push(piece);
            while let Some(request) = reader.next()? {
                requests.push(request);
            }
        }
        Ok(requests)
    }

    fn post(path: &str, body: &[u8], sizes: &[usize]) -> Vec<u8> {
        let mut out = format!("POST {path} HTTP/1.1\r\nX-Request-Id: r\r\n").into_bytes();
        if sizes.is_empty() {
            out.extend(format!("content-length: {}\r\n\r\n", body.len()).bytes());
            out.extend(body);
            return out;
        }
        out.extend(b"Transfer-Encoding: chunked\r\n\r\n");
        let mut rest = body;
        for size in sizes.iter().cycle() {
            let (piece, after) = rest.split_at((*size).clamp(1, rest.len().max(1)).min(rest.len()));
            if piece.is_empty() {
                break;
            }
            super::super::chunk(piece, &mut out);
            rest = after;
        }
        out.extend(b"0\r\nA: b\r\n\r\n");
        out
    }

    #[test]
    fn what_is_no_request_is_refused_with_its_status() {
        for (bytes, status) in [
            (&b"hello\r\n\r\n"[..], 400),
            (b"GET / HTTP/1.0\r\n\r\n", 505),
            (b"DELETE / HTTP/1.1\r\n\r\n", 405),
            (b"POST / HTTP/1.1\r\ncontent-length: 33554433\r\n\r\n", 413),
            (b"POST / HTTP/1.1\r\ncontent-length: 99999999999999999999999999\r\n\r\n", 413),
            (b"POST / HTTP/1.1\r\ncontent-length: -1\r\n\r\n", 400),
            (b"POST / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n", 400),
            (b"POST / HTTP/1.1\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n", 400),
            (b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nffffffffff\r\n", 413),
            (b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n+1\r\n", 400),
            (b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1\r\nabc\r\n", 400),
        ] {
            assert_eq!(read(bytes, 7).unwrap_err().status, status, "{}", String::from_utf8_lossy(bytes));
        }
        assert_eq!(read(&vec![b'a'; 70_000], 1000).unwrap_err().status, 431);
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(200));
        assert_eq!(read(many.as_bytes(), 9999).unwrap_err().status, 431);
    }

    proptest! {
        #[test]
        fn requests_are_the_same_in_any_pieces(
            bodies in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..300), prop::collection::vec(1_usize..50, 0..4)), 1..5),
            step in 1_usize..200,
        ) {
            let bytes: Vec<u8> = bodies.iter().flat_map(|(body, sizes)| post("/x?y=1", body, sizes)).collect();
            let requests = read(&bytes, step).unwrap();
            prop_assert_eq!(requests.len(), bodies.len());
            for (request, (body, _)) in requests.iter().zip(&bodies) {
                prop_assert_eq!(&request.body, body);
                prop_assert_eq!((request.path.as_str(), request.query.as_str()), ("/x", "y=1"));
            }
        }

        #[test]
        fn no_bytes_bring_it_down(noise in prop::collection::vec(any::<u8>(), 0..400), at in 0_usize..200, step in 1_usize..50) {
            let mut bytes = post("/v1/completions", b"{\"prompt\":\"a\"}", &[3]);
            let at = at.min(bytes.len());
            bytes.splice(at..at, noise);
            let whole = read(&bytes, bytes.len());
            let pieces = read(&bytes, step);
            // A request before the trouble is given either way; the trouble is the same.
            prop_assert_eq!(whole, pieces);
        }
    }
}
