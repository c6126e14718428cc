//! The same evidence gives the same answer: from a folder, from a saved case, from a live server.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod support;

use std::path::Path;
use std::{fs, thread};

use support::{Server, intriage, is_right, json, recordings, stdout, truth};

#[test]
fn a_saved_case_gives_byte_identical_json() {
    let dir = tempfile::tempdir().unwrap();
    for (number, recording) in recordings("recordings").into_iter().enumerate() {
        let saved = dir.path().join(format!("{number}.case"));
        let args =
            ["check", recording.to_str().unwrap(), "--format", "json", "--save", saved.to_str().unwrap()];
        let first = intriage(&args);
        let again = intriage(&["check", saved.to_str().unwrap(), "--format", "json"]);
        assert!(!first.stdout.is_empty());
        assert_eq!(stdout(&first), stdout(&again), "{}", recording.display());
    }
}

#[test]
fn a_saved_case_keeps_the_intent() {
    let dir = tempfile::tempdir().unwrap();
    let saved = dir.path().join("x.case");
    let saved = saved.to_str().unwrap();
    let recording = support::recording("vllm-h200-healthy");
    intriage(&[
        "check",
        recording.to_str().unwrap(),
        "--slo",
        "ttft.p95=1ms",
        "--profile",
        "batch",
        "--save",
        saved,
    ]);
    let again = json(&intriage(&["check", saved, "--format", "json"]));
    assert_eq!(again["objectives"].as_array().unwrap().len(), 1);
}

/// Replays a recording over HTTP and checks it live, with what a user would give beside the URL.
fn live(recording: &Path, interval_ms: u64) -> serde_json::Value {
    let server = Server::replay(recording);
    let scrapes = fs::read_dir(recording.join("metrics")).unwrap().count() as u64;
    let interval = format!("{interval_ms}ms");
    let window = format!("{}ms", (scrapes - 1) * interval_ms);
    let log = recording.join("server.log");
    let flags = fs::read_to_string(recording.join("cmdline.txt")).unwrap();
    json(&intriage(&[
        "check",
        &server.url(),
        "--interval",
        &interval,
        "--window",
        &window,
        "--format",
        "json",
        "--log",
        log.to_str().unwrap(),
        "--engine-args",
        flags.trim(),
    ]))
}

#[test]
fn a_live_scrape_gives_the_verdict_of_the_folder() {
    let checks: Vec<_> = recordings("recordings")
        .into_iter()
        .map(|recording| thread::spawn(move || (live(&recording, 150), recording)))
        .collect();
    for check in checks {
        let (verdict, recording) = check.join().unwrap();
        let said = &verdict["verdict"];
        assert!(is_right(&truth(&recording), &verdict), "{}: {said:#}", recording.display());
    }
}

/// The recording as it was after its first `scrapes`: a busy machine may miss the last ones of a window.
fn first(recording: &Path, scrapes: usize) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("metrics")).unwrap();
    for name in ["cmdline.txt", "server.log"] {
        fs::copy(recording.join(name), dir.path().join(name)).unwrap();
    }
    let mut files: Vec<_> =
        fs::read_dir(recording.join("metrics")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    files.sort();
    for name in files.iter().take(scrapes) {
        let inside = Path::new("metrics").join(name);
        fs::copy(recording.join(&inside), dir.path().join(&inside)).unwrap();
    }
    dir
}

#[test]
fn at_the_recorded_pace_the_figures_agree_too() {
    let recording = support::recording("vllm-h200-maxseqs4");
    let live = live(&recording, 2000);
    let seen = live["window"]["scrapes"].as_u64().unwrap();
    let same = first(&recording, usize::try_from(seen).unwrap());
    let folder = json(&intriage(&["check", same.path().to_str().unwrap(), "--format", "json"]));
    assert_eq!(live["verdict"]["primary"], folder["verdict"]["primary"]);
    let queue = |v: &serde_json::Value| {
        v["segments"].as_array().unwrap().iter().find(|s| s["name"] == "queue").unwrap()["value"]["value"]
            .as_f64()
            .unwrap()
    };
    assert!((queue(&live) / queue(&folder) - 1.0).abs() < 0.01, "{} {}", queue(&live), queue(&folder));
}
