//! The quoted texts of a line around a place, found in one pass.

use memchr::memchr2;

use crate::values::Quote;

/// Goes through the quotes of a line from left to right.
pub(super) struct Strings<'a> {
    line: &'a str,
    /// Up to here quotes were looked at.
    at: usize,
    /// The texts that are open here: where each ends, and where the line goes on.
    open: Vec<(usize, usize)>,
}

impl<'a> Strings<'a> {
    pub(super) fn new(line: &'a str) -> Self {
        Self { line, at: 0, open: Vec::new() }
    }

    /// The end of the quoted text around a place, or the line's. Places come in order.
    pub(super) fn end_at(&mut self, place: usize) -> usize {
        let bytes = self.line.as_bytes();
        while let Some((_, next)) = self.open.pop_if(|(_, next)| *next <= place) {
            self.at = self.at.max(next);
        }
        while let Some(found) = bytes.get(self.at..place).and_then(|rest| memchr2(b'"', b'\'', rest)) {
            let mark = self.at + found;
            let before = &bytes[self.at..mark];
            self.at = mark + 1;
            // An apostrophe opens nothing.
            if bytes[mark] == b'\'' && before.last().is_some_and(u8::is_ascii_alphanumeric) {
                continue;
            }
            let backslashes = before.iter().rev().take(8).take_while(|byte| **byte == b'\\').count();
            let Some((quote, from)) = Quote::open(self.line, mark - backslashes) else { continue };
            let (end, next) = quote.close(self.line, from);
            if next > place {
                self.open.push((end, next));
            } else {
                self.at = next;
            }
        }
        self.open.iter().map(|(end, _)| *end).min().unwrap_or(self.line.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_lies_in_the_innermost_text_around_it() {
        let line = r#"{"msg":"x 'Prompt: who' \"and y\" it's","n":7}"#;
        let mut strings = Strings::new(line);
        let mut end_at = |word: &str| &line[..strings.end_at(line.find(word).unwrap())];
        assert!(end_at("x 'P").ends_with("it's"));
        assert!(end_at("Prompt").ends_with("who"));
        assert!(end_at("and y").ends_with("and y"));
        assert!(end_at("it's").ends_with("it's"));
        assert_eq!(end_at("7}"), line);
    }
}
