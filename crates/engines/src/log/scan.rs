//! Finds which lines of a text hold which of many texts, in one pass.
//!
//! Most lines hold none. Teddy, the vector search inside aho-corasick, skips those at several bytes a cycle, but only
//! for up to 64 patterns, and it looks at their first four bytes alone. So the texts are represented by a few rare parts
//! of four bytes ([`anchors`]), these are split into groups, and all groups search one block before the next is touched.
//! Only a line with an anchor is looked at closely, and not even that where it is like one before it ([`Alike`]).

use aho_corasick::packed::{Config, MatchKind, Searcher};
use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, Span};
use memchr::{memchr, memchr_iter, memrchr};

use super::alike::Alike;
use super::anchors::anchors;
use super::line::Line;
use super::sieve::gap::{self, Gap};

/// Most anchors of one group. Of 16, 24, 32, 40, 48 and 64 this was among the fastest; all in one automaton was eight
/// times slower.
const GROUP: usize = 32;
/// Bytes all groups search before the next block: fits a core's own cache.
const BLOCK: usize = 128 * 1024;

/// Bytes they search first, and behind a run of lines that are alike: such runs come again and need no search.
const STEP: usize = 1024;

/// Searches for a fixed set of texts.
pub(super) struct Scanner {
    groups: Vec<Group>,
    texts: Vec<&'static str>,
    /// All texts whole, to look at one line; absent where they are too many for it.
    automaton: Option<AhoCorasick>,
    block: usize,
}

enum Group {
    Teddy(Searcher),
    /// Where the machine has no vector instructions.
    Automaton(AhoCorasick),
    /// Every line is looked at: correct, and slow.
    Everywhere,
}

impl Scanner {
    /// A scanner for these texts, each at least four bytes long and without a line end.
    pub(super) fn new(texts: &[&'static str]) -> Self {
        Self::grouped(texts, GROUP, BLOCK)
    }

    /// With groups of at most `group` anchors that search `block` bytes at a time.
    fn grouped(texts: &[&'static str], group: usize, block: usize) -> Self {
        let mut anchors = anchors(texts);
        // Neighbours share their first bytes, and with them Teddy's buckets.
        anchors.sort_unstable();
        let groups = anchors.chunks(group).map(Group::new).collect();
        Self { groups, texts: texts.to_vec(), automaton: whole(texts), block }
    }

    /// Calls `found` for each line with one of the texts, in order, with the indices of those it holds.
    pub(super) fn lines<'a>(&self, text: &'a str, mut found: impl FnMut(Line<'a>, &[usize])) {
        let bytes = text.as_bytes();
        let mut held = Held::new(self.texts.len());
        let mut alike = Alike::default();
        // Up to here lines were counted, and so many more of the file stand for lines that were left out of it.
        let (mut counted, mut row, mut left_out) = (0, 1_u32, 0_u32);
        let (mut start, mut step) = (0, self.block.min(STEP));
        while start < bytes.len() {
            let end = line_end(bytes, (start + step).min(bytes.len()));
            let mut reached = end;
            self.candidates(bytes, start, end, |at| {
                let mut first = memrchr(b'\n', &bytes[..at]).map_or(0, |newline| newline + 1);
                let mut last = line_end(bytes, at);
                let mut known = alike.held(without_end(&bytes[first..last]));
                if known.is_none() {
                    // Line ends are ASCII, so both places are between characters.
                    let line = without_end(&bytes[first..last]);
                    self.hold(&text[first..first + line.len()], &mut held);
                    alike.learn(line, &held.list, &self.texts);
                    known = Some(&held.list);
                }
                // Lines of one shape follow each other: as long as they do, nothing is searched for.
                while let Some(list) = known {
                    if !list.is_empty() {
                        row += memchr_iter(b'\n', &bytes[counted..first]).count() as u32;
                        let line = &text[first..first + without_end(&bytes[first..last]).len()];
                        found(Line { text: line, number: row.saturating_add(left_out), row }, list);
                        if line.starts_with(gap::MARK) {
                            let lines = Gap::parse(line).map_or(1, |gap| gap.lines);
                            let more = u32::try_from(lines).unwrap_or(u32::MAX).saturating_sub(1);
                            left_out = left_out.saturating_add(more);
                        }
                        (counted, row) = (last, row + 1);
                    }
                    if last >= bytes.len() {
                        break;
                    }
                    let next = line_end(bytes, last);
                    known = alike.held(without_end(&bytes[last..next]));
                    if known.is_some() {
                        (first, last) = (last, next);
                    }
                }
                reached = reached.max(last);
                last
            });
            step = if reached > end { STEP } else { step * 2 }.min(self.block);
            start = reached;
        }
    }

    /// Calls `look` for each anchor between `from` and `to`; it answers where to go on.
    fn candidates(&self, bytes: &[u8], from: usize, to: usize, mut look: impl FnMut(usize) -> usize) {
        let mut next: Vec<Option<usize>> = self.groups.iter().map(|g| g.find(bytes, from, to)).collect();
        while let Some(at) = next.iter().flatten().min().copied() {
            let resume = look(at);
            for (group, place) in self.groups.iter().zip(&mut next) {
                if place.is_some_and(|place| place < resume) {
                    *place = group.find(bytes, resume, to);
                }
            }
        }
    }

    /// Fills `held` with the texts this line holds.
    fn hold(&self, line: &str, held: &mut Held) {
        held.clear();
        if let Some(automaton) = &self.automaton {
            automaton.find_overlapping_iter(line).for_each(|hit| held.add(hit.pattern().as_usize()));
        } else {
            (0..self.texts.len()).filter(|i| line.contains(self.texts[*i])).for_each(|i| held.add(i));
        }
        held.list.sort_unstable();
    }
}

impl Group {
    fn new(anchors: &[&[u8]]) -> Self {
        let teddy = Config::new().match_kind(MatchKind::LeftmostFirst).builder().extend(anchors).build();
        match teddy {
            Some(searcher) => Self::Teddy(searcher),
            None => AhoCorasick::new(anchors).map_or(Self::Everywhere, Self::Automaton),
        }
    }

    /// The first anchor between `from` and `to`.
    fn find(&self, bytes: &[u8], from: usize, to: usize) -> Option<usize> {
        if from >= to {
            return None;
        }
        match self {
            Self::Teddy(searcher) => {
                searcher.find_in(bytes, Span { start: from, end: to }).map(|m| m.start())
            }
            Self::Automaton(automaton) => {
                automaton.find(Input::new(bytes).range(from..to)).map(|m| m.start())
            }
            Self::Everywhere => Some(from),
        }
    }
}

/// One automaton for whole texts, as a table: access lines, the most frequent of all, go through it.
fn whole(texts: &[&str]) -> Option<AhoCorasick> {
    AhoCorasick::builder().kind(Some(AhoCorasickKind::DFA)).build(texts).ok()
}

/// The texts one line holds, each once.
struct Held {
    list: Vec<usize>,
    seen: Vec<bool>,
}

impl Held {
    fn new(count: usize) -> Self {
        Self { list: Vec::new(), seen: vec![false; count] }
    }

    fn add(&mut self, index: usize) {
        if !std::mem::replace(&mut self.seen[index], true) {
            self.list.push(index);
        }
    }

    fn clear(&mut self) {
        for index in self.list.drain(..) {
            self.seen[index] = false;
        }
    }
}

/// Behind the line end at or after `at`, or the end of the text.
fn line_end(bytes: &[u8], at: usize) -> usize {
    memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |newline| at + newline + 1)
}

fn without_end(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXTS: &[&str] = &["Xid 7", "EngineDeadError", "DeadErr", "é fin", "aaaa", "aaab", "Waiting: "];

    fn naive(text: &str) -> Vec<(u32, Vec<usize>)> {
        text.split('\n')
            .zip(1..)
            .map(|(line, number)| {
                let held = (0..TEXTS.len()).filter(|i| line.contains(TEXTS[*i])).collect::<Vec<_>>();
                (number, held)
            })
            .filter(|(_, held)| !held.is_empty())
            .collect()
    }

    fn scanned(text: &str) -> Vec<(u32, Vec<usize>)> {
        let mut all = Vec::new();
        Scanner::new(TEXTS).lines(text, |line, held| {
            assert_eq!(text.split('\n').nth(line.number as usize - 1), Some(line.text));
            all.push((line.number, held.to_vec()));
        });
        all
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn all_tables_are_searched_with_vector_instructions_where_there_are_any() {
        if std::arch::is_x86_feature_detected!("ssse3") {
            let scanner = Scanner::new(crate::log_texts());
            assert!(scanner.groups.iter().all(|group| matches!(group, Group::Teddy(_))));
        }
    }

    #[test]
    fn a_text_across_the_border_of_two_blocks_is_found() {
        let filler = "x".repeat(BLOCK - 3);
        let text = format!("{filler}EngineDeadError{filler}\n{filler}\nXid 79");
        assert_eq!(scanned(&text), naive(&text));
    }

    proptest! {
        #[test]
        fn every_line_is_found_that_a_plain_search_finds(
            pieces in prop::collection::vec(
                prop_oneof![
                    5 => prop::sample::select(TEXTS.to_vec()).prop_map(str::to_owned),
                    5 => Just("\n".to_owned()),
                    3 => "[aE\\n é]{0,8}",
                    4 => "(\\nINFO: [1-3.:]{1,5} - \"GET /[xy]( DeadErr)?\" 20[01]){1,3}",
                    1 => "\\PC{0,80}",
                ],
                0..80,
            )
        ) {
            let text = pieces.concat();
            prop_assert_eq!(scanned(&text), naive(&text));
        }
    }
}
