//! Values that stand on the lines below their name: the next word of a command, a block of YAML, a list of JSON.

use crate::hits::{Hit, With, is_mask};
use crate::looks;
use crate::names::{self, Meaning};
use crate::rules::Extent;
use crate::values;
use crate::yaml::{behind_marks, indent, is_block};

/// What the line before has left open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Below {
    /// A flag that takes a secret: the next line is its value, as `docker inspect` and `kubectl describe` write it.
    Word,
    /// A secret's name and a colon: what is further in is its value.
    Value { indent: usize },
    /// A block of YAML that is a secret: all lines that are further in.
    Block { indent: usize },
    /// A list of JSON whose texts are secrets, or prompts.
    List { secret: bool },
    /// So many lines of a key, as PuTTY writes it.
    Lines(u16),
}

/// Quotes, and what stands before them in docker's records.
const QUOTES: [char; 3] = ['"', '\'', '\\'];

/// The row that hides a value below its name.
const RULE: &str = "value-below";

impl Below {
    /// What a line leaves open.
    pub(crate) fn opened(line: &str, keep_prompts: bool) -> Option<Self> {
        let text = line.trim_end().trim_end_matches(',');
        match text.as_bytes().last()? {
            b':' => {
                let quoted = text[..text.len() - 1].trim_start_matches([' ', '\t', '-']);
                let name = bare_name(quoted)?;
                // JSON's `"token":` has a text below it.
                let text = quoted.ends_with('"') && named(name) == Some(Meaning::Text);
                (text || is_secret(name)).then(|| Self::Value { indent: indent(line) })
            }
            b'[' => {
                let name = text[..text.len() - 1].trim_end().trim_end_matches([':', '=']).trim();
                list(name, keep_prompts)
            }
            b'|' | b'>' | b'-' | b'+' | b'0'..=b'9' if text.contains(": ") => {
                let (name, value) = text.split_once(": ")?;
                let name = bare_name(name.trim_start_matches([' ', '\t', '-']))?;
                let opens = is_block(behind_marks(value)) && is_secret(name);
                let lines =
                    || (name == "Private-Lines").then(|| value.trim().parse().ok().map(Self::Lines))?;
                if opens { Some(Self::Block { indent: indent(line) }) } else { lines() }
            }
            _ => {
                let word = text.trim_start_matches([' ', '\t']).trim_start_matches("- ");
                let flag = bare_name(word).filter(|word| word.starts_with("--") && word.len() > 2)?;
                let takes_one = is_secret(flag) || matches!(named(flag), Some(Meaning::Text));
                takes_one.then_some(Self::Word)
            }
        }
    }

    /// Adds what of this line is a value of what was opened.
    pub(crate) fn find(self, line: &str, hits: &mut Vec<Hit>) {
        let body = line.trim();
        let mut push = |start: usize, end: usize, with: With| {
            if start < end && !looks::empty(&line[start..end]) {
                hits.push(Hit { start, end, with, rule: RULE });
            }
        };
        let (start, end) = (line.len() - line.trim_start().len(), line.trim_end().len());
        match self {
            _ if body.is_empty() => {}
            Self::Word => {
                let (start, end) = word(line, start, end);
                if !line[start..end].starts_with('-') && !line[start..end].contains([' ', '=', ':']) {
                    push(start, end, With::Mask);
                }
            }
            Self::Value { indent: outer } => {
                let (from, end) = word(line, start, end);
                let value = &line[from..end];
                let alone = !value.contains([' ', ':', '{', '[', '=']) || is_quoted(line.trim());
                if start > outer && alone && !value.starts_with('-') {
                    push(from, end, With::Mask);
                }
            }
            // Behind the blanks alone: `---` ends a block.
            Self::Block { indent: outer } if start > outer => push(start, end, With::Mask),
            Self::Lines(_) => push(start, end, With::Mask),
            Self::List { secret } => {
                let numbers = body.trim_end_matches(',');
                if !secret && numbers.bytes().all(|b| b.is_ascii_digit() || matches!(b, b' ' | b',')) {
                    return push(start, start + numbers.len(), With::Ids { quoted: true });
                }
                if body.starts_with(QUOTES) {
                    let with = if secret { With::Mask } else { With::Characters { quoted: false } };
                    for (from, to) in values::strings_in(line, start, end) {
                        push(from, to, with);
                    }
                }
            }
            Self::Block { .. } => {}
        }
    }

    /// What is still open behind a line, as it is written.
    pub(crate) fn after(self, written: &str) -> Option<Self> {
        let body = written.trim();
        match self {
            Self::Word | Self::Value { .. } => (body.is_empty() && self != Self::Word).then_some(self),
            Self::Block { indent: outer } => {
                let start = written.len() - written.trim_start().len();
                (body.is_empty() || start > outer).then_some(self)
            }
            Self::Lines(left) => (left > 1).then(|| Self::Lines(left - 1)),
            // What is no text ends it: objects in a list have names of their own.
            Self::List { .. } => {
                let text = body.starts_with(QUOTES)
                    || body.starts_with('[')
                    || body.bytes().all(|b| b.is_ascii_digit() || b == b',');
                (text && !body.ends_with(']'))
                    .then_some(self)
                    .or_else(|| is_mask(body.trim_matches([',', '"', '\\'])).then_some(self))
            }
        }
    }
}

fn named(name: &str) -> Option<Meaning> {
    names::meaning(name, |_| true).map(|named| named.meaning)
}

fn is_secret(name: &str) -> bool {
    matches!(named(name), Some(Meaning::Secret(extent)) if extent != Extent::Rest)
}

/// The list that a name opens.
fn list(name: &str, keep_prompts: bool) -> Option<Below> {
    let quoted = name.ends_with('"');
    let name = bare_name(name.rsplit(['{', ' ', ',']).next()?)?;
    match named(name)? {
        Meaning::Secret(_) => Some(Below::List { secret: true }),
        Meaning::Prompt { extent, .. } if quoted && !keep_prompts && extent != Extent::Rest => {
            Some(Below::List { secret: false })
        }
        _ => None,
    }
}

/// A name, in quotes or without; `None` where it is more than a name.
fn bare_name(text: &str) -> Option<&str> {
    let name = text.trim_end().trim_matches(QUOTES);
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b));
    is_name.then_some(name)
}

/// The word of a line without YAML's dash, quotes and the comma behind them.
fn word(line: &str, start: usize, end: usize) -> (usize, usize) {
    let text = line[start..end].trim_end_matches(',');
    let inside = text.strip_prefix("- ").unwrap_or(text).trim_start();
    let bare = inside.trim_start_matches(QUOTES);
    let end = start + text.trim_end_matches(QUOTES).len();
    (start + text.len() - bare.len(), end.max(start + text.len() - bare.len()))
}

fn is_quoted(text: &str) -> bool {
    let text = text.trim_end_matches(',').trim_start_matches('\\');
    text.len() > 1 && text.starts_with('"') && text.ends_with('"') && !text[1..text.len() - 1].contains('"')
}

#[cfg(test)]
mod tests {
    use crate::Redactor;

    #[test]
    fn a_value_on_another_line_than_its_name_is_hidden_and_its_neighbours_are_not() {
        for (text, safe) in [
            (
                "Args:\n  --api-key\n  letmein\n  --port\n  8000\n",
                "Args:\n  --api-key\n  [redacted]\n  --port\n  8000\n",
            ),
            (
                " \"--api-key\",\n \"letmein\",\n \"--port\",\n \"8000\"\n",
                " \"--api-key\",\n \"[redacted]\",\n \"--port\",\n \"8000\"\n",
            ),
            ("password:\n  letmein\nport: 1\n", "password:\n  [redacted]\nport: 1\n"),
            (
                "{\n \"api_key\":\n   \"letmein\",\n \"n\": 1\n",
                "{\n \"api_key\":\n   \"[redacted]\",\n \"n\": 1\n",
            ),
            (
                "{\n \"token\":\n   \"letmein\",\n \"n\": 1\n",
                "{\n \"token\":\n   \"[redacted]\",\n \"n\": 1\n",
            ),
            (
                "a:\n  api_key: |-\n    let\n    mein\n  n: 1\n",
                "a:\n  api_key: |-\n    [redacted]\n    [redacted]\n  n: 1\n",
            ),
            (
                "\"api_keys\": [\n  \"one\",\n  \"two\"\n],\n\"n\": \"x\"\n",
                "\"api_keys\": [\n  \"[redacted]\",\n  \"[redacted]\"\n],\n\"n\": \"x\"\n",
            ),
            (
                "\"prompt\": [\n  \"who is it\",\n  \"a man\"\n],\n\"stop\": [\n  \"x\"\n]\n",
                "\"prompt\": [\n  \"[9 characters]\",\n  \"[5 characters]\"\n],\n\"stop\": [\n  \"x\"\n]\n",
            ),
            ("password: |\n  letmein\n---\nkind: Pod\n", "password: |\n  [redacted]\n---\nkind: Pod\n"),
            (
                "Private-Lines: 2\nAAAB\nAAAC\nPrivate-MAC: 01\n",
                "Private-Lines: 2\n[redacted]\n[redacted]\nPrivate-MAC: 01\n",
            ),
            (
                "- name: HF_TOKEN\n  value: >-\n    letmein\n- name: N\n",
                "- name: HF_TOKEN\n  value: >-\n    [redacted]\n- name: N\n",
            ),
        ] {
            assert_eq!(Redactor::new().text(text), safe);
            assert_eq!(Redactor::new().text(safe), safe);
        }
    }

    #[test]
    fn names_with_nothing_of_theirs_below_them_hide_nothing() {
        for text in [
            "secret:\n  secretName: hub\n",
            "--api-key\n--port\n8000\n",
            "tokens: [\n1\n",
            "password:\nready\n",
            "secrets:\n- hf\n",
        ] {
            assert_eq!(Redactor::new().text(text), text);
        }
    }
}
