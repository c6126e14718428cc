//! `check --start` and `check --preflight` on programs that stand for a server.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::Value;

fn intriage(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_intriage")).args(args).output().unwrap()
}

fn started(script: &str, more: &[&str]) -> (Option<i32>, Value) {
    let args = [&["check", "--start", "--format", "json"], more, &["--", "/bin/sh", "-c", script]].concat();
    let done = intriage(&args);
    let json = serde_json::from_slice(&done.stdout);
    (done.status.code(), json.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&done.stderr))))
}

#[test]
fn a_start_that_fails_is_named_with_how_it_ended() {
    let (code, said) = started("echo 'OSError: [Errno 98] Address already in use'; exit 1", &[]);
    assert_eq!((code, &said["verdict"]["primary"]["cause"]), (Some(1), &"port-in-use".into()));
    assert_eq!((&said["start"]["end"]["kind"], &said["start"]["end"]["code"]), (&"exited".into(), &1.into()));
    let (code, said) = started("echo loading; kill -9 $$", &[]);
    assert_eq!((code, &said["verdict"]["primary"]["cause"]), (Some(1), &"host-oom-kill".into()));
    // No line of the log says why: that it failed is told all the same.
    let (code, said) = started("echo bye; exit 7", &[]);
    assert_eq!((code, &said["verdict"]["status"]), (Some(1), &"finding".into()), "{said}");
    assert!(
        said["verdict"]["answer"].as_str().unwrap().contains("exit status 7"),
        "{}",
        said["verdict"]["answer"]
    );
}

#[test]
fn a_start_that_comes_up_tells_its_phases_and_leaves_nobody_behind() {
    let mark = format!("{}.25", 60_000 + std::process::id() % 1000);
    let script = format!(
        "echo 'Starting to load model m...'; sleep 0.4; echo 'INFO:     Application startup complete.'; sleep {mark}"
    );
    let (code, said) = started(&script, &[]);
    assert_eq!((code, &said["verdict"]["status"]), (Some(0), &"healthy".into()), "{said}");
    let phases: Vec<&str> =
        said["start"]["phases"].as_array().unwrap().iter().map(|p| p["phase"].as_str().unwrap()).collect();
    assert_eq!(phases, ["launch", "load_weights", "serving"]);
    let left = Command::new("pgrep").args(["-f", &format!("sleep {mark}")]).output();
    assert!(left.is_err() || left.unwrap().stdout.is_empty(), "the server is left behind");
}

#[test]
fn a_hand_ends_the_server_too() {
    let mark = format!("{}.75", 61_000 + std::process::id() % 1000);
    let mut child = Command::new(env!("CARGO_BIN_EXE_intriage"))
        .args(["check", "--start", "--", "/bin/sh", "-c", &format!("sleep {mark}")])
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let seen = || {
        Command::new("pgrep")
            .args(["-f", &format!("^sleep {mark}")])
            .output()
            .is_ok_and(|o| !o.stdout.is_empty())
    };
    let end = Instant::now() + Duration::from_secs(20);
    while !seen() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(50));
    }
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!seen(), "the server is left behind");
}

#[test]
fn a_saved_start_is_judged_alike_later() {
    let dir = tempfile::tempdir().unwrap();
    let case = dir.path().join("start.case");
    let (_, said) = started(
        "echo 'OSError: [Errno 98] Address already in use'; exit 1",
        &["--save", case.to_str().unwrap()],
    );
    let later = intriage(&["check", case.to_str().unwrap(), "--format", "json"]);
    let later: Value = serde_json::from_slice(&later.stdout).unwrap();
    assert_eq!((&later["verdict"], &later["start"]), (&said["verdict"], &said["start"]));
}

#[test]
fn what_cannot_be_run_is_told_with_what_to_do() {
    let done = intriage(&["check", "--start", "--", "no-such-engine-of-ours", "serve"]);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(4), "{said}");
    assert!(said.contains("no-such-engine-of-ours") && said.contains("environment"), "{said}");
    for args in [
        &["check", "--start"][..],
        &["check", "--preflight"],
        &["check", "--", "vllm", "serve", "m"],
        &["check"],
    ] {
        let done = intriage(args);
        assert_eq!(done.status.code(), Some(2), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    }
}

#[test]
fn a_command_is_judged_before_it_is_run() {
    let dir = tempfile::tempdir().unwrap();
    let gguf = dir.path().join("m.gguf");
    std::fs::write(&gguf, "PK\x03\x04 no model").unwrap();
    let args = [
        "check",
        "--preflight",
        "--format",
        "json",
        "--",
        "llama-server",
        "-m",
        gguf.to_str().unwrap(),
        "--api-key",
        "hunter2",
    ];
    let done = intriage(&args);
    let said: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((done.status.code(), &said["schema"]), (Some(1), &"intriage.preflight/1".into()));
    assert_eq!(said["findings"][0]["cause"], "model-files-damaged");
    assert!(!String::from_utf8_lossy(&done.stdout).contains("hunter2"), "a key is told");
    let text = intriage(&["check", "--preflight", "--", "vllm", "serve", "/no/such/model"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.starts_with("vLLM would not start: there is no /no/such/model"), "{text}");
    assert_eq!(intriage(&["check", "--preflight", "--", "ls"]).status.code(), Some(3));
}
