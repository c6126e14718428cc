//! Planted secrets: none survives, and the words around them do.

#![expect(clippy::unwrap_used, reason = "a test may fail")]

mod planted;

use intriage_redact::Redactor;
use planted::{CANARIES, CommandLine, Environment, Json, Label, Log, Place};

fn plain(text: &str) -> (String, Vec<String>) {
    let hidden = text.split('«').skip(1).filter_map(|part| part.split_once('»'));
    (text.replace(['«', '»'], ""), hidden.map(|(hidden, _)| hidden.to_owned()).collect())
}

fn redacted(redactor: &Redactor, place: Place, text: &str) -> String {
    match place {
        CommandLine => redactor.command_line(text),
        Environment => redactor.environment(text),
        Log => redactor.text(text).into_owned(),
        Json => redactor.json(text),
        Label => String::from_utf8(redactor.exposition(text.as_bytes())).unwrap(),
    }
}

#[test]
fn no_planted_secret_survives_and_the_words_around_it_do() {
    let secrets: usize = CANARIES.iter().map(|(_, text, _)| plain(text).1.len()).sum();
    assert!(secrets >= 60, "{secrets} planted");
    for (place, text, stays) in CANARIES {
        let (text, hidden) = plain(text);
        let redactor = Redactor::new();
        let safe = redacted(&redactor, *place, &text);
        for secret in &hidden {
            assert!(!safe.contains(secret.as_str()), "{place:?}: {secret:?} is in {safe}");
        }
        assert!(!safe.to_lowercase().contains("canary"), "{place:?}: a part is in {safe}");
        assert!(safe.contains(stays), "{place:?}: {stays:?} is lost in {safe}");
        assert_eq!(safe.matches('\n').count(), text.matches('\n').count(), "{place:?}: {safe}");
        assert_eq!(redacted(&redactor, *place, &safe), safe, "{place:?}");
    }
}

#[test]
fn a_canary_is_found_in_plain_text_wherever_it_came_from() {
    // What a collector takes for plain text may be any of these.
    for (place, text, _) in CANARIES {
        let (text, hidden) = plain(text);
        let safe = Redactor::new().text(&text).into_owned();
        // A wrapper's flag means something else elsewhere.
        for secret in hidden.iter().filter(|secret| !secret.contains("canary116")) {
            assert!(!safe.contains(secret.as_str()), "{place:?}: {secret:?} is in {safe}");
        }
    }
}

#[test]
fn a_secret_the_caller_knows_is_found_anywhere_and_in_any_spelling() {
    let redactor = Redactor::new().with_known(["let me/in".to_owned(), "ab\nlong second".to_owned()]);
    assert_eq!(
        redactor.text("x let me/in y let%20me%2Fin z long second"),
        "x [redacted] y [redacted] z [redacted]"
    );
    assert_eq!(redactor.json("{\"let me/in\":\"a let me/in\"}"), "{\"[redacted]\":\"a [redacted]\"}");
    assert_eq!(redactor.exposition(b"a{b=\"let me/in\"} 1"), b"a{b=\"[redacted]\"} 1");
    assert_eq!(redactor.command_line("x let\\ me 'let me/in'"), "x let\\ me '[redacted]'");
    assert!(!format!("{redactor:?}").contains("let me/in"));
}

#[test]
fn no_error_of_a_map_shows_an_original() {
    let map = serde_json::from_str("{\"host-1\":\"canary.example\",\"host-2\":\"canary.example\"}").unwrap();
    let error = Redactor::from_map(map).unwrap_err();
    assert!(!format!("{error} {error:?}").contains("canary"));
}
