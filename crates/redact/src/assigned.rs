//! What is hidden of a value, by what its name means.

mod several;

use crate::assignments::By;
use crate::headers::{behind_scheme, joined_words, says_nothing};
use crate::hits::{Hit, With};
use crate::homes::is_user;
use crate::names::{Meaning, Named};
use crate::pseudonyms::Kind;
use crate::rules::Extent;
use crate::values::{self, Quote};
use crate::yaml::{is_address, is_block, refers};
use crate::{hosts, looks, prompts};

/// Longest value that is judged by its looks, in bytes.
const LONGEST: usize = 512;

/// A name with a value behind it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Assigned<'a> {
    /// The name as written.
    pub(crate) name: &'a str,
    /// Whether nothing stands before it in its line, as in YAML.
    pub(crate) first: bool,
    /// Where the value begins.
    pub(crate) at: usize,
    /// What separates the two.
    pub(crate) by: By,
    /// Whether the name is quoted as JSON quotes.
    pub(crate) json: bool,
    /// The quote that opens right before the name and closes behind the value.
    pub(crate) around: Option<Quote>,
}

/// Adds what must be hidden; says where the value ends if it was taken.
pub(crate) fn find(line: &str, named: Named, found: Assigned<'_>, hits: &mut Vec<Hit>) -> Option<usize> {
    let finder = Finder { line, rule: named.rule.name, found };
    if !finder.can_be(named.meaning) {
        return None;
    }
    match named.meaning {
        Meaning::Secret(extent) => finder.secret(extent, hits),
        Meaning::Perhaps | Meaning::Text if found.by == By::Tag => finder.secret(Extent::Value, hits),
        // A flag in a list of words: what follows it is its value.
        Meaning::Perhaps if found.by == By::Comma => finder.perhaps(looks::text, hits),
        Meaning::Perhaps => finder.perhaps(looks::secret, hits),
        Meaning::Text => finder.perhaps(if finder.is_value() { looks::text } else { looks::secret }, hits),
        Meaning::Host => finder.host(hits),
        Meaning::User => finder.user(hits),
        Meaning::Prompt { extent, .. } => prompts::find(line, finder.rule, found, extent, hits),
    }
}

/// What must be hidden of a value that is known as a whole, such as a label's or a JSON text's.
pub(crate) fn whole(named: Named, value: &str) -> Option<Hit> {
    let hit = |start, end, with| Some(Hit { start, end, with, rule: named.rule.name });
    match named.meaning {
        _ if looks::empty(value) => None,
        Meaning::Secret(_) if is_folder(named.rule.name, "", value) => None,
        Meaning::Secret(extent) => {
            let start = if extent == Extent::Rest { behind_scheme(value, 0, value.len()) } else { 0 };
            hit(start, value.len(), With::Mask)
        }
        Meaning::Text => looks::text(value).then(|| hit(0, value.len(), With::Mask))?,
        Meaning::Perhaps => looks::secret(value).then(|| hit(0, value.len(), With::Mask))?,
        Meaning::Host => {
            let name = value.split_once(':').map_or(value, |(name, _)| name);
            hosts::is_host(name, true).then(|| hit(0, name.len(), With::Pseudonym(Kind::Host)))?
        }
        Meaning::User => is_user(value).then(|| hit(0, value.len(), With::Pseudonym(Kind::User)))?,
        Meaning::Prompt { .. } => hit(0, value.len(), With::Characters { quoted: false }),
    }
}

/// The shell's PWD is a folder, and credentials are often a file.
pub(crate) fn is_folder(rule: &str, name: &str, value: &str) -> bool {
    value.starts_with('/') && (rule == "credentials" || name.eq_ignore_ascii_case("pwd"))
}

struct Finder<'a> {
    line: &'a str,
    rule: &'static str,
    found: Assigned<'a>,
}

impl Finder<'_> {
    fn push(&self, start: usize, end: usize, with: With, hits: &mut Vec<Hit>) {
        hits.push(Hit { start, end, with, rule: self.rule });
    }

    /// Without a separator, as in `password hunter2` or `user 'ann'`, only what can hardly be prose is a value.
    fn can_be(&self, meaning: Meaning) -> bool {
        match self.found.by {
            By::Comma if self.found.name.starts_with('-') => {
                matches!(meaning, Meaning::Secret(_) | Meaning::Perhaps | Meaning::Text)
                    && Quote::open(self.line, self.found.at)
                        .is_some_and(|(_, from)| self.byte(from) != Some(b'-'))
            }
            By::Comma | By::Cell => matches!(meaning, Meaning::Secret(_)),
            By::Tag => !matches!(meaning, Meaning::Prompt { .. }),
            By::Blank if !self.found.name.starts_with('-') => {
                let (start, end) = self.short();
                // What has a separator behind it is the next name.
                let is_name =
                    self.line[end..].trim_start_matches(['\\', '"', '\'', ' ']).starts_with([':', '=']);
                !is_name
                    && match meaning {
                        Meaning::Secret(_) => true,
                        Meaning::User => start > self.found.at,
                        Meaning::Perhaps | Meaning::Text => looks::random(&self.line[start..end]),
                        Meaning::Host | Meaning::Prompt { .. } => false,
                    }
            }
            _ => true,
        }
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.line.as_bytes().get(at).copied()
    }

    fn secret(&self, extent: Extent, hits: &mut Vec<Hit>) -> Option<usize> {
        let (line, at) = (self.line, self.found.at);
        if self.found.by == By::Blank && !self.found.name.starts_with('-') {
            let (start, end) = self.short();
            let taken = looks::in_prose(&line[start..end]) && self.mask(start, end, hits);
            return taken.then_some(end);
        }
        if is_block(&line[at..]) && self.found.by == By::Colon {
            return None;
        }
        if self.found.by == By::Tag || self.found.by == By::Cell {
            let close =
                if self.found.by == By::Tag { &['<'][..] } else { &['|', '\u{2502}', '\u{2503}'][..] };
            let inside = line[at..].find(close).map(|length| line[at..at + length].trim_end());
            return inside
                .and_then(|value| self.mask(at, at + value.len(), hits).then_some(at + value.len()));
        }
        if let Some((quote, from)) = Quote::open(line, at) {
            let (end, next) = quote.close(line, from);
            if self.found.by == By::Comma && extent == Extent::Several {
                return self.listed(from, end, next, hits);
            }
            let from = if extent == Extent::Rest { behind_scheme(line, from, end) } else { from };
            return self.mask(from, end, hits).then_some(next);
        }
        if self.found.by == By::Comma {
            return None;
        }
        if matches!(self.byte(at)?, b'[' | b'{' | b'(') && self.found.by != By::Query {
            return self.list(at, hits);
        }
        let end = match (self.found.by, extent) {
            (By::Query, _) => values::parameter(line, at),
            (By::Blank, Extent::Several) => return self.words(at, hits),
            (By::Blank, _) if self.byte(at) == Some(b'-') => return None,
            (_, Extent::Rest) => {
                let end = self.found.around.map_or(line.len(), |quote| quote.close(line, at).0);
                let from = behind_scheme(line, at, end);
                if says_nothing(&line[from..end]) {
                    return None;
                }
                let end = if self.found.around.is_some() { end } else { joined_words(line, from) };
                return self.mask(from, end, hits).then_some(end);
            }
            (By::Colon, _) if self.rule == "password" => values::phrase(line, at),
            _ => values::bare(line, at),
        };
        self.mask(at, end, hits).then_some(end)
    }

    /// Masks a value unless it says that there is none.
    fn mask(&self, start: usize, end: usize, hits: &mut Vec<Hit>) -> bool {
        let Some(value) = self.line.get(start..end).filter(|value| !looks::empty(value)) else {
            return false;
        };
        if is_folder(self.rule, self.found.name, value) {
            return false;
        }
        self.push(start, end, With::Mask, hits);
        true
    }

    /// Every text in a list or an object; all of it where it has none.
    fn list(&self, open: usize, hits: &mut Vec<Hit>) -> Option<usize> {
        let end = values::close_bracket(self.line, open);
        let strings = values::strings_in(self.line, open, end);
        if strings.is_empty() && refers(&self.line[open..end]) {
            return None;
        }
        if strings.is_empty() {
            let inside = self.line[open + 1..end].trim_end_matches([']', '}', ')']).len();
            return self.mask(open + 1, open + 1 + inside, hits).then_some(end);
        }
        for (from, to) in strings {
            self.mask(from, to, hits);
        }
        Some(end)
    }

    /// Whether the form leaves no doubt that this is a value: behind `=`, in quotes, or all there is in the line.
    /// Behind a colon in prose anything may stand.
    fn is_value(&self) -> bool {
        self.found.by != By::Colon
            || Quote::open(self.line, self.found.at).is_some()
            || self.found.first && !self.line[self.found.at..].trim_end().contains(' ')
    }

    fn perhaps(&self, tells: fn(&str) -> bool, hits: &mut Vec<Hit>) -> Option<usize> {
        let (line, at) = (self.line, self.found.at);
        if self.found.by == By::Query {
            let end = values::parameter(line, at);
            return self.mask(at, end, hits).then_some(end);
        }
        let near = &line[..line.floor_char_boundary(at.saturating_add(LONGEST))];
        let parts = match Quote::open(near, at) {
            Some((quote, from)) => vec![(from, quote.close(near, from).0)],
            None if near.as_bytes().get(at) == Some(&b'[') => {
                values::strings_in(near, at, values::close_bracket(near, at))
            }
            None => vec![(at, values::bare(near, at))],
        };
        let mut taken = None;
        for (start, end) in parts {
            if !tells(&line[start..end]) {
                continue;
            }
            // What fills the window goes on behind it.
            let end = if end == near.len() { values::bare(line, start) } else { end };
            if self.mask(start, end, hits) {
                taken = Some(end);
            }
        }
        taken
    }

    /// A short value: quoted or bare.
    fn short(&self) -> (usize, usize) {
        let near = &self.line[..self.line.floor_char_boundary(self.found.at.saturating_add(LONGEST))];
        match Quote::open(near, self.found.at) {
            Some((quote, from)) => (from, quote.close(near, from).0),
            None => (self.found.at, values::bare(near, self.found.at)),
        }
    }

    fn host(&self, hits: &mut Vec<Hit>) -> Option<usize> {
        let (start, end) = self.short();
        let written = &self.line[start..end];
        let name = written.split_once(':').map_or(written, |(name, _)| name);
        // kubectl writes a node with its address: `Node: gpu7/10.0.0.7`.
        let name = match name.split_once('/') {
            Some((name, address)) if is_address(address) => name,
            _ => name,
        };
        if !hosts::is_host(name, self.is_value()) {
            return None;
        }
        self.push(start, start + name.len(), With::Pseudonym(Kind::Host), hits);
        Some(end)
    }

    fn user(&self, hits: &mut Vec<Hit>) -> Option<usize> {
        let (start, end) = self.short();
        if !self.is_value() || !is_user(&self.line[start..end]) {
            return None;
        }
        self.push(start, end, With::Pseudonym(Kind::User), hits);
        Some(end)
    }
}
