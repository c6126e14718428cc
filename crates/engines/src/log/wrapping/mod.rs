//! Takes a log out of what a container runtime, a journal or a terminal wrapped around its lines.
//!
//! The unwrapped text has as many lines as the file, so that line numbers stay true: what a runtime cut into pieces is
//! joined in the first piece's line, and the lines of the others are left empty.

mod clean;
mod compose;
mod cri;
mod docker;
mod journal;
mod kubectl;

use std::borrow::Cow;

use intriage_case::Millis;
use memchr::memchr_iter;

/// Non-empty lines at the start that are looked at to tell how a log is wrapped.
const LOOKED_AT: usize = 16;

/// What stands around each line of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrapping {
    /// Nothing.
    None,
    /// Docker's json-file driver: `{"log":"…\n","stream":"stderr","time":"…"}`.
    Docker,
    /// A Kubernetes node's files: `2026-11-15T02:26:49.1Z stderr F …`.
    Cri,
    /// `journalctl` as people print it, and syslog files: `Nov 15 02:26:49 host unit[1]: …`.
    JournalShort,
    /// `journalctl -o json`.
    JournalJson,
    /// `journalctl -o export`.
    JournalExport,
    /// `kubectl logs --prefix`: `[pod/name/container] …`.
    Kubectl,
    /// `docker compose logs`: `name-1  | …`.
    Compose,
}

/// A log as its writer wrote it.
pub(super) struct Unwrapped<'a> {
    /// The text, with as many lines as the file; borrowed where nothing was wrapped.
    pub(super) text: Cow<'a, str>,
    /// How it was wrapped.
    pub(super) wrapping: Wrapping,
    raw: RawLines<'a>,
}

/// What a wrapped line holds.
struct Piece<'a> {
    message: Cow<'a, str>,
    /// Whose output it is; pieces of different streams are not joined.
    stream: u8,
    /// Whether the line ends here.
    ends: bool,
}

impl<'a> Piece<'a> {
    /// A line of its own.
    fn whole(message: impl Into<Cow<'a, str>>) -> Self {
        Self { message: message.into(), stream: 0, ends: true }
    }
}

/// Unwraps a log, having told from its first lines how it is wrapped.
pub(super) fn unwrap(raw: &str) -> Unwrapped<'_> {
    let wrapping = detect(raw);
    let text = if wrapping == Wrapping::None {
        clean::clean(raw)
    } else {
        let unwrapped = unwrap_lines(raw, wrapping);
        let cleaned = match clean::clean(&unwrapped) {
            Cow::Owned(text) => Some(text),
            Cow::Borrowed(_) => None,
        };
        Cow::Owned(cleaned.unwrap_or(unwrapped))
    };
    Unwrapped { text, wrapping, raw: RawLines { raw, at: 0, number: 1 } }
}

impl Unwrapped<'_> {
    /// Whether each line has a writer of its own.
    pub(super) fn is_journal(&self) -> bool {
        matches!(self.wrapping, Wrapping::JournalShort | Wrapping::JournalJson | Wrapping::JournalExport)
    }

    /// When the line of this number was written, as the wrapping says. Ask in the order of the lines.
    pub(super) fn written_at(&mut self, number: u32) -> Option<Millis> {
        match self.wrapping {
            Wrapping::None | Wrapping::JournalShort | Wrapping::Kubectl | Wrapping::Compose => None,
            Wrapping::Docker => docker::written_at(self.raw.seek(number)?),
            Wrapping::Cri => cri::written_at(self.raw.seek(number)?),
            Wrapping::JournalJson => journal::json_written_at(self.raw.seek(number)?),
            Wrapping::JournalExport => {
                self.raw.seek(number)?;
                journal::export_written_at(self.raw.raw, self.raw.at)
            }
        }
    }
}

/// The container and the message of a line of `docker compose logs`.
pub(super) fn composed(line: &str) -> Option<(&str, &str)> {
    compose::named(line)
}

/// The pod and container, and the message of a line of `kubectl logs --prefix`.
pub(super) fn prefixed(line: &str) -> Option<(&str, &str)> {
    kubectl::named(line)
}

/// Whether a line begins with what a runtime puts in front of one.
pub(super) fn begins_wrapped(line: &str) -> bool {
    let named = composed(line).is_some_and(|(name, _)| name.starts_with(|c: char| c.is_ascii_alphabetic()));
    named || prefixed(line).is_some()
}

/// Whether every line is a record of Docker or of the journal.
pub(super) fn is_one_record_a_line(raw: &str) -> bool {
    matches!(detect(raw), Wrapping::Docker | Wrapping::JournalJson)
}

fn detect(raw: &str) -> Wrapping {
    const KINDS: [Wrapping; 6] = [
        Wrapping::Docker,
        Wrapping::JournalJson,
        Wrapping::Cri,
        Wrapping::Kubectl,
        Wrapping::Compose,
        Wrapping::JournalShort,
    ];
    let first: Vec<&str> =
        raw.lines().filter(|line| !line.trim().is_empty()).take(LOOKED_AT).map(without_return).collect();
    if journal::is_export(&first) {
        return Wrapping::JournalExport;
    }
    // A header or a stray line may stand among them; most must fit.
    let fits = |kind: &Wrapping| {
        let fitting = first.iter().filter(|line| piece(line, *kind).is_some()).count();
        fitting > 0 && fitting * 4 >= first.len() * 3
    };
    KINDS.into_iter().find(fits).unwrap_or(Wrapping::None)
}

fn piece(line: &str, wrapping: Wrapping) -> Option<Piece<'_>> {
    match wrapping {
        Wrapping::None => None,
        Wrapping::Docker => docker::piece(line),
        Wrapping::Cri => cri::piece(line),
        Wrapping::JournalShort => journal::short(line),
        Wrapping::JournalJson => journal::json(line),
        // Every line that is no message is one of its fields.
        Wrapping::JournalExport => Some(journal::export(line)),
        Wrapping::Kubectl => kubectl::piece(line),
        Wrapping::Compose => compose::piece(line),
    }
}

fn unwrap_lines(raw: &str, wrapping: Wrapping) -> String {
    let mut text = String::with_capacity(raw.len());
    // Lines of the file that went into the line being joined, and its stream.
    let (mut joined, mut open) = (0, None);
    for line in raw.strip_suffix('\n').unwrap_or(raw).split('\n').map(without_return) {
        let piece = piece(line, wrapping).unwrap_or_else(|| Piece::whole(line));
        if open.is_some_and(|stream| stream != piece.stream) {
            end_line(&mut text, &mut joined);
        }
        joined += 1;
        // A journal's message may hold line ends; the file's lines are what counts here.
        text.extend(piece.message.chars().map(|c| if c == '\n' { ' ' } else { c }));
        open = (!piece.ends).then_some(piece.stream);
        if piece.ends {
            end_line(&mut text, &mut joined);
        }
    }
    end_line(&mut text, &mut joined);
    text
}

fn end_line(text: &mut String, joined: &mut usize) {
    text.extend(std::iter::repeat_n('\n', *joined));
    *joined = 0;
}

fn without_return(line: &str) -> &str {
    line.strip_suffix('\r').unwrap_or(line)
}

/// The file's lines, walked forwards.
struct RawLines<'a> {
    raw: &'a str,
    at: usize,
    number: u32,
}

impl<'a> RawLines<'a> {
    /// The line of this number, not before the last one asked for.
    fn seek(&mut self, number: u32) -> Option<&'a str> {
        let ahead = number.checked_sub(self.number)?;
        if ahead > 0 {
            self.at += 1 + memchr_iter(b'\n', &self.raw.as_bytes()[self.at..]).nth(ahead as usize - 1)?;
            self.number = number;
        }
        self.raw.get(self.at..)?.lines().next()
    }
}

#[cfg(test)]
mod tests;
