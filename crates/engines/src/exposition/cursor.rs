//! A position in one line, and the few moves the grammar needs.

use super::problem::ProblemKind;

/// Reading stops at byte `at` of the line. The driver turns this into a [`super::Problem`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stop {
    pub(super) at: usize,
    pub(super) what: ProblemKind,
}

/// Walks over one line (without its line end). It steps over single bytes only where they are ASCII, and stops only
/// where a character begins, so every cut it makes is a valid one.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'a> {
    line: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(line: &'a str) -> Self {
        Self { line, at: 0 }
    }

    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// The line from byte `start` to here.
    #[inline]
    pub(super) fn since(&self, start: usize) -> &'a str {
        self.line.get(start..self.at).unwrap_or_default()
    }

    /// What is left of the line.
    #[inline]
    pub(super) fn rest(&self) -> &'a str {
        self.line.get(self.at..).unwrap_or_default()
    }

    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.line.as_bytes().get(self.at).copied()
    }

    pub(super) fn at_end(&self) -> bool {
        self.at >= self.line.len()
    }

    /// Steps over `byte` if it is next.
    #[inline]
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    #[inline]
    pub(super) fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
    }

    /// Takes the bytes up to the first that is not in `class`, or to the end of the line.
    #[inline]
    pub(super) fn take_while(&mut self, class: impl Fn(u8) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.bytes().position(|byte| !class(byte)).unwrap_or(rest.len());
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    /// Takes everything up to the next blank.
    #[inline]
    pub(super) fn take_word(&mut self) -> &'a str {
        self.take_while(|byte| byte != b' ' && byte != b'\t')
    }

    /// Takes a quoted string, from behind its opening quote to behind its closing one, and returns what is
    /// between them, escapes and all. `None` if the line ends first; the position is then of no use.
    #[inline]
    pub(super) fn take_quoted(&mut self) -> Option<&'a str> {
        let start = self.at;
        loop {
            self.take_while(|byte| byte != b'"' && byte != b'\\');
            if self.peek()? == b'"' {
                break;
            }
            // A quote or backslash behind this backslash is escaped; anything else is stepped over like the rest.
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'"' | b'\\')));
        }
        let text = self.since(start);
        self.at += 1;
        Some(text)
    }

    #[inline]
    pub(super) fn stop(&self, what: ProblemKind) -> Stop {
        Stop { at: self.at, what }
    }
}

/// Whether a byte may stand in an unquoted label name.
#[inline]
pub(super) fn is_label_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Takes a metric name without quotes. `known` is the name that was taken like this before, or empty: where the
/// text begins with it, as the lines of one family do, comparing is several times faster than looking at each byte.
#[inline]
pub(super) fn take_bare_name<'a>(cursor: &mut Cursor<'a>, known: &mut &'a str) -> Result<&'a str, Stop> {
    let start = cursor.position();
    if cursor.rest().starts_with(*known) {
        cursor.at += known.len();
    }
    cursor.take_while(|byte| is_label_byte(byte) || byte == b':');
    let name = cursor.since(start);
    if name.bytes().next().is_none_or(|byte| byte.is_ascii_digit()) {
        return Err(Stop { at: start, what: ProblemKind::NameExpected });
    }
    *known = name;
    Ok(name)
}

/// Takes a metric name in quotes, which may hold any characters.
pub(super) fn take_quoted_name<'a>(cursor: &mut Cursor<'a>) -> Result<&'a str, Stop> {
    let at = cursor.position();
    if !cursor.eat(b'"') {
        return Err(Stop { at, what: ProblemKind::NameExpected });
    }
    match cursor.take_quoted() {
        Some("") => Err(Stop { at, what: ProblemKind::NameExpected }),
        Some(name) => Ok(name),
        None => Err(Stop { at, what: ProblemKind::NameNotClosed }),
    }
}
