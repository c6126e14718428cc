//! Exact lengths by a tokenizer on disk. `tests/data/make_tokenizer.py` made it.
#![cfg(feature = "tokenizers")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::sync::Arc;

use intriage_case::Ratio;
use intriage_load::prompts::{
    Class, CountedError, Exactness, FileOptions, Prefix, Recorded, Synthetic, Tokenizer, TokenizerError,
    Vocabulary, VocabularyError,
};
use intriage_simulate::Lengths;

fn tokenizer() -> Tokenizer {
    Tokenizer::open(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/tokenizer.json"))).unwrap()
}

#[test]
fn words_behind_a_blank_are_found_and_others_are_not() {
    let tokenizer = tokenizer();
    assert_eq!(tokenizer.count("the people know").unwrap(), 3);
    assert_eq!(tokenizer.count("people").unwrap(), 6, "bare, it is letters");
    let vocabulary = tokenizer.vocabulary().unwrap();
    assert_eq!(vocabulary.exactness(), Exactness::Exact);
    // What it has as one token behind a blank: words, and the beginnings it builds them from.
    let file: serde_json::Value = serde_json::from_str(include_str!("data/tokenizer.json")).unwrap();
    let pieces = file["model"]["vocab"].as_object().unwrap().keys();
    let words = pieces.filter(|piece| piece.starts_with('Ġ') && piece.chars().count() > 3).count();
    assert_eq!(vocabulary.size(), words);
    assert!(words > 92, "92 words were taught");
}

#[test]
fn every_prompt_has_exactly_the_tokens_declared() {
    let tokenizer = tokenizer();
    let mut class = Class::plain("c", Lengths::Uniform(1, 900), Lengths::Fixed(5));
    class.prefix = Some(Prefix { tokens: 64, groups: 3, share: Ratio(0.5) });
    class.turns = (1, 3);
    let synthetic = Synthetic::new(vec![class], Arc::new(tokenizer.vocabulary().unwrap()), 1, 2).unwrap();
    for index in 0..300 {
        for turn in synthetic.session(index).turns {
            let system = turn.system.as_deref().map_or(0, |text| tokenizer.count(text).unwrap());
            assert_eq!(system, turn.shared);
            assert_eq!(system + tokenizer.count(&turn.user).unwrap(), turn.input.unwrap());
        }
    }
}

#[test]
fn a_tokenizer_that_was_trained_on_short_texts_counts_long_ones() {
    let mut file: serde_json::Value = serde_json::from_str(include_str!("data/tokenizer.json")).unwrap();
    file["truncation"] =
        serde_json::json!({"max_length": 8, "strategy": "LongestFirst", "stride": 0, "direction": "Right"});
    file["padding"] = serde_json::json!({"strategy": {"Fixed": 8}, "direction": "Right", "pad_to_multiple_of": null,
        "pad_id": 0, "pad_type_id": 0, "pad_token": "!"});
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokenizer.json");
    std::fs::write(&path, file.to_string()).unwrap();
    let tokenizer = Tokenizer::open(&path).unwrap();
    assert_eq!(tokenizer.count("the people").unwrap(), 2);
    assert_eq!(tokenizer.count(&["the"; 40].join(" ")).unwrap(), 40);
}

#[test]
fn the_server_side_way_finds_only_words_that_are_one_token() {
    let tokenizer = tokenizer();
    let mut calls = 0;
    // Most built-in words are letters to this tokenizer, and twelve questions do not find the rest.
    let found = Vocabulary::counted(|text| {
        calls += 1;
        tokenizer.count(text)
    });
    assert!(calls <= 12);
    let Err(CountedError::Vocabulary(VocabularyError::TooFew { .. })) = found else { panic!("{found:?}") };
}

#[test]
fn recorded_answers_decide_how_much_is_asked_for() {
    let tokenizer = tokenizer();
    let count = |text: &str| tokenizer.count(text).ok();
    let options = FileOptions { count: Some(&count), ..FileOptions::plain(7) };
    let line = r#"{"messages": [{"role": "user", "content": "the people know"}, {"role": "assistant", "content": "the water work"}]}"#;
    let session = Recorded::read(line.as_bytes(), "f", &options).unwrap().session(0).unwrap();
    assert_eq!((session.turns[0].input, session.turns[0].output), (Some(3), 3));
}

#[test]
fn what_is_no_tokenizer_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokenizer.json");
    let missing = Tokenizer::open(&path).unwrap_err().to_string();
    assert!(missing.contains("tokenizer.json: No such file"), "{missing}");
    std::fs::write(&path, "{}").unwrap();
    assert!(matches!(Tokenizer::open(&path), Err(TokenizerError::File { .. })));
    let write = |vocab: &str| {
        let model = format!(r#"{{"type": "BPE", "vocab": {{{vocab}}}, "merges": ["t h", "th e"]}}"#);
        std::fs::write(&path, format!(r#"{{"version": "1.0", "model": {model}}}"#)).unwrap();
        Tokenizer::open(&path).unwrap().vocabulary().unwrap_err().to_string()
    };
    let letters: Vec<_> = ('a'..='z').enumerate().map(|(i, c)| format!(r#""{c}": {i}"#)).collect();
    let few = write(&format!(r#"{}, " ": 26, "th": 27, "the": 28"#, letters.join(", ")));
    assert!(few.starts_with("only 0 words are one token each"), "{few}");
    let vanishing = write(r#""t": 0, "h": 1, "e": 2, "th": 3, "the": 4"#);
    assert!(
        vanishing.contains("words that are one token each make"),
        "letters it does not know count for nothing: {vanishing}"
    );
}
