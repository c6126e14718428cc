//! Quoted texts in every quotation mark that people and languages have.

use crate::records::text_end;
use crate::values::Quote;

/// Marks that open and close a text and are no [`Quote`]; longer ones first.
const PAIRS: [(&str, &str); 7] = [
    ("\"\"\"", "\"\"\""),
    ("'''", "'''"),
    ("```", "```"),
    ("`", "`"),
    ("\u{201c}", "\u{201d}"),
    ("\u{2018}", "\u{2019}"),
    ("\u{201e}", "\u{201c}"),
];

/// Where a quoted text stands, and where the line goes on behind its mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Quotation {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) next: usize,
}

/// The quoted text that begins at a place; to the line's end where its mark is not closed.
pub(crate) fn quotation(line: &str, at: usize) -> Option<Quotation> {
    let rest = line.get(at..)?;
    if let Some((open, close)) = PAIRS.iter().find(|(open, _)| rest.starts_with(open)) {
        let start = at + open.len();
        let end = text_end(line, start);
        let closed = line[start..end].find(close).map(|length| start + length);
        return Some(match closed {
            Some(end) => Quotation { start, end, next: end + close.len() },
            None => Quotation { start, end, next: end },
        });
    }
    let (quote, start) = Quote::open(line, at)?;
    let (mut end, mut next) = quote.close(line, start);
    // `'what's it'`: what stands between two letters closes nothing.
    while quote.is_apostrophe() && end < next && line[next..].starts_with(char::is_alphanumeric) {
        (end, next) = quote.close(line, next);
    }
    // What is not closed goes to the end of the program's own text.
    if end == next {
        let limit = text_end(line, start);
        (end, next) = (end.min(limit), next.min(limit));
    }
    Some(Quotation { start, end, next })
}

/// A quotation mark that a line has left open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// By its place in the table.
    Pair(usize),
    Quote(Quote),
}

impl Mark {
    /// The mark whose text begins at a place.
    pub(crate) fn ending_at(line: &str, at: usize) -> Option<Self> {
        let before = &line[..at];
        let pair = PAIRS.iter().position(|(open, _)| before.ends_with(open)).map(Self::Pair);
        pair.or_else(|| Quote::ending_at(line, at).map(Self::Quote))
    }

    /// Where a text closes that began in a line before. A mark that people put into their texts, too, closes it only
    /// where something else begins behind it, or nothing.
    pub(crate) fn close(self, line: &str) -> Option<usize> {
        match self {
            Self::Pair(pair) => line.find(PAIRS[pair].1),
            Self::Quote(quote) => {
                let mut from = 0;
                loop {
                    let (end, next) = quote.close(line, from);
                    if end == next {
                        return None;
                    }
                    if ends_a_text(&line[next..]) {
                        return Some(end);
                    }
                    from = next;
                }
            }
        }
    }
}

/// Whether what follows a mark is no more of the text: nothing, a bracket, or `, name:`.
fn ends_a_text(rest: &str) -> bool {
    let Some(rest) = rest.strip_prefix(',') else {
        return rest.trim_end().is_empty() || rest.starts_with([')', ']', '}', '"', '\'', '\\']);
    };
    let name = rest.trim_start_matches([' ', '"', '\'']);
    let length = name.bytes().take(40).take_while(|b| b.is_ascii_alphanumeric() || b"_ ".contains(b)).count();
    rest.trim_end().is_empty() || length > 0 && name[length..].starts_with([':', '=', '"', '\''])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(line: &str) -> (&str, &str) {
        let found = quotation(line, 0).unwrap();
        (&line[found.start..found.end], &line[found.next..])
    }

    #[test]
    fn a_text_ends_where_its_own_mark_closes_it() {
        for (line, inside, behind) in [
            ("'who is it', n", "who is it", ", n"),
            ("\"who 'is' it\" n", "who 'is' it", " n"),
            ("`who is it` n", "who is it", " n"),
            ("```who `is` it``` n", "who `is` it", " n"),
            ("'''it's''' n", "it's", " n"),
            ("\"\"\"say \"it\" now\"\"\", n", "say \"it\" now", ", n"),
            ("“who is it” n", "who is it", " n"),
            ("'what's it, who's it', n", "what's it, who's it", ", n"),
            ("'what's it", "what's it", ""),
        ] {
            assert_eq!(text(line), (inside, behind), "{line}");
        }
        assert_eq!(quotation("who is it", 0), None);
    }

    #[test]
    fn an_open_text_closes_before_the_next_field_and_not_at_an_apostrophe() {
        let mark = Mark::ending_at("prompt: '", 9).unwrap();
        assert_eq!(mark.close("don't', n=7"), Some(5));
        assert_eq!(mark.close("the dogs' bones"), None);
        assert_eq!(mark.close("it')"), Some(2));
        let long = Mark::ending_at("prompt=\"\"\"", 10).unwrap();
        assert_eq!(long.close("say \"it\" now\"\"\""), Some(12));
    }
}
