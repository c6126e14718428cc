//! Logs on the command line: several files of one server, packed ones, and a log alone.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod support;

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use support::{code, intriage, recording, stdout};

/// A line of vLLM at an hour.
fn at(hour: u32, rest: &str) -> String {
    format!("INFO 11-15 {hour:02}:00:00 [x.py:1] {rest}\n")
}

#[test]
fn logs_of_a_rotation_are_told_in_their_order_and_read_as_one() {
    let dir = tempfile::tempdir().unwrap();
    let start = |hour| at(hour, "vLLM API server version 0.15.0");
    let old = start(2) + &at(3, "EngineCore encountered a fatal error.");
    let new = start(4) + "INFO:     Application startup complete.\n" + &at(5, "ready");
    fs::write(dir.path().join("vllm.log"), new).unwrap();
    fs::write(dir.path().join("vllm.log.1"), old).unwrap();
    let file = |name: &str| dir.path().join(name).display().to_string();
    let saved = file("x.case");
    let logs = [file("vllm.log"), file("vllm.log.1")];
    let collected = intriage(&["collect", "--log", &logs[0], "--log", &logs[1], "--save", &saved]);
    let told = stdout(&collected);
    assert!(told.contains("oldest first (by the times of their lines): vllm.log.1.log, vllm.log"), "{told}");
    let checked = stdout(&intriage(&["check", &saved]));
    assert_eq!(checked.matches("oldest first").count(), 1, "{checked}");
    // The death is of a process that was started again, in another file.
    assert!(checked.contains("Nothing in this log is a fault: the server came up."), "{checked}");
}

#[test]
fn a_recordings_log_alone_and_packed_gives_the_verdict_of_its_queue() {
    let dir = tempfile::tempdir().unwrap();
    let text = fs::read(recording("vllm-cpu-maxseqs2").join("server.log")).unwrap();
    let mut gzip =
        Command::new("gzip").arg("-c").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut into = gzip.stdin.take().unwrap();
    let writer = std::thread::spawn(move || into.write_all(&text));
    let packed = gzip.wait_with_output().unwrap().stdout;
    writer.join().unwrap().unwrap();
    fs::write(dir.path().join("vllm.log.1.gz"), packed).unwrap();
    // Given by name it is collected whole, and the saved case has its text.
    let (log, saved) = (dir.path().join("vllm.log.1.gz"), dir.path().join("x.case"));
    let collected = intriage(&["collect", "--log", log.to_str().unwrap(), "--save", saved.to_str().unwrap()]);
    assert_eq!(code(&collected), 0, "{}", stdout(&collected));
    assert_eq!(code(&intriage(&["check", saved.to_str().unwrap()])), 1);
    fs::remove_file(saved).unwrap();
    let output = intriage(&["check", &dir.path().display().to_string()]);
    let told = stdout(&output);
    assert_eq!(code(&output), 1, "{told}");
    assert!(told.contains("max-num-seqs-limited-queue") && told.contains("lines of its log"), "{told}");
}
