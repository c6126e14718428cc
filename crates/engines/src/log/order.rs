//! Several files of one log, as a rotation leaves them, put in the order in which they were written.
//!
//! Times decide, where lines carry them and the files do not overlap; then the numbers a rotation gives; then the order in
//! which files of one name were given. What overlaps or is no engine's log stands beside the others, for itself.

use std::cmp::Reverse;

use intriage_case::{LogText, Millis, Seconds};

use super::calendar::{Calendar, Known, LogClock};
use super::catalogue::{Target, catalogue};
use super::forms::is_share;
use super::signature::LogKind;
use super::stamp::{self, DAY, Stamp};
use super::wrapping::unwrap;

/// Files that are one log, the oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogChain {
    /// Their names.
    pub files: Vec<String>,
    /// What their order was found by.
    pub by: LogOrder,
}

/// What the order of files was found by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogOrder {
    /// The times of their lines.
    Times,
    /// The numbers or dates a rotation puts behind their names.
    Rotation,
    /// Nothing: they are as they were given.
    Given,
}

/// Bytes looked at from either end of a file.
const LOOKED_AT: usize = 64 << 10;
/// Stamps have seconds, and a rotation falls inside one.
const SLACK: Seconds = Seconds(1.0);

/// The order of some logs as sentences; none where each stands for itself.
pub fn log_order(logs: &[LogText]) -> Vec<String> {
    let all: Vec<&LogText> = logs.iter().collect();
    chains(&all, Known::default()).iter().filter_map(|chain| told(&of_names(chain))).collect()
}

/// A chain in words, where it has more than one file.
pub(crate) fn told(chain: &LogChain) -> Option<String> {
    let by = match chain.by {
        LogOrder::Times => "by the times of their lines",
        LogOrder::Rotation => "by the numbers behind their names",
        LogOrder::Given => "as given, since neither times nor names tell",
    };
    (chain.files.len() > 1)
        .then(|| format!("read as one log, the oldest first ({by}): {}", chain.files.join(", ")))
}

/// The same with names instead of texts.
pub(super) fn of_names(chain: &Chain<'_>) -> LogChain {
    LogChain { files: chain.logs.iter().map(|log| log.name.clone()).collect(), by: chain.by }
}

/// Files that are one log, the oldest first.
pub(super) struct Chain<'a> {
    pub(super) logs: Vec<&'a LogText>,
    pub(super) by: LogOrder,
}

/// Which of these are one log, each chain where its first file was given.
pub(super) fn chains<'a>(logs: &[&'a LogText], known: Known) -> Vec<Chain<'a>> {
    if logs.len() < 2 {
        return logs.iter().map(|log| Chain { logs: vec![log], by: LogOrder::Given }).collect();
    }
    let mut files: Vec<File<'a>> =
        logs.iter().enumerate().map(|(given, log)| File::of(given, log, known)).collect();
    agree_on_a_clock(&mut files);
    let mut found: Vec<Vec<File<'a>>> = Vec::new();
    let mut orders = Vec::new();
    let (mut engines, others): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|file| file.is_engines && !is_share(&file.log.name));
    for file in others {
        found.push(vec![file]);
        orders.push(LogOrder::Given);
    }
    // A rotation of which one file has no times is ordered by its numbers as a whole.
    let mut untimed: Vec<String> =
        engines.iter().filter(|file| file.span.is_none()).map(|file| file.family.clone()).collect();
    untimed.dedup();
    for family in untimed {
        let (mut same, rest): (Vec<_>, Vec<_>) = engines.into_iter().partition(|file| file.family == family);
        engines = rest;
        let rotated = same.iter().any(|file| file.age != Age::Live);
        if rotated {
            same.sort_by(|a, b| a.age.cmp(&b.age).then(a.given.cmp(&b.given)));
        }
        if !same.is_empty() {
            found.push(same);
            orders.push(if rotated { LogOrder::Rotation } else { LogOrder::Given });
        }
    }
    for chain in by_times(engines) {
        found.push(chain);
        orders.push(LogOrder::Times);
    }
    let mut all: Vec<_> = found.into_iter().zip(orders).collect();
    all.sort_by_key(|(chain, _)| chain.iter().map(|file| file.given).min());
    all.into_iter()
        .map(|(chain, by)| Chain { logs: chain.into_iter().map(|file| file.log).collect(), by })
        .collect()
}

/// The file that was written last, where all of them are one log and something tells its order.
pub(crate) fn written_last<'a>(logs: &[&'a LogText]) -> Option<&'a LogText> {
    match &chains(logs, Known::default())[..] {
        [only] if logs.len() == 1 || only.by != LogOrder::Given => only.logs.last().copied(),
        _ => None,
    }
}

/// Files whose times do not overlap, behind each other; of several they could follow, those of the same name.
fn by_times(mut files: Vec<File<'_>>) -> Vec<Vec<File<'_>>> {
    files.sort_by_key(|file| (file.span, file.given));
    let mut chains: Vec<Vec<File<'_>>> = Vec::new();
    for file in files {
        let follows = |chain: &Vec<File<'_>>| {
            let ends = chain.last().and_then(|last| last.span);
            ends.zip(file.span).is_some_and(|((_, end), (begin, _))| end.since(begin) <= SLACK)
        };
        let open: Vec<usize> = (0..chains.len()).filter(|i| follows(&chains[*i])).collect();
        let namesake = open.iter().copied().find(|i| chains[*i].iter().any(|f| f.family == file.family));
        let only = if chains.len() == 1 { open.first().copied() } else { None };
        match namesake.or(only) {
            Some(chain) => chains[chain].push(file),
            None => chains.push(vec![file]),
        }
    }
    chains
}

/// Times count only where all can be compared: those without a year are left out beside those with one, and wrap round
/// the end of theirs among themselves.
fn agree_on_a_clock(files: &mut [File<'_>]) {
    let dated = files.iter().any(|file| file.span.is_some() && file.clock == LogClock::Wall);
    for file in files.iter_mut() {
        if file.clock == LogClock::SinceStart || (dated && file.clock == LogClock::Undated) {
            file.span = None;
        }
    }
    let half_a_year = 183 * DAY as u64;
    let latest = files.iter().filter_map(|file| file.span).map(|(first, _)| first.0).max().unwrap_or(0);
    for file in files.iter_mut().filter(|file| file.clock == LogClock::Undated) {
        if let Some((first, last)) = &mut file.span
            && latest.saturating_sub(first.0) > half_a_year
        {
            (first.0, last.0) = (first.0 + 366 * DAY as u64, last.0 + 366 * DAY as u64);
        }
    }
}

struct File<'a> {
    given: usize,
    log: &'a LogText,
    /// Whether an engine wrote it, as far as its ends show.
    is_engines: bool,
    clock: LogClock,
    /// The times of its first and its last line with one.
    span: Option<(Millis, Millis)>,
    /// Its name without what a rotation or a date adds.
    family: String,
    age: Age,
}

/// How old a rotation says a file is, the oldest first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Age {
    /// `vllm.log-20261115`, `vllm.log.2026-11-15`
    Dated(String),
    /// `vllm.log.2`
    Numbered(Reverse<u32>),
    /// `vllm.log`
    Live,
}

impl<'a> File<'a> {
    fn of(given: usize, log: &'a LogText, known: Known) -> Self {
        let (family, age) = rotation(&log.name);
        let (head, tail) = ends(&log.text);
        let mut calendar = Calendar::new(known);
        let first = stamps(head).next().map(|stamp| calendar.instant(stamp));
        let last = stamps(tail).last().map(|stamp| calendar.instant(stamp));
        let (clock, span) = match (first, last) {
            (Some((first, clock)), Some((last, other))) if clock == other && first <= last => {
                (clock, Some((first, last)))
            }
            _ => (LogClock::SinceStart, None),
        };
        let is_engines = is_engines(head) || is_engines(tail);
        Self { given, log, is_engines, clock, span, family, age }
    }
}

/// The whole lines at either end of a text.
fn ends(text: &str) -> (&str, &str) {
    let bytes = text.as_bytes();
    let head = memchr::memrchr(b'\n', &bytes[..bytes.len().min(LOOKED_AT)]).map_or(text.len(), |at| at + 1);
    let from = bytes.len().saturating_sub(LOOKED_AT);
    let tail =
        if from == 0 { 0 } else { memchr::memchr(b'\n', &bytes[from..]).map_or(0, |at| from + at + 1) };
    // Line ends are ASCII, so both places are between characters.
    (&text[..head], &text[tail..])
}

fn stamps(text: &str) -> impl Iterator<Item = Stamp> {
    let mut unwrapped = unwrap(text);
    let lines = std::mem::take(&mut unwrapped.text).into_owned();
    let mut all = Vec::new();
    for (line, number) in lines.lines().zip(1..) {
        let wrapped = unwrapped.written_at(number).map(Stamp::Full);
        all.extend(wrapped.or_else(|| stamp::of_line(line)));
    }
    all.into_iter()
}

fn is_engines(text: &str) -> bool {
    let unwrapped = unwrap(text);
    let mut found = false;
    catalogue().scanner.lines(&unwrapped.text, |line, texts| {
        let mut targets = texts.iter().flat_map(|text| catalogue().targets(*text));
        found |= targets.any(|target| match target {
            Target::Signature(_, signature) => {
                matches!(signature.log, LogKind::Engine(_)) && signature.fits(line.text)
            }
            _ => true,
        });
    });
    found
}

/// What a name is without what a rotation adds, digits aside, and how old that says it is.
fn rotation(name: &str) -> (String, Age) {
    let name = name.strip_suffix(".log").unwrap_or(name);
    // Python and kubelets put a dot before the date.
    let is_date =
        |(_, rest): &(&str, &str)| rest.len() >= 8 && rest.starts_with(|c: char| c.is_ascii_digit());
    let dated = name.split_once(".log-").or_else(|| name.split_once(".log.").filter(is_date));
    let (stem, age) = if let Some((stem, date)) = dated {
        (stem, Age::Dated(date.to_owned()))
    } else {
        let numbered = name.rsplit_once('.').and_then(|(stem, number)| {
            let short = !stem.is_empty() && number.len() <= 4 && !number.starts_with('+');
            Some((stem, number.parse::<u32>().ok().filter(|_| short)?))
        });
        match numbered {
            Some((stem, number)) => {
                (stem.strip_suffix(".log").unwrap_or(stem), Age::Numbered(Reverse(number)))
            }
            None => (name, Age::Live),
        }
    };
    let without_digits: String = stem.chars().filter(|c| !c.is_ascii_digit()).collect();
    (without_digits.trim_end_matches(['-', '_', '.', 'T', ':']).to_owned(), age)
}

#[cfg(test)]
#[path = "order_tests.rs"]
mod tests;
