//! Names and what stands behind them: `name=value`, `"name": "value"`, `--name value`, `Name: value`.

use std::borrow::Cow;

use crate::assigned::{self, Assigned};
use crate::hits::Hit;
use crate::names::{self, Meaning, Named};
use crate::records::is_docker;
use crate::rules::{Extent, Finds};
use crate::scan::Scope;
use crate::values::Quote;

/// The names of one line, looked at from left to right.
pub(crate) struct Names<'a> {
    line: &'a str,
    /// Where the program's own text begins.
    own: usize,
    scope: Scope,
    /// Up to here everything is looked at or hidden.
    done: usize,
    /// Which marks stand in the line, as far as they were asked for.
    marks: Vec<(&'static str, bool)>,
    /// Whether the name is the first in its line and quoted as JSON quotes: what would be its mark is in another line.
    pretty: bool,
}

impl<'a> Names<'a> {
    pub(crate) fn new(line: &'a str, own: usize, scope: Scope) -> Self {
        Self { line, own, scope, done: 0, marks: Vec::new(), pretty: false }
    }

    /// Looks at the name around a place.
    pub(crate) fn at(&mut self, at: usize, hits: &mut Vec<Hit>) {
        if at < self.done {
            return;
        }
        let bytes = self.line.as_bytes();
        let part = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_' || **byte == b'-';
        let start = at - bytes[self.done..at].iter().rev().take_while(part).count();
        let end = at + bytes[at..].iter().take_while(part).count();
        let start = encoded_start(self.line, self.done, start);
        self.done = end;
        let name = unescaped(&self.line[start..end]);
        self.pretty = is_pretty(self.line, self.own, start);
        let Some(named) = self.meaning(start, &name) else { return };
        let Some(mut found) = separated(self.line, start, end) else { return };
        found.name = &name;
        if let Some(end) = assigned::find(self.line, named, found, hits) {
            self.done = self.done.max(end);
        }
    }

    /// What a name says, alone or with the word before it: `API key: …`.
    fn meaning(&mut self, start: usize, name: &str) -> Option<Named> {
        let own = names::meaning(name, |meaning| self.takes(meaning));
        if matches!(own, Some(Named { meaning: Meaning::Perhaps | Meaning::Text, .. }))
            && let Some(before) = self.line[..start].strip_suffix(' ')
        {
            let part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
            let length = before.bytes().rev().take(24).take_while(part).count();
            let both = [&before[before.len() - length..], "_", name].concat();
            let named = names::meaning(&both, |meaning| self.takes(meaning));
            // `root pass=3`: the last word of a name makes one only where it is in it.
            let joined = |named: &Named| matches!(named.rule.finds, Finds::Last { .. });
            if matches!(named, Some(Named { meaning: Meaning::Secret(_), .. }))
                && !named.as_ref().is_some_and(joined)
            {
                return named;
            }
        }
        own
    }

    fn takes(&mut self, meaning: Meaning) -> bool {
        let Meaning::Prompt { mark, extent } = meaning else { return true };
        if self.scope.keep_prompts {
            return false;
        }
        if self.pretty && extent != Extent::Rest {
            return true;
        }
        if let Some((_, stands)) = self.marks.iter().find(|(known, _)| *known == mark) {
            return *stands;
        }
        let line = self.line;
        let holds = |one: &str| {
            if one.contains('␣') { line.contains(&one.replace('␣', " ")) } else { line.contains(one) }
        };
        let stands = mark.is_empty() || mark.split_ascii_whitespace().any(holds);
        self.marks.push((mark, stands));
        stands
    }
}

/// What separates a name from its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// `=`.
    Equals,
    /// `:`.
    Colon,
    /// `=` in a URL's query.
    Query,
    /// A blank, behind a flag.
    Blank,
    /// `,` between two quoted texts.
    Comma,
    /// `>` behind the name of an element: `<password>x</password>`.
    Tag,
    /// `|` between two cells of a table.
    Cell,
}

/// Finds the value of the name between two places.
fn separated(line: &str, start: usize, end: usize) -> Option<Assigned<'_>> {
    let bytes = line.as_bytes();
    let before = start.checked_sub(1).map(|i| bytes[i]);
    let opened = before.filter(|byte| matches!(byte, b'"' | b'\''));
    let closed = Quote::open(line, end).filter(|(quote, _)| Some(quote.mark()) == opened);
    let around = if closed.is_none() { opened.and_then(|_| Quote::ending_at(line, start)) } else { None };
    let mut at = closed.map_or(end, |(_, next)| next);
    let blanks =
        |from: usize| from + bytes[from..].iter().take_while(|b| matches!(b, b' ' | b'\t' | 0)).count();
    // `Incorrect API key provided: …`
    if line[at..].starts_with(" provided:") {
        at += " provided".len();
    }
    // `"name": "HF_TOKEN", "value": …`
    if let Some(behind) = closed.and_then(|_| paired(&line[at..])) {
        at = line.len() - behind.len();
    }
    let next = blanks(at);
    let by = match bytes.get(next..).unwrap_or_default() {
        [b'=', b'=', ..] | [b':', b':', ..] => return None,
        [b'=', b'>', ..] | [b':', b'=', ..] => {
            at = next + 2;
            By::Equals
        }
        [b'=', ..] => {
            at = next + 1;
            if matches!(before, Some(b'?' | b'&')) { By::Query } else { By::Equals }
        }
        [b':', ..] => {
            at = next + 1;
            By::Colon
        }
        [b'%', b'3', b'D' | b'd', ..] => {
            at = next + 3;
            By::Query
        }
        // A pair of a header's name and value, as Python prints it, or a flag and its value in a list of words.
        [b',', ..]
            if closed.is_some()
                && (bytes[start] == b'-'
                    || line[..start - 1].trim_end_matches('b').ends_with('(')
                    || is_pair(line, start - 1, next + 1)) =>
        {
            at = next + 1;
            By::Comma
        }
        [b'>', ..] if before == Some(b'<') => {
            at = next + 1;
            By::Tag
        }
        rest if next > at && cell(rest) > 0 && in_table(&line[..start]) => {
            at = next + cell(rest);
            By::Cell
        }
        [_, ..] if next > at => By::Blank,
        _ => return None,
    };
    let json = closed.is_some_and(|(quote, _)| quote.is_json());
    let first = line[..start].trim_start_matches([' ', '\t', '-']).is_empty();
    let at = if by == By::Colon { anchored(line, blanks(at)) } else { blanks(at) };
    // The end of the line in docker's record is no value.
    if is_docker(line) && line[at..].starts_with("\\n\"") {
        return None;
    }
    Some(Assigned { name: "", first, at: wrapped(line, at), by, json, around })
}

/// Where a name begins that a URL writes with escapes, `api%5Fkey`; not before `from`.
fn encoded_start(line: &str, from: usize, start: usize) -> usize {
    let bytes = line.as_bytes();
    let part = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(**byte, b'_' | b'-');
    let mut begin = start;
    // What stands behind `%` belongs to the escape: `5Fkey`.
    while begin > from && bytes[begin - 1] == b'%' && escape(&bytes[begin - 1..]).is_some() {
        begin -= 1;
        begin -= bytes[from..begin].iter().rev().take_while(part).count();
    }
    begin
}

/// What `%5F` and `%2D` stand for, the signs that names have in them.
fn escape(bytes: &[u8]) -> Option<char> {
    match bytes {
        [b'%', b'5', b'F' | b'f', ..] => Some('_'),
        [b'%', b'2', b'D' | b'd', ..] => Some('-'),
        _ => None,
    }
}

fn unescaped(name: &str) -> Cow<'_, str> {
    if !name.contains('%') {
        return Cow::Borrowed(name);
    }
    Cow::Owned(name.replace("%5F", "_").replace("%5f", "_").replace("%2D", "-").replace("%2d", "-"))
}

/// Whether nothing but a quote stands before a name in the text from `own` on, as in JSON over several lines.
fn is_pretty(line: &str, own: usize, start: usize) -> bool {
    line.get(own..start)
        .and_then(|before| before.strip_suffix('"'))
        .is_some_and(|before| before.bytes().all(|b| matches!(b, b' ' | b'\t')))
}

/// Whether two quoted texts are all there is in a line, as Envoy writes headers: `'authorization', 'Bearer …'`.
fn is_pair(line: &str, open: usize, behind: usize) -> bool {
    let value = line.len() - line[behind..].trim_start_matches(' ').len();
    let alone = |(quote, from): (Quote, usize)| line[quote.close(line, from).1..].trim_end().is_empty();
    line[..open].trim_start().is_empty()
        && line.as_bytes()[open] == b'\''
        && Quote::open(line, value).is_some_and(alone)
}

/// The length of the line between two cells of a table, where one begins here.
fn cell(rest: &[u8]) -> usize {
    match rest {
        [b'|', ..] => 1,
        // U+2502, U+2503
        [0xe2, 0x94, 0x82 | 0x83, ..] => 3,
        _ => 0,
    }
}

/// Whether a cell begins before a name.
fn in_table(before: &str) -> bool {
    before.trim_end_matches(' ').ends_with(['|', '\u{2502}', '\u{2503}'])
}

/// Behind `, "value"`, where that follows, or ` value` of an element's second attribute.
fn paired(rest: &str) -> Option<&str> {
    if let Some(behind) = rest.strip_prefix(" value").filter(|behind| behind.starts_with(['=', ':'])) {
        return Some(behind);
    }
    let rest = rest.strip_prefix(',')?.trim_start_matches(' ');
    rest.strip_prefix("\"value\"").or_else(|| rest.strip_prefix("'value'"))
}

/// Behind YAML's anchor, which names the value and is no part of it: `password: &pw letmein`.
fn anchored(line: &str, at: usize) -> usize {
    let Some(rest) = line[at..].strip_prefix('&') else { return at };
    let name = rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(byte)).count();
    if name > 0 && rest[name..].starts_with(' ') { at + name + 2 } else { at }
}

/// Behind `b`, `SecretStr(` and the like, where a quote follows.
fn wrapped(line: &str, at: usize) -> usize {
    // Go prints its headers with their type: `[]string{"…"}`.
    if line[at..].starts_with("[]string{") {
        return at + "[]string".len();
    }
    let rest = &line.as_bytes()[at..];
    let letters = rest.iter().take(24).take_while(|byte| byte.is_ascii_alphabetic()).count();
    let behind = match rest.get(letters) {
        Some(b'(') => letters + 1,
        _ if letters == 1 => 1,
        _ => return at,
    };
    if letters > 0 && Quote::open(line, at + behind).is_some() { at + behind } else { at }
}
