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
    let refused: [(&[&str], i32); 7] = [
        (&["--log", "/nowhere/server.log"], 4),
        (&["--log", "-", "--log", "-"], 2),
        (&["--log", "journal:--flush"], 2),
        (&["--host"], 2),
        (&["--dcgm", "http://127.0.0.1:9400"], 2),
        (&["--replica", "b"], 2),
        (&["--engine-args", "vllm serve 'm --max-num-seqs 4"], 2),
    ];
    for (args, expected) in refused {
        let [config, check] =
            ["config", "check"].map(|command| intriage(&[&[command, target], args].concat()));
        assert_eq!((code(&config), code(&check)), (expected, expected), "{args:?}: {}", stderr(&config));
        assert_eq!(stderr(&config), stderr(&check), "{args:?}");
    }
}

/// Writes a manifest and gives its path.
fn manifest(dir: &Path, name: &str, text: &str) -> String {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn it_is_fine_only_where_something_is_seen_to_be_in_force() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, log) = server_and_log(dir.path());
    let (target, log) = (folder.to_str().unwrap(), log.to_str().unwrap());
    let unit = |name: &str, flags: &str| {
        manifest(dir.path(), name, &format!("[Service]\nExecStart=vllm serve l8b {flags}\n"))
    };
    let (unseen, good, bad) = (
        unit("unseen.service", "--stream-interval 4"),
        unit("good.service", "--max-num-seqs 4 --load-format dummy --max-model-len 8192"),
        unit("bad.service", "--max-num-seqs 64"),
    );
    let other = manifest(dir.path(), "nginx.service", "[Service]\nExecStart=nginx -g x\n");
    let exits = |args: &[&str]| {
        let output = intriage(&[&["config", target], args].concat());
        (code(&output), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let cases: [(&[&str], i32, &str); 5] = [
        (&["--manifest", &unseen], 3, "1 that nothing shows: --stream-interval"),
        (&["--manifest", &other], 3, "nginx.service starts no vLLM"),
        (&["--manifest", &bad, "--log", log], 1, "started with 4"),
        (&["--manifest", &good, "--log", log, "--all"], 0, "good.service"),
        (&["--manifest", &good, "--manifest", &other, "--log", log], 3, "nginx.service starts no vLLM"),
    ];
    for (args, expected, says) in cases {
        let (exit, text) = exits(args);
        assert!(exit == expected && text.contains(says), "{args:?}: {exit}\n{text}");
    }
}

#[test]
fn drop_ins_of_one_name_are_both_laid_over_their_unit() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, _) = server_and_log(dir.path());
    let base = manifest(
        dir.path(),
        "vllm.service",
        "[Service]\nEnvironment=VLLM_A=1\nExecStart=vllm serve l8b --max-num-seqs 4\n",
    );
    let first = manifest(dir.path(), "a/override.conf", "[Service]\nEnvironment=VLLM_A=2\n");
    let last = manifest(
        dir.path(),
        "b/override.conf",
        "[Service]\nExecStart=\nExecStart=vllm serve l8b --max-num-seqs 8\n",
    );
    let args =
        ["config", folder.to_str().unwrap(), "--format", "json", "--manifest", &base, "--manifest", &first];
    let told = json(&intriage(&[&args[..], &["--manifest", &last]].concat()));
    let asked = |name: &str| {
        let rows = told["config"]["rows"].as_array().unwrap();
        rows.iter().find(|row| row["name"] == name).unwrap()["requested"]["value"].clone()
    };
    assert_eq!((asked("VLLM_A"), asked("--max-num-seqs")), ("2".into(), 8.0.into()), "{told:#}");
    assert_eq!(told["config"]["overrides"].as_array().unwrap().len(), 2, "{told:#}");
}

#[test]
fn of_two_services_the_target_is_one_or_nothing_is_compared() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, _) = server_and_log(dir.path());
    let two = |model: &str| {
        format!(
            "services:\n  big: {{image: vllm/vllm-openai, command: --model big --max-num-seqs 512}}\n  small: {{image: vllm/vllm-openai, command: --model {model} --max-num-seqs 2}}\n"
        )
    };
    let path = manifest(dir.path(), "two.yml", &two("other"));
    let args = ["config", folder.to_str().unwrap(), "--manifest", &path];
    let output = intriage(&args);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(code(&output) == 3 && text.contains("big in two.yml, small in two.yml"), "{text}");
    assert!(!text.contains("--max-num-seqs"), "{text}");
    manifest(dir.path(), "two.yml", &two("l8b"));
    let told = json(&intriage(&[&args[..], &["--format", "json"]].concat()));
    assert_eq!(told["config"]["manifest"], "two.yml", "{told:#}");
}

#[test]
fn what_only_a_manifest_says_rules_no_cause_out() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, _) = server_and_log(dir.path());
    let unit = manifest(dir.path(), "bad.service", "[Service]\nExecStart=vllm serve l8b --max-num-seqs 64\n");
    let output = intriage(&["check", folder.to_str().unwrap(), "--manifest", &unit, "--format", "json"]);
    let told = json(&output);
    let findings = told["findings"].as_array().unwrap();
    let cap = findings.iter().find(|f| f["cause"] == "max-num-seqs-limited-queue").unwrap();
    assert_ne!(cap["outcome"], "ruled-out", "{cap:#}");
    assert!(!cap.to_string().contains("a cap of 64"), "{cap:#}");
}

#[test]
fn broken_yaml_is_told_in_a_whole_sentence() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, _) = server_and_log(dir.path());
    let path = manifest(dir.path(), "x.yaml", "services:\n  a:\n    image: x\n    b: c: hunter2\n");
    let output = intriage(&["config", folder.to_str().unwrap(), "--manifest", &path]);
    assert_eq!(code(&output), 4);
    let said = stderr(&output);
    assert!(said.contains("line 4: ") && !said.trim_end().ends_with("of"), "{said}");
    assert!(!said.contains("hunter2"), "{said}");
}
