//! What is sent.
//!
//! A [`Source`] gives session number `i` to anybody who asks, always the same one: it depends on the seed, the
//! salt and `i` alone. The seed decides lengths, classes, turns and pauses; seed and salt together decide the
//! text. Two runs with one seed and two salts are therefore the same load in other words, and the second finds
//! nothing of the first in a prefix cache.

mod class;
mod counted;
mod file;
mod hits;
pub(crate) mod input;
mod prefix;
mod replayed;
mod synthetic;
mod text;
#[cfg(feature = "tokenizers")]
mod tokenizer;
mod vocabulary;

pub use class::{Class, Think};
pub use counted::{CALLS, CountedError};
pub use file::{Count, FileError, FileOptions, Format, Recorded};
pub use input::LIMIT;
use intriage_simulate::Nanos;
pub use prefix::{HitRatio, HitRatioError, MOST_GROUPS, Prefix};
pub use replayed::Replayed;
pub use synthetic::{Synthetic, SyntheticError};
#[cfg(feature = "tokenizers")]
pub use tokenizer::{Tokenizer, TokenizerError};
pub use vocabulary::{Exactness, LEAST_WORDS, Vocabulary, VocabularyError};

/// A conversation of one client: its turns are sent one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Which class of the source it is of, from 0.
    pub class: u16,
    /// Its turns; at least one.
    pub turns: Vec<Turn>,
}

/// One request of a session. The history before it is the sender's to keep.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Turn {
    /// The system prompt; on the first turn only. Where there is no chat, it and `user` are one text with a blank
    /// between them.
    pub system: Option<String>,
    /// What the user says.
    pub user: String,
    /// Tokens of this turn's own text, system prompt included, chat template not; `None` where nobody counted.
    pub input: Option<u32>,
    /// Of them tokens that every prompt of the group begins with.
    pub shared: u32,
    /// The group, from 0 within its class.
    pub group: Option<u32>,
    /// The most tokens to ask for.
    pub output: u32,
    /// Pause before it, from the end of the turn before.
    pub think: Nanos,
    /// The client gives up after so many chunks.
    pub abort_after: Option<u32>,
}

/// Where sessions come from.
#[derive(Debug, Clone)]
pub enum Source {
    /// Made up.
    Synthetic(Synthetic),
    /// Read from a file.
    Recorded(Recorded),
    /// Made up to the lengths and blocks of a trace.
    Replayed(Replayed),
}

impl Source {
    /// The session of this number; `None` past the end of a file or a trace.
    pub fn session(&self, index: u64) -> Option<Session> {
        match self {
            Self::Synthetic(source) => Some(source.session(index)),
            Self::Recorded(source) => source.session(index),
            Self::Replayed(source) => source.session(index),
        }
    }
}
