//! Names of files that tell nothing stay: a diagnosis finds the kernel's files by them.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::collections::BTreeSet;
use std::path::Path;

use intriage_case::{Case, layout};
use intriage_observe::{open, redacted};
use intriage_redact::Redactor;

fn names(case: &Case) -> BTreeSet<String> {
    layout::files(case).into_iter().map(|(name, _)| name).collect()
}

#[test]
fn every_file_of_a_recording_keeps_its_name() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    for recording in [
        "host/busy-under-quota",
        "host/two-on-one-cpu",
        "recordings/vllm-h200-longprompt2",
        "recordings/vllm-h200-prefixoff",
    ] {
        let case = open(&fixtures.join(recording)).unwrap();
        let given = names(&case);
        assert!(!given.is_empty(), "{recording}");
        assert_eq!(names(&redacted(case, &Redactor::new())), given, "{recording}");
    }
}
