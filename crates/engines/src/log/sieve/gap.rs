//! The line that stands for lines that were left out of a long log, and what they counted.
//!
//! `[intriage left out 1200 lines, 104000 bytes: 1190 answered-200, 3 RequestAborted, 7 Xid/79, 4567 tokens.generated]`.
//! Figures come before their names, so that no rule takes them for the value of a name.

use std::fmt;

use intriage_case::Signal;

use crate::log::catalogue::signatures;
use crate::log::meaning::Meaning;

/// What such a line begins with.
pub(in crate::log) const MARK: &str = "[intriage left out ";

/// Lines that were left out.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in crate::log) struct Gap {
    /// How many.
    pub(in crate::log) lines: u64,
    /// Their bytes, line ends and all.
    pub(in crate::log) bytes: u64,
    /// What was counted in them, each once.
    pub(in crate::log) counted: Vec<(Counted, f64)>,
}

/// What is counted in lines that are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::log) enum Counted {
    /// Answers of this status.
    Answer(u16),
    /// Lines of this meaning and, where numbers tell events apart, of this number.
    Event(Meaning, Option<u32>),
    /// How far they move the signal that lines add up to.
    Signal(Signal),
}

impl Gap {
    /// Adds to what was counted.
    pub(super) fn count(&mut self, what: Counted, by: f64) {
        match self.counted.iter_mut().find(|(known, _)| *known == what) {
            Some((_, sum)) => *sum += by,
            None => self.counted.push((what, by)),
        }
    }

    /// Takes in the gap that follows.
    pub(super) fn join(&mut self, next: &Self) {
        self.lines = self.lines.saturating_add(next.lines);
        self.bytes = self.bytes.saturating_add(next.bytes);
        next.counted.iter().for_each(|(what, by)| self.count(*what, *by));
    }

    /// What such a line tells; `None` for any other.
    pub(in crate::log) fn parse(line: &str) -> Option<Self> {
        let rest = line.strip_prefix(MARK)?.strip_suffix(']')?;
        let (size, counted) = rest.split_once(": ").unwrap_or((rest, ""));
        let (lines, bytes) = size.split_once(" lines, ")?;
        let mut gap = Self {
            lines: lines.parse().ok()?,
            bytes: bytes.strip_suffix(" bytes")?.parse().ok()?,
            counted: Vec::new(),
        };
        for (by, name) in counted.split(", ").filter_map(|part| part.split_once(' ')) {
            let by = by.parse().ok().filter(|by: &f64| by.is_finite());
            // What a newer release counts and this one does not know is passed over.
            if let Some((what, by)) = Counted::named(name).zip(by) {
                gap.count(what, by);
            }
        }
        Some(gap)
    }
}

impl Counted {
    fn named(name: &str) -> Option<Self> {
        if let Some(status) = name.strip_prefix("answered-") {
            return status.parse().ok().filter(|status| (100..600).contains(status)).map(Self::Answer);
        }
        if let Some(signal) = Signal::named(name) {
            return Some(Self::Signal(signal));
        }
        let (meaning, number) = name.split_once('/').map_or((name, None), |(m, n)| (m, n.parse().ok()));
        let known = signatures().find(|signature| format!("{:?}", signature.meaning) == meaning);
        known.map(|signature| Self::Event(signature.meaning, number))
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{MARK}{} lines, {} bytes", self.lines, self.bytes)?;
        for (place, (what, by)) in self.counted.iter().enumerate() {
            write!(f, "{}{by} {what}", if place == 0 { ": " } else { ", " })?;
        }
        f.write_str("]")
    }
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer(status) => write!(f, "answered-{status}"),
            Self::Event(meaning, None) => write!(f, "{meaning:?}"),
            Self::Event(meaning, Some(number)) => write!(f, "{meaning:?}/{number}"),
            Self::Signal(signal) => write!(f, "{signal}"),
        }
    }
}

/// The number in its file of the line at this place of a text.
pub(crate) fn line_number(text: &str, at: usize) -> u32 {
    let before = text.get(..at).unwrap_or(text);
    let lines = memchr::memchr_iter(b'\n', before.as_bytes()).count() as u64 + 1;
    let marks = memchr::memmem::find_iter(before.as_bytes(), MARK.as_bytes());
    let left_out = marks.filter_map(|mark| Gap::parse(before[mark..].lines().next()?));
    let lines = left_out.fold(lines, |lines, gap| lines.saturating_add(gap.lines).saturating_sub(1));
    u32::try_from(lines).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let mut gap = Gap { lines: 1200, bytes: 104_000, counted: Vec::new() };
        assert_eq!(Gap::parse(&gap.to_string()), Some(gap.clone()));
        gap.count(Counted::Answer(200), 1190.0);
        gap.count(Counted::Event(Meaning::RequestAborted, None), 3.0);
        gap.count(Counted::Event(Meaning::Xid, Some(79)), 7.0);
        gap.count(Counted::Signal(Signal::RequestsRunning), -2.0);
        gap.count(Counted::Signal(Signal::RequestsRunning), 0.5);
        assert_eq!(Gap::parse(&gap.to_string()), Some(gap));
    }

    #[test]
    fn a_line_behind_a_gap_has_its_number_in_the_file() {
        let text = "a\n[intriage left out 10 lines, 99 bytes]\nb\nc\n";
        let numbers = ["a\n", "b\n", "c\n"].map(|line| line_number(text, text.find(line).unwrap()));
        assert_eq!(numbers, [1, 12, 13]);
    }

    proptest! {
        #[test]
        fn any_text_is_survived(rest in "([0-9]{1,22}|lines, |bytes| |: |, |answered-|Xid/|-|\\PC){0,12}\\]?") {
            let line = [MARK, &rest].concat();
            if let Some(gap) = Gap::parse(&line) {
                prop_assert_eq!(Gap::parse(&gap.to_string()), Some(gap.clone()));
            }
            line_number(&line, line.len());
        }
    }
}
