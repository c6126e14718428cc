//! Lines of a long log that are kept, and the gaps between them, within a size.

use std::collections::BTreeMap;

use super::gap::{Counted, Gap};

/// Of each kind of line, so many stay at either end however often it comes.
const ENDS: usize = 4;
/// A kind of which there are no more lines than this is not thinned.
const RARE: usize = 64;
/// Frequent lines that are left out or stay together.
const RUN: usize = 32;
/// What the line of a gap takes in bytes, roughly.
const GAP_SIZE: usize = 100;

/// What a kept line is kept for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    /// It stands beside a line that tells.
    Beside,
    /// It holds the text of this index.
    Text(usize),
}

/// A line that is kept.
pub(super) struct Line {
    pub(super) kind: Kind,
    /// As it stands in the file, without the line end; several where a runtime cut it into pieces.
    pub(super) raw: Box<str>,
    /// What is counted for it once it is left out.
    pub(super) counted: Box<[(Counted, f64)]>,
    /// Figures of which the highest and the lowest are kept, each by its place among the figures of its kind.
    pub(super) figures: Box<[(usize, f64)]>,
}

enum Entry {
    Gap(Gap),
    Line(Line),
}

/// Lines and gaps in their order.
pub(super) struct Kept {
    entries: Vec<Entry>,
    size: usize,
    most: usize,
    /// By kind and figure: the lowest and the highest so far.
    extremes: BTreeMap<(Kind, usize), (f64, f64)>,
}

impl Line {
    fn size(&self) -> usize {
        self.raw.len() + 1
    }

    /// Whether it has a lowest or a highest figure that no line before it had.
    fn is_extreme(&self, extremes: &mut BTreeMap<(Kind, usize), (f64, f64)>) -> bool {
        let mut any = false;
        for (figure, value) in &self.figures {
            if let Some((low, high)) = extremes.get_mut(&(self.kind, *figure)) {
                for bound in [low, high].into_iter().filter(|bound| **bound == *value) {
                    *bound = f64::NAN;
                    any = true;
                }
            }
        }
        any
    }

    fn lines(&self) -> u64 {
        memchr::memchr_iter(b'\n', self.raw.as_bytes()).count() as u64 + 1
    }
}

impl Kept {
    /// Room for about so many bytes.
    pub(super) fn new(most: usize) -> Self {
        Self { entries: Vec::new(), size: 0, most, extremes: BTreeMap::new() }
    }

    /// Adds lines that are left out.
    pub(super) fn leave_out(&mut self, gap: Gap) {
        match self.entries.last_mut() {
            _ if gap.lines == 0 => {}
            Some(Entry::Gap(before)) => before.join(&gap),
            _ => {
                self.size += GAP_SIZE;
                self.entries.push(Entry::Gap(gap));
            }
        }
    }

    /// Adds a line. Where there are too many, the frequent ones are thinned.
    pub(super) fn keep(&mut self, line: Line) {
        self.size += line.size();
        for (figure, value) in &line.figures {
            let known = self.extremes.entry((line.kind, *figure)).or_insert((*value, *value));
            *known = (known.0.min(*value), known.1.max(*value));
        }
        self.entries.push(Entry::Line(line));
        while self.size > self.most && self.thin() {}
    }

    /// The text, and all that is left out of it.
    pub(super) fn finish(self) -> (String, Gap) {
        let (mut text, mut all) = (String::with_capacity(self.size), Gap::default());
        for entry in self.entries {
            match entry {
                Entry::Gap(gap) => {
                    text.push_str(&gap.to_string());
                    all.join(&gap);
                }
                Entry::Line(line) => text.push_str(&line.raw),
            }
            text.push('\n');
        }
        (text, all)
    }

    /// Leaves out every other run of the frequent lines, or the older half of all where that is not enough; whether there
    /// was anything to leave out. Runs, since each gap takes a line of its own.
    fn thin(&mut self) -> bool {
        let counts = self.counts();
        let is_frequent = |kind: Kind| kind == Kind::Beside || counts.get(&kind).is_some_and(|n| *n > RARE);
        let (before, mut place) = (self.size, 0);
        let mut places: BTreeMap<Kind, usize> = BTreeMap::new();
        // One line stands for each extreme, however many have the same figure.
        let mut extremes = self.extremes.clone();
        self.leave(|line| {
            if !is_frequent(line.kind) {
                return false;
            }
            let here = places.entry(line.kind).or_default();
            *here += 1;
            place += 1;
            let (first, last) = (*here <= ENDS, *here + ENDS > counts[&line.kind]);
            // What stands beside a line has no ends of its own.
            let is_end = line.kind != Kind::Beside && (first || last);
            let is_extreme = line.is_extreme(&mut extremes);
            place / RUN % 2 == 1 && !is_end && !is_extreme
        });
        if self.size * 8 > before * 7 {
            let mut left = counts.values().sum::<usize>() / 2;
            self.leave(|_| {
                let older = left > 0;
                left = left.saturating_sub(1);
                older
            });
        }
        self.size < before
    }

    /// How many lines there are of each kind.
    fn counts(&self) -> BTreeMap<Kind, usize> {
        let mut counts = BTreeMap::new();
        for entry in &self.entries {
            if let Entry::Line(line) = entry {
                *counts.entry(line.kind).or_default() += 1;
            }
        }
        counts
    }

    /// Leaves out the lines that `drop` names; it is asked for lines alone, in their order.
    fn leave(&mut self, mut drop: impl FnMut(&Line) -> bool) {
        let entries = std::mem::take(&mut self.entries);
        self.size = 0;
        for entry in entries {
            match entry {
                Entry::Line(line) if drop(&line) => {
                    let (lines, bytes) = (line.lines(), line.size() as u64);
                    self.leave_out(Gap { lines, bytes, counted: line.counted.into_vec() });
                }
                Entry::Line(line) => {
                    self.size += line.size();
                    self.entries.push(Entry::Line(line));
                }
                Entry::Gap(gap) => self.leave_out(gap),
            }
        }
    }
}
