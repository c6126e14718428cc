//! Texts of an exact number of words that nobody has sent before.

use intriage_simulate::{Random, mix};

use super::vocabulary::{CELL, Vocabulary};

/// Words put together before they are appended to a text.
const BATCH: u32 = 16;
/// Words that 64 random bits choose.
const WORDS_OF_BITS: u32 = 4;

/// Which kind of text a number names: prompt 3, group 3 and block 3 are different texts.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// A prompt of its own.
    Own = 0,
    /// What a group shares.
    Group = 1,
    /// A block of a trace.
    Block = 2,
}

/// What texts depend on, next to their number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Key {
    pub(super) seed: u64,
    pub(super) salt: u64,
}

impl Key {
    /// The randomness of a text's words.
    pub(super) fn random(self, kind: Kind, number: u64) -> Random {
        let stream = match kind {
            Kind::Own => "own text",
            Kind::Group => "group text",
            Kind::Block => "block text",
        };
        Random::of(mix(self.seed ^ mix(self.salt)), stream, number)
    }
}

/// A text being written.
pub(super) struct Text<'a> {
    vocabulary: &'a Vocabulary,
    bytes: Vec<u8>,
}

impl<'a> Text<'a> {
    /// An empty text with room for so many words.
    pub(super) fn new(vocabulary: &'a Vocabulary, words: u32) -> Self {
        Self { vocabulary, bytes: Vec::with_capacity(words as usize * 8 + 16) }
    }

    /// The text of this number: an opening word, the number, the salt, then any words; `words` in all.
    pub(super) fn named(mut self, key: Key, kind: Kind, number: u64, words: u32) -> String {
        self.name(key, kind, number, words);
        self.finish()
    }

    /// A text that needs no name, as a later turn.
    pub(super) fn unnamed(mut self, random: &mut Random, words: u32) -> String {
        if words > 0 {
            self.open();
            self.fill(random, words - 1);
        }
        self.finish()
    }

    /// Adds a named text.
    pub(super) fn name(&mut self, key: Key, kind: Kind, number: u64, words: u32) {
        if words == 0 {
            return;
        }
        self.open();
        let mut left = words - 1;
        let (digits, bits) = (self.vocabulary.digits(), self.vocabulary.digit_bits());
        let salt = mix(mix(key.salt).wrapping_add(kind as u64));
        // The lowest digit first: neighbours differ from the second word on. A sum keeps all numbers apart.
        for mut value in [number.wrapping_add(salt), mix(salt)] {
            for _ in 0..digits.min(left) {
                self.word((value & ((1 << bits) - 1)) as usize);
                value >>= bits;
                left -= 1;
            }
        }
        self.fill(&mut key.random(kind, number), left);
    }

    fn open(&mut self) {
        if !self.bytes.is_empty() {
            self.bytes.push(b' ');
        }
        self.bytes.extend_from_slice(self.vocabulary.opener().as_bytes());
    }

    fn word(&mut self, index: usize) {
        if let Some(cell) = self.vocabulary.cells().get(index) {
            self.bytes.extend_from_slice(cell.text.get(..usize::from(cell.length)).unwrap_or_default());
        }
    }

    fn fill(&mut self, random: &mut Random, words: u32) {
        let cells = self.vocabulary.cells();
        let size = cells.len() as u64;
        // Words are put together here, each with a copy of fixed width, and appended at once.
        let mut batch = [0_u8; BATCH as usize * CELL];
        let mut left = words;
        while left > 0 {
            let now = left.min(BATCH);
            let (mut bits, mut end) = (0, 0);
            for word in 0..now {
                if word % WORDS_OF_BITS == 0 {
                    bits = random.bits();
                }
                let cell = cells.get((((bits & 0xffff) * size) >> 16) as usize);
                if let (Some(cell), Some(room)) = (cell, batch.get_mut(end..end + CELL)) {
                    room.copy_from_slice(&cell.text);
                    end += usize::from(cell.length);
                }
                bits >>= 16;
            }
            self.bytes.extend_from_slice(batch.get(..end).unwrap_or_default());
            left -= now;
        }
    }

    /// The text so far.
    pub(super) fn finish(self) -> String {
        // Cells are ASCII and the opener is a string.
        String::from_utf8(self.bytes).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn text(seed: u64, salt: u64, kind: Kind, number: u64, words: u32) -> String {
        Text::new(&Vocabulary::assumed(), words).named(Key { seed, salt }, kind, number, words)
    }

    fn first(text: &str, words: usize) -> &str {
        text.match_indices(' ').nth(words - 1).map_or(text, |(at, _)| &text[..at])
    }

    #[test]
    fn no_two_of_a_hundred_thousand_prompts_begin_alike() {
        let vocabulary = Vocabulary::assumed();
        let make = |i| Text::new(&vocabulary, 12).named(Key { seed: 1, salt: 7 }, Kind::Own, i, 12);
        let all: Vec<_> = (0..100_000).map(make).collect();
        for words in [5, 8] {
            assert_eq!(all.iter().map(|t| first(t, words)).collect::<HashSet<_>>().len(), all.len());
        }
    }

    #[test]
    fn no_two_runs_and_no_two_kinds_begin_alike() {
        let salts = (0..2000).flat_map(|salt| (0..5).map(move |i| text(1, salt, Kind::Own, i, 9)));
        assert_eq!(salts.collect::<HashSet<_>>().len(), 10_000);
        let kinds = [Kind::Own, Kind::Group, Kind::Block].map(|kind| text(1, 7, kind, 3, 9));
        assert_eq!(kinds.iter().collect::<HashSet<_>>().len(), 3);
    }

    proptest! {
        #[test]
        fn a_text_has_the_words_asked_for_and_is_the_same_each_time(
            seed in any::<u64>(), salt in any::<u64>(), number in any::<u64>(), words in 0u32..3000,
        ) {
            let made = text(seed, salt, Kind::Own, number, words);
            prop_assert_eq!(made.split_whitespace().count() as u32, words);
            prop_assert!(!made.starts_with(' ') && !made.ends_with(' ') && !made.contains("  "));
            prop_assert_eq!(&made, &text(seed, salt, Kind::Own, number, words));
            let longer = text(seed, salt, Kind::Own, number, words + 1);
            prop_assert!(longer.starts_with(&made), "a shorter text of a name is the beginning of the longer one");
        }

        #[test]
        fn words_alike_make_texts_alike_in_words_and_bytes(
            salts in any::<(u64, u64)>(), numbers in any::<(u64, u64)>(), words in 1u32..600,
        ) {
            let vocabulary = Vocabulary::alike();
            let bytes = |salt, number| {
                Text::new(&vocabulary, words).named(Key { seed: 1, salt }, Kind::Own, number, words).len()
            };
            prop_assert_eq!(bytes(salts.0, numbers.0), bytes(salts.1, numbers.1));
        }

        #[test]
        fn any_two_numbers_or_salts_give_other_words(
            salt in any::<u64>(), other in any::<u64>(), a in 0u64..1 << 40, b in 0u64..1 << 40,
        ) {
            prop_assume!(a != b && salt != other);
            prop_assert_ne!(text(1, salt, Kind::Own, a, 5), text(1, salt, Kind::Own, b, 5));
            prop_assert_ne!(text(1, salt, Kind::Own, a, 9), text(1, other, Kind::Own, a, 9));
        }
    }
}
