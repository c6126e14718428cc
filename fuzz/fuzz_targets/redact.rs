//! Any text is redacted without a panic, in one go, over as many lines.

#![no_main]

use intriage_redact::{PseudonymMap, Redactor};
use libfuzzer_sys::fuzz_target;

fn lines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let redactor =
        Redactor::new().with_known(["canary-in-words".to_owned()]).known_hosts(["gpu7".to_owned()]);

    let once = redactor.text(&text);
    assert_eq!(lines(&once), lines(&text));
    assert_eq!(redactor.text(&once), once);
    assert!(!once.contains("canary-in-words"));

    let once = redactor.json(&text);
    assert_eq!(redactor.json(&once), once);
    let once = redactor.command_line(&text);
    assert_eq!(redactor.command_line(&once), once);
    let once = redactor.environment(&text);
    assert_eq!(lines(&once), lines(&text));
    assert_eq!(redactor.environment(&once), once);

    let page = redactor.exposition(bytes);
    assert_eq!(page.split(|byte| *byte == b'\n').count(), bytes.split(|byte| *byte == b'\n').count());
    assert_eq!(redactor.exposition(&page), page);

    // An owner's map comes from a file.
    if let Ok(map) = serde_json::from_slice::<PseudonymMap>(bytes)
        && let Ok(redactor) = Redactor::from_map(map.clone())
    {
        assert_eq!(redactor.map(), map);
    }
});
