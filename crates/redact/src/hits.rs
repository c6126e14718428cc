//! What was found in a line, and the line without it.

use std::sync::LazyLock;

use regex::Regex;

use crate::pseudonyms::{Kind, Pseudonyms};

/// What stands where a secret stood.
pub(crate) const MASK: &str = "[redacted]";

/// What is put where something was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum With {
    /// `[redacted]`.
    Mask,
    /// `[412 characters]`, in quotes of its own where JSON needs them.
    Characters { quoted: bool },
    /// `[17 ids]`, likewise.
    Ids { quoted: bool },
    /// A pseudonym.
    Pseudonym(Kind),
}

/// A found part of a line, as a byte range at character boundaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) with: With,
    /// The name of the rule that found it.
    pub(crate) rule: &'static str,
}

/// The line with every hit replaced; `None` where nothing is left to replace. `plain` is the line without its colours.
pub(crate) fn replace(
    line: &str,
    plain: &str,
    hits: &mut Vec<Hit>,
    pseudonyms: &mut Pseudonyms,
) -> Option<String> {
    settle(plain, hits);
    if hits.is_empty() {
        return None;
    }
    let mut text = String::with_capacity(line.len());
    let mut done = 0;
    for hit in hits.iter() {
        text.push_str(&line[done..hit.start]);
        push(&mut text, hit.with, &plain[hit.start..hit.end], pseudonyms);
        done = hit.end;
    }
    text.push_str(&line[done..]);
    Some(text)
}

fn push(text: &mut String, with: With, original: &str, pseudonyms: &mut Pseudonyms) {
    let (count, unit, quoted) = match with {
        With::Mask => return text.push_str(MASK),
        With::Pseudonym(kind) => return text.push_str(&pseudonyms.of(kind, original)),
        With::Characters { quoted } => (original.chars().count(), "characters", quoted),
        With::Ids { quoted } => (numbers_in(original), "ids", quoted),
    };
    let quote = if quoted { "\"" } else { "" };
    text.extend([quote, "[", &count.to_string(), " ", unit, "]", quote]);
}

/// How many numbers a list of ids holds.
fn numbers_in(list: &str) -> usize {
    list.split(|c: char| !c.is_ascii_digit()).filter(|number| !number.is_empty()).count()
}

/// Sorts the hits, joins those that overlap, and drops those that hide nothing new.
fn settle(line: &str, hits: &mut Vec<Hit>) {
    if hits.is_empty() {
        return;
    }
    let marks = marks(line);
    hits.sort_by(|a, b| a.start.cmp(&b.start).then(b.end.cmp(&a.end)));
    let mut settled: Vec<Hit> = Vec::with_capacity(hits.len());
    let mut next_mark = 0;
    for mut hit in hits.drain(..) {
        while marks.get(next_mark).is_some_and(|mark| mark.1 <= hit.start) {
            next_mark += 1;
        }
        let mut touched = marks[next_mark..].iter().take_while(|mark| mark.0 < hit.end);
        if let Some(first) = touched.next() {
            if first.0 <= hit.start && hit.end <= first.1 {
                continue;
            }
            // A mask is hidden whole or not at all.
            let last = touched.last().unwrap_or(first);
            (hit.start, hit.end) = (hit.start.min(first.0), hit.end.max(last.1));
            if nothing_but_marks(line, &marks[next_mark..], hit) {
                continue;
            }
        }
        match settled.last_mut() {
            Some(last) if hit.start < last.end => {
                if hit.end > last.end {
                    (last.end, last.with) = (hit.end, With::Mask);
                }
            }
            _ => settled.push(hit),
        }
    }
    *hits = settled;
}

fn nothing_but_marks(line: &str, marks: &[(usize, usize)], hit: Hit) -> bool {
    let mut at = hit.start;
    let blank = |text: &str| text.chars().all(|c| c.is_whitespace() || c == '"' || c == '\'');
    for mark in marks.iter().take_while(|mark| mark.0 < hit.end) {
        if mark.0 > at && !blank(&line[at..mark.0]) {
            return false;
        }
        at = mark.1.max(at);
    }
    at >= hit.end || blank(&line[at..hit.end])
}

/// Where masks and pseudonyms stand already: these are never touched again.
fn marks(line: &str) -> Vec<(usize, usize)> {
    #[expect(clippy::expect_used, reason = "the pattern is a constant that a test compiles")]
    static MARK: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"\[redacted\]|\[[0-9]+ (?:characters|ids)\]|(?:ip|host|mail|user)-[1-9][0-9]{0,8}")
            .expect("a pattern")
    });
    MARK.find_iter(line)
        .filter(|found| found.as_str().starts_with('[') || stands_alone(line, found.start(), found.end()))
        .map(|found| (found.start(), found.end()))
        .collect()
}

/// Whether a mask is all there is.
pub(crate) fn is_mask(text: &str) -> bool {
    matches!(marks(text)[..], [(0, end)] if end == text.len()) && text.starts_with('[')
}

/// Where the mask begins that ends a text.
pub(crate) fn ends_in_mask(text: &str) -> Option<usize> {
    let start = text.ends_with(']').then(|| text.rfind('['))??;
    is_mask(&text[start..]).then_some(start)
}

/// `host-1`, but not the beginning of `host-1.example.com` or `ip-10-0-0-1`.
fn stands_alone(line: &str, start: usize, end: usize) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let bytes = line.as_bytes();
    let before = start.checked_sub(1).map(|i| bytes[i]);
    let after = bytes.get(end).copied();
    let joined_before = before.is_some_and(|byte| word(byte) || byte == b'.');
    let joined_after = match after {
        Some(b'.') => bytes.get(end + 1).copied().is_some_and(word),
        other => other.is_some_and(word),
    };
    !joined_before && !joined_after
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(start: usize, end: usize, with: With) -> Hit {
        Hit { start, end, with, rule: "test" }
    }

    fn replaced(line: &str, mut hits: Vec<Hit>) -> Option<String> {
        replace(line, line, &mut hits, &mut Pseudonyms::default())
    }

    #[test]
    fn hits_that_overlap_hide_all_that_either_hides() {
        let host = With::Pseudonym(Kind::Host);
        assert_eq!(replaced("abcdef", vec![hit(1, 3, host), hit(2, 5, With::Mask)]).unwrap(), "a[redacted]f");
        assert_eq!(replaced("abcdef", vec![hit(1, 5, host), hit(2, 3, With::Mask)]).unwrap(), "ahost-1f");
    }

    #[test]
    fn what_is_masked_already_is_left_alone() {
        for line in ["[redacted]", "[12 characters]", "[3 ids]", "host-1", "user-12"] {
            assert_eq!(replaced(line, vec![hit(0, line.len(), With::Mask)]), None, "{line}");
        }
        let inside = "key=[redacted]";
        assert_eq!(replaced(inside, vec![hit(5, 8, With::Mask)]), None);
        assert_eq!(replaced(inside, vec![hit(0, 8, With::Mask)]).unwrap(), "[redacted]");
        assert_eq!(replaced("ip-10-0-0-1", vec![hit(0, 11, With::Mask)]).unwrap(), "[redacted]");
        assert_eq!(replaced("host-1.example.com", vec![hit(0, 18, With::Mask)]).unwrap(), "[redacted]");
    }

    #[test]
    fn lengths_are_counted_in_characters_and_ids_in_numbers() {
        let all = |line: &str, with| replaced(line, vec![hit(0, line.len(), with)]).unwrap();
        assert_eq!(all("grüß", With::Characters { quoted: false }), "[4 characters]");
        assert_eq!(all("[1, 22, 3]", With::Ids { quoted: false }), "[3 ids]");
        assert_eq!(all("1,2", With::Ids { quoted: true }), "\"[2 ids]\"");
    }
}
