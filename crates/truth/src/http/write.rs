//! Answers in HTTP/1.1.

use std::io::Write as _;

/// Appends bytes as one chunk of a chunked body; nothing for no bytes, which would end it.
pub(crate) fn chunk(bytes: &[u8], out: &mut Vec<u8>) {
    if bytes.is_empty() {
        return;
    }
    let _ = write!(out, "{:x}\r\n", bytes.len());
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

/// A complete answer; `headers` are lines with their ends.
pub(crate) fn response(status: u16, kind: &str, headers: &str, body: &[u8], out: &mut Vec<u8>) {
    let phrase = phrase(status);
    let length = body.len();
    let _ = write!(
        out,
        "HTTP/1.1 {status} {phrase}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{headers}\r\n"
    );
    out.extend_from_slice(body);
}

fn phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        413 => "Content Too Large",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "Status",
    }
}
