//! What is found in the logs of one server, line by line.

use std::collections::BTreeMap;

use intriage_case::Source;

use super::calendar::{Calendar, Known};
use super::catalogue::Target;
use super::dumps::DUMPS;
use super::forms::is_share;
use super::line::{Line, answer_status, excerpt, message, number_behind};
use super::moments::{LogSpan, Moments};
use super::processes::Processes;
use super::readings::{InOrder, LogEvent, LogReadings};
use super::series::Collector;
use super::sieve::gap::{Counted, Gap};
use super::signature::{LogKind, Numbered, Signature};
use super::stamp::{self, Stamp};
use super::starts::StartPart;
use super::thrown::{self, Thrown, Throws};
use super::wrapping::Unwrapped;
use super::writer::writer;
use crate::config::{Config, SettingValue};
use crate::dialect::{Dialect, Engine};

/// What was found so far in files that are one log.
pub(super) struct Found<'a> {
    /// Which of the logs side by side this is.
    chain: u32,
    /// The files so far, the one that is read last.
    files: Vec<&'a str>,
    dialect: Option<&'a Dialect>,
    known: Known,
    calendar: Calendar,
    events: Processes,
    /// Of the process that runs.
    answers: BTreeMap<u16, u64>,
    /// Of the process that runs.
    series: Collector,
    /// By place in the dialect's table: the first line of the last start that holds it, and its number.
    values: BTreeMap<usize, (Source, f64)>,
    /// By place in [`DUMPS`]: the first line of the last start that holds it, and what follows.
    dumps: BTreeMap<usize, (Source, String)>,
    /// How far the last start has come.
    reached: Option<StartPart>,
    /// Whether any line was an engine's.
    is_engines: bool,
    /// Of the process that runs and of the one before.
    thrown: Vec<Thrown>,
    /// Of the process that runs.
    pub(super) moments: Moments,
    /// Whether the line that was taken last begins another process.
    begins: bool,
}

impl<'a> Found<'a> {
    /// Nothing yet.
    pub(super) fn new(chain: u32, dialect: Option<&'a Dialect>, known: Known) -> Self {
        Self {
            chain,
            files: Vec::new(),
            dialect,
            known,
            calendar: Calendar::new(known),
            events: Processes::default(),
            answers: BTreeMap::new(),
            series: Collector::default(),
            values: BTreeMap::new(),
            dumps: BTreeMap::new(),
            reached: None,
            is_engines: false,
            thrown: Vec::new(),
            moments: Moments::default(),
            begins: false,
        }
    }

    /// What follows is of this file.
    pub(super) fn open(&mut self, name: &'a str) {
        self.files.push(name);
    }

    fn file(&self) -> u32 {
        self.files.len().saturating_sub(1) as u32
    }

    fn name(&self) -> String {
        self.files.last().copied().unwrap_or_default().to_owned()
    }

    fn source(&self, line: Line<'_>) -> Source {
        Source::Log { file: self.name(), line: line.number }
    }

    /// Takes what one row of the tables finds in a line.
    pub(super) fn take(&mut self, target: Target, line: Line<'_>, log: &mut Unwrapped<'_>) {
        self.is_engines |= target.is_engines();
        match target {
            Target::Start(start) => {
                if self.is_of(start.engine) {
                    self.begin(start.part, line.number);
                }
            }
            Target::Signature(place, signature) => self.event(place, signature, line, log),
            Target::Periodic(periodic) => {
                if !periodic.without.is_empty() && line.text.contains(periodic.without) {
                    return;
                }
                // The wrapping's time has a date and a zone; the line's own often lacks both.
                let wrapped = log.written_at(line.row).map(Stamp::Full);
                if let Some(stamp) = wrapped.or_else(|| stamp::of_line(line.text)) {
                    let (at, clock) = self.calendar.instant(stamp);
                    let file = self.files.last().copied().unwrap_or_default();
                    self.series.add(periodic, file, line, at, clock);
                }
            }
            Target::Value(engine, place, value) => {
                if self.is_of(engine)
                    && let Some(number) = number_behind(line.text, value.after)
                {
                    self.reached = Some(StartPart::Made);
                    let told = (self.source(line), number * value.scale);
                    self.values.entry(place).or_insert(told);
                }
            }
            Target::Dump(place) => {
                if let Some((_, dump)) = line.text.split_once(DUMPS[place].text) {
                    if DUMPS[place].is_made() {
                        self.reached = Some(StartPart::Made);
                    }
                    let source = self.source(line);
                    self.dumps.entry(place).or_insert_with(|| (source, dump.to_owned()));
                }
            }
            Target::Answer => {
                if let Some(status) = answer_status(line.text) {
                    *self.answers.entry(status).or_default() += 1;
                }
            }
            // Taken as whole lines.
            Target::Gap | Target::Thrown(_) => {}
        }
    }

    /// Takes what lines counted that were left out here.
    pub(super) fn leave_out(&mut self, gap: &Gap) {
        for (what, by) in &gap.counted {
            match *what {
                Counted::Answer(status) => {
                    let answers = self.answers.entry(status).or_default();
                    *answers = answers.saturating_add(*by as u64);
                }
                Counted::Event(meaning, number) => self.events.more(meaning, number, *by as u32),
                Counted::Signal(signal) => self.series.moved(signal, *by),
            }
        }
    }

    fn is_of(&self, engine: Engine) -> bool {
        self.dialect.is_some_and(|dialect| dialect.engine == engine)
    }

    /// A start tells of each part once: one that is told of again is the next start's.
    fn begin(&mut self, part: StartPart, line: u32) {
        if self.reached >= Some(part) {
            self.values.clear();
            self.dumps.clear();
            self.answers.clear();
            self.series = Collector::default();
            self.events.restart(self.file(), line);
            self.begins = true;
            for thrown in &mut self.thrown {
                thrown.starts_since += 1;
            }
            self.thrown.retain(|thrown| thrown.starts_since <= 1);
        }
        self.reached = Some(part);
    }

    /// The line at this place of the text may have begun another process.
    pub(super) fn began(&mut self, text: &str, at: usize) {
        if std::mem::take(&mut self.begins) {
            self.moments = Moments::beginning(text, at);
        }
    }

    /// Takes what a program threw, from the line that begins it on.
    pub(super) fn thrown(&mut self, throws: Throws, text: &str, line: u32) {
        let file = self.name();
        let of_now = || self.thrown.iter().filter(|thrown| thrown.starts_since == 0);
        if of_now().count() >= thrown::MOST {
            return;
        }
        let read = match throws {
            Throws::Python => thrown::traceback(text, line),
            _ => thrown::crash(throws, text, line),
        };
        let Some(read) = read else { return };
        // The second traceback of a chain begins inside the first.
        let inside = |known: &Thrown| {
            known.file == file && (known.line..=known.until).contains(&line) && known.is_of(&read)
        };
        if !of_now().any(inside) {
            self.thrown.push(Thrown { file, ..read });
        }
    }

    fn event(&mut self, place: usize, signature: &Signature, line: Line<'_>, log: &mut Unwrapped<'_>) {
        if !signature.fits(line.text) {
            return;
        }
        let number = match signature.numbered {
            Numbered::No => None,
            Numbered::Kind | Numbered::Amount => match signature.number(line.text) {
                None | Some(0) => return,
                number => number,
            },
        };
        let kind = number.filter(|_| signature.numbered == Numbered::Kind);
        let (chain, file, name) = (self.chain, self.file(), self.files.last().copied().unwrap_or_default());
        let event = self.events.event(signature.log, file, (place, kind), || {
            let message = message(line.text);
            LogEvent {
                meaning: signature.meaning,
                log: signature.log,
                number,
                file: name.to_owned(),
                line: line.number,
                last_line: line.number,
                told_line: line.number,
                count: 0,
                written: None,
                starts_since: 0,
                in_a_row: 1,
                replaced: signature.latest || signature.numbered == Numbered::Amount,
                in_order: InOrder::default(),
                place: (chain, file),
                writer: writer(line.text),
                reason: signature.reason,
                excerpt: excerpt(&message),
                message,
            }
        });
        event.number = number;
        if signature.latest {
            event.told_line = line.number;
        }
        if event.replaced && event.count > 0 {
            // The figures around the number belong to its line.
            event.message = message(line.text);
            event.excerpt = excerpt(&event.message);
            event.writer = writer(line.text);
        }
        event.last_line = line.number;
        event.count = event.count.saturating_add(1);
        // A kernel's log reaches back for weeks; an engine's begins with the process, and has many more lines.
        if signature.log == LogKind::Kernel {
            let wrapped = log.written_at(line.row).map(Stamp::Full);
            let stamp = wrapped.or_else(|| stamp::of_line(line.text));
            event.written = stamp.and_then(|stamp| self.calendar.written(stamp));
        }
    }

    /// Settings are stated in the order of the tables: of two equally good sources the first counts.
    pub(super) fn finish(self, readings: &mut LogReadings, config: &mut Config) {
        readings.events.extend(self.events.finish());
        readings.series.extend(self.series.finish(self.chain));
        // A router beside the engines answers the same requests once more.
        let beside = self.files.iter().all(|file| is_share(file)) && !self.is_engines;
        for (status, count) in self.answers.into_iter().filter(|_| !beside) {
            *readings.answers.entry(status).or_default() += count;
        }
        readings.thrown.extend(self.thrown);
        if readings.span == LogSpan::default() {
            readings.span = self.moments.span(self.known);
        }
        let Some(dialect) = self.dialect else { return };
        for (place, (source, number)) in self.values {
            config.state(dialect.log_values[place].setting, SettingValue::Number(number), source);
        }
        for (place, (source, dump)) in self.dumps {
            DUMPS[place].state(dialect, &dump, &source, config);
        }
    }
}
