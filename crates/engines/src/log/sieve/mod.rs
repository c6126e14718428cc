//! The middle of a log that is too long to be kept: its lines that tell, and a count of the others.
//!
//! What is known to the tables stays as it stands in the file, with a few lines around it. Access lines are counted, lines
//! that say nothing known are left out, and a line in their place says how many and what they counted ([`gap`]). Where
//! even the lines that tell are too many, every other run of the frequent ones goes, again and again, so that the older
//! are thinner: the first and the last of each kind stay, and the lowest and highest figures of periodic lines.

pub(super) mod gap;
mod kept;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use intriage_case::Signal;

use self::gap::{Counted, Gap};
use self::kept::{Kept, Kind};
use super::catalogue::{Target, catalogue};
use super::line::{Line, answer_status, number_behind};
use super::periodic::{Periodic, Reading};
use super::prompts::{Prompts, is_open, last_message};
use super::signature::{LogKind, Numbered};
use super::wrapping::{Wrapping, unwrap};

/// Lines kept before one that tells, and behind it: a traceback's are there.
const BEFORE: usize = 2;
const BEHIND: usize = 12;
/// Answers with an error that are kept as they stand; all are counted.
const ERRORS: u32 = 1000;
/// Bytes of a log's start that tell how it is wrapped.
const LOOKED_AT: usize = 64 << 10;
/// Signals whose lowest and highest lines stay.
const EXTREMES: [Signal; 3] = [Signal::RequestsRunning, Signal::RequestsWaiting, Signal::KvUsage];

/// Takes in the lines of a log, block by block, and keeps those that tell.
pub struct Sieve {
    kept: Kept,
    /// Lines left out since the last one that was kept.
    gap: Gap,
    /// Lines that are still kept behind one that tells.
    behind: usize,
    errors: u32,
    /// The last line so far that began a message: it tells whether what follows stands in a prompt.
    message: String,
    /// What gaps tell of that stood in the log already.
    before: LeftOut,
    /// A journal's records have several lines, and none of them says alone what it belongs to.
    is_records: bool,
}

/// What was left out of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LeftOut {
    /// How many lines.
    pub lines: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl LeftOut {
    /// The line that stands in their place, without a line end.
    pub fn line(self) -> String {
        Gap { lines: self.lines, bytes: self.bytes, counted: Vec::new() }.to_string()
    }
}

impl Sieve {
    /// A sieve for what follows the start of a log, that keeps about so many bytes.
    pub fn behind(start: &[u8], most: usize) -> Self {
        let start = String::from_utf8_lossy(&start[..start.len().min(LOOKED_AT)]);
        let is_records = unwrap(&start).wrapping == Wrapping::JournalExport;
        let (gap, message) = (Gap::default(), String::new());
        Self {
            kept: Kept::new(most),
            gap,
            behind: 0,
            errors: 0,
            message,
            before: LeftOut::default(),
            is_records,
        }
    }

    /// Takes in whole lines.
    pub fn lines(&mut self, block: &[u8]) {
        let block = String::from_utf8_lossy(block);
        if self.is_records {
            self.leave_out(&block);
            return;
        }
        let mut unwrapped = unwrap(&block);
        let text = std::mem::take(&mut unwrapped.text);
        let by_writer = unwrapped.is_journal();
        let raw = match &text {
            Cow::Borrowed(_) => None,
            Cow::Owned(text) => Some(Rows::of(&block, text)),
        };
        let mut prompts = Prompts::behind(&self.message, &text);
        // Up to here lines were taken.
        let mut at = 0;
        catalogue().scanner.lines(&text, |line, texts| {
            let start = line.text.as_ptr() as usize - text.as_ptr() as usize;
            let end = (start + line.text.len() + 1).min(text.len());
            let told = Told::of(line, texts, by_writer, &mut prompts);
            let row = raw.as_ref().map(|rows| (rows, line.row as usize - 1));
            self.between(&text[at..start], row, told.is_worth_neighbours());
            at = (end + self.take(told, line, row)).min(text.len());
        });
        let rows = raw.as_ref().map(|rows| (rows, rows.raw.len()));
        self.between(&text[at..], rows, false);
        if let Some(message) = last_message(&text) {
            message.clone_into(&mut self.message);
        }
    }

    /// What is kept, with a line for each gap, and what was left out.
    pub fn finish(mut self) -> (String, LeftOut) {
        // What follows may be the rest of a prompt: its first line has to stand before it.
        if self.gap.lines > 0 && is_open(&self.message) {
            self.gap.lines -= 1;
            self.gap.bytes = self.gap.bytes.saturating_sub(self.message.len() as u64 + 1);
            let message = std::mem::take(&mut self.message);
            self.keep(Kind::Beside, &message, Vec::new(), Vec::new());
        }
        self.kept.leave_out(std::mem::take(&mut self.gap));
        let (text, all) = self.kept.finish();
        let left_out = LeftOut {
            lines: all.lines.saturating_sub(self.before.lines),
            bytes: all.bytes.saturating_sub(self.before.bytes),
        };
        (text, left_out)
    }

    /// Lines that hold none of the texts: those behind the last line that tells and before the next are kept.
    fn between(&mut self, text: &str, before: Option<(&Rows<'_>, usize)>, tells: bool) {
        if text.is_empty() {
            return;
        }
        let lines: Vec<&str> = match before {
            None if self.behind == 0 && !tells => return self.leave_out(text),
            None => text.split_inclusive('\n').collect(),
            // As many lines of the file as there are here end where the next one that was found begins.
            Some((rows, next)) => {
                let count =
                    memchr::memchr_iter(b'\n', text.as_bytes()).count() + usize::from(!text.ends_with('\n'));
                rows.raw[next.saturating_sub(count)..next].to_vec()
            }
        };
        let first = self.behind.min(lines.len());
        let last = if tells { lines.len().saturating_sub(BEFORE).max(first) } else { lines.len() };
        for (place, line) in lines.iter().enumerate() {
            if place < first || place >= last {
                self.keep(Kind::Beside, line, Vec::new(), Vec::new());
            } else {
                self.leave_out(line);
            }
        }
        self.behind -= first;
    }

    fn leave_out(&mut self, text: &str) {
        self.gap.lines += memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64
            + u64::from(!text.ends_with('\n') && !text.is_empty());
        self.gap.bytes += text.len() as u64;
    }

    /// A line that holds a text: kept for what it tells, or counted. Answers how many more lines of the file are its own.
    fn take(&mut self, told: Told, line: Line<'_>, row: Option<(&Rows<'_>, usize)>) -> usize {
        let (raw, more) = row.map_or((Cow::Borrowed(line.text), 0), |(rows, row)| rows.pieces(row));
        match told {
            Told::Answer(status) if status < 400 || self.errors >= ERRORS => {
                self.count(&raw);
                self.gap.count(Counted::Answer(status), 1.0);
            }
            Told::Answer(status) => {
                self.errors += 1;
                let counted = vec![(Counted::Answer(status), 1.0)];
                self.keep(Kind::Text(catalogue().answer), &raw, counted, Vec::new());
            }
            Told::Gap(gap) => {
                self.before.lines = self.before.lines.saturating_add(gap.lines);
                self.before.bytes = self.before.bytes.saturating_add(gap.bytes);
                self.gap.join(&gap);
            }
            Told::Lines { text, counted, figures, notable } => {
                self.keep(Kind::Text(text), &raw, counted, figures);
                if notable {
                    self.behind = BEHIND;
                }
            }
            Told::Nothing => self.count(&raw),
        }
        more
    }

    fn count(&mut self, raw: &str) {
        self.gap.lines += memchr::memchr_iter(b'\n', raw.as_bytes()).count() as u64 + 1;
        self.gap.bytes += raw.len() as u64 + 1;
    }

    fn keep(&mut self, kind: Kind, raw: &str, counted: Vec<(Counted, f64)>, figures: Vec<(usize, f64)>) {
        self.kept.leave_out(std::mem::take(&mut self.gap));
        let raw = raw.strip_suffix('\n').unwrap_or(raw).into();
        self.kept.keep(kept::Line { kind, raw, counted: counted.into(), figures: figures.into() });
    }
}

/// The lines of the file beside those that were unwrapped from them.
struct Rows<'a> {
    raw: Vec<&'a str>,
    unwrapped: Vec<&'a str>,
}

impl<'a> Rows<'a> {
    fn of(raw: &'a str, unwrapped: &'a str) -> Self {
        let rows = |text: &'a str| text.split_inclusive('\n').collect();
        Self { raw: rows(raw), unwrapped: rows(unwrapped) }
    }

    /// The line of the file at this place, with those a runtime cut it into.
    fn pieces(&self, row: usize) -> (Cow<'a, str>, usize) {
        let is_piece = |row: &usize| self.unwrapped.get(*row).is_some_and(|text| *text == "\n");
        let pieces = (row + 1..self.raw.len())
            .take_while(|row| is_piece(row) && !self.raw[*row].trim().is_empty())
            .count();
        let without_end = |raw: &'a str| raw.strip_suffix('\n').unwrap_or(raw);
        match (self.raw.get(row), pieces) {
            (Some(raw), 0) => (Cow::Borrowed(without_end(raw)), 0),
            (Some(_), _) => {
                let mut all = self.raw[row..=row + pieces].concat();
                all.truncate(all.trim_end_matches('\n').len());
                (Cow::Owned(all), pieces)
            }
            (None, _) => (Cow::Borrowed(""), 0),
        }
    }
}

/// What a line that holds texts tells.
enum Told {
    /// Nothing: it only holds a text.
    Nothing,
    /// An answer of this status, and nothing else.
    Answer(u16),
    /// Lines that were left out before.
    Gap(Gap),
    /// Something, by the text of this index.
    Lines { text: usize, counted: Vec<(Counted, f64)>, figures: Vec<(usize, f64)>, notable: bool },
}

impl Told {
    fn of(line: Line<'_>, texts: &[usize], by_writer: bool, prompts: &mut Prompts<'_>) -> Self {
        if texts == [catalogue().answer] {
            return answer_status(line.text).map_or(Self::Nothing, Self::Answer);
        }
        if let Some(gap) = Gap::parse(line.text) {
            return Self::Gap(gap);
        }
        let (mut notable, mut periodic, mut answer) = (None, None, None);
        let (mut counted, mut figures) = (Vec::new(), Vec::new());
        for (text, target) in
            texts.iter().flat_map(|t| catalogue().targets(*t).iter().map(|target| (*t, target)))
        {
            match target {
                Target::Signature(_, row) => {
                    let kernels = row.log == LogKind::Kernel;
                    if !row.fits(line.text) || (kernels && !by_writer && prompts.hold(line.text)) {
                        continue;
                    }
                    let number = row.number(line.text).filter(|number| *number > 0);
                    if row.numbered != Numbered::No && number.is_none() {
                        continue;
                    }
                    let number = number.filter(|_| row.numbered == Numbered::Kind);
                    counted.push((Counted::Event(row.meaning, number), 1.0));
                    notable = notable.or(Some(text));
                }
                Target::Start(_) | Target::Value(..) | Target::Dump(_) | Target::Thrown(_) => {
                    notable = notable.or(Some(text));
                }
                Target::Periodic(row) => {
                    if row.without.is_empty() || !line.text.contains(row.without) {
                        read(row, line.text, &mut counted, &mut figures);
                        periodic = periodic.or(Some(text));
                    }
                }
                Target::Answer => answer = answer_status(line.text),
                Target::Gap => {}
            }
        }
        match (notable.or(periodic), answer) {
            (Some(text), answer) => {
                counted.extend(answer.map(|status| (Counted::Answer(status), 1.0)));
                Self::Lines { text, counted, figures, notable: notable.is_some() }
            }
            (None, Some(status)) => Self::Answer(status),
            (None, None) => Self::Nothing,
        }
    }

    fn is_worth_neighbours(&self) -> bool {
        matches!(self, Self::Lines { notable: true, .. })
    }
}

/// What a periodic line adds to sums, and its figures of which the lowest and highest are kept.
fn read(row: &Periodic, line: &str, counted: &mut Vec<(Counted, f64)>, figures: &mut Vec<(usize, f64)>) {
    for (place, field) in row.fields.iter().enumerate() {
        match field.how {
            Reading::Moves(by) => counted.push((Counted::Signal(field.signal), by)),
            Reading::Adds => {
                counted
                    .extend(number_behind(line, field.behind).map(|by| (Counted::Signal(field.signal), by)));
            }
            Reading::Gauge(_) if EXTREMES.contains(&field.signal) => {
                figures.extend(number_behind(line, field.behind).map(|value| (place, value)));
            }
            Reading::Gauge(_) | Reading::Switch => {}
        }
    }
}
