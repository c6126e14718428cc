//! Planted secrets, through the program itself: none in a case file, in any output, or in any error.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

#[path = "../../redact/tests/planted/mod.rs"]
mod planted;
mod support;

use std::fs;
use std::path::Path;
use std::process::Output;

use intriage_case::layout;
use planted::{CANARIES, Place};
use support::intriage;

/// The text as it stands in the world, and its secrets.
fn split(marked: &str) -> (String, Vec<&str>) {
    let secrets = marked.split('«').skip(1).filter_map(|rest| rest.split('»').next()).collect();
    (marked.replace(['«', '»'], ""), secrets)
}

/// Every secret of these places.
fn secrets(places: &[Place]) -> Vec<&'static str> {
    CANARIES
        .iter()
        .filter(|(place, ..)| places.contains(place))
        .flat_map(|(_, text, _)| split(text).1)
        .collect()
}

fn must_be_silent(what: &str, output: &Output, saved: &Path, planted: &[&str]) {
    let case = intriage_case::file::read(&fs::read(saved).unwrap()).unwrap();
    let files = layout::files(&case).into_iter().map(|(_, bytes)| bytes);
    let inside = format!("{:?} {:?} {:?}", case.target, case.collected, case.notes).into_bytes();
    let texts = [output.stdout.clone(), output.stderr.clone(), inside];
    for text in files.chain(texts) {
        let text = String::from_utf8_lossy(&text);
        for secret in planted {
            assert!(!text.contains(secret), "{what}: {secret} in {text}");
        }
    }
}

/// A recording with the secrets of logs, endpoints, labels and environments in their places.
fn recording(folder: &Path) {
    let of = |wanted: Place| CANARIES.iter().filter(move |(place, ..)| *place == wanted);
    let (metrics, endpoints, process) =
        (folder.join("metrics"), folder.join("endpoints"), folder.join("host/1000/proc/7"));
    for made in [&metrics, &endpoints, &process] {
        fs::create_dir_all(made).unwrap();
    }
    let log: Vec<String> = of(Place::Log).map(|(_, text, _)| split(text).0).collect();
    fs::write(folder.join("server.log"), log.join("\n")).unwrap();
    for (i, (_, text, _)) in of(Place::Json).enumerate() {
        fs::write(endpoints.join(format!("made_up_{i}.json")), split(text).0).unwrap();
    }
    let environment: Vec<String> = of(Place::Environment).map(|(_, text, _)| split(text).0).collect();
    fs::write(process.join("environ"), environment.join("\n")).unwrap();
    let labels: Vec<String> = of(Place::Label).map(|(_, text, _)| split(text).0).collect();
    let page = format!("vllm:num_requests_running{{model_name=\"m\"}} 1\n{}\n", labels.join("\n"));
    for at in [1000, 2000] {
        fs::write(metrics.join(format!("{at}.txt")), &page).unwrap();
    }
}

#[test]
fn a_check_tells_and_keeps_no_secret() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("recording");
    recording(&folder);
    let planted = secrets(&[Place::Log, Place::Json, Place::Environment, Place::Label]);
    assert!(planted.len() >= 60, "{}", planted.len());
    for format in ["text", "json"] {
        let saved = dir.path().join(format!("{format}.case"));
        let args = ["check", folder.to_str().unwrap(), "--format", format, "--save", saved.to_str().unwrap()];
        let output = intriage(&args);
        assert!(saved.exists(), "{}", String::from_utf8_lossy(&output.stderr));
        must_be_silent(format, &output, &saved, &planted);
    }
}

#[test]
fn a_command_line_keeps_no_secret() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("recording");
    recording(&folder);
    for (i, (_, text, _)) in CANARIES.iter().filter(|(place, ..)| *place == Place::CommandLine).enumerate() {
        let saved = dir.path().join(format!("{i}.case"));
        let (line, planted) = split(text);
        let (target, case) = (folder.to_str().unwrap(), saved.to_str().unwrap());
        fs::write(folder.join("cmdline.txt"), line).unwrap();
        let output = intriage(&["check", target, "--no-predict", "--save", case]);
        must_be_silent(text, &output, &saved, &planted);
    }
}

#[test]
fn a_collected_log_keeps_no_secret_and_the_names_stay_with_their_owner() {
    let dir = tempfile::tempdir().unwrap();
    let saved = dir.path().join("x.case");
    recording(dir.path());
    let log = dir.path().join("server.log");
    let output = intriage(&["collect", "--log", log.to_str().unwrap(), "--save", saved.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    must_be_silent("collect", &output, &saved, &secrets(&[Place::Log]));
    let names = dir.path().join("x.case.names.json");
    let map: serde_json::Value = serde_json::from_slice(&fs::read(&names).unwrap()).unwrap();
    assert!(map.as_object().is_some_and(|pairs| !pairs.is_empty()), "{map}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(&names).unwrap().permissions().mode() & 0o077, 0);
    }
}

#[test]
fn an_error_repeats_no_password() {
    let output = intriage(&["check", "http://ann:hunter22secret@127.0.0.1:1", "--window", "1s"]);
    assert!(!String::from_utf8_lossy(&output.stderr).contains("hunter22secret"), "{output:?}");
    let dir = tempfile::tempdir().unwrap();
    let token = dir.path().join("token");
    fs::write(&token, "tok-4fJ9sLq2Zx8\n").unwrap();
    let args =
        ["check", "http://127.0.0.1:1", "--bearer-token-file", token.to_str().unwrap(), "--window", "1s"];
    let output = intriage(&args);
    assert_eq!(output.status.code(), Some(4));
    assert!(!String::from_utf8_lossy(&output.stderr).contains("tok-4fJ9sLq2Zx8"), "{output:?}");
}
