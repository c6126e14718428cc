//! `collect`: a collector that hangs is cut at its budget, and the others are whole.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod support;

use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use intriage_case::{Case, Gathered, file};
use intriage_simulate::Setup;
use intriage_simulate::serve::{ServeConfig, start};
use support::{code, intriage, json, recording, stderr, stdout};

fn read(path: &Path) -> Case {
    file::read(&fs::read(path).unwrap()).unwrap()
}

fn outcome<'a>(case: &'a Case, what: &str) -> &'a Gathered {
    let part = case.collected.iter().find(|c| c.what.starts_with(what));
    let part = part.unwrap_or_else(|| panic!("{what} is not in {:#?}", case.collected));
    assert!(part.budget.is_some(), "{what} has no budget");
    &part.outcome
}

fn is_cut(outcome: &Gathered) -> bool {
    matches!(outcome, Gathered::Skipped { .. })
}

/// A folder with a program called `journalctl` that does this.
fn journalctl(dir: &Path, script: &str) -> String {
    let folder = dir.join("bin");
    fs::create_dir_all(&folder).unwrap();
    let program = folder.join("journalctl");
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())
}

fn model_folder(path: &Path) {
    fs::create_dir_all(path).unwrap();
    let config = r#"{"architectures":["LlamaForCausalLM"],"torch_dtype":"bfloat16","eos_token_id":2}"#;
    fs::write(path.join("config.json"), config).unwrap();
    fs::write(path.join("generation_config.json"), r#"{"temperature":0.6,"eos_token_id":[1,2]}"#).unwrap();
    fs::write(path.join("tokenizer_config.json"), r#"{"chat_template":"{{ messages }}"}"#).unwrap();
    fs::write(path.join("model.safetensors"), "weights").unwrap();
}

#[test]
fn a_pipe_a_journal_and_a_hop_that_hang_leave_the_rest_whole() {
    let dir = tempfile::tempdir().unwrap();
    let server = start(ServeConfig::of(&Setup::healthy(1), 1), ([127, 0, 0, 1], 0).into()).unwrap();
    // Takes connections and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let hop = format!("http://{}", silent.local_addr().unwrap());
    let (pipe, log, saved) =
        (dir.path().join("pipe"), dir.path().join("vllm.log"), dir.path().join("x.case"));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    fs::write(&log, "INFO ready\n").unwrap();
    model_folder(&dir.path().join("model"));
    let output = Command::new(env!("CARGO_BIN_EXE_intriage"))
        .args(["collect", &server.url(), "--window", "2s", "--interval", "500ms", "--via", &hop])
        .args(["--log", pipe.to_str().unwrap(), "--log", log.to_str().unwrap(), "--log", "journal:vllm"])
        .args(["--model-path", dir.path().join("model").to_str().unwrap(), "--save", saved.to_str().unwrap()])
        .env("PATH", journalctl(dir.path(), "exec sleep 600"))
        .output()
        .unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let case = read(&saved);
    for whole in ["metrics", "endpoints", "model"] {
        assert_eq!(*outcome(&case, whole), Gathered::Whole, "{whole}");
    }
    assert_eq!(case.logs.len(), 1);
    assert_eq!(case.logs[0].text, "INFO ready\n");
    let journal = outcome(&case, "log journal:vllm");
    assert!(is_cut(journal), "{journal:#?}");
    assert_eq!(case.collected.iter().filter(|c| is_cut(&c.outcome)).count(), 2, "{:#?}", case.collected);
    // The way straight to the server was seen, and that the hop is silent.
    let Gathered::Partly { why } = outcome(&case, "path") else { panic!("{:#?}", outcome(&case, "path")) };
    assert!(why.contains(&format!("{hop}: no answer")), "{why}");
    assert!(case.paths.iter().any(|way| way.streams.iter().any(|s| s.first.is_some())), "{:#?}", case.paths);
}

#[test]
fn a_server_that_never_answers_leaves_the_log_whole() {
    let dir = tempfile::tempdir().unwrap();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let (log, saved) = (dir.path().join("vllm.log"), dir.path().join("x.case"));
    fs::write(&log, "INFO ready\n").unwrap();
    let (log, name) = (log.to_str().unwrap(), saved.to_str().unwrap());
    let output =
        intriage(&["collect", &url, "--window", "1s", "--timeout", "500ms", "--log", log, "--save", name]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let case = read(&saved);
    let Gathered::Skipped { why } = outcome(&case, "metrics") else { panic!("nobody answered") };
    assert!(why.contains("did not answer"), "{why}");
    assert_eq!(case.logs[0].text, "INFO ready\n");
}

#[test]
fn a_machine_is_watched_for_the_whole_window_beside_a_server_that_is_down() {
    let dir = tempfile::tempdir().unwrap();
    let saved = dir.path().join("x.case");
    let closed = {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", taken.local_addr().unwrap())
    };
    let output =
        intriage(&["collect", &closed, "--host", "--window", "3s", "--save", saved.to_str().unwrap()]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let case = read(&saved);
    let Gathered::Skipped { why } = outcome(&case, "metrics") else { panic!("nobody is there") };
    assert!(why.contains("cannot connect"), "{why}");
    // One look at the beginning, one a second, one at the end: a machine that is not quiet may lose some.
    let (first, last) = (case.host.first().unwrap().at.0, case.host.last().unwrap().at.0);
    assert!(case.host.len() >= 2 && last - first >= 2000, "{} looks from {first} to {last}", case.host.len());
}

#[test]
fn a_server_that_hides_its_metrics_is_asked_for_the_rest() {
    let dir = tempfile::tempdir().unwrap();
    let saved = dir.path().join("x.case");
    let server = support::Server::start(|path, stream| {
        match path {
            "/metrics" => support::answer(stream, "401 Unauthorized", b"{}"),
            "/version" => support::answer(stream, "200 OK", br#"{"version":"0.11.0"}"#),
            _ => support::answer(stream, "404 Not Found", b"{}"),
        }
        support::After::Stays
    });
    let output = intriage(&["collect", &server.url(), "--window", "1s", "--save", saved.to_str().unwrap()]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let case = read(&saved);
    let Gathered::Skipped { why } = outcome(&case, "metrics") else { panic!("it wants a token") };
    assert!(why.contains("401") && why.contains("--bearer-token-file"), "{why}");
    assert_eq!(*outcome(&case, "endpoints"), Gathered::Whole);
    assert_eq!(case.endpoints["/version"], r#"{"version":"0.11.0"}"#);
}

#[test]
fn a_log_from_standard_input_a_container_and_a_journal_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let (docker, saved) = (dir.path().join("4f6-json.log"), dir.path().join("x.case"));
    let record = r#"{"log":"CUDA out of memory\n","stream":"stderr","time":"2026-11-15T02:26:49.5Z"}"#;
    fs::write(&docker, format!("{record}\n")).unwrap();
    let journal = "echo '2026-11-15T02:26:51+0000 node1 vllm[811]: INFO ready'; echo \"$@\" >&2";
    let mut child = Command::new(env!("CARGO_BIN_EXE_intriage"))
        .args(["collect", "--log", "-", "--log", docker.to_str().unwrap(), "--log", "journal:vllm.service"])
        .args(["--save", saved.to_str().unwrap()])
        .env("PATH", journalctl(dir.path(), journal))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"from a pipe\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 0);
    let case = read(&saved);
    let names: Vec<&str> = case.logs.iter().map(|log| log.name.as_str()).collect();
    assert_eq!(names, ["stdin.log", "4f6-json.log", "journal-vllm.service.log"]);
    assert_eq!(case.logs[0].text, "from a pipe\n");
    assert!(case.logs[2].text.contains("INFO ready"));
    // What it was asked for: the unit, and how far back.
    let Gathered::Partly { why } = outcome(&case, "log journal:") else { panic!("journalctl complained") };
    assert!(why.contains("--unit=vllm.service") && why.contains("--since=-3600s"), "{why}");
}

#[test]
fn a_journal_that_is_not_there_is_said_and_a_unit_cannot_be_an_option() {
    let dir = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_intriage"))
        .args(["collect", "--log", "journal:vllm", "--save", dir.path().join("x.case").to_str().unwrap()])
        .env("PATH", dir.path())
        .output()
        .unwrap();
    assert_eq!(code(&output), 4);
    assert!(stdout(&output).contains("journalctl is not here"), "{}", stdout(&output));
    let output = intriage(&["collect", "--log", "journal:--flush"]);
    assert_eq!(code(&output), 2);
    let output = intriage(&["collect", "--via", "http://127.0.0.1:1", "--host"]);
    assert_eq!(code(&output), 2);
}

#[test]
fn a_models_files_are_in_the_case_and_in_the_verdict() {
    let dir = tempfile::tempdir().unwrap();
    let (model, saved, files) = (dir.path().join("model"), dir.path().join("m.case"), dir.path().join("out"));
    model_folder(&model);
    let (model, name) = (model.to_str().unwrap(), saved.to_str().unwrap());
    let output = intriage(&["collect", "--model-path", model, "--save", name]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let case = read(&saved);
    let kept = case.model.unwrap();
    // Ids of tokens are no secrets.
    assert!(kept.text("config.json").unwrap().contains("\"eos_token_id\":2"), "{:?}", kept.texts);
    assert!(kept.text("generation_config.json").unwrap().contains("[1,2]"), "{:?}", kept.texts);
    assert_eq!(kept.summary.templates.len(), 1);

    // Beside a recording the report tells it.
    let healthy = recording("vllm-h200-healthy");
    let merged = dir.path().join("both.case");
    let done = intriage(&["case", "merge", healthy.to_str().unwrap(), name, "-o", merged.to_str().unwrap()]);
    assert_eq!(code(&done), 0, "{}", stderr(&done));
    let told = json(&intriage(&["check", merged.to_str().unwrap(), "--format", "json", "--no-predict"]));
    assert_eq!(
        (&told["model"]["dtype"], &told["model"]["quantization"]),
        (&"bfloat16".into(), &serde_json::Value::Null)
    );
    let page = stdout(&intriage(&["check", merged.to_str().unwrap(), "--no-predict"]));
    assert!(page.contains("quantization none") && page.contains("template sha256"), "{page}");
    intriage(&["case", "extract", name, "-o", files.to_str().unwrap()]);
    assert!(files.join("model/config.json").is_file() && files.join("model/model.json").is_file());
}

#[test]
fn check_takes_a_log_from_standard_input() {
    let healthy = recording("vllm-h200-healthy");
    let mut child = Command::new(env!("CARGO_BIN_EXE_intriage"))
        .args(["check", healthy.to_str().unwrap(), "--log", "-", "--format", "json", "--no-predict"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"INFO hello\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!([0, 1, 3].contains(&code(&output)));
    assert_eq!(json(&output)["schema"], "intriage.diagnosis/1");
}

#[test]
fn a_log_that_nobody_can_read_is_told_and_is_no_log() {
    let dir = tempfile::tempdir().unwrap();
    let healthy = recording("vllm-h200-healthy");
    let (packed, empty) = (dir.path().join("a.log.zst"), dir.path().join("empty.log"));
    // What zstd begins with, and what its rest looks like to anybody else.
    let rest = (0..4000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 23) as u8);
    let bytes: Vec<u8> = [0x28, 0xb5, 0x2f, 0xfd].into_iter().chain(rest).collect();
    fs::write(&packed, bytes).unwrap();
    fs::write(&empty, "").unwrap();
    for (log, hint) in [(&packed, "zstd -d"), (&empty, "it is empty")] {
        let log = log.to_str().unwrap();
        let checked =
            intriage(&["check", healthy.to_str().unwrap(), "--log", log, "--no-predict", "--format", "json"]);
        let notes = json(&checked)["notes"].to_string();
        assert!(notes.contains(hint), "{notes}");
        let saved = dir.path().join("x.case");
        let collected = intriage(&["collect", "--log", log, "--save", saved.to_str().unwrap()]);
        assert_eq!(code(&collected), 4, "{}", stderr(&collected));
        assert!(stdout(&collected).contains(hint) && !saved.exists(), "{}", stdout(&collected));
    }
}

#[test]
fn a_check_of_the_machine_keeps_the_models_files_as_collect_does() {
    let dir = tempfile::tempdir().unwrap();
    let model = dir.path().join("model");
    model_folder(&model);
    let server = support::Server::replay(&recording("vllm-h200-healthy"));
    let url = server.url();
    // A process with the command line of a server is all that is looked for; this one runs a script called `serve`. Other
    // servers may run on the machine: this one names the port.
    fs::write(dir.path().join("serve"), "while read -r _; do :; done\n").unwrap();
    let mut serving = Command::new("/bin/sh")
        .arg0("vllm")
        .args(["serve", model.to_str().unwrap(), "--port", url.rsplit(':').next().unwrap()])
        .current_dir(dir.path())
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let kept = |command: &[&str]| {
        let saved = dir.path().join(format!("{}.case", command[0]));
        let window = ["--window", "2s", "--host", "--save", saved.to_str().unwrap()];
        let output = intriage(&[command, &window].concat());
        assert!([0, 1, 3].contains(&code(&output)), "{}", stderr(&output));
        let case = read(&saved);
        assert_eq!(*outcome(&case, "model"), Gathered::Whole, "{:#?}", case.collected);
        case.model.unwrap()
    };
    let checked = kept(&["check", &url, "--no-predict"]);
    let collected = kept(&["collect", &url]);
    drop(serving.stdin.take());
    serving.wait().unwrap();
    assert_eq!(checked, collected);
    assert!(checked.text("config.json").is_some(), "{checked:?}");
    // A folder that is named goes with a recording, too.
    let (folder, saved) = (recording("vllm-h200-healthy"), dir.path().join("named.case"));
    let named = ["--model-path", model.to_str().unwrap(), "--save", saved.to_str().unwrap()];
    intriage(&[&["check", folder.to_str().unwrap(), "--no-predict"], &named[..]].concat());
    assert_eq!(read(&saved).model.unwrap().texts, checked.texts);
}
