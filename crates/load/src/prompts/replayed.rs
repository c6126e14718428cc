//! Prompts for the rows of a trace.

use std::sync::Arc;

use intriage_simulate::workload::Traced;

use super::text::{Key, Kind, Text};
use super::vocabulary::Vocabulary;
use super::{Session, Turn};

/// Single requests with the lengths of a trace. The same block of the trace is always the same 512 tokens; what is
/// longer than its blocks, or has none, ends in words of its own.
#[derive(Debug, Clone)]
pub struct Replayed {
    rows: Arc<[Traced]>,
    vocabulary: Arc<Vocabulary>,
    key: Key,
}

impl Replayed {
    /// The prompts of these rows, in these words. The salt changes every run, so that no run finds what the last
    /// one left in a cache.
    pub const fn new(rows: Arc<[Traced]>, vocabulary: Arc<Vocabulary>, seed: u64, salt: u64) -> Self {
        Self { rows, vocabulary, key: Key { seed, salt } }
    }

    /// Its words.
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// The request of this row; `None` past the last one.
    pub fn session(&self, index: u64) -> Option<Session> {
        let row = self.rows.get(usize::try_from(index).ok()?)?;
        let (input, output) = row.lengths.unwrap_or((1, 1));
        let words = self.vocabulary.words_for(input);
        let block = self.vocabulary.words_for(Traced::BLOCK);
        let mut text = Text::new(&self.vocabulary, words);
        let mut left = words;
        for id in &row.blocks {
            let size = block.min(left);
            text.name(self.key, Kind::Block, *id, size);
            left -= size;
        }
        text.name(self.key, Kind::Own, index, left);
        let turn = Turn { user: text.finish(), input: Some(input), output: output.max(1), ..Turn::default() };
        Some(Session { class: 0, turns: vec![turn] })
    }
}
