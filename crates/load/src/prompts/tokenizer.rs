//! A vocabulary from the model's own `tokenizer.json`.

use std::collections::HashSet;
use std::path::Path;

use intriage_simulate::Random;

use super::vocabulary::{MOST_LETTERS, OPENER, Vocabulary, VocabularyError, common};

/// Words looked for.
const WANTED: usize = 2048;
/// Letters of the shortest word taken from the tokenizer's own list; shorter ones are often syllables.
const LEAST_LETTERS: usize = 3;
/// Random texts counted as a proof.
const PROOFS: u64 = 64;
/// Words of the longest of them.
const PROOF_WORDS: u64 = 300;
/// The marks of a blank in byte-level and in SentencePiece vocabularies.
const BLANKS: [char; 2] = ['Ġ', '▁'];

/// Why a tokenizer cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TokenizerError {
    /// The file cannot be read.
    #[error("{path}: {why} (wanted: a tokenizer.json as Hugging Face publishes them)")]
    File {
        /// The file.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// It was read but gives no vocabulary.
    #[error(transparent)]
    Vocabulary(#[from] VocabularyError),
}

/// The model's tokenizer, on this side of the wire.
#[derive(Debug, Clone)]
pub struct Tokenizer(tokenizers::Tokenizer);

impl Tokenizer {
    /// Reads a `tokenizer.json`.
    pub fn open(path: &Path) -> Result<Self, TokenizerError> {
        let bad = |why: String| TokenizerError::File { path: path.display().to_string(), why };
        let bytes = std::fs::read(path).map_err(|e| bad(e.to_string()))?;
        let mut read = tokenizers::Tokenizer::from_bytes(bytes).map_err(|e| bad(e.to_string()))?;
        // Some files say how training cut and filled texts up; a count must not.
        read.with_truncation(None).map_err(|e| bad(e.to_string()))?;
        read.with_padding(None);
        Ok(Self(read))
    }

    /// Tokens of a text, special tokens not counted.
    pub fn count(&self, text: &str) -> Result<u32, VocabularyError> {
        let encoding = self.0.encode_fast(text, false);
        encoding.map(|e| e.len() as u32).map_err(|e| VocabularyError::Failed(e.to_string()))
    }

    /// About two thousand words that are one token each, common English ones first, proved on random texts.
    pub fn vocabulary(&self) -> Result<Vocabulary, TokenizerError> {
        let (opener, words) = self.words()?;
        let vocabulary = Vocabulary::exact(&opener, words.iter().map(String::as_str))?;
        self.prove(&opener, &words)?;
        Ok(vocabulary)
    }

    fn words(&self) -> Result<(String, Vec<String>), VocabularyError> {
        let listed = self.0.get_vocab(false);
        let mut own: Vec<_> = listed
            .iter()
            .filter_map(|(piece, id)| Some((*id, piece.strip_prefix(BLANKS)?)))
            .filter(|(_, word)| (LEAST_LETTERS..=MOST_LETTERS).contains(&word.len()))
            .filter(|(_, word)| word.bytes().all(|b| b.is_ascii_lowercase()))
            .collect();
        // Low numbers were learned first: the common words.
        own.sort_unstable();
        let mut seen = HashSet::new();
        let mut candidates: Vec<&str> = vec![OPENER];
        candidates.extend(common());
        candidates.extend(own.into_iter().map(|(_, word)| word));
        candidates.retain(|word| seen.insert(*word));
        let mut opener = None;
        for word in &candidates {
            // It stands at the beginning of a text and, between blocks, inside it.
            if self.count(word)? == 1 && self.count(&format!("{word} {word}"))? == 2 {
                opener = Some((*word).to_owned());
                break;
            }
        }
        let opener = opener.ok_or(VocabularyError::TooFew { found: 0 })?;
        let mut words = Vec::new();
        for word in candidates {
            if words.len() == WANTED {
                break;
            }
            if self.count(&format!("{opener} {word}"))? == 2 {
                words.push(word.to_owned());
            }
        }
        Ok((opener, words))
    }

    /// Words that are one token each could still melt together.
    fn prove(&self, opener: &str, words: &[String]) -> Result<(), VocabularyError> {
        let mut random = Random::new(0, "proof");
        for _ in 0..PROOFS {
            let mut text = opener.to_owned();
            let n = random.below(PROOF_WORDS) as u32;
            for _ in 0..n {
                text.push(' ');
                text.push_str(words.get(random.below(words.len() as u64) as usize).map_or("", |w| w));
            }
            let tokens = self.count(&text)?;
            if tokens != n + 1 {
                return Err(VocabularyError::NotAdditive { words: n + 1, tokens });
            }
        }
        Ok(())
    }
}
