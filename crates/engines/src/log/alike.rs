//! Lines that differ in one number alone, such as access lines of one path: what one of them holds, all of them hold.
//!
//! An access line is the most frequent line of all. `INFO:     10.0.0.1:59600 - "POST /v1/completions HTTP/1.1" 200 OK`
//! is a beginning, an address, and an end; the beginning and the end come again and again.

use memchr::memmem;

/// What stands behind the address of an access line.
const BEHIND: &[u8] = b" - \"";
/// Shapes that are remembered: the newest replace the oldest.
const MOST: usize = 8;
/// Shapes that are learned at most in one text: each costs a look at all texts.
const MOST_LEARNED: usize = 512;

/// Shapes of lines seen before, and the texts such lines hold.
#[derive(Default)]
pub(super) struct Alike {
    shapes: Vec<Shape>,
    latest: usize,
    learned: usize,
}

struct Shape {
    before: Box<[u8]>,
    behind: Box<[u8]>,
    held: Box<[usize]>,
}

impl Alike {
    /// The texts a line holds, where its shape is known.
    pub(super) fn held(&mut self, line: &[u8]) -> Option<&[usize]> {
        let fits = |shape: &Shape| shape.fits(line);
        if !self.shapes.get(self.latest).is_some_and(fits) {
            self.latest = self.shapes.iter().position(fits)?;
        }
        self.shapes.get(self.latest).map(|shape| &*shape.held)
    }

    /// Remembers what a line holds, where no address could change that.
    pub(super) fn learn(&mut self, line: &[u8], held: &[usize], texts: &[&str]) {
        if self.learned >= MOST_LEARNED {
            return;
        }
        let Some((before, behind)) = around_address(line) else { return };
        self.learned += 1;
        if texts.iter().any(|text| may_touch(text.as_bytes(), before, behind)) {
            return;
        }
        let shape = Shape { before: before.into(), behind: behind.into(), held: held.into() };
        self.latest = self.learned % MOST;
        if let Some(oldest) = self.shapes.get_mut(self.latest) {
            *oldest = shape;
        } else {
            self.latest = self.shapes.len();
            self.shapes.push(shape);
        }
    }
}

impl Shape {
    fn fits(&self, line: &[u8]) -> bool {
        let end = line.len().saturating_sub(self.behind.len());
        // The end first: lines of one server share their beginning.
        end > self.before.len()
            && line.ends_with(&self.behind)
            && line.starts_with(&self.before)
            && line[self.before.len()..end].iter().all(|byte| is_of_address(*byte))
    }
}

fn is_of_address(byte: u8) -> bool {
    matches!(byte, b'0'..=b':' | b'.')
}

/// What stands before and behind the address of an access line.
fn around_address(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memmem::find(line, BEHIND)?;
    let start = line[..end].iter().rposition(|byte| !is_of_address(*byte)).map_or(0, |at| at + 1);
    (start < end).then(|| (&line[..start], &line[end..]))
}

/// Whether a text could hold a part of some address between these two.
fn may_touch(text: &[u8], before: &[u8], behind: &[u8]) -> bool {
    (0..text.len()).any(|from| {
        let length = text[from..].iter().take_while(|byte| is_of_address(**byte)).count();
        // Of the address a part may be meant: its own start or end may stand outside the text.
        length > 0
            && before.ends_with(&text[..from])
            && (1..=length).any(|part| behind.starts_with(&text[from + part..]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &[u8] = b"INFO:     10.0.0.1:59600 - \"POST /v1/x HTTP/1.1\" 200 OK";

    #[test]
    fn a_line_with_another_address_is_alike_and_one_with_another_status_is_not() {
        let mut alike = Alike::default();
        assert_eq!(alike.held(LINE), None);
        alike.learn(LINE, &[3], &["Xid 79", "\"POST /"]);
        assert_eq!(alike.held(b"INFO:     127.0.0.1:1 - \"POST /v1/x HTTP/1.1\" 200 OK"), Some(&[3][..]));
        for other in [
            &b"INFO:     127.0.0.1:1 - \"POST /v1/x HTTP/1.1\" 500 OK"[..],
            b"INFO:     Xid 79 127.0.0.1:1 - \"POST /v1/x HTTP/1.1\" 200 OK",
            b"INFO:      - \"POST /v1/x HTTP/1.1\" 200 OK",
            b"INFO: - \"POST /v1/x HTTP/1.1\" 200 OK",
            b"",
        ] {
            assert_eq!(alike.held(other), None, "{}", String::from_utf8_lossy(other));
        }
    }

    #[test]
    fn where_a_text_could_begin_or_end_in_an_address_nothing_is_remembered() {
        for text in ["O:     4", "13:7 - \"POST", "10.0", " 1 - \"", "10.0.0.1"] {
            let mut alike = Alike::default();
            alike.learn(LINE, &[], &[text]);
            assert_eq!(alike.held(LINE), None, "{text}");
        }
    }
}
