//! `intriage bench`: what scripts rely on, and what nonsense gets.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod support;

use std::process::{Command, Stdio};

use intriage_truth::{Config, Truth};
use support::{code, intriage, json, stderr, stdout};

fn truth(config: &str) -> (Truth, String) {
    let server =
        Truth::start(Config::default().with(config).unwrap(), "127.0.0.1:0".parse().unwrap()).unwrap();
    let url = format!("http://{}", server.address());
    (server, url)
}

fn bench(url: &str, more: &[&str]) -> std::process::Output {
    let mut args = vec!["bench", url, "--random-input-len", "32", "--random-output-len", "6", "--ignore-eos"];
    args.extend(more);
    let output = intriage(&args);
    assert!(!stderr(&output).contains("panicked"), "{}", stderr(&output));
    output
}

#[test]
fn the_command_people_type_gives_the_names_scripts_read() {
    let (_server, url) = truth("ttft_ms=2,itl_ms=1");
    let output =
        bench(&url, &["--model", "m", "--max-concurrency", "8", "--num-prompts", "120", "--format", "json"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let said = json(&output);
    assert_eq!((&said["requests"]["ok"], &said["requests"]["failed"]), (&120.into(), &0.into()));
    for name in [
        "/ttft/p50",
        "/ttft/p99",
        "/itl/p50",
        "/tpot/p50",
        "/output_tokens_per_second",
        "/certificate/ttft_error",
    ] {
        assert!(said.pointer(name).unwrap().as_f64().unwrap() > 0.0, "{name}");
    }
    assert!(said["ttft"]["p50"].as_f64().unwrap() >= 0.002, "seconds");
    assert!(["VALID", "INVALID"].contains(&said["certificate"]["status"].as_str().unwrap()));
    assert_eq!(said["output_tokens"], 720);
    assert_eq!(said["input_tokens"], 120 * 32);
}

#[test]
fn a_rate_and_a_duration_and_the_other_tools_words() {
    let (_server, url) = truth("ttft_ms=2,itl_ms=1,role=early");
    let output = bench(&url, &["--request-rate", "100", "--duration", "1s", "--definitions", "vllm"]);
    let text = stdout(&output);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(
        text.contains("By the definitions of vllm bench serve") && text.contains("a chunk without text"),
        "{text}"
    );
    let csv = stdout(&bench(&url, &["--num-prompts", "5", "--format", "csv"]));
    assert_eq!(csv.lines().count(), 6, "{csv}");
}

#[test]
fn objectives_decide_the_exit_code() {
    let (_server, url) = truth("ttft_ms=20,itl_ms=1");
    let judged = |slo: &str| bench(&url, &["--num-prompts", "120", "--max-concurrency", "4", "--slo", slo]);
    // A busy test machine may make a run INVALID, which is 3; what it must never be is the wrong verdict.
    assert!([1, 3].contains(&code(&judged("ttft.p50=1ms"))));
    assert!([0, 3].contains(&code(&judged("ttft.p50=20s"))));
    assert!(stdout(&judged("ttft.p50=1ms")).contains("not held"));
}

#[test]
fn only_a_percentile_somebody_asked_for_needs_its_answers() {
    let (_server, url) = truth("ttft_ms=2,itl_ms=1");
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("run.itr").display().to_string();
    let load = ["--model", "m", "--max-concurrency", "4", "--num-prompts", "100", "--format", "json"];
    let samples = |output: &std::process::Output| {
        let checks = json(output)["certificate"]["checks"].as_array().unwrap().clone();
        checks.into_iter().find(|c| c["name"] == "samples").unwrap()
    };
    // A busy test machine may make a run INVALID for the client's sake; the number of answers never does.
    let nobody = bench(&url, &load);
    assert_eq!(samples(&nobody)["passed"], serde_json::Value::Null, "{}", stdout(&nobody));
    assert_eq!(json(&nobody)["ttft"]["certified"]["p99"], false);
    let reasons = json(&nobody)["certificate"]["reasons"].to_string();
    assert!(!reasons.contains("answers"), "{reasons}");
    for ask in [["--goodput", "ttft:500"], ["--slo", "ttft.p99=500ms"]] {
        let asked = bench(&url, &[&load[..], &ask[..], &["--record", &record]].concat());
        assert_eq!(json(&asked)["certificate"]["status"], "INVALID", "{}", stdout(&asked));
        let sentence = "p99 of TTFT needs 1,000 answers, there were 100: --num-prompts 1000";
        assert_eq!(samples(&asked)["seen"], sentence);
        assert_eq!(code(&asked), 3, "p99 of 100 answers has no upper end: {}", stderr(&asked));
        // The record says what was asked for.
        let shown = intriage(&["bench", "show", &record, "--format", "json"]);
        assert_eq!(samples(&shown)["seen"], sentence);
    }
    let list = bench(&url, &[&load[..], &["--metric-percentiles", "50,90", "--record", &record]].concat());
    assert_eq!(samples(&list)["passed"], true, "{}", stdout(&list));
    let shown = json(&intriage(&["bench", "show", &record, "--format", "json"]));
    assert_eq!(shown["certificate"]["asked"].as_array().unwrap().len(), 8);
}

#[test]
fn when_nothing_is_answered_it_says_why_and_exits_4() {
    let (_server, url) = truth("fault=http429,fault_every=1");
    let output = bench(&url, &["--model", "m", "--num-prompts", "4", "--format", "json"]);
    assert_eq!(code(&output), 4);
    assert!(
        stderr(&output).contains("429") && stderr(&output).contains("Retry-After"),
        "{}",
        stderr(&output)
    );
    assert_eq!(json(&output)["requests"]["failed"], 4, "the result is printed all the same");
    let nobody = bench("http://127.0.0.1:9", &["--model", "m"]);
    assert_eq!(code(&nobody), 4);
    assert!(stderr(&nobody).contains("cannot connect to 127.0.0.1:9"), "{}", stderr(&nobody));
    assert!(stdout(&nobody).is_empty());
}

#[test]
fn a_record_can_be_shown_joined_and_survives_a_kill() {
    let (_server, url) = truth("ttft_ms=2,itl_ms=1");
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    for shard in ["0/2", "1/2"] {
        let name = path(&format!("{}.itr", &shard[..1]));
        let run = bench(
            &url,
            &[
                "--request-rate",
                "200",
                "--num-prompts",
                "100",
                "--salt",
                "7",
                "--shard",
                shard,
                "--record",
                &name,
            ],
        );
        assert_eq!(code(&run), 0, "{}", stderr(&run));
    }
    let shown = json(&intriage(&["bench", "show", &path("0.itr"), "--format", "json"]));
    assert_eq!(shown["requests"]["ok"], 50);
    let joined = intriage(&[
        "bench",
        "merge",
        &path("0.itr"),
        &path("1.itr"),
        "--format",
        "json",
        "--record",
        &path("all.itr"),
    ]);
    assert_eq!(json(&joined)["requests"]["ok"], 100, "{}", stderr(&joined));
    assert_eq!(
        json(&intriage(&["bench", "show", &path("all.itr"), "--format", "json"]))["requests"]["ok"],
        100
    );
    let twice = intriage(&["bench", "merge", &path("0.itr"), &path("0.itr")]);
    assert_eq!(code(&twice), 2, "{}", stderr(&twice));

    let mut child = Command::new(env!("CARGO_BIN_EXE_intriage"))
        .args(["bench", &url, "--request-rate", "200", "--duration", "60s", "--record", &path("killed.itr")])
        .args(["--random-input-len", "32", "--random-output-len", "6"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while std::fs::metadata(path("killed.itr")).map_or(0, |m| m.len()) < 6000 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let killed = intriage(&["bench", "show", &path("killed.itr"), "--format", "json"]);
    assert_eq!(code(&killed), 0, "{}", stderr(&killed));
    assert!(stderr(&killed).contains("was killed"), "{}", stderr(&killed));
    let said = json(&killed);
    assert!(said["requests"]["ok"].as_u64().unwrap() > 0);
    assert_ne!(said["certificate"]["status"], "VALID", "nobody saw how the client fared");
}

#[test]
fn the_result_of_another_tool_is_read() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../record/tests/data/vllm-detailed.json");
    let output = intriage(&["bench", "import", file, "--definitions", "guidellm"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).contains("By the definitions of GuideLLM"), "{}", stdout(&output));
    let nonsense = intriage(&["bench", "import", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")]);
    assert_eq!(code(&nonsense), 4, "{}", stderr(&nonsense));
}

#[test]
fn nonsense_on_the_command_line_is_answered_with_what_to_write() {
    for (args, hint) in [
        (&["--request-rate", "0"][..], "above 0"),
        (&["--turns", "5-2"], "2-8"),
        (&["--class", "chat"], "NAME:WEIGHT"),
        (&["--class", "chat:1,in=x"], "not a number"),
        (&["--steps", "5"], "RATE:TIME"),
        (&["--ramp", "1:2"], "FROM:TO:OVER"),
        (&["--request-rate", "-1"], "above 0"),
        (&["--request-rate", "inf", "--duration", "1s"], "--num-prompts"),
        (&["--search", "slo", "--slo", "ttft.p95=1s", "--record", "x.itr"], "about one run"),
        (&["--sweep", "--format", "csv"], "about one run"),
        (&["--think", "1s"], "--turns"),
        (&["--class", "a:1", "--class", "a:2"], "same name"),
        (&["--prefix-len", "500", "--random-input-len", "100"], "leaves nothing"),
        (&["--metrics-url", "http://127.0.0.1:9/metrics"], "--check"),
        (&["--shard", "2/2"], "I/N"),
        (&["--search", "slo"], "objective"),
        (&["--slo", "fast"], "ttft.p95=500ms"),
        (&["--goodput", "ttft"], "ttft:200"),
        (&["--metric-percentiles", "50,100"], "below 100"),
        (&["--extra-body", "[1]"], "JSON object"),
        (&["--api", "grpc"], "llama.cpp"),
        (&["--definitions", "wrk"], "guidellm"),
        (&["--hit-ratio", "2"], "between 0 and 1"),
        (&["--arrival", "gamma", "--request-rate", "5"], "--burstiness"),
        (&["--header", "x"], "Name: value"),
        (&["--header", "x: a\nb: c"], "not a valid header"),
    ] {
        let mut all = vec!["bench", "http://127.0.0.1:9"];
        all.extend(args);
        let output = intriage(&all);
        assert_eq!(code(&output), 2, "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(hint), "{args:?}: {}", stderr(&output));
    }
    let missing = intriage(&["bench", "show", "/nowhere.itr"]);
    assert_eq!(code(&missing), 4);
    let nowhere = intriage(&["bench", "http://127.0.0.1:9", "--save", "/nowhere/run.case"]);
    assert!(code(&nowhere) == 2 && stderr(&nowhere).contains("a folder that exists"), "{}", stderr(&nowhere));
    let job = intriage(&["bench", "http://server:8000", "--request-rate", "5", "--kubernetes", "3"]);
    let text = stdout(&job);
    assert!(text.contains("completionMode: Indexed") && text.contains("'--request-rate'"), "{text}");
}
