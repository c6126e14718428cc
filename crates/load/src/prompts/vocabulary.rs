//! Words of which each is one token, so that a prompt of n words has n tokens.

use std::collections::BTreeMap;
use std::fmt;

use intriage_case::Tokens;

/// Common short English words, one token each behind a blank in a byte-level vocabulary of 49,152 (SmolLM2), and
/// so most likely in any larger one.
const COMMON: &str = include_str!("words.txt");
/// The word texts begin with where nothing else is known.
pub(super) const OPENER: &str = "the";
/// A vocabulary has at least this many words: fewer could not name a prompt within its first 16 tokens.
pub const LEAST_WORDS: usize = 64;
/// Letters of the longest word: a word and its blank fit into a cell.
pub(super) const MOST_LETTERS: usize = CELL - 1;
/// Bytes of a word with the blank before it, and what is left over.
pub(super) const CELL: usize = 16;
/// As many prompts of a run as fit into these bits are sure to begin differently.
const PROMPT_BITS: u32 = 40;

/// How far the declared length of a text can be trusted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Exactness {
    /// A tokenizer counted: n words are n tokens.
    Exact,
    /// Learned from the server's own counts.
    Learned {
        /// Tokens a word makes, on average.
        tokens_per_word: Tokens,
        /// Tokens around the text: the chat template.
        overhead: Tokens,
    },
    /// Nobody counted; common words are mostly one token.
    Assumed,
}

impl fmt::Display for Exactness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact => f.write_str("exact: a tokenizer counted every word"),
            Self::Learned { tokens_per_word, overhead } => {
                let (per_word, around) = (tokens_per_word.0, overhead.0);
                write!(
                    f,
                    "learned from the server's counts: {per_word:.2} tokens a word, {around:.0} around the text"
                )
            }
            Self::Assumed => f.write_str("assumed: nobody counted, a word is taken for a token"),
        }
    }
}

/// Why there is no vocabulary.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VocabularyError {
    /// Too few words are one token.
    #[error(
        "only {found} words are one token each with the blank before them; at least {LEAST_WORDS} are needed"
    )]
    TooFew {
        /// How many are.
        found: usize,
    },
    /// The words are one token each, but not together.
    #[error("{words} words that are one token each make {tokens} tokens together")]
    NotAdditive {
        /// Words of the text.
        words: u32,
        /// Tokens it has.
        tokens: u32,
    },
    /// The tokenizer failed.
    #[error("the tokenizer failed: {0}")]
    Failed(String),
}

/// Words to make texts of.
#[derive(Debug, Clone, PartialEq)]
pub struct Vocabulary {
    opener: String,
    cells: Vec<Cell>,
    exactness: Exactness,
    /// Words that name a prompt of a run.
    digits: u32,
}

/// A word behind its blank, in a width that copies as one move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) text: [u8; CELL],
    pub(super) length: u8,
}

impl Cell {
    fn of(word: &str) -> Option<Self> {
        let fits = (1..=MOST_LETTERS).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_lowercase());
        let mut text = [b' '; CELL];
        text.get_mut(1..=word.len())?.copy_from_slice(word.as_bytes());
        fits.then_some(Self { text, length: word.len() as u8 + 1 })
    }
}

impl Vocabulary {
    /// The built-in words, counted by nobody.
    pub fn assumed() -> Self {
        let cells: Vec<_> = common().filter_map(Cell::of).collect();
        Self { opener: OPENER.to_owned(), digits: digits(cells.len()), cells, exactness: Exactness::Assumed }
    }

    /// Those of the built-in words that have the commonest length, for a server whose count must be learned: whatever
    /// words a text draws, it has the same number of bytes, so a count that goes by words or by bytes is the same too.
    pub fn alike() -> Self {
        let mut cells: BTreeMap<u8, Vec<Cell>> = BTreeMap::new();
        for cell in common().filter_map(Cell::of) {
            cells.entry(cell.length).or_default().push(cell);
        }
        let cells = cells.into_values().max_by_key(Vec::len).unwrap_or_default();
        Self { digits: digits(cells.len()), cells, ..Self::assumed() }
    }

    /// Words of which each was found to be one token. Texts begin with `opener`.
    pub(super) fn exact<'a>(
        opener: &str,
        words: impl Iterator<Item = &'a str>,
    ) -> Result<Self, VocabularyError> {
        let cells: Vec<_> = words.filter_map(Cell::of).collect();
        if cells.len() < LEAST_WORDS {
            return Err(VocabularyError::TooFew { found: cells.len() });
        }
        Ok(Self {
            opener: opener.to_owned(),
            digits: digits(cells.len()),
            cells,
            exactness: Exactness::Exact,
        })
    }

    /// The same words, with what the server's own counts told about them.
    #[must_use]
    pub fn corrected(mut self, learned: Exactness) -> Self {
        self.exactness = learned;
        self
    }

    /// How far declared lengths can be trusted.
    pub const fn exactness(&self) -> Exactness {
        self.exactness
    }

    /// Different words.
    pub fn size(&self) -> usize {
        self.cells.len()
    }

    /// Words from which on no two prompts of a run are alike: an opening word and the prompt's number.
    pub const fn distinct_words(&self) -> u32 {
        1 + self.digits
    }

    /// Words from which on no two prompts of any two runs are alike (but for one chance in 2^40): an opening word,
    /// the prompt's number and the salt. At most 15, and 9 with 1,024 words or more.
    pub const fn salt_words(&self) -> u32 {
        1 + 2 * self.digits
    }

    /// A text of so many words, for counting.
    pub fn sample(&self, words: u32) -> String {
        let mut text = self.opener.clone();
        for cell in self.cells.iter().cycle().take(words.saturating_sub(1) as usize) {
            // A cell begins with its blank and is ASCII.
            text.extend(cell.text[..usize::from(cell.length)].iter().map(|b| char::from(*b)));
        }
        text
    }

    /// Words to write for so many tokens of text; at least one.
    pub fn words_for(&self, tokens: u32) -> u32 {
        let words = match self.exactness {
            Exactness::Learned { tokens_per_word, .. } if tokens_per_word.0 > 0.0 => {
                (f64::from(tokens) / tokens_per_word.0).round() as u32
            }
            _ => tokens,
        };
        words.max(1)
    }

    pub(super) fn opener(&self) -> &str {
        &self.opener
    }

    pub(super) fn cells(&self) -> &[Cell] {
        &self.cells
    }

    pub(super) const fn digits(&self) -> u32 {
        self.digits
    }

    /// Bits that a word of a name carries.
    pub(super) fn digit_bits(&self) -> u32 {
        bits(self.cells.len())
    }
}

/// The built-in words.
pub(super) fn common<'a>() -> impl Iterator<Item = &'a str> {
    COMMON.split_whitespace()
}

/// Words of a vocabulary of this size that tell the prompts of a run apart.
fn digits(words: usize) -> u32 {
    PROMPT_BITS.div_ceil(bits(words))
}

/// Bits that one of so many words can carry.
fn bits(words: usize) -> u32 {
    words.max(2).ilog2()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_built_in_words_are_different_and_all_usable() {
        let words: HashSet<_> = common().collect();
        assert_eq!(words.len(), common().count());
        let vocabulary = Vocabulary::assumed();
        assert_eq!(vocabulary.size(), words.len());
        assert!(vocabulary.size() >= 1024 && words.contains(OPENER));
        assert_eq!((vocabulary.distinct_words(), vocabulary.salt_words()), (5, 9));
    }

    #[test]
    fn the_smallest_vocabulary_names_a_prompt_within_a_block_of_sixteen() {
        let words: Vec<_> = common().take(LEAST_WORDS).collect();
        let vocabulary = Vocabulary::exact("the", words.iter().copied());
        assert_eq!(vocabulary.map(|v| v.salt_words()), Ok(15));
        let fewer = Vocabulary::exact("the", words[1..].iter().copied());
        assert_eq!(fewer, Err(VocabularyError::TooFew { found: 63 }));
    }

    #[test]
    fn a_learned_correction_changes_how_many_words_are_written() {
        let learned = Exactness::Learned { tokens_per_word: Tokens(1.25), overhead: Tokens(12.0) };
        let vocabulary = Vocabulary::assumed().corrected(learned);
        assert_eq!((vocabulary.words_for(1000), vocabulary.words_for(0)), (800, 1));
        assert_eq!(Vocabulary::assumed().words_for(1000), 1000);
        let said = vocabulary.exactness().to_string();
        assert_eq!(said, "learned from the server's counts: 1.25 tokens a word, 12 around the text");
    }
}
