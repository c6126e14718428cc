//! The command line: help, usage errors, settings, the other commands.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod support;

use support::{code, intriage, json, recording, root, stderr, stdout};

#[test]
fn help_teaches() {
    let help = stdout(&intriage(&["check", "--help"]));
    for word in ["--slo", "--interval", "ttft.p95=500ms", "Examples:", "--bearer-token-file"] {
        assert!(help.contains(word), "{help}");
    }
    assert!(stdout(&intriage(&["--help"])).contains("Exit codes: 0 nothing"));
}

#[test]
fn usage_errors_exit_2_and_say_what_to_write() {
    let folder = support::recording("vllm-h200-healthy");
    let folder = folder.to_str().unwrap();
    for (args, hint) in [
        (vec!["check"], "<TARGET>"),
        (vec!["check", folder, "--slo", "fast"], "METRIC.STATISTIC=LIMIT"),
        (vec!["check", "127.0.0.1:1", "--window", "forever"], "30s"),
        (vec!["check", "127.0.0.1:1", "--window", "1s", "--interval", "2s"], "--window is shorter"),
        (vec!["check", "127.0.0.1:1", "--header", "nocolon"], "Name: value"),
        (vec!["check", "127.0.0.1:1", "--header", "a b: c"], "Name: value"),
        (vec!["check", "ftp://x", "--window", "1s"], "http://"),
        (vec!["collect", "127.0.0.1:1", "--window", "1s", "--interval", "2s"], "--window is shorter"),
        (vec!["case", "show", "http://127.0.0.1:1"], "intriage collect URL"),
        (vec!["case", "diff", folder, "127.0.0.1:1"], "intriage collect URL"),
        (vec!["explain", "kv-thing"], "did you mean"),
        (vec!["scoreboard", env!("CARGO_MANIFEST_DIR")], "no labelled recording"),
    ] {
        let output = intriage(&args);
        assert_eq!(code(&output), 2, "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(hint), "{args:?}: {}", stderr(&output));
    }
}

#[test]
fn settings_change_thresholds_and_unknown_keys_are_errors() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("intriage.toml");
    let folder = support::recording("vllm-h200-maxseqs4");
    let check = |content: &str| {
        std::fs::write(&file, content).unwrap();
        intriage(&["check", folder.to_str().unwrap(), "--format", "json", "--config", file.to_str().unwrap()])
    };
    // A queue of 3.7 s is below a threshold of 10 s.
    let lenient = check("[thresholds]\nqueue_felt = 10.0\nstretch_wait = 10.0\n");
    assert_eq!(json(&lenient)["verdict"]["status"], "healthy", "{}", stdout(&lenient));
    for (content, hint) in [
        ("[thresholds]\nqueue_fel = 10.0\n", "queue_felt"),
        ("[threshold]\n", "unknown field"),
        ("profile = \"slow\"\n", "interactive"),
        ("slo = [\"ttft.p95\"]\n", "METRIC.STATISTIC=LIMIT"),
        ("[thresholds\n", "TOML"),
    ] {
        let output = check(content);
        assert_eq!(code(&output), 2, "{content}");
        assert!(stderr(&output).contains(hint), "{content}: {}", stderr(&output));
    }
}

#[test]
fn every_cause_named_in_the_truth_files_has_a_runbook() {
    for folder in ["recordings", "lab", "h200"] {
        for recording in support::recordings(folder) {
            if let Some(cause) = support::truth(&recording)["cause"].as_str() {
                let page = intriage(&["explain", cause]);
                assert_eq!(code(&page), 0, "{cause}");
                assert!(stdout(&page).contains("The probe that settles it"), "{cause}");
            }
        }
    }
    assert!(stdout(&intriage(&["explain"])).contains("queueing"));
}

#[test]
fn the_demo_judges_and_then_reveals() {
    let output = intriage(&["demo", "low-sequence-cap", "--seed", "7", "--instant"]);
    assert_eq!(code(&output), 0);
    let shown = stdout(&output);
    let (verdict, truth) = shown.split_once("The truth: ").unwrap();
    assert!(verdict.contains("max-num-seqs-limited-queue · "), "{verdict}");
    assert!(verdict.contains("Predict "), "{verdict}");
    assert!(truth.contains("The verdict says so.") && truth.contains("--seed 7"), "{truth}");
    assert_eq!(shown, stdout(&intriage(&["demo", "low-sequence-cap", "--seed", "7", "--instant"])));
}

/// The real thing: a server, its clients behind a relay, an observer, all over sockets.
#[test]
fn the_demo_watches_a_real_server() {
    let output = intriage(&["demo", "buffering-proxy", "--seed", "1", "--format", "json"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let shown = json(&output);
    assert_eq!(shown["schema"], "intriage.demo/1");
    assert_eq!(shown["truth"]["named"], true, "{:#}", shown["diagnosis"]["verdict"]);
    assert!(shown["diagnosis"]["window"]["scrapes"].as_u64().unwrap() >= 15);
}

#[test]
fn the_demo_lists_its_faults_and_refuses_others() {
    let list = stdout(&intriage(&["demo", "--list"]));
    assert!(list.lines().count() > 25 && list.contains("hung-replica"), "{list}");
    let output = intriage(&["demo", "kaput"]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("small-kv-pool"), "{}", stderr(&output));
    assert_eq!(code(&intriage(&["demo", "healthy", "--strength", "-1"])), 2);
}

#[test]
fn what_the_clients_saw_can_be_given() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.jsonl");
    let healthy = recording("vllm-h200-healthy");
    let start: u64 = std::fs::read_dir(healthy.join("metrics"))
        .unwrap()
        .filter_map(|e| e.unwrap().path().file_stem()?.to_str()?.parse().ok())
        .min()
        .unwrap();
    // A second late, and then faster than tokens are made.
    let rows: Vec<String> = (0..200)
        .map(|i| {
            format!(
                r#"{{"sent":{},"headers":1.1,"first":1.1,"last":1.2,"gap_p50":0.0001,"status":200}}"#,
                start + i * 90
            )
        })
        .collect();
    std::fs::write(&path, rows.join("\n")).unwrap();
    let check = |file: &str| {
        intriage(&["check", healthy.to_str().unwrap(), "--client", file, "--slo", "ttft.p95=500ms"])
    };
    let output = check(path.to_str().unwrap());
    assert!(stdout(&output).contains("proxy-response-buffering · confirmed"), "{}", stdout(&output));
    std::fs::write(&path, "nonsense").unwrap();
    let output = check(path.to_str().unwrap());
    assert_eq!(code(&output), 4);
    assert!(stderr(&output).contains("line 1"), "{}", stderr(&output));
}

#[test]
fn the_readme_shows_a_real_verdict() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let shown = readme.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let printed: Vec<String> =
        stdout(&intriage(&["check", recording("vllm-h200-maxseqs4").to_str().unwrap()]))
            .lines()
            .map(|l| l.trim_end().to_owned())
            .collect();
    assert_eq!(
        shown.lines().collect::<Vec<_>>(),
        printed,
        "copy the verdict on vllm-h200-maxseqs4 into README.md"
    );
}

#[test]
fn completions_and_schema_print() {
    assert!(stdout(&intriage(&["completions", "bash"])).contains("_intriage"));
    let schema: serde_json::Value = json(&intriage(&["schema"]));
    assert!(schema["properties"]["verdict"].is_object(), "{schema:#}");
}

/// The committed scoreboard is what this build says, and no total is worse than it was.
#[test]
fn the_scoreboard_is_current() {
    let fixtures = root().join("fixtures");
    let board = stdout(&intriage(&[
        "scoreboard",
        fixtures.join("recordings").to_str().unwrap(),
        fixtures.join("lab").to_str().unwrap(),
        fixtures.join("h200").to_str().unwrap(),
        fixtures.join("made").to_str().unwrap(),
        fixtures.join("blind").to_str().unwrap(),
        fixtures.join("starts").to_str().unwrap(),
    ]));
    let path = root().join("SCOREBOARD.txt");
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    for (name, better_is_more) in [
        ("top-1", true),
        ("exact", true),
        ("top-3", true),
        ("alarms on healthy", false),
        ("wrong and sure", false),
        ("cannot tell", false),
    ] {
        let (was, is) = (total(&committed, name), total(&board, name));
        if let (Some(was), Some(is)) = (was, is) {
            let worse = if better_is_more { is < was } else { is > was };
            assert!(!worse, "{name} fell from {was} to {is}:\n{board}");
        }
    }
    if std::env::var_os("INTRIAGE_BLESS").is_some() {
        std::fs::write(&path, &board).unwrap();
    } else {
        assert_eq!(board, committed, "run the tests with INTRIAGE_BLESS=1 to accept the new scoreboard");
    }
}

fn total(board: &str, name: &str) -> Option<u32> {
    board.lines().find_map(|l| l.strip_prefix(name)?.trim().parse().ok())
}
