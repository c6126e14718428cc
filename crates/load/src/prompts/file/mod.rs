//! Sessions read from a file.

mod parse;

use std::fmt;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use intriage_simulate::Random;

use self::parse::Conversation;
use super::input::{self, LIMIT};
use super::text::{Key, Kind, Text};
use super::vocabulary::Vocabulary;
use super::{Session, Turn};

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// `[` begins JSON, `{` JSON lines, anything else is text.
    #[default]
    Detect,
    /// A JSON array of conversations, as ShareGPT publishes them.
    Json,
    /// A JSON object a line, with a `prompt`, `messages` or `conversations`.
    JsonLines,
    /// A prompt a line.
    Text,
}

/// Tells the tokens of a text.
pub type Count<'a> = &'a dyn Fn(&str) -> Option<u32>;

/// How a file is used.
#[derive(Clone, Copy)]
pub struct FileOptions<'a> {
    /// How it is written.
    pub format: Format,
    /// The seed to shuffle by; `None` keeps the order of the file.
    pub shuffle: Option<u64>,
    /// The most sessions taken, after shuffling.
    pub sessions: Option<usize>,
    /// The most turns of a session taken.
    pub turns: Option<usize>,
    /// Tokens to ask for where the file does not tell.
    pub output: u32,
    /// Start again after the last session.
    pub repeat: bool,
    /// Put words in front that nobody has sent before: a salt and the words to write it in.
    pub salt: Option<(u64, &'a Arc<Vocabulary>)>,
    /// Tokens of a text, where there is a tokenizer. The recorded answers then decide how much is asked for.
    pub count: Option<Count<'a>>,
}

impl FileOptions<'_> {
    /// Everything in the file, in its order, once, asking for so many tokens where it does not tell.
    pub const fn plain(output: u32) -> Self {
        Self {
            format: Format::Detect,
            shuffle: None,
            sessions: None,
            turns: None,
            output,
            repeat: false,
            salt: None,
            count: None,
        }
    }
}

impl fmt::Debug for FileOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileOptions").field("format", &self.format).finish_non_exhaustive()
    }
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be read.
    #[error("{file}: {why}")]
    Read {
        /// The file.
        file: String,
        /// What went wrong.
        why: std::io::Error,
    },
    /// A line is not what it should be.
    #[error("{file}, line {line}: {why}")]
    Line {
        /// The file.
        file: String,
        /// Which line, from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// An entry of an array is not what it should be.
    #[error("{file}, entry {entry}: {why}")]
    Entry {
        /// The file.
        file: String,
        /// Which entry, from 1.
        entry: usize,
        /// What is wrong with it.
        why: String,
    },
    /// Nothing in it can be sent.
    #[error("{file}: nothing to send ({skipped} entries without a word of a user)")]
    Empty {
        /// The file.
        file: String,
        /// Entries that were of no use.
        skipped: usize,
    },
}

/// Sessions of a file. What the recorded assistant said is not sent: the answers of the server are.
#[derive(Debug, Clone)]
pub struct Recorded {
    sessions: Arc<[Session]>,
    skipped: usize,
    repeat: bool,
    salt: Option<(Key, Arc<Vocabulary>)>,
}

impl Recorded {
    /// Reads a file; `-` is the standard input.
    pub fn open(path: &Path, options: &FileOptions<'_>) -> Result<Self, FileError> {
        let file = input::name(path);
        let bytes = input::open(path).map_err(|why| FileError::Read { file: file.clone(), why })?;
        Self::new(bytes, &file, options)
    }

    /// Reads anything; `file` is what errors call it.
    pub fn read(from: impl Read, file: &str, options: &FileOptions<'_>) -> Result<Self, FileError> {
        let bytes =
            input::bounded(from, LIMIT).map_err(|why| FileError::Read { file: file.to_owned(), why })?;
        Self::new(bytes, file, options)
    }

    fn new(bytes: Vec<u8>, file: &str, options: &FileOptions<'_>) -> Result<Self, FileError> {
        let all = parse::parse(&bytes, file, options.format)?;
        // Texts were copied out; a file of two gigabytes is not kept beside them.
        drop(bytes);
        let entries = all.len();
        let mut all: Vec<_> = all.into_iter().filter(|c| !c.turns.is_empty()).collect();
        let skipped = entries - all.len();
        if let Some(seed) = options.shuffle {
            let mut random = Random::new(seed, "shuffle");
            for last in (1..all.len()).rev() {
                all.swap(last, random.below(last as u64 + 1) as usize);
            }
        }
        all.truncate(options.sessions.unwrap_or(usize::MAX));
        if all.is_empty() {
            return Err(FileError::Empty { file: file.to_owned(), skipped });
        }
        Ok(Self {
            sessions: all.into_iter().map(|c| session(c, options)).collect(),
            skipped,
            repeat: options.repeat,
            salt: options.salt.map(|(salt, words)| (Key { seed: 0, salt }, words.clone())),
        })
    }

    /// Sessions of the file that are used.
    pub fn size(&self) -> usize {
        self.sessions.len()
    }

    /// Turns of the longest session.
    pub fn most_turns(&self) -> usize {
        self.sessions.iter().map(|s| s.turns.len()).max().unwrap_or(0)
    }

    /// Entries of the file without a word of a user.
    pub const fn skipped(&self) -> usize {
        self.skipped
    }

    /// The session of this number; `None` past the last one, unless they repeat.
    pub fn session(&self, index: u64) -> Option<Session> {
        let size = self.sessions.len() as u64;
        let place = if self.repeat { index.checked_rem(size)? } else { index };
        let mut session = self.sessions.get(usize::try_from(place).ok()?)?.clone();
        if let Some((key, vocabulary)) = &self.salt
            && let Some(first) = session.turns.first_mut()
        {
            let words = vocabulary.salt_words();
            let salt = Text::new(vocabulary, words).named(*key, Kind::Own, index, words);
            let begins = first.system.as_mut().unwrap_or(&mut first.user);
            *begins = format!("{salt}\n{begins}");
            // The line break is a token too.
            first.input = first.input.map(|n| n.saturating_add(words + 1));
        }
        Some(session)
    }
}

fn session(conversation: Conversation, options: &FileOptions<'_>) -> Session {
    let count = |text: &str| options.count.and_then(|count| count(text));
    let mut system = conversation.system;
    let turns = conversation.turns.into_iter().take(options.turns.unwrap_or(usize::MAX).max(1));
    let turns = turns.map(|(user, answer)| {
        let system = system.take();
        let own = count(&user);
        let input = match &system {
            Some(system) => own.zip(count(system)).map(|(a, b)| a.saturating_add(b)),
            None => own,
        };
        let told = conversation.output.or_else(|| answer.as_deref().and_then(count));
        Turn { system, user, input, output: told.unwrap_or(options.output).max(1), ..Turn::default() }
    });
    Session { class: 0, turns: turns.collect() }
}

#[cfg(test)]
mod tests;
