//! `intriage plan`: what it prints, and what it says to nonsense.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod support;

use std::process::Output;

use support::{code, intriage, json, recording, root, stderr, stdout};

/// A small load, so that a debug build answers soon.
const BASE: [&str; 11] =
    ["plan", "--model", "llama-3.1-8b", "--gpu", "h100", "--isl", "512", "--osl", "64", "--rate", "50"];

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

fn with(more: &[&str]) -> Output {
    let output = intriage(&[&BASE[..], more].concat());
    assert!(!stderr(&output).contains("panicked"), "{}", stderr(&output));
    output
}

#[test]
fn a_plan_for_people() {
    let output = with(&["--slo", "ttft.p95=1s", "--slo", "itl.p95=40ms", "--price", "2.50"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    insta::assert_snapshot!("plan", stdout(&output));
}

#[test]
fn a_plan_for_machines_has_a_version_and_repeats_itself() {
    let output = with(&["--format", "json", "--growth", "25%"]);
    assert_eq!(code(&output), 0);
    let plan = json(&output);
    assert_eq!(plan["schema"], "intriage.plan/1");
    assert_eq!(plan["fleet"]["growth_asked"], true);
    assert_eq!(output.stdout, with(&["--format", "json", "--growth", "25%"]).stdout);
}

#[test]
fn help_teaches() {
    let help = stdout(&intriage(&["plan", "--help"]));
    for word in
        ["Examples:", "--slo itl.p95=40ms", "--from incident.case", "--max-num-batched-tokens", "--spare"]
    {
        assert!(help.contains(word), "{help}");
    }
    assert!(stdout(&intriage(&["schema", "plan"])).contains("plan-1.schema.json"));
}

#[test]
fn a_plan_that_cannot_work_exits_1_with_the_number() {
    let output = with(&["--model", "llama-3.3-70b"]);
    assert_eq!(code(&output), 2, "a flag given twice is a mistake: {}", stderr(&output));
    let mut args = words("plan --model llama-3.3-70b --gpu l40s --tp 1 --isl 512 --osl 64 --rate 5");
    args.extend(["--max-num-batched-tokens", "2048"]);
    let output = intriage(&args);
    assert_eq!(code(&output), 1, "{}{}", stdout(&output), stderr(&output));
    assert!(stdout(&output).contains("does not fit one GPU") && stdout(&output).contains("Instead"));
    let output = with(&["--slo", "itl.mean=1ms", "--tp", "1"]);
    assert_eq!(code(&output), 1);
    assert!(stdout(&output).contains("below what physics allows"), "{}", stdout(&output));
}

#[test]
fn nonsense_exits_2_and_names_the_flag() {
    for (args, hints) in [
        (&["plan"][..], &["--model", "--from"][..]),
        (&["plan", "--gpu", "h100"], &["--model", "llama-3.1-8b"]),
        (&["plan", "--model", "lama-3.1-8b", "--gpu", "h100"], &["--model", "one of: llama-3.1-8b, "]),
        (&["plan", "--model", "llama-3.1-8b"], &["--gpu", "h100"]),
        (&["plan", "--model", "llama-3.1-8b", "--gpu", "h1oo"], &["--gpu", "h100"]),
        (&["plan", "--model", "llama-3.1-8b", "--gpu", "h100", "--isl", "5", "--osl", "5"], &["--rate"]),
        (&["plan", "x.case", "--from", "y.case"], &["--from"]),
    ] {
        fails_with(&intriage(args), args, hints);
    }
    for (more, hints) in [
        (&["--isl", "0"][..], &["--isl"][..]),
        (&["--tp", "0"], &["--tp"]),
        (&["--tp", "-1"], &["--tp"]),
        (&["--tp", "3"], &["--tp 3", "32 attention heads", "1, 2, 4, 8"]),
        (&["--price", "-1"], &["--price"]),
        (&["--price", "nan"], &["--price"]),
        (&["--cv", "-0.1"], &["--cv"]),
        (&["--prefix-share", "1"], &["--prefix-share"]),
        (&["--prefix-share", "many"], &["--prefix-share", "25%"]),
        (&["--spare", "100%"], &["--spare"]),
        (&["--spare", "25%", "--growth", "25%"], &["--growth"]),
        (&["--growth", "-1"], &["--growth"]),
        (&["--growth", "60"], &["--growth", "6000 %", "60%"]),
        (&["--isl", "4000000000"], &["--isl", "100,000,000"]),
        (&["--utilization", "1.2"], &["--utilization"]),
        (&["--utilization", "0"], &["--utilization"]),
        (&["--max-model-len", "100"], &["--isl 512", "--osl 64", "100 tokens"]),
        (&["--max-model-len", "1000000"], &["--max-model-len", "131072"]),
        (&["--max-num-seqs", "0"], &["--max-num-seqs"]),
        (&["--max-num-batched-tokens", "0"], &["--max-num-batched-tokens"]),
        (&["--kv-dtype", "fp9"], &["--kv-dtype", "fp8"]),
        (&["--quantization", "int3"], &["--quantization", "int4"]),
        (&["--slo", "fast"], &["--slo", "ttft.p95=500ms"]),
        (&["--vllm-version", "new"], &["--vllm-version", "0.11"]),
        (&["--pp", "0"], &["--pp"]),
        (&["--pp", "33"], &["--pp 33", "the model has 32"]),
        (&["--gpu", "0xh100"], &["--gpu"]),
    ] {
        // Flags of the base that are given again are left out of it.
        let base: Vec<&str> = BASE
            .chunks(1)
            .map(|one| one[0])
            .enumerate()
            .filter(|(i, word)| !more.contains(word) && (*i == 0 || !more.contains(&BASE[i - 1])))
            .map(|(_, word)| word)
            .collect();
        fails_with(&intriage(&[&base[..], more].concat()), more, hints);
    }
    for rate in ["0", "-3", "nan", "inf", "1e12"] {
        let args = [&BASE[..9], &["--rate", rate]].concat();
        fails_with(&intriage(&args), &args, &["--rate", "1,000,000,000"]);
    }
}

fn fails_with(output: &Output, args: &[&str], hints: &[&str]) {
    let said = stderr(output);
    assert_eq!(code(output), 2, "{args:?}: {said}");
    assert!(stdout(output).is_empty() && !said.contains("panicked"), "{args:?}: {said}");
    for hint in hints {
        assert!(said.contains(hint), "{args:?} should mention {hint}: {said}");
    }
}

#[test]
fn everything_that_is_missing_is_named_at_once() {
    let all = ["--model", "--gpu", "--rate", "--isl", "--osl", "--from", "llama-3.1-8b", "h100"];
    fails_with(&intriage(&["plan"]), &["plan"], &all);
    let line = "plan --model lama-3.1-8b --gpu h1oo --osl 5";
    let hints = ["--rate, --isl are needed", "model `lama-3.1-8b`", "GPU `h1oo`"];
    fails_with(&intriage(&words(line)), &[line], &hints);
}

#[test]
fn a_format_without_units_is_refused_with_the_reason() {
    let load = "--isl 100 --osl 20 --rate 1";
    for (card, format, reason) in [
        ("a100-80", "fp8", "has no FP8 units"),
        ("a100-80gb", "fp8", "int8 has units"),
        ("t4", "bf16", "has no bf16 units"),
        ("v100", "bf16", "--dtype half"),
    ] {
        let line = format!("plan --model llama-3.2-1b --gpu {card} --quantization {format} {load}");
        fails_with(&intriage(&words(&line)), &[&line], &["--quantization", reason]);
    }
    // Without the flag a bf16 checkpoint is planned as fp16, and the plan says so.
    let line = format!("plan --model llama-3.2-1b --gpu t4 {load} --tp 1 --format json");
    let plan = json(&intriage(&words(&line)));
    assert_eq!(plan["asked"]["weights"], "fp16");
    assert!(notes(&plan).contains("planned as fp16"), "{}", notes(&plan));
}

#[test]
fn models_and_gpus_are_listed() {
    let output = intriage(&["plan", "--list"]);
    assert_eq!(code(&output), 0);
    for name in ["deepseek-v3", "qwen3-32b", "a100-80", "h200-sxm", "mi300x", "8xh200"] {
        assert!(stdout(&output).contains(name), "{name}: {}", stdout(&output));
    }
}

/// vLLM's own flag names ask for the same plan; `2xh100` is a node of two.
#[test]
fn flags_of_vllm_are_understood() {
    let load = "plan --model llama-3.2-1b --isl 100 --osl 20 --rate 5 --format json";
    let ours = "--gpu h100 --tp 2 --pp 2 --kv-dtype fp8 --utilization 0.8 --max-model-len 4096";
    let theirs = "--gpu h100 --tensor-parallel-size 2 --pipeline-parallel-size 2 --kv-cache-dtype fp8 \
                  --gpu-memory-utilization 0.8 --max-model-len 4096";
    let plan = |flags: &str| {
        let line = format!("{load} {flags}");
        let output = intriage(&words(&line));
        assert!(code(&output) < 2, "{line}: {}", stderr(&output));
        json(&output)
    };
    let (ours, theirs) = (plan(ours), plan(theirs));
    assert_eq!(ours, theirs);
    assert_eq!((&ours["asked"]["tp"], &ours["asked"]["pp"]), (&2.into(), &2.into()));
    let node = plan("--gpu 2xh100");
    let sizes: Vec<u64> = node["alternatives"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|a| a["gpus_per_instance"].as_u64())
        .collect();
    assert!(!sizes.is_empty() && sizes.iter().all(|gpus| *gpus <= 2), "{sizes:?}");
}

/// Chosen first, then what was asked: `--tp 8` for a small model names the cheaper layout before its own.
#[test]
fn the_cheapest_combination_is_printed_before_what_was_asked() {
    let output = with(&["--tp", "8", "--slo", "ttft.p95=1s"]);
    let text = stdout(&output);
    let (cheapest, asked) = (text.find("✓ cheapest: --tp 1"), text.find("as asked: "));
    assert!(cheapest.is_some() && cheapest < asked, "{text}");
    let chosen = stdout(&with(&["--slo", "ttft.p95=1s"]));
    assert!(chosen.contains("✓ --tp 1: ") && !chosen.contains("cheapest:"), "{chosen}");
}

/// The founding documents' example, out of the command itself.
#[test]
fn a_32b_model_on_one_h100_leaves_4_46_gib_and_1_83_requests() {
    let line = "plan --model qwen2.5-32b --gpu h100 --tp 1 --vllm-version 0.11 --max-model-len 10000 \
                --isl 1000 --osl 1000 --rate 1 --max-num-batched-tokens 8192";
    let text = stdout(&intriage(&words(line)));
    assert!(text.contains("KV pool               4.46 GiB"), "{text}");
    assert!(text.contains("1.83x concurrency at full length (10,000 tokens)"), "{text}");
}

#[test]
fn a_config_that_does_not_read_exits_4_with_the_field() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.json");
    let plan = |model: &std::path::Path| {
        intriage(&[
            "plan",
            "--model",
            model.to_str().unwrap(),
            "--gpu",
            "h100",
            "--isl",
            "9",
            "--osl",
            "9",
            "--rate",
            "1",
        ])
    };
    for (text, hint) in [
        ("not json", "config.json is not JSON"),
        ("[]", "expected an object"),
        (r#"{"model_type": "llama", "hidden_size": 4096}"#, "has no `vocab_size`"),
        (r#"{"model_type": "llama", "hidden_size": -1, "num_hidden_layers": 2}"#, "hidden_size"),
    ] {
        std::fs::write(&file, text).unwrap();
        for model in [&file, &folder.path().to_owned()] {
            let output = plan(model);
            assert_eq!(code(&output), 4, "{text}: {}", stderr(&output));
            assert!(stderr(&output).contains(hint) && stdout(&output).is_empty(), "{}", stderr(&output));
        }
    }
    let output = plan(&folder.path().join("missing.json"));
    assert_eq!(code(&output), 4);
    assert!(stderr(&output).contains("missing.json"));
}

#[test]
fn a_recording_brings_its_rate_lengths_and_speed() {
    let healthy = recording("vllm-h200-healthy");
    let output = intriage(&["plan", healthy.to_str().unwrap(), "--format", "json"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let plan = json(&output);
    assert_eq!(plan["asked"]["gpu"], "NVIDIA H200");
    assert_eq!(plan["asked"]["isl"], 542.0);
    assert!(plan["memory"].is_null() && plan["alternatives"].as_array().unwrap().is_empty());
    // A llama.cpp server tells too little without its log, an idle one nothing, a log alone no metrics.
    let totals = tempfile::tempdir().unwrap();
    let pages = totals.path().join("metrics");
    std::fs::create_dir(&pages).unwrap();
    for page in std::fs::read_dir(recording("llamacpp-healthy").join("metrics")).unwrap() {
        let page = page.unwrap();
        std::fs::copy(page.path(), pages.join(page.file_name())).unwrap();
    }
    let log = tempfile::tempdir().unwrap();
    std::fs::write(log.path().join("server.log"), "INFO: started").unwrap();
    for (little, why) in [
        (totals.path().to_owned(), "llama.cpp does not expose latency.ttft"),
        (root().join("fixtures/h200/vllm-h200-idle"), "no request finished"),
        (log.path().to_owned(), "no readable scrape"),
    ] {
        let output = intriage(&["plan", "--from", little.to_str().unwrap()]);
        assert_eq!(code(&output), 4, "{}", stdout(&output));
        for part in ["cannot be planned from", why, "--model and --gpu"] {
            assert!(stderr(&output).contains(part), "{part}: {}", stderr(&output));
        }
    }
}

fn from_fixture(name: &str, more: &[&str]) -> serde_json::Value {
    let folder = root().join("fixtures").join(name);
    let output = intriage(&[&["plan", folder.to_str().unwrap(), "--format", "json"], more].concat());
    assert!(code(&output) < 2, "{name}: {}", stderr(&output));
    json(&output)
}

fn notes(plan: &serde_json::Value) -> String {
    plan["notes"].to_string()
}

#[test]
fn the_same_load_on_a_slower_server_takes_no_fewer_machines() {
    let load = ["--isl", "500", "--osl", "128", "--rate", "10"];
    let holds = |name: &str| from_fixture(name, &load)["fleet"]["per_instance"].as_f64().unwrap();
    for (healthy, eager) in [
        ("recordings/vllm-h200-healthy", "recordings/vllm-h200-eager"),
        ("h200/vllm-h200-healthy30", "h200/vllm-h200-eager8"),
    ] {
        let (healthy_holds, eager_holds) = (holds(healthy), holds(eager));
        assert!(eager_holds < healthy_holds, "{eager} {eager_holds}, {healthy} {healthy_holds}");
    }
    // Servers full of prompts were read as slow decoders that hold nothing.
    for saturated in ["recordings/vllm-h200-longprompt2", "h200/vllm-h200-prefixoff4500"] {
        assert!(holds(saturated) > 20.0, "{saturated}");
    }
}

#[test]
fn an_overloaded_recording_is_planned_for_what_came_and_names_its_own_limit() {
    for (name, came, served, limit) in [
        ("recordings/vllm-h200-kvsmall", 15.2, 4.9, "cut it from 931,584 tokens"),
        ("recordings/vllm-h200-maxseqs4", 6.6, 5.6, "--max-num-seqs 4 stops"),
        ("h200/vllm-h200-maxseqs8", 26.6, 9.0, "--max-num-seqs 8 stops"),
    ] {
        let plan = from_fixture(name, &[]);
        let rate = plan["asked"]["rate"].as_f64().unwrap();
        assert!((rate / came - 1.0).abs() < 0.03, "{name}: {rate}");
        assert!(notes(&plan).contains(limit), "{name}: {}", notes(&plan));
        // What it can do at most is what it did while requests queued.
        let most = plan["capacity"]["ceilings"][0]["rate"].as_f64().unwrap();
        assert!((most / served - 1.0).abs() < 0.2, "{name}: {most} instead of {served}");
        let bytes = plan["pool"]["bytes_per_token"].as_f64().unwrap();
        assert!((bytes / 131_072.0 - 1.0).abs() < 0.001, "{name}: {bytes}");
    }
}

/// Recorded mean times between tokens: the plan, simulated at the recorded rate, must come back to them.
#[test]
fn a_plan_from_a_recording_repeats_it() {
    for (name, recorded) in
        [("recordings/vllm-h200-healthy", 0.008_25), ("h200/vllm-h200-healthy30", 0.006_24)]
    {
        let folder = root().join("fixtures").join(name);
        let plan = json(&intriage(&["plan", folder.to_str().unwrap(), "--format", "json"]));
        let rate = plan["asked"]["rate"].as_f64().unwrap();
        let sweep = plan["capacity"]["sweep"].as_array().unwrap();
        let at = |i: usize| (sweep[i]["rate"].as_f64().unwrap(), sweep[i]["itl_mean"].as_f64().unwrap());
        let after = (0..sweep.len()).find(|i| at(*i).0 >= rate).unwrap();
        let (low, high) = (at(after - 1), at(after));
        let planned = low.1 + (high.1 - low.1) * (rate - low.0) / (high.0 - low.0);
        assert!((planned / recorded - 1.0).abs() < 0.2, "{name}: {planned} instead of {recorded}");
        let holds = plan["fleet"]["per_instance"].as_f64().unwrap();
        assert!(holds > rate, "{name} was healthy, yet the plan holds {holds} only");
    }
}
