//! What could leave by another way than a case's texts: names of files, messages, the names of replicas.
#![allow(clippy::unwrap_used)]

mod support;

use std::fs;
use std::path::Path;

use intriage_case::file;
use support::{code, intriage, recording, stderr, stdout};

/// Every name and every text of a case in one.
fn everything(path: &Path) -> String {
    let case = file::read(&fs::read(path).unwrap()).unwrap();
    let files = file::contents(&case).unwrap();
    let told =
        files.iter().map(|(name, bytes)| [name.as_str(), "\n", &String::from_utf8_lossy(bytes)].concat());
    told.collect::<Vec<_>>().join("\n")
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_merged_case_does_not_tell_what_its_parts_files_are_called() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("gpu7.corp.acme.com.case"), dir.path().join("gpu8.corp.acme.com.case"));
    for (path, name) in [(&a, "vllm-h200-healthy"), (&b, "vllm-h200-maxseqs4")] {
        intriage(&["check", text(&recording(name)), "--save", text(path), "--no-predict"]);
    }
    let out = dir.path().join("fleet.case");
    let done = intriage(&["case", "merge", text(&a), text(&b), "-o", text(&out)]);
    assert_eq!(code(&done), 0, "{}", stderr(&done));
    assert!(stderr(&done).contains("replica-2 is "), "{}", stderr(&done));
    let all = everything(&out);
    assert!(!all.contains("acme") && !all.contains("gpu7"), "a name is left");
    assert!(all.contains("\nreplicas/replica-"), "no replica is kept");
}

#[test]
fn a_log_and_a_manifest_named_after_a_host_are_not_in_the_case() {
    let dir = tempfile::tempdir().unwrap();
    let (log, unit) =
        (dir.path().join("gpu7.corp.acme.com.log"), dir.path().join("gpu7.corp.acme.com.service"));
    fs::write(&log, "INFO ready\n").unwrap();
    fs::write(&unit, "[Service]\nExecStart=vllm serve m\n").unwrap();
    let out = dir.path().join("x.case");
    let done = intriage(&["collect", "--log", text(&log), "--manifest", text(&unit), "--save", text(&out)]);
    assert!(out.is_file(), "{}", stderr(&done));
    let all = everything(&out);
    assert!(!all.contains("acme"), "{all}");
    assert!(all.contains("host-1.log") && all.contains("host-1.service"), "{all}");
}

#[test]
fn the_owner_is_told_which_host_does_not_answer_and_no_secret() {
    let dir = tempfile::tempdir().unwrap();
    let (token, saved) = (dir.path().join("token"), dir.path().join("x.case"));
    fs::write(&token, "tok-4fJ9sLq2Zx8\n").unwrap();
    let log = dir.path().join("password=hunter22secret.log");
    fs::write(&log, "INFO ready\n").unwrap();
    let output = intriage(&[
        "collect",
        "http://gpu7.acme.invalid:8000",
        "--window",
        "1s",
        "--bearer-token-file",
        text(&token),
        "--log",
        text(&log),
        "--save",
        text(&saved),
    ]);
    let told = stdout(&output).replace('\n', " ");
    assert!(told.contains("gpu7.acme.invalid:8000") && !told.contains("host-1"), "{told}");
    assert!(!told.contains("hunter22secret") && !told.contains("tok-4fJ9sLq2Zx8"), "{told}");
    let kept = everything(&saved);
    assert!(kept.contains("host-1:8000") && !kept.contains("acme"), "{kept}");
}

#[test]
fn no_message_quotes_a_password() {
    for arguments in [
        vec!["check", "http://admin:hunter2@gpu7:8000"],
        vec!["check", "http://admin:hun ter2@gpu7:8000"],
        vec!["check", "http://gpu7:99999/?api_key=hunter2"],
        vec!["check", "http://localhost:1", "--header", "Authorization Bearer hunter2222"],
        vec!["check", "http://localhost:1", "--window", "token=hunter2"],
        vec!["check", "http://localhost:1", "--api-key=hunter2", "--nonsense"],
    ] {
        let done = intriage(&arguments);
        assert!(code(&done) == 2 || code(&done) == 4, "{arguments:?}");
        let told = stderr(&done);
        assert!(!told.contains("hunter2") && !told.contains("ter2"), "{arguments:?}: {told}");
        assert!(!told.trim().is_empty());
    }
}
