//! Where a value ends: in quotes of any depth, in brackets, or bare.

use crate::records::text_end;

/// A quote as it stands in text: JSON within JSON escapes it with one backslash, then three, then seven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Quote {
    mark: u8,
    backslashes: usize,
}

impl Quote {
    /// The quote that opens at `at`, and where its text begins.
    pub(crate) fn open(line: &str, at: usize) -> Option<(Self, usize)> {
        let rest = line.as_bytes().get(at..)?;
        let backslashes = rest.iter().take(8).take_while(|byte| **byte == b'\\').count();
        let mark = *rest.get(backslashes).filter(|byte| matches!(byte, b'"' | b'\''))?;
        matches!(backslashes, 0 | 1 | 3 | 7).then_some((Self { mark, backslashes }, at + backslashes + 1))
    }

    /// The quote whose text begins at `at`.
    pub(crate) fn ending_at(line: &str, at: usize) -> Option<Self> {
        let before = &line.as_bytes()[..at];
        let (mark, before) = before.split_last()?;
        let backslashes = before.iter().rev().take(8).take_while(|byte| **byte == b'\\').count();
        matches!(mark, b'"' | b'\'').then_some(Self { mark: *mark, backslashes })
    }

    /// `"` or `'`.
    pub(crate) fn mark(self) -> u8 {
        self.mark
    }

    /// Whether people write the same mark between two letters.
    pub(crate) fn is_apostrophe(self) -> bool {
        self.mark == b'\'' && self.backslashes == 0
    }

    /// Whether JSON would quote like this.
    pub(crate) fn is_json(self) -> bool {
        self.mark == b'"' && self.backslashes == 0
    }

    /// Where the text that begins at `from` ends, and where the line goes on; both are the line's end where the quote
    /// is never closed.
    pub(crate) fn close(self, line: &str, from: usize) -> (usize, usize) {
        let bytes = line.as_bytes();
        let mut run = 0;
        for (i, byte) in bytes.iter().enumerate().skip(from) {
            match *byte {
                b'\\' => run += 1,
                byte if byte == self.mark => {
                    // Fewer backslashes than opened it close a string around it; others are part of the text.
                    if run < self.backslashes || run % (2 * (self.backslashes + 1)) == self.backslashes {
                        let kept = run.saturating_sub(self.backslashes);
                        let closing = run - kept;
                        return (i - closing, i + 1);
                    }
                    run = 0;
                }
                _ => run = 0,
            }
        }
        // In a record of docker's the text ends where the record's own text does.
        let end = text_end(line, from);
        (end, end)
    }
}

/// Behind the bracket that closes the one at `open`, strings skipped; the line's end where there is none.
pub(crate) fn close_bracket(line: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = open;
    let bytes = &line.as_bytes()[..text_end(line, open)];
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'[' | b'{' | b'(' => depth += 1,
            b']' | b'}' | b')' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            b'"' | b'\'' | b'\\' => {
                if let Some((quote, from)) = Quote::open(line, at) {
                    at = quote.close(line, from).1;
                    continue;
                }
            }
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// The texts of the strings between two places.
pub(crate) fn strings_in(line: &str, start: usize, end: usize) -> Vec<(usize, usize)> {
    let mut strings = Vec::new();
    let mut at = start;
    while at < end {
        match Quote::open(line, at) {
            Some((quote, from)) => {
                let (close, next) = quote.close(line, from);
                strings.push((from, close.min(end)));
                at = next;
            }
            None => at += 1,
        }
    }
    strings
}

/// The end of a bare value. A comma or a bracket ends it only where something else begins behind it: passwords have
/// commas in them.
pub(crate) fn bare(line: &str, from: usize) -> usize {
    let bytes = line.as_bytes();
    for (i, byte) in bytes.iter().enumerate().skip(from) {
        let ends = match byte {
            b' ' | b'\t' | b'\r' | b'\n' | 0 | b'"' | b'\'' | b'`' | b'<' | b'>' => true,
            b',' | b';' | b')' | b']' | b'}' | b'&' | b'|' | b'\\' => something_new(bytes, i + 1),
            _ => false,
        };
        if ends {
            return i;
        }
    }
    bytes.len()
}

/// The end of a bare value that may have several words, as passwords do: up to the next name, a separator or the end.
pub(crate) fn phrase(line: &str, from: usize) -> usize {
    let mut end = bare(line, from);
    while let Some(rest) = line[end..].strip_prefix(' ') {
        let next = bare(line, end + 1);
        let word = &line[end + 1..next];
        let is_name = word.contains(['=', ':']) || rest[word.len()..].starts_with([':', '=']);
        if word.is_empty() || is_name || !word.starts_with(|c: char| c.is_alphanumeric()) {
            break;
        }
        end = next;
    }
    end
}

/// The end of a query parameter's value.
pub(crate) fn parameter(line: &str, from: usize) -> usize {
    let stop = |byte: &u8| byte.is_ascii_whitespace() || b"&#\"'<>`\\".contains(byte) || *byte == 0;
    line.as_bytes()[from..].iter().position(stop).map_or(line.len(), |length| from + length)
}

/// Whether what follows a delimiter is no part of the value: nothing, a blank, a quote, or `name=`.
fn something_new(bytes: &[u8], at: usize) -> bool {
    let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) else { return true };
    if rest[0].is_ascii_whitespace() || b"\"'`,;)]}&|\\".contains(&rest[0]) {
        return true;
    }
    let name = rest.iter().take(40).take_while(|b| b.is_ascii_alphanumeric() || b"_-. ".contains(b)).count();
    name > 0 && matches!(rest.get(name), Some(b'=' | b':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quoted(line: &str) -> &str {
        let (quote, from) = Quote::open(line, 0).unwrap();
        &line[from..quote.close(line, from).0]
    }

    #[test]
    fn a_quote_closes_where_its_language_closes_it() {
        assert_eq!(quoted(r"'it\'s', params"), r"it\'s");
        assert_eq!(quoted(r#""a\\" b"#), r"a\\");
        assert_eq!(quoted(r#"\"a \\\"b\\\" c\" d""#), r#"a \\\"b\\\" c"#);
        assert_eq!(quoted(r#"\"cut short" rest"#), "cut short");
        assert_eq!(quoted("'never closed"), "never closed");
    }

    #[test]
    fn brackets_in_strings_do_not_count() {
        let line = "['a]', [1], \"b\"], next";
        assert_eq!(&line[close_bracket(line, 0)..], ", next");
        let strings: Vec<&str> = strings_in(line, 0, 17).into_iter().map(|(a, b)| &line[a..b]).collect();
        assert_eq!(strings, ["a]", "b"]);
    }

    #[test]
    fn a_bare_value_keeps_its_commas() {
        let value = |line: &str| line[..bare(line, 0)].to_owned();
        assert_eq!(value("hun,ter2, next=1"), "hun,ter2");
        assert_eq!(value("hunter2;Database=x"), "hunter2");
        assert_eq!(value("hunter2)"), "hunter2");
        assert_eq!(value("a&b c"), "a&b");
    }
}
