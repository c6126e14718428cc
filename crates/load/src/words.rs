//! Which words make prompts of an exact length on this server.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use intriage_case::Tokens;

use crate::SpecError;
use crate::api::Api;
#[cfg(feature = "tokenizers")]
use crate::prompts::Tokenizer;
use crate::prompts::{Exactness, Vocabulary};
use crate::server::{Server, ServerError};
use crate::spec::Counting;

/// Words, and what stands around a text.
pub(crate) struct Words {
    pub vocabulary: Arc<Vocabulary>,
    /// Tokens the server puts around a first message: its chat template, a begin token.
    pub around: Option<u32>,
    #[cfg(feature = "tokenizers")]
    tokenizer: Option<Tokenizer>,
}

impl Words {
    /// Whether texts can be counted on this machine.
    pub(crate) fn can_count(&self) -> bool {
        #[cfg(feature = "tokenizers")]
        return self.tokenizer.is_some();
        #[cfg(not(feature = "tokenizers"))]
        false
    }

    /// Tokens of a text, where there is a tokenizer.
    pub(crate) fn count(&self, text: &str) -> Option<u32> {
        #[cfg(feature = "tokenizers")]
        return self.tokenizer.as_ref()?.count(text).ok();
        #[cfg(not(feature = "tokenizers"))]
        {
            let _ = text;
            None
        }
    }
}

/// By a tokenizer on disk, by the server's `/tokenize`, or by assumption.
pub(crate) fn find(
    server: &Server,
    at: SocketAddr,
    api: Api,
    model: &str,
    counting: &Counting,
    with_system: bool,
    notes: &mut Vec<String>,
) -> Result<Words, SpecError> {
    let around = around(server, at, api, model, with_system);
    if let Counting::Tokenizer(path) = counting {
        return from_disk(path, around);
    }
    let counted =
        Vocabulary::counted(|text| server.count(at, api, model, text)).map_err(|why| why.to_string());
    let learn = |why| match counting {
        Counting::Server => learned(server, at, api, model).map_err(|why| why.to_string()),
        _ => Err(why),
    };
    let (vocabulary, around) = match counted.map(|words| (words, around)).or_else(learn) {
        Ok(found) => found,
        Err(why) => {
            notes.push(format!(
                "prompt lengths are not proven: {why}; for exact ones give --tokenizer FILE (a tokenizer.json)"
            ));
            (Vocabulary::assumed(), around)
        }
    };
    Ok(Words {
        vocabulary: Arc::new(vocabulary),
        around,
        #[cfg(feature = "tokenizers")]
        tokenizer: None,
    })
}

/// By the server's own counts of two requests: how many tokens a word makes, and what stands around a text.
fn learned(
    server: &Server,
    at: SocketAddr,
    api: Api,
    model: &str,
) -> Result<(Vocabulary, Option<u32>), ServerError> {
    const SHORT: u32 = 64;
    const LONG: u32 = 512;
    let vocabulary = Vocabulary::alike();
    let tokens = |words| server.usage(at, api, model, &vocabulary.sample(words)).map(f64::from);
    // Both at once: the run waits for them.
    let (short, long) = std::thread::scope(|both| {
        let short = both.spawn(|| tokens(SHORT));
        let long = tokens(LONG);
        (short.join(), long)
    });
    let (short, long) = (short.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?, long?);
    let per_word = ((long - short) / f64::from(LONG - SHORT)).max(0.01);
    let around = (short - per_word * f64::from(SHORT)).round().max(0.0);
    let learned = Exactness::Learned { tokens_per_word: Tokens(per_word), overhead: Tokens(around) };
    Ok((vocabulary.corrected(learned), Some(around as u32)))
}

#[cfg(feature = "tokenizers")]
fn from_disk(path: &Path, around: Option<u32>) -> Result<Words, SpecError> {
    let tokenizer = Tokenizer::open(path)?;
    let vocabulary = Arc::new(tokenizer.vocabulary()?);
    Ok(Words { vocabulary, around, tokenizer: Some(tokenizer) })
}

#[cfg(not(feature = "tokenizers"))]
fn from_disk(_: &Path, _: Option<u32>) -> Result<Words, SpecError> {
    Err(SpecError::NoTokenizers)
}

/// Tokens around a text: the same whatever the text, so two texts must agree.
/// Templates that put in a system message of their own leave it out where there is one.
fn around(server: &Server, at: SocketAddr, api: Api, model: &str, with_system: bool) -> Option<u32> {
    let of = |words: usize| {
        let text = vec!["the"; words].join(" ");
        let (system, messages) = if with_system { (Some(text.as_str()), 2) } else { (None, 1) };
        let (counted, texts) = match api {
            Api::Chat => (server.count_chat(at, model, system, &text), messages),
            _ => (server.count(at, api, model, &text), 1),
        };
        counted.ok()?.checked_sub(texts * u32::try_from(words).ok()?)
    };
    let short = of(4)?;
    (of(12)? == short).then_some(short)
}
