//! A server of HTTP/2 that writes its frames by hand, to say what no library would.
#![allow(dead_code, clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::TcpStream;

pub(crate) const INTERNAL_ERROR: u32 = 2;
pub(crate) const REFUSED_STREAM: u32 = 7;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const ACK: u8 = 1;

/// A connection with a client.
pub(crate) struct Frames(pub(crate) TcpStream);

impl Frames {
    /// Reads the client's greeting and sends settings.
    pub(crate) fn accept(stream: TcpStream) -> Self {
        let mut frames = Self(stream);
        let mut preface = [0; 24];
        frames.0.read_exact(&mut preface).unwrap();
        assert_eq!(&preface, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        frames.write(SETTINGS, 0, 0, &[]);
        frames
    }

    /// The stream of the next whole request; `None` when the client has gone.
    pub(crate) fn request(&mut self) -> Option<u32> {
        loop {
            let (kind, flags, stream) = self.read()?;
            match kind {
                SETTINGS if flags & ACK == 0 => self.write(SETTINGS, ACK, 0, &[]),
                DATA | HEADERS if flags & END_STREAM != 0 => return Some(stream),
                _ => {}
            }
        }
    }

    /// Waits for the client to give up this stream.
    pub(crate) fn given_up(&mut self) -> Option<u32> {
        loop {
            if let (RST_STREAM, _, stream) = self.read()? {
                return Some(stream);
            }
        }
    }

    pub(crate) fn head(&mut self, stream: u32) {
        // The first entry of the fixed table with a status: 200.
        self.write(HEADERS, END_HEADERS, stream, &[0x88]);
    }

    pub(crate) fn data(&mut self, stream: u32, data: &str, last: bool) {
        self.write(DATA, if last { END_STREAM } else { 0 }, stream, data.as_bytes());
    }

    /// A whole answer.
    pub(crate) fn answer(&mut self, stream: u32, tokens: u32) {
        self.head(stream);
        for event in super::events(tokens) {
            self.data(stream, &event, false);
        }
        self.data(stream, "", true);
    }

    pub(crate) fn reset(&mut self, stream: u32, reason: u32) {
        self.write(RST_STREAM, 0, stream, &reason.to_be_bytes());
    }

    pub(crate) fn go_away(&mut self, last: u32, reason: u32) {
        let said: Vec<u8> = last.to_be_bytes().into_iter().chain(reason.to_be_bytes()).collect();
        self.write(GOAWAY, 0, 0, &said);
    }

    fn read(&mut self) -> Option<(u8, u8, u32)> {
        let mut head = [0; 9];
        self.0.read_exact(&mut head).ok()?;
        let mut payload =
            vec![0; usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2])];
        self.0.read_exact(&mut payload).ok()?;
        Some((head[3], head[4], u32::from_be_bytes([head[5], head[6], head[7], head[8]])))
    }

    fn write(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
        frame.extend([kind, flags]);
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        // A client that has gone is seen where its frames are read.
        let _ = self.0.write_all(&frame);
    }
}
