//! Walks over the lines of a scrape and puts together what they say.

use super::comment::{self, Comment};
use super::cursor::{Cursor, Stop};
use super::family::{Families, Kind};
use super::problem::{Problem, ProblemKind};
use super::sample::{self, Sample, SampleLine};
use super::{Exposition, Format, Timestamp};

/// Reads text that is valid UTF-8 throughout.
pub(super) fn read(text: &str) -> Exposition<'_> {
    let mut reader = Reader::new(text.len());
    let problem = reader.lines(text).err();
    reader.finish(text, problem)
}

/// Reads the lines before the one with the first byte that is not UTF-8, which is at `bad`. That line itself is
/// damaged, wherever in it the byte is.
pub(super) fn read_before_bad_byte(bytes: &[u8], bad: usize) -> Exposition<'_> {
    let valid = bytes.get(..bad).and_then(|valid| std::str::from_utf8(valid).ok()).unwrap_or_default();
    let whole_lines = memchr::memrchr(b'\n', valid.as_bytes()).map_or(0, |newline| newline + 1);
    let text = valid.get(..whole_lines).unwrap_or_default();
    let mut reader = Reader::new(text.len());
    let problem = reader.lines(text).err().unwrap_or_else(|| Problem::at(valid, bad, ProblemKind::NotUtf8));
    reader.finish(text, Some(problem))
}

struct Reader<'a> {
    samples: Vec<Sample<'a>>,
    families: Families<'a>,
    /// The last name read that was not in quotes.
    known: &'a str,
    /// Something was seen that only OpenMetrics has.
    openmetrics: bool,
    eof: bool,
    /// Some sample has a timestamp.
    timestamps: bool,
}

impl<'a> Reader<'a> {
    fn new(bytes: usize) -> Self {
        // Real scrapes have a sample for every 100 bytes or so: one allocation for most of them, and no more
        // than the input's own size for a hostile one.
        let samples = Vec::with_capacity(bytes / 112);
        Self {
            samples,
            families: Families::default(),
            known: "",
            openmetrics: false,
            eof: false,
            timestamps: false,
        }
    }

    fn lines(&mut self, text: &'a str) -> Result<(), Problem> {
        let mut start = 0;
        while let Some(rest) = text.get(start..).filter(|rest| !rest.is_empty()) {
            let length = memchr::memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len());
            let line = rest.get(..length).unwrap_or_default();
            let line = line.strip_suffix('\r').unwrap_or(line);
            self.line(line).map_err(|stop| Problem::at(text, start + stop.at, stop.what))?;
            start += length + 1;
        }
        Ok(())
    }

    #[inline]
    fn line(&mut self, line: &'a str) -> Result<(), Stop> {
        let mut cursor = Cursor::new(line);
        cursor.skip_blanks();
        match cursor.peek() {
            None => {}
            Some(_) if self.eof => return Err(cursor.stop(ProblemKind::TextAfterEof)),
            Some(b'#') => {
                let comment = comment::read(cursor, &mut self.known)?;
                self.comment(comment);
            }
            Some(_) => {
                let line = sample::read(cursor, &mut self.known)?;
                self.sample(line);
            }
        }
        Ok(())
    }

    #[inline]
    fn sample(&mut self, line: SampleLine<'a>) {
        let SampleLine { mut sample, openmetrics } = line;
        sample.family = self.families.of_sample(sample.name);
        self.openmetrics |= openmetrics;
        self.timestamps |= sample.timestamp.is_some();
        self.samples.push(sample);
    }

    /// What a family says first holds, should it say it again: samples may have been read by it.
    fn comment(&mut self, comment: Comment<'a>) {
        match comment {
            Comment::Help { name, text } => {
                self.families.declare(name).help.get_or_insert(text);
            }
            Comment::Type { name, kind } => {
                let family = self.families.declare(name);
                if family.kind == Kind::Unknown {
                    family.kind = kind;
                }
            }
            Comment::Unit { name, unit } => {
                self.openmetrics = true;
                let family = self.families.declare(name);
                if !unit.is_empty() {
                    family.unit.get_or_insert(unit);
                }
            }
            Comment::Eof => {
                self.openmetrics = true;
                self.eof = true;
            }
            Comment::Prose => {}
        }
    }

    fn finish(mut self, text: &'a str, problem: Option<Problem>) -> Exposition<'a> {
        let format = if self.openmetrics { Format::OpenMetrics1 } else { Format::Text004 };
        // The format is often known only at the end, so timestamps were read as bare numbers.
        if self.timestamps && format == Format::Text004 {
            self.samples
                .iter_mut()
                .filter_map(|sample| sample.timestamp.as_mut())
                .for_each(Timestamp::was_millis);
        }
        let cut_off = || Problem::at(text, text.len(), ProblemKind::EofMissing);
        let problem = problem.or_else(|| (self.openmetrics && !self.eof).then(cut_off));
        Exposition { format, samples: self.samples, families: self.families.into_list(), problem }
    }
}
