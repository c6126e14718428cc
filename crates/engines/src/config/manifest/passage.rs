//! A text of a manifest with its place in the file, so that it can be written over.

use std::ops::Range;

use super::Node;

/// A text of a manifest, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// The text as it is read: escapes and folds undone.
    pub text: String,
    /// All of it in the file, quotes included, in bytes.
    pub span: Range<usize>,
    /// Its lines in the file without quotes, indentation and the backslash that joins one to the next; in bytes.
    pub pieces: Vec<Range<usize>>,
    /// How it is written.
    pub writing: Writing,
}

/// How a text is written in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Writing {
    /// YAML without quotes: a text only as long as it looks like nothing else.
    Plain,
    /// In `'`, which is doubled inside.
    Single,
    /// In `"`, with backslashes inside.
    Double,
    /// As it is: a block of YAML, a unit.
    AsItIs,
}

impl Passage {
    /// The text of a scalar; `None` where this is none, or its place is not known.
    pub(super) fn of_scalar(file: &str, node: &Node) -> Option<Self> {
        let text = node.text()?.to_owned();
        let raw = file.get(node.at.clone()).filter(|raw| !raw.is_empty())?;
        let span = node.at.start..node.at.start + raw.trim_end().len();
        let raw = &file[span.clone()];
        let in_quotes = |quote: char| raw.len() > 1 && raw.starts_with(quote) && raw.ends_with(quote);
        let writing = match () {
            () if in_quotes('\'') => Writing::Single,
            () if in_quotes('"') => Writing::Double,
            () if is_block(&file[..span.start]) => Writing::AsItIs,
            () => Writing::Plain,
        };
        let quoted = matches!(writing, Writing::Single | Writing::Double);
        let inner = if quoted { span.start + 1..span.end - 1 } else { span.clone() };
        Some(Self { text, pieces: pieces(file, inner), span, writing })
    }

    /// A text of several parts of the file, in the file's order.
    pub(super) fn of_parts(file: &str, parts: &[Range<usize>]) -> Self {
        let pieces: Vec<Range<usize>> = parts.iter().flat_map(|part| pieces(file, part.clone())).collect();
        let text: Vec<&str> = pieces.iter().filter_map(|piece| file.get(piece.clone())).collect();
        let ends = pieces.first().zip(pieces.last());
        let span = ends.map_or(0..0, |(first, last)| first.start..last.end);
        Self { text: text.join(" "), span, pieces, writing: Writing::AsItIs }
    }
}

/// The lines of a part of the file that have something in them.
fn pieces(file: &str, within: Range<usize>) -> Vec<Range<usize>> {
    let Some(raw) = file.get(within.clone()) else { return Vec::new() };
    let mut from = within.start;
    let mut pieces = Vec::new();
    for line in raw.split_inclusive('\n') {
        let bare = line.trim_end();
        let bare = bare.strip_suffix('\\').unwrap_or(bare).trim_end();
        let start = from + bare.len() - bare.trim_start().len();
        let end = from + bare.len();
        if start < end {
            pieces.push(start..end);
        }
        from += line.len();
    }
    pieces
}

/// Whether what stands before a text opens a block: `|` or `>` with its signs at the end of the last line that has
/// something in it. A block may begin with empty lines.
fn is_block(before: &str) -> bool {
    let Some((above, indentation)) = before.rsplit_once('\n') else { return false };
    let above = above.trim_end();
    let header = above.rsplit_once('\n').map_or(above, |(_, header)| header);
    let header = header.split(" #").next().unwrap_or_default().trim_end();
    let mark = header.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+'));
    let opens =
        mark.strip_suffix(['|', '>']).is_some_and(|rest| rest.is_empty() || rest.ends_with([' ', '\t']));
    opens && indentation.trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::manifest_texts;

    fn writings(file: &str) -> Vec<(String, Writing)> {
        let values = manifest_texts("x.yaml", file).unwrap().values;
        values.into_iter().map(|(_, value)| (value.text.trim().to_owned(), value.writing)).collect()
    }

    #[test]
    fn a_block_that_begins_with_an_empty_line_is_a_block() {
        let file = "kind: ConfigMap\ndata:\n  k: >-\n\n    one\n\n    two\n  l: |\n  \n    three\n";
        let found = writings(file);
        assert!(found.contains(&("one\ntwo".to_owned(), Writing::AsItIs)), "{found:?}");
        assert!(found.contains(&("three".to_owned(), Writing::AsItIs)), "{found:?}");
    }

    #[test]
    fn a_block_is_one_below_a_comment_further_up() {
        let file = "kind: ConfigMap # of mine\ndata:\n  k: |  # a note\n    one\n  p: plain\n";
        let found = writings(file);
        assert!(found.contains(&("one".to_owned(), Writing::AsItIs)), "{found:?}");
        assert!(found.contains(&("plain".to_owned(), Writing::Plain)), "{found:?}");
    }
}
