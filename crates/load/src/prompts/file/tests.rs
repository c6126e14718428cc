#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

const SHAREGPT: &str = r#"[
  {"id": "a", "conversations": [
    {"from": "system", "value": "Be short."},
    {"from": "gpt", "value": "I greet you."},
    {"from": "human", "value": "How far is the moon?"},
    {"from": "gpt", "value": "About 384,000 km away"},
    {"from": "human", "value": "And the sun?"}
  ]},
  {"id": "b", "conversations": []},
  {"id": "c", "conversations": [{"from": "user", "value": "Hi"}, {"from": "assistant", "value": "Hello you"}]}
]"#;

fn read(text: &str, options: &FileOptions<'_>) -> Result<Recorded, FileError> {
    Recorded::read(text.as_bytes(), "f.json", options)
}

fn words(text: &str) -> Option<u32> {
    u32::try_from(text.split_whitespace().count()).ok()
}

#[test]
fn sharegpt_gives_turns_and_answer_lengths() {
    let options = FileOptions { count: Some(&words), ..FileOptions::plain(99) };
    let recorded = read(SHAREGPT, &options).unwrap();
    assert_eq!((recorded.size(), recorded.skipped()), (2, 1));
    let first = recorded.session(0).unwrap();
    assert_eq!(first.turns.len(), 2);
    assert_eq!(first.turns[0].system.as_deref(), Some("Be short."));
    assert_eq!(first.turns[0].user, "How far is the moon?");
    assert_eq!((first.turns[0].input, first.turns[0].output), (Some(7), 4));
    assert_eq!((first.turns[1].system.clone(), first.turns[1].output), (None, 99), "nobody answered");
    assert!(recorded.session(2).is_none());
    let uncounted = read(SHAREGPT, &FileOptions::plain(99)).unwrap().session(0).unwrap();
    assert_eq!((uncounted.turns[0].input, uncounted.turns[0].output), (None, 99));
}

#[test]
fn lines_of_json_are_prompts_or_messages() {
    let lines = r#"{"prompt": "Tell me a story", "output_len": 7}
{"messages": [{"role": "developer", "content": "x"}, {"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "image_url"}]}, {"role": "tool", "content": "two"}], "max_tokens": 8}

{"prompt": "Last", "output_tokens": 9}"#;
    let recorded = read(lines, &FileOptions::plain(1)).unwrap();
    let outputs: Vec<_> = (0..3).map(|i| recorded.session(i).unwrap().turns[0].output).collect();
    assert_eq!(outputs, [7, 8, 9]);
    assert_eq!(recorded.session(1).unwrap().turns[0].user, "one\n\ntwo");
}

#[test]
fn lines_of_text_are_prompts() {
    let recorded = read("\u{feff}first\r\n\n  second \n", &FileOptions::plain(16)).unwrap();
    let users: Vec<_> = (0..2).map(|i| recorded.session(i).unwrap().turns[0].user.clone()).collect();
    assert_eq!(users, ["first", "second"]);
}

#[test]
fn a_shuffle_is_decided_by_its_seed_and_a_repeat_never_ends() {
    let text = (0..50).map(|i| format!("prompt {i}")).collect::<Vec<_>>().join("\n");
    let order = |shuffle, repeat| {
        let recorded = read(&text, &FileOptions { shuffle, repeat, ..FileOptions::plain(1) }).unwrap();
        (0..60).filter_map(|i| Some(recorded.session(i)?.turns[0].user.clone())).collect::<Vec<_>>()
    };
    assert_eq!(order(Some(1), false), order(Some(1), false));
    assert_ne!(order(Some(1), false), order(Some(2), false));
    assert_eq!(order(None, false).len(), 50);
    assert_eq!(order(None, true)[50], "prompt 0");
    let some = read(&text, &FileOptions { sessions: Some(3), ..FileOptions::plain(1) }).unwrap();
    assert_eq!(some.size(), 3);
}

#[test]
fn salted_repeats_never_begin_alike() {
    let vocabulary = Arc::new(Vocabulary::assumed());
    let options = FileOptions {
        repeat: true,
        salt: Some((5, &vocabulary)),
        count: Some(&words),
        ..FileOptions::plain(1)
    };
    let recorded = read(SHAREGPT, &options).unwrap();
    let (first, again) = (recorded.session(0).unwrap(), recorded.session(2).unwrap());
    assert_ne!(first.turns[0].system, again.turns[0].system);
    assert_eq!(first.turns[0].user, again.turns[0].user);
    assert!(first.turns[0].system.as_ref().unwrap().ends_with("\nBe short."));
    assert_eq!(first.turns[0].input, Some(7 + vocabulary.salt_words() + 1));
}

#[test]
fn mistakes_are_named_with_file_and_place() {
    let error = |text: &str| read(text, &FileOptions::plain(1)).unwrap_err().to_string();
    assert!(
        error("{\"prompt\": \"a\"}\n{\"prmpt\": \"b\"}").starts_with("f.json, line 2: none of \"prompt\"")
    );
    assert!(error("[\n{\"messages\": 3}]").starts_with("f.json, line 2: invalid type"));
    let stranger = error(r#"[{"messages": [{"role": "cat", "content": "meow"}]}]"#);
    assert!(
        stranger.starts_with("f.json, entry 1: nobody is called \"cat\"; known are system"),
        "{stranger}"
    );
    assert_eq!(error("[]"), "f.json: nothing to send (0 entries without a word of a user)");
    let not_text = Recorded::read(&b"a\n\xff\xfe"[..], "f.txt", &FileOptions::plain(1)).unwrap_err();
    assert_eq!(not_text.to_string(), "f.txt, line 2: not UTF-8");
    let missing = Recorded::open(Path::new("/nowhere/f.json"), &FileOptions::plain(1)).unwrap_err();
    assert!(missing.to_string().starts_with("/nowhere/f.json: No such file"));
    let broken = Recorded::read(Broken, "pipe", &FileOptions::plain(1)).unwrap_err();
    assert_eq!(broken.to_string(), "pipe: gone");
}

struct Broken;

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::Error::other("gone"))
    }
}

proptest! {
    #[test]
    fn no_bytes_bring_it_down(bytes in proptest::collection::vec(any::<u8>(), 0..300), text in "[\\[{]?.{0,200}") {
        for format in [Format::Detect, Format::Json, Format::JsonLines, Format::Text] {
            let options = FileOptions { format, ..FileOptions::plain(1) };
            let _ = Recorded::read(&bytes[..], "f", &options);
            let _ = read(&text, &options);
        }
    }

    #[test]
    fn any_entry_is_read_or_refused(role in "[a-z]{0,6}", content in ".{0,40}", n in any::<i64>()) {
        let entry = serde_json::json!([{"messages": [{"role": role, "content": content}], "max_tokens": n}]);
        let _ = read(&entry.to_string(), &FileOptions::plain(1));
    }
}
