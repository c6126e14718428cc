//! Recordings of which only the log is given: what its lines show must be what was done to the engine, and a healthy
//! server's log must raise no alarm.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

use std::path::{Path, PathBuf};

use intriage_case::{Case, LogText};
use intriage_diagnose::{Diagnosis, Status, Thresholds, diagnose};
use serde::Deserialize;

#[derive(Deserialize)]
struct Truth {
    status: String,
    cause: Option<String>,
    #[serde(default)]
    accept: Vec<String>,
}

/// Every recording that has a log and a truth, by its name.
fn recordings() -> Vec<(String, Truth, Diagnosis)> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let folders = |path: &Path| -> Vec<PathBuf> {
        let mut all: Vec<_> = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        all.retain(|path| path.is_dir());
        all.sort();
        all
    };
    let mut found = Vec::new();
    for folder in folders(&fixtures).iter().flat_map(|kind| folders(kind)) {
        let (Ok(log), Ok(truth)) =
            (std::fs::read(folder.join("server.log")), std::fs::read(folder.join("truth.json")))
        else {
            continue;
        };
        let mut case = Case::default();
        case.add_log(LogText { name: "server.log".into(), text: String::from_utf8_lossy(&log).into_owned() });
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let truth = serde_json::from_slice(&truth).unwrap();
        found.push((name, truth, diagnose(&case, &Thresholds::default())));
    }
    assert!(found.len() > 40, "{} recordings", found.len());
    found
}

#[test]
fn the_log_of_a_healthy_server_raises_no_alarm() {
    for (name, truth, diagnosis) in recordings() {
        if truth.status != "finding" {
            let found: Vec<&str> = diagnosis.findings.iter().map(|f| f.cause.as_str()).collect();
            assert!(diagnosis.verdict.status != Status::Finding, "{name}: {found:?}");
        }
    }
}

#[test]
fn a_queue_in_a_log_is_named_as_what_was_done() {
    let queues = ["max-num-seqs-limited-queue", "kv-capacity-limited-queue"];
    let mut named = Vec::new();
    for (name, truth, diagnosis) in recordings() {
        for finding in diagnosis.findings.iter().filter(|f| queues.contains(&f.cause.as_str())) {
            let right = truth.cause.as_ref() == Some(&finding.cause) || truth.accept.contains(&finding.cause);
            assert!(right, "{name}: {} instead of {:?}", finding.cause, truth.cause);
            assert!(finding.facts_for[0].says.contains("lines of its log over"), "{:?}", finding.facts_for);
            named.push(name.clone());
        }
    }
    // Every recording whose log has three lines under load and shows the limit itself.
    for name in [
        "vllm-h200-kv1200",
        "vllm-h200-pair-kv1040",
        "vllm-h200-kvsmall",
        "vllm-h200-maxseqs4",
        "vllm-h200-maxseqs8",
        "vllm-h200-pair-maxseqs8",
        "vllm-cpu-maxseqs2",
        "maxseqs3",
    ] {
        assert!(named.iter().any(|n| n == name), "{name} is not among {named:?}");
    }
}
