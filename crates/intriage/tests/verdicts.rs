//! Given this recording, the verdict is that.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod support;

use support::{code, intriage, is_right, json, recordings, root, stdout, truth};

#[test]
fn every_recording_gets_its_true_cause() {
    for folder in ["recordings", "lab", "h200", "made"] {
        for recording in recordings(folder) {
            let truth = truth(&recording);
            let output =
                intriage(&["check", recording.to_str().unwrap(), "--format", "json", "--no-predict"]);
            let verdict = json(&output);
            let name = recording.file_name().unwrap().to_string_lossy().into_owned();
            let said = &verdict["verdict"];
            assert!(is_right(&truth, &verdict), "{name}: truth {}, said {said:#}", truth["cause"]);
            assert_eq!(said["status"], truth["status"], "{name}");
            let exit = match said["status"].as_str().unwrap() {
                "healthy" => 0,
                "finding" => 1,
                _ => 3,
            };
            assert_eq!(code(&output), exit, "{name}");
        }
    }
}

#[test]
fn a_finding_names_facts_for_it_and_what_was_ruled_out() {
    let output =
        intriage(&["check", support::recording("vllm-h200-maxseqs4").to_str().unwrap(), "--format", "json"]);
    let verdict = json(&output);
    let first = &verdict["findings"][0];
    assert_eq!(verdict["schema"], "intriage.diagnosis/1");
    assert_eq!(first["cause"], "max-num-seqs-limited-queue");
    assert!(first["for"].as_array().unwrap().len() >= 3, "{first:#}");
    assert!(first["impact"]["share"].as_f64().unwrap() > 0.5);
    let ruled_out: Vec<&str> =
        verdict["ruled_out"].as_array().unwrap().iter().filter_map(|r| r["cause"].as_str()).collect();
    assert!(ruled_out.contains(&"kv-capacity-limited-queue"), "{ruled_out:?}");
    let change = verdict["remedies"][0]["change"].as_str().unwrap();
    assert!(change.starts_with("--max-num-seqs 4 → "), "{change}");
}

#[test]
fn the_first_token_account_adds_up() {
    for recording in recordings("recordings") {
        let args = ["check", recording.to_str().unwrap(), "--format", "json", "--no-predict"];
        let verdict = json(&intriage(&args));
        for of in ["ttft", "tpot"] {
            let shares: Vec<f64> = verdict["segments"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|s| s["of"] == of)
                .filter_map(|s| s["share"].as_f64())
                .collect();
            let sum: f64 = shares.iter().sum();
            assert!(
                shares.is_empty() || (sum - 1.0).abs() < 0.01,
                "{}: {of} adds up to {sum}",
                recording.display()
            );
        }
    }
}

#[test]
fn a_latency_condition_that_moves_no_stated_objective_is_a_note() {
    let recording = support::recording("vllm-h200-maxseqs4");
    let output =
        intriage(&["check", recording.to_str().unwrap(), "--format", "json", "--slo", "ttft.mean=10s"]);
    let verdict = json(&output);
    assert_eq!(verdict["verdict"]["status"], "healthy");
    assert_eq!(code(&output), 0);
    let notes = verdict["notes"].to_string();
    assert!(notes.contains("max-num-seqs-limited-queue"), "{notes}");
}

#[test]
fn a_missed_objective_is_said() {
    let recording = support::recording("vllm-h200-maxseqs4");
    let output =
        intriage(&["check", recording.to_str().unwrap(), "--format", "json", "--slo", "ttft.p95=500ms"]);
    assert_eq!(json(&output)["objectives"][0]["met"], false);
}

#[test]
fn a_prediction_comes_with_its_change_unless_nobody_wants_it() {
    let recording = support::recording("vllm-h200-maxseqs4");
    let check = ["check", recording.to_str().unwrap(), "--format", "json"];
    let verdict = json(&intriage(&check));
    let first = &verdict["predictions"][0];
    assert!(first["change"].as_str().unwrap().starts_with("--max-num-seqs 4 → "), "{first:#}");
    assert!(first["after"]["queue"]["high"].as_f64().unwrap() < 0.05, "{first:#}");
    let without = json(&intriage(&[&check[..], &["--no-predict"]].concat()));
    assert_eq!(without["predictions"].as_array().unwrap().len(), 0);
    assert_eq!(without["verdict"], verdict["verdict"]);
}

/// The text people see, for one recording of each kind.
#[test]
fn the_text_verdict_is_one_screen() {
    for name in
        ["vllm-h200-maxseqs4", "vllm-cpu-kvsmall", "vllm-h200-healthy", "llamacpp-slots", "vllm-cpu-killed"]
    {
        let output = intriage(&["check", support::recording(name).to_str().unwrap()]);
        let text = stdout(&output);
        assert!(!text.contains('\u{1b}'), "no colour into a pipe");
        assert!(text.lines().count() <= 62, "{name} takes {} lines", text.lines().count());
        assert!(text.lines().all(|l| l.chars().count() <= 100), "{name} is too wide");
        insta::with_settings!({ snapshot_path => root().join("crates/intriage/tests/snapshots"), prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(name, text);
        });
    }
}

/// A copy of a recording with only what `keep` wants.
fn thinned(recording: &std::path::Path, keep: impl Fn(&str, usize) -> bool) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    std::fs::create_dir(copy.path().join("metrics")).unwrap();
    let mut scrapes: Vec<_> =
        std::fs::read_dir(recording.join("metrics")).unwrap().map(|e| e.unwrap().path()).collect();
    scrapes.sort();
    for (i, scrape) in scrapes.iter().enumerate().filter(|(i, _)| keep("metrics", *i)) {
        let name = scrape.file_name().unwrap();
        std::fs::copy(scrape, copy.path().join("metrics").join(name)).unwrap_or_else(|e| panic!("{i}: {e}"));
    }
    for name in ["server.log", "cmdline.txt", "dmon.txt", "smi_q.txt"] {
        if keep(name, 0) && recording.join(name).is_file() {
            std::fs::copy(recording.join(name), copy.path().join(name)).unwrap();
        }
    }
    copy
}

/// Whether a file of this name (for scrapes: with this number) is kept.
type Keep<'a> = &'a dyn Fn(&str, usize) -> bool;

/// Less evidence may cost the verdict, but must not turn it into another cause or an alarm.
#[test]
fn less_evidence_names_no_wrong_cause() {
    let all = ["recordings", "lab", "h200", "made"].into_iter().flat_map(recordings);
    for recording in all {
        let truth = truth(&recording);
        let count = std::fs::read_dir(recording.join("metrics")).unwrap().count();
        let variants: [(&str, Keep<'_>); 5] = [
            ("metrics only", &|name, _| name == "metrics"),
            ("every second scrape", &|_, i| i % 2 == 0),
            ("first half", &|_, i| i <= count / 2),
            ("second half, metrics only", &|name, i| name == "metrics" && i >= count / 2),
            ("without the log", &|name, _| name != "server.log"),
        ];
        for (what, keep) in variants {
            let copy = thinned(&recording, keep);
            let args = ["check", copy.path().to_str().unwrap(), "--format", "json", "--no-predict"];
            let verdict = json(&intriage(&args));
            let said = &verdict["verdict"];
            // A slow link shows in nothing but the card's readings: without them only that something hurts can be told.
            if truth["cause"] == "pcie-link-downgrade" {
                assert_eq!(said["status"], "finding", "{} with {what}", recording.display());
                continue;
            }
            assert!(
                said["primary"]["cause"].is_null() || is_right(&truth, &verdict),
                "{} with {what}: truth {}, said {said:#}",
                recording.display(),
                truth["cause"]
            );
        }
    }
}
