//! Pseudonyms that stand in a text already: finding them, and giving them other numbers.
//!
//! Two cases that were made safe apart both have a `host-1`; put together, one of them must have another number.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use crate::pseudonyms;

/// The pseudonyms in a text.
pub fn pseudonyms_in(text: &str) -> BTreeSet<String> {
    places(text).map(|(start, end)| text[start..end].to_owned()).collect()
}

/// Every place in a text that reads like a pseudonym, found by its prefix: for texts with many dashes.
pub(crate) fn standing_in(text: &str) -> impl Iterator<Item = &str> {
    PREFIXES.find_iter(text).filter_map(|found| {
        let of_word = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
        let bytes = text.as_bytes();
        let digits = bytes[found.end()..].iter().take_while(|b| b.is_ascii_digit()).count();
        let end = found.end() + digits;
        let apart =
            !bytes[..found.start()].last().is_some_and(of_word) && !bytes.get(end).is_some_and(of_word);
        (apart && digits > 0).then(|| &text[found.start()..end])
    })
}

#[expect(clippy::expect_used, reason = "four constants")]
static PREFIXES: LazyLock<AhoCorasick> =
    LazyLock::new(|| AhoCorasick::new(["ip-", "host-", "mail-", "user-"]).expect("four needles"));

/// The text with pseudonyms renamed all at once; those the map does not name stay.
pub fn rename<'a>(text: &'a str, names: &BTreeMap<String, String>) -> Cow<'a, str> {
    let mut written: Option<String> = None;
    let mut copied = 0;
    for (start, end) in places(text) {
        let Some(name) = names.get(&text[start..end]) else { continue };
        let written = written.get_or_insert_with(|| String::with_capacity(text.len()));
        written.push_str(&text[copied..start]);
        written.push_str(name);
        copied = end;
    }
    match written {
        None => Cow::Borrowed(text),
        Some(mut written) => {
            written.push_str(&text[copied..]);
            Cow::Owned(written)
        }
    }
}

/// Where pseudonyms stand, each a word of its own: `vhost-1` and `host-1-2` are none.
fn places(text: &str) -> impl Iterator<Item = (usize, usize)> + '_ {
    let bytes = text.as_bytes();
    let of_word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    text.match_indices('-').filter_map(move |(dash, _)| {
        let start = bytes[..dash].iter().rposition(|b| !of_word(*b)).map_or(0, |at| at + 1);
        let digits = bytes[dash + 1..].iter().take_while(|b| b.is_ascii_digit()).count();
        let end = dash + 1 + digits;
        let ends = bytes.get(end).is_none_or(|b| !of_word(*b));
        (ends && pseudonyms::read(text.get(start..end)?).is_some()).then_some((start, end))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pseudonyms_are_words_of_their_own() {
        let text = "http://host-1:8000 from ip-12, /home/user-3/x; vhost-1 host-1-2 host-01 host-";
        let found: Vec<String> = pseudonyms_in(text).into_iter().collect();
        assert_eq!(found, ["host-1", "ip-12", "user-3"]);
    }

    #[test]
    fn numbers_change_all_at_once() {
        let names = BTreeMap::from([("host-1".into(), "host-2".into()), ("host-2".into(), "host-1".into())]);
        assert_eq!(rename("host-1 → host-2, host-3", &names), "host-2 → host-1, host-3");
        assert!(matches!(rename("nothing of ours: gpu-1", &names), Cow::Borrowed(_)));
    }

    proptest! {
        #[test]
        fn renaming_back_gives_the_text_again(text in "((host|ip|user)-[1-9]|[ a-z:/,.\"ü-])*") {
            let there: BTreeMap<String, String> =
                pseudonyms_in(&text).into_iter().map(|p| (p.clone(), format!("{p}77"))).collect();
            let back: BTreeMap<String, String> = there.iter().map(|(a, b)| (b.clone(), a.clone())).collect();
            let renamed = rename(&text, &there).into_owned();
            prop_assert_eq!(rename(&renamed, &back).into_owned(), text.clone());
        }

        #[test]
        fn any_text_is_survived(text in ".{0,200}") {
            let _ = pseudonyms_in(&text);
        }
    }
}
