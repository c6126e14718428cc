//! `config`: evidence is taken the way `check` takes it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod support;

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use support::{Server, code, intriage, json, recording, stderr};

/// The recorded server without its own log, and the log as a file of the name that standard input gets in a case.
fn server_and_log(dir: &Path) -> (PathBuf, PathBuf) {
    let recorded = recording("vllm-h200-maxseqs4");
    let (folder, log) = (dir.join("server"), dir.join("stdin.log"));
    fs::create_dir_all(folder.join("metrics")).unwrap();
    for page in fs::read_dir(recorded.join("metrics")).unwrap().map(Result::unwrap) {
        fs::copy(page.path(), folder.join("metrics").join(page.file_name())).unwrap();
    }
    fs::copy(recorded.join("server.log"), &log).unwrap();
    (folder, log)
}

/// `config` on this target with a log on standard input.
fn with_stdin(args: &[&str], text: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_intriage"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn a_log_on_standard_input_tells_what_the_file_tells() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, log) = server_and_log(dir.path());
    let (target, file) = (folder.to_str().unwrap(), log.to_str().unwrap());
    let without = json(&intriage(&["config", target, "--format", "json"]));
    let from_file = json(&intriage(&["config", target, "--log", file, "--format", "json"]));
    let piped = with_stdin(&["config", target, "--log", "-", "--format", "json"], &fs::read(&log).unwrap());
    assert_eq!(json(&piped), from_file, "{}", stderr(&piped));
    // The log does tell something.
    let rows = |told: &serde_json::Value| told["config"]["rows"].as_array().unwrap().len();
    assert!(rows(&from_file) > rows(&without), "{without:#} {from_file:#}");
}

#[test]
fn a_unit_of_the_journal_is_read_beside_a_live_server() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, log) = server_and_log(dir.path());
    let bin = dir.path().join("bin");
    fs::create_dir_all(&bin).unwrap();
    fs::write(bin.join("journalctl"), format!("#!/bin/sh\nexec cat {}\n", log.display())).unwrap();
    fs::set_permissions(bin.join("journalctl"), fs::Permissions::from_mode(0o755)).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_intriage"))
        .args(["config", &Server::replay(&folder).url(), "--window", "1s", "--log", "journal:vllm"])
        .args(["--format", "json"])
        .env("PATH", format!("{}:{}", bin.display(), std::env::var("PATH").unwrap()))
        .output()
        .unwrap();
    let told = json(&output);
    assert!(told.to_string().contains("journal-vllm.log"), "{told:#}");
    assert!(stderr(&output).contains("watching for 1 s"), "{}", stderr(&output));
}

#[test]
fn what_cannot_be_taken_is_refused_in_the_words_of_check() {
    let healthy = recording("vllm-h200-healthy");
    let target = healthy.to_str().unwrap();
    let refused: [(&[&str], i32); 6] = [
        (&["--log", "/nowhere/server.log"], 4),
        (&["--log", "-", "--log", "-"], 2),
        (&["--log", "journal:--flush"], 2),
        (&["--host"], 2),
        (&["--dcgm", "http://127.0.0.1:9400"], 2),
        (&["--replica", "b"], 2),
    ];
    for (args, expected) in refused {
        let [config, check] =
            ["config", "check"].map(|command| intriage(&[&[command, target], args].concat()));
        assert_eq!((code(&config), code(&check)), (expected, expected), "{args:?}: {}", stderr(&config));
        assert_eq!(stderr(&config), stderr(&check), "{args:?}");
    }
}
