//! A manifest while it is made safe: what is written over which part of it.

use std::collections::BTreeMap;
use std::ops::Range;

use intriage_engines::{Passage, Writing};

/// What stands in place of a secret.
pub(super) const MASK: &str = "[redacted]";

/// What is between two lines of one text while it is looked at: a blank to every rule, and one character as the line's
/// end is, so that the lines can be told apart again.
const JOINT: char = '\r';

/// A file and what is written over it.
pub(super) struct Draft<'a> {
    file: &'a str,
    /// What is written over which part of the file, by where that begins.
    written: BTreeMap<usize, (Range<usize>, String)>,
    /// The same as it will be read.
    read: BTreeMap<usize, String>,
    /// Texts of several lines that need quotes now, by where they begin.
    quoted: BTreeMap<usize, Range<usize>>,
    /// Whether a text that has something to hide is hidden whole: where hiding the part of it was not enough.
    whole: bool,
}

impl<'a> Draft<'a> {
    pub(super) fn new(file: &'a str, whole: bool) -> Self {
        let (written, read, quoted) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { file, written, read, quoted, whole }
    }

    /// Whether nothing was written.
    pub(super) fn is_same(&self) -> bool {
        self.written.is_empty()
    }

    /// The text of one line as it will be read by now; `None` where it has several.
    pub(super) fn one_line<'s>(&'s self, passage: &'s Passage) -> Option<&'s str> {
        let [piece] = &passage.pieces[..] else { return None };
        let text = passage.text.trim();
        let known = passage.writing != Writing::AsItIs || self.file.get(piece.clone()) == Some(text);
        (known && !text.contains('\n')).then(|| self.read.get(&piece.start).map_or(text, String::as_str))
    }

    /// Writes a text of one line.
    pub(super) fn write(&mut self, passage: &Passage, safe: &str) {
        match (self.one_line(passage), passage.pieces.first()) {
            (Some(now), _) if now == safe => {}
            (Some(_), Some(piece)) if !self.whole && !safe.contains('\n') => {
                self.set(passage, piece.clone(), safe.to_owned());
            }
            _ => self.hide(passage),
        }
    }

    /// Rewrites all lines of a text as one, each in its place.
    pub(super) fn rewrite(&mut self, passage: &Passage, safe: impl FnOnce(&str) -> String) {
        let lines = passage.pieces.iter().map(|piece| self.line(piece).to_owned());
        let now: Vec<String> = match self.one_line(passage) {
            Some(now) => vec![now.to_owned()],
            None => lines.collect(),
        };
        let joined = now.join(&JOINT.to_string());
        let new = safe(&joined);
        if new == joined {
            return;
        }
        let new: Vec<&str> = new.split(JOINT).collect();
        if self.whole || new.len() != now.len() {
            return self.hide(passage);
        }
        for ((piece, now), new) in passage.pieces.iter().zip(now).zip(new) {
            if now != new {
                self.set(passage, piece.clone(), new.to_owned());
            }
        }
    }

    /// Hides every line of a text.
    pub(super) fn hide(&mut self, passage: &Passage) {
        for piece in &passage.pieces {
            if self.line(piece) != MASK {
                self.set(passage, piece.clone(), MASK.to_owned());
            }
        }
    }

    fn line(&self, piece: &Range<usize>) -> &str {
        let read = self.read.get(&piece.start).map(String::as_str);
        read.unwrap_or_else(|| self.file.get(piece.clone()).unwrap_or_default())
    }

    fn set(&mut self, passage: &Passage, piece: Range<usize>, text: String) {
        let one = passage.pieces.len() == 1;
        let written = match passage.writing {
            Writing::Plain if one => serde_json::Value::from(text.as_str()).to_string(),
            Writing::Double if one => {
                let json = serde_json::Value::from(text.as_str()).to_string();
                json[1..json.len() - 1].to_owned()
            }
            Writing::Single if one => text.replace('\'', "''"),
            _ => text.clone(),
        };
        if passage.writing == Writing::Plain && !one {
            self.quoted.insert(passage.span.start, passage.span.clone());
        }
        self.read.insert(piece.start, text);
        self.written.insert(piece.start, (piece, written));
    }

    /// The file with all that was written; as many lines as before.
    pub(super) fn finish(&self) -> String {
        let mut out = String::with_capacity(self.file.len());
        let mut at = 0;
        for span in self.quoted.values() {
            out.push_str(&self.between(at, span.start));
            let inside = self.between(span.start, span.end);
            out.extend(["\"", &inside.replace('\\', "\\\\").replace('"', "\\\""), "\""]);
            at = span.end;
        }
        out + &self.between(at, self.file.len())
    }

    fn between(&self, from: usize, to: usize) -> String {
        let mut out = String::new();
        let mut at = from;
        for (piece, text) in self.written.range(from..to).map(|(_, written)| written) {
            out.push_str(self.file.get(at..piece.start).unwrap_or_default());
            out.push_str(text);
            at = piece.end;
        }
        out + self.file.get(at..to).unwrap_or_default()
    }
}
