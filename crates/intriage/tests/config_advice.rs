//! `config` on manifests alone: every planted mistake is found, nothing is invented, and nonsense is answered.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use support::{code, intriage, json, stderr, stdout};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/config")
}

/// The rows of `expected.tsv`: file, the rule it breaks, options.
fn expected() -> Vec<(String, Option<String>, Vec<String>)> {
    let table = fs::read_to_string(folder().join("expected.tsv")).unwrap();
    let rows = table.lines().filter(|line| !line.starts_with('#'));
    rows.map(|line| {
        let cells: Vec<&str> = line.split('\t').collect();
        let rule = (cells[1] != "-").then(|| cells[1].to_owned());
        (cells[0].to_owned(), rule, cells[2].split_whitespace().map(str::to_owned).collect())
    })
    .collect()
}

#[test]
fn every_planted_mistake_is_found_and_nothing_is_invented() {
    let rows = expected();
    assert_eq!(rows.iter().filter(|(_, rule, _)| rule.is_some()).count(), 15);
    assert_eq!(rows.iter().filter(|(_, rule, _)| rule.is_none()).count(), 10);
    let mut wrong = Vec::new();
    for (file, rule, options) in &rows {
        let path = folder().join(file);
        let mut args = vec!["config", "--manifest", path.to_str().unwrap(), "--format", "json"];
        args.extend(options.iter().map(String::as_str));
        let output = intriage(&args);
        assert!(code(&output) < 2, "{file}: {} {}", code(&output), stderr(&output));
        let told = json(&output);
        let findings = told["advice"]["findings"].as_array().unwrap();
        let found: Vec<&str> = findings.iter().map(|f| f["rule"].as_str().unwrap()).collect();
        let wanted: Vec<&str> = rule.iter().map(String::as_str).collect();
        // Notes alone are no reason to fail a build.
        let exit = i32::from(findings.iter().any(|f| f["severity"] != "note"));
        if found != wanted || code(&output) != exit || told["advice"]["judged"].as_array().unwrap().len() != 1
        {
            wrong.push(format!("{file}: wanted {wanted:?}, found {found:?}, exit {}", code(&output)));
        }
        for finding in findings {
            let line = finding["place"]["line"].as_u64().unwrap_or(0);
            let text = fs::read_to_string(&path).unwrap();
            let at = text.lines().nth(usize::try_from(line).unwrap().saturating_sub(1)).unwrap();
            let setting = finding["setting"].as_str().unwrap();
            // A variable of a cluster's manifest may be found by the line of its name or of its value.
            let beside = finding["value"].as_str().unwrap_or("no value");
            assert!(
                at.contains(setting) || at.contains(beside),
                "{file} line {line}: {at:?} has no {setting}"
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn sarif_names_rule_level_file_and_line() {
    let path = folder().join("planted/heads.service");
    let output = intriage(&["config", path.to_str().unwrap(), "--format", "sarif"]);
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    let log = json(&output);
    assert_eq!((&log["version"], log["runs"].as_array().unwrap().len()), (&"2.1.0".into(), 1));
    let result = &log["runs"][0]["results"][0];
    assert_eq!(
        (&result["ruleId"], &result["level"]),
        (&"tensor-parallel-does-not-fit".into(), &"error".into())
    );
    let at = &result["locations"][0]["physicalLocation"];
    assert!(at["artifactLocation"]["uri"].as_str().unwrap().ends_with("planted/heads.service"), "{at}");
    assert_eq!(at["region"]["startLine"], 8);
}

#[test]
fn flags_alone_are_judged_and_so_is_the_model_given() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("config.json");
    fs::write(&config, r#"{"model_type":"llama","num_attention_heads":20}"#).unwrap();
    let args = ["config", "--engine-args", "--tensor-parallel-size 8", "--model", config.to_str().unwrap()];
    let output = intriage(&args);
    assert_eq!(code(&output), 1, "{}{}", stdout(&output), stderr(&output));
    assert!(stdout(&output).contains("tensor-parallel-does-not-fit"), "{}", stdout(&output));
    assert_eq!(code(&intriage(&["config", "--engine-args", "--tensor-parallel-size 4"])), 0);
}

#[test]
fn nonsense_is_answered_with_its_exit_code() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = dir.path().join(name);
        fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let bomb = {
        let line = |i: usize| format!("a{i}: &a{i} [{}]\n", vec![format!("*a{}", i - 1); 9].join(","));
        let text: String = (1..12).map(line).collect();
        format!("a0: &a0 [x,x,x,x,x,x,x,x,x]\n{text}services: *a11\n")
    };
    let (empty, binary, bomb) = (
        file("empty.yaml", b""),
        file("binary.yaml", &[0, 159, 146, 150, 255, 0, 7]),
        file("bomb.yaml", bomb.as_bytes()),
    );
    let nginx = file("nginx.service", b"[Service]\nExecStart=nginx -g x\n");
    let no_json = file("config.json", b"[1, 2");
    let folder = dir.path().to_str().unwrap();
    let good = file("good.service", b"[Service]\nExecStart=vllm serve m\n");
    let cases: [(&[&str], i32); 11] = [
        (&["--manifest", &empty], 4),
        (&["--manifest", &binary], 4),
        (&["--manifest", &bomb], 4),
        (&["--manifest", folder], 4),
        (&["--manifest", "/nowhere/x.yaml"], 4),
        (&["--manifest", &good, "--model", &no_json], 4),
        (&["--manifest", &nginx], 3),
        (&["--manifest", &good, "--gpu", "abacus"], 2),
        (&["--manifest", &good, "--host"], 2),
        (&[], 2),
        (&["--manifest", &good], 0),
    ];
    for (args, expected) in cases {
        let output = intriage(&[&["config"], args].concat());
        assert_eq!(code(&output), expected, "{args:?}: {}{}", stdout(&output), stderr(&output));
    }
}

#[test]
fn every_rule_is_in_the_documentation() {
    let page = fs::read_to_string(support::root().join("docs/config.md")).unwrap();
    for rule in intriage_diagnose::advice_rules() {
        let row = format!("| `{}` | {} |", rule.id, rule.severity.name());
        assert!(page.contains(&row), "docs/config.md has no row {row:?}");
    }
}
