//! The tokens of every answer: one word each, with a blank before all but the first.

use crate::config::Text;

/// A word as it reads, and as it stands inside a JSON string.
type Word = (&'static str, &'static str);

const ASCII: [Word; 16] = [
    ("slow", "slow"),
    ("tokens", "tokens"),
    ("wait", "wait"),
    ("until", "until"),
    ("their", "their"),
    ("time", "time"),
    ("has", "has"),
    ("come", "come"),
    ("then", "then"),
    ("leave", "leave"),
    ("one", "one"),
    ("by", "by"),
    ("one", "one"),
    ("never", "never"),
    ("too", "too"),
    ("early", "early"),
];

const UTF8: [Word; 8] = [
    ("größe", "größe"),
    ("мера", "мера"),
    ("時間", "時間"),
    ("🦀", "🦀"),
    ("naïve", "naïve"),
    ("Ωμέγα", "Ωμέγα"),
    ("한국", "한국"),
    ("👩‍🚀", "👩‍🚀"),
];

const ESCAPED: [Word; 8] = [
    ("\"quoted\"", r#"\"quoted\""#),
    ("größe", r"gr\u00f6\u00dfe"),
    ("back\\slash", r"back\\slash"),
    ("🦀", r"\ud83e\udd80"),
    ("時間", r"\u6642\u9593"),
    ("a/b", r"a\/b"),
    ("}],\"x\":[{", r#"}],\"x\":[{"#),
    ("data:", "data:"),
];

fn word(text: Text, index: u32) -> Word {
    let words: &[Word] = match text {
        Text::Ascii => &ASCII,
        Text::Utf8 => &UTF8,
        Text::Escaped => &ESCAPED,
    };
    words.get(index as usize % words.len()).copied().unwrap_or(("word", "word"))
}

/// The text of `count` tokens from the `from`-th on, for the inside of a JSON string.
pub(crate) fn json(text: Text, from: u32, count: u32, out: &mut Vec<u8>) {
    for index in from..from.saturating_add(count) {
        if index > 0 {
            out.push(b' ');
        }
        out.extend_from_slice(word(text, index).1.as_bytes());
    }
}

/// The text of an answer of so many tokens, as a client should have it.
pub fn answer_text(text: Text, tokens: u32) -> String {
    let words: Vec<&str> = (0..tokens).map(|index| word(text, index).0).collect();
    words.join(" ")
}

/// The id of an answer's `index`-th token.
pub(crate) const fn id(index: u32) -> u32 {
    1000 + index % 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_mean_the_words_and_no_word_has_a_blank() {
        for text in [Text::Ascii, Text::Utf8, Text::Escaped] {
            let mut out = vec![b'"'];
            json(text, 0, 40, &mut out);
            out.push(b'"');
            let read: String = serde_json::from_slice(&out).unwrap();
            assert_eq!(read, answer_text(text, 40));
            assert_eq!(read.split_whitespace().count(), 40);
        }
    }
}
