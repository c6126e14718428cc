//! A vocabulary found by asking the server how many tokens a text has.

use intriage_simulate::Random;

use super::vocabulary::{OPENER, Vocabulary, VocabularyError, common};

/// The most questions asked.
pub const CALLS: usize = 12;
/// A group of so few words that has one of two tokens is given up whole.
const SMALL: usize = 8;

/// Why there is no vocabulary.
#[derive(Debug, thiserror::Error)]
pub enum CountedError<E> {
    /// The server did not answer.
    #[error(transparent)]
    Asking(E),
    /// It answered, and the words cannot be used.
    #[error(transparent)]
    Vocabulary(#[from] VocabularyError),
}

/// Words of which the excess of tokens over words is known.
struct Group {
    words: Vec<&'static str>,
    excess: i64,
}

impl Vocabulary {
    /// Those of the built-in words that are one token each by `count`, which tells the tokens of a text (special
    /// tokens around it may be counted, as long as they are always as many). Three calls where all words are one
    /// token; never more than [`CALLS`].
    pub fn counted<E>(mut count: impl FnMut(&str) -> Result<u32, E>) -> Result<Self, CountedError<E>> {
        // Every text begins with the same word, so whatever stands around the text is in here once.
        let alone = i64::from(count(OPENER).map_err(CountedError::Asking)?);
        let mut excess_of = |words: &[&'static str]| {
            let tokens = count(&format!("{OPENER} {}", words.join(" "))).map_err(CountedError::Asking)?;
            Ok::<_, CountedError<E>>(i64::from(tokens) - alone - i64::from(words.len() as u32))
        };
        let mut all: Vec<_> = common().collect();
        // Short words are likelier to be one token: so ordered, a half that is all good is found early.
        all.sort_by_key(|word| word.len());
        let excess = excess_of(&all)?;
        let mut good = Vec::new();
        let mut doubtful = vec![Group { words: all, excess }];
        // One call is for the text of the alone word, one for all, one for the proof at the end.
        let mut calls = CALLS - 3;
        while let Some(group) = likeliest(&mut doubtful) {
            if group.excess == 0 {
                good.extend(group.words);
            } else if calls > 0 && group.words.len() > SMALL {
                calls -= 1;
                let mut words = group.words;
                let right = words.split_off(words.len() / 2);
                let excess = excess_of(&words)?;
                doubtful.push(Group { words, excess });
                // What is not in one half is in the other.
                doubtful.push(Group { words: right, excess: group.excess - excess });
            }
        }
        let vocabulary = Self::exact(OPENER, good.iter().copied())?;
        shuffle(&mut good);
        match excess_of(&good)? {
            0 => Ok(vocabulary),
            excess => {
                let words = good.len() as u32;
                let tokens = u32::try_from(i64::from(words) + excess).unwrap_or(0);
                Err(VocabularyError::NotAdditive { words, tokens }.into())
            }
        }
    }
}

/// Takes out the group with the least excess a word.
fn likeliest(groups: &mut Vec<Group>) -> Option<Group> {
    let per_word = |g: &Group| g.excess.unsigned_abs() as f64 / g.words.len().max(1) as f64;
    let found = groups.iter().enumerate().min_by(|(_, a), (_, b)| per_word(a).total_cmp(&per_word(b)));
    found.map(|(at, _)| at).map(|at| groups.swap_remove(at))
}

/// Any other order: words that only fit next to their neighbours show.
fn shuffle(words: &mut [&'static str]) {
    let mut random = Random::new(0, "order of words");
    for last in (1..words.len()).rev() {
        words.swap(last, random.below(last as u64 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::cell::Cell;
    use std::collections::HashSet;
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::super::vocabulary::Exactness;
    use super::*;

    /// A tokenizer with a begin token and some words of two tokens.
    fn ask(long: &HashSet<&str>) -> (Result<Vocabulary, CountedError<Infallible>>, usize) {
        let calls = Cell::new(0);
        let found = Vocabulary::counted(|text| {
            calls.set(calls.get() + 1);
            Ok(1 + text.split(' ').map(|w| if long.contains(w) { 2 } else { 1 }).sum::<u32>())
        });
        (found, calls.get())
    }

    #[test]
    fn three_calls_are_enough_where_every_word_is_a_token() {
        let (found, calls) = ask(&HashSet::new());
        let found = found.unwrap();
        assert_eq!((found.size(), calls), (common().count(), 3));
        assert_eq!(found.exactness(), Exactness::Exact);
    }

    #[test]
    fn a_few_odd_words_are_thrown_out_in_a_few_calls() {
        let long: HashSet<_> = common().skip(300).step_by(400).collect();
        let (found, calls) = ask(&long);
        let found = found.unwrap();
        assert!(calls <= CALLS, "{calls} calls");
        assert!(found.size() >= 512, "{} words left", found.size());
    }

    #[test]
    fn a_tokenizer_of_letters_and_a_silent_server_are_told_apart() {
        let letters = Vocabulary::counted(|text| Ok::<_, Infallible>(text.len() as u32));
        assert!(matches!(letters, Err(CountedError::Vocabulary(VocabularyError::TooFew { found: 0 }))));
        let silent = Vocabulary::counted(|_| Err("connection refused"));
        assert!(matches!(silent, Err(CountedError::Asking("connection refused"))));
    }

    #[test]
    fn words_that_fit_only_in_one_order_are_refused() {
        // Two neighbours are one token here, and another word is two: in the first order they cancel out.
        let mut order: Vec<_> = common().collect();
        order.sort_by_key(|word| word.len());
        let found = Vocabulary::counted(|text| {
            let words: Vec<_> = text.split(' ').collect();
            let pairs = words.windows(2).filter(|w| *w == [order[10], order[11]]).count();
            let long = words.iter().filter(|w| **w == order[20]).count();
            Ok::<_, Infallible>((words.len() + long - pairs) as u32)
        });
        assert!(matches!(found, Err(CountedError::Vocabulary(VocabularyError::NotAdditive { .. }))));
    }

    proptest! {
        #[test]
        fn no_word_of_two_tokens_ever_stays(odd in proptest::collection::hash_set(0usize..1276, 0..40), wild in any::<u32>()) {
            let all: Vec<_> = common().collect();
            let long: HashSet<_> = odd.iter().map(|i| all[*i]).filter(|w| *w != OPENER).collect();
            let (found, calls) = ask(&long);
            prop_assert!(calls <= CALLS);
            if let Ok(found) = found {
                let text = long.iter().map(|w| format!(" {w}"));
                let cells: HashSet<_> = found.cells().iter().map(|c| c.text[..usize::from(c.length)].to_vec()).collect();
                prop_assert!(text.into_iter().all(|w| !cells.contains(w.as_bytes())));
            }
            let _ = Vocabulary::counted(|text| Ok::<_, Infallible>(wild.wrapping_mul(text.len() as u32)));
        }
    }
}
