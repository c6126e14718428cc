//! Any bytes are survived, and what is read from them is consistent.

#![no_main]

use intriage_engines::exposition::{looks_like_exposition, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = looks_like_exposition(bytes);
    let whole = parse(bytes);
    for sample in &whole.samples {
        assert!(!sample.name.is_empty());
        assert_eq!(sample.labels.iter().count(), sample.labels.len());
        assert!(sample.family.is_none() || whole.family_of(sample).is_some());
        // What was accepted as labels is accepted again, and all of it.
        let again = format!("x{{{}}} 1", sample.labels.as_written());
        assert_eq!(parse(again.as_bytes()).samples.first().map(|sample| sample.labels), Some(sample.labels));
    }
    for family in &whole.families {
        let _ = family.help_text();
    }
    if let Some(problem) = whole.problem {
        assert!(problem.column >= 1 && problem.line >= 1, "{problem}");
    }

    // Cut behind its last line end, the text gives the same samples but for those of the last line.
    let end = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
    let lines = parse(&bytes[..end]);
    assert!(whole.samples.len() - lines.samples.len() <= 1);
    for (part, whole) in lines.samples.iter().zip(&whole.samples) {
        assert_eq!((part.name, part.labels, part.family), (whole.name, whole.labels, whole.family));
        assert_eq!(part.value.to_bits(), whole.value.to_bits());
    }
});
