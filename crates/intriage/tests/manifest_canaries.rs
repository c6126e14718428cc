//! Planted secrets in manifests, through the program itself: none in a case file, in any output, or in any error.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

#[path = "../../redact/tests/planted/mod.rs"]
mod planted;
mod support;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use intriage_case::{Case, layout};
use planted::{CANARIES, Place};
use support::{code, intriage, recording, stderr};

/// The text as it stands in the world.
fn plain(marked: &str) -> String {
    marked.replace(['«', '»'], "").replace('\0', " ")
}

/// Everything between the marks.
fn secrets(marked: &'static str) -> impl Iterator<Item = &'static str> {
    marked.split('«').skip(1).filter_map(|rest| rest.split('»').next())
}

fn of(place: Place) -> impl Iterator<Item = &'static str> {
    CANARIES.iter().filter(move |canary| canary.0 == place).map(|canary| canary.1)
}

/// Every variable of the environments, its name and its value without quotes.
fn variables() -> Vec<(String, String)> {
    let pairs = of(Place::Environment).flat_map(|text| text.split(['\n', '\0'])).map(plain);
    let split =
        |pair: String| pair.split_once('=').map(|(k, v)| (k.to_owned(), v.trim_matches('"').to_owned()));
    pairs.filter_map(split).collect()
}

/// A word of YAML: a string of JSON is one.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// The words of a command line, quotes taken off.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut open) = (Vec::new(), String::new(), None);
    for c in line.chars() {
        match (c, open) {
            ('\'' | '"', None) => open = Some(c),
            (c, Some(quote)) if c == quote => open = None,
            (' ', None) => words.extend(Some(std::mem::take(&mut word)).filter(|w| !w.is_empty())),
            _ => word.push(c),
        }
    }
    words.extend(Some(word).filter(|w| !w.is_empty()));
    words
}

fn unit() -> String {
    let mut text = "[Unit]\nDescription=vLLM\n\n[Service]\n".to_owned();
    for (name, value) in variables() {
        let _ = writeln!(text, "Environment=\"{name}={value}\"");
    }
    text.push_str("ExecStart=vllm serve m --max-num-seqs 32\n");
    for line in of(Place::CommandLine).map(plain) {
        let _ = writeln!(text, "ExecStart={line}\nExecStartPre=-/usr/bin/env {line}\n# was: {line}");
    }
    text + &comments()
}

fn compose() -> String {
    let mut text =
        "services:\n  llm:\n    image: vllm/vllm-openai:v0.32.0\n    command: --max-num-seqs 32\n".to_owned();
    text.push_str("    environment:\n");
    for (name, value) in variables() {
        let _ = writeln!(text, "      {name}: {}", quoted(&value));
    }
    text.push_str("  listed:\n    command: [serve]\n    environment:\n");
    for (name, value) in variables() {
        let _ = writeln!(text, "      - {}", quoted(&format!("{name}={value}")));
    }
    for (i, line) in of(Place::CommandLine).map(plain).enumerate() {
        let _ = writeln!(text, "  s{i}:\n    # was: {line}\n    command: '{}'", line.replace('\'', "''"));
        let list: Vec<String> = words(&line).iter().map(|word| quoted(word)).collect();
        let _ = writeln!(text, "  l{i}:\n    command: [{}]", list.join(", "));
    }
    for (i, body) in of(Place::Json).map(plain).enumerate() {
        let _ = writeln!(text, "  j{i}:\n    environment:\n      SETTINGS: {}", quoted(&body));
    }
    text + &comments()
}

fn pod() -> String {
    let mut text = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: llm\n  annotations:\n".to_owned();
    for (i, body) in of(Place::Json).map(plain).enumerate() {
        let _ = writeln!(text, "    last-applied-{i}: {}", quoted(&body));
    }
    text.push_str("spec:\n  containers:\n    - name: llm\n      image: vllm/vllm-openai:v0.32.0\n      args: [--max-num-seqs, \"32\"]\n      env:\n");
    for (name, value) in variables() {
        let _ = writeln!(text, "        - name: {name}\n          value: {}", quoted(&value));
    }
    for (i, line) in of(Place::CommandLine).map(plain).enumerate() {
        let _ = writeln!(text, "    - name: c{i}\n      args:");
        for word in words(&line) {
            let _ = writeln!(text, "        - {}", quoted(&word));
        }
        let _ = writeln!(text, "    - name: d{i}\n      command: [sh, -c, '{}']", line.replace('\'', "''"));
    }
    text.push_str("---\napiVersion: v1\nkind: Secret\nmetadata: {name: keys}\nstringData:\n");
    for (i, secret) in of(Place::Environment).flat_map(secrets).enumerate() {
        let _ = writeln!(text, "  entry{i}: {}", quoted(secret));
    }
    text + &comments()
}

fn planted_secrets() -> Vec<&'static str> {
    let all = [Place::Environment, Place::CommandLine, Place::Log, Place::Json];
    all.into_iter().flat_map(of).flat_map(secrets).collect()
}

/// What somebody pasted there: log lines, each behind the mark of a comment.
fn comments() -> String {
    // Colours are no characters of YAML.
    let lines = of(Place::Log).map(plain).filter(|text| !text.contains('\u{1b}'));
    let lines = lines.map(|text| format!("# {}\n", text.replace('\n', "\n# ")));
    lines.collect()
}

/// Whatever of a case can be read by whoever gets it.
fn inside(case: &Case) -> String {
    let files = layout::files(case).into_iter();
    let files = files.map(|(name, bytes)| format!("{name}\n{}", String::from_utf8_lossy(&bytes)));
    let said = format!("{:?} {:?} {:?}", case.target, case.collected, case.notes);
    files.chain([said]).collect::<Vec<_>>().join("\n")
}

fn must_be_silent(what: &str, text: &str) {
    for secret in planted_secrets() {
        let at = text.find(secret).map(|at| text[..at].rfind('\n').map_or(0, |i| i + 1));
        assert_eq!(at.and_then(|at| text[at..].lines().next()), None, "{what} tells {secret}");
    }
}

/// Runs every command that takes a manifest: what it said on standard error, and the case it kept.
fn run_all(manifest: &Path, dir: &Path) -> Vec<(String, Option<Case>)> {
    let (healthy, saved) = (recording("vllm-h200-healthy"), dir.join("x.case"));
    let (target, case, file) =
        (healthy.to_str().unwrap(), saved.to_str().unwrap(), manifest.to_str().unwrap());
    let runs: [&[&str]; 6] = [
        &["check", target, "--no-predict", "--save", case],
        &["check", target, "--no-predict", "--format", "json", "--save", case],
        &["config", target, "--all"],
        &["config", target, "--all", "--format", "json"],
        &["collect", "--save", case],
        &["case", "show", case],
    ];
    let mut told = Vec::new();
    for args in runs {
        if args.contains(&"--save") {
            let _ = fs::remove_file(&saved);
            let _ = fs::remove_file(format!("{case}.names.json"));
        }
        let with: &[&str] = if args[0] == "case" { &[] } else { &["--manifest", file] };
        let output = intriage(&[args, with].concat());
        must_be_silent(&format!("{args:?} on standard output"), &String::from_utf8_lossy(&output.stdout));
        must_be_silent(&format!("{args:?} on standard error"), &stderr(&output));
        let kept = fs::read(&saved).ok().map(|bytes| intriage_case::file::read(&bytes).unwrap());
        if let Some(case) = &kept {
            must_be_silent(&format!("{args:?} in the case"), &inside(case));
        }
        told.push((stderr(&output), kept.filter(|_| args[0] == "check" || args[0] == "collect")));
    }
    told
}

#[test]
fn no_secret_of_a_manifest_is_told_or_kept_and_its_flags_are() {
    assert!(planted_secrets().len() >= 60, "{}", planted_secrets().len());
    for (name, text) in [("vllm.service", unit()), ("compose.yaml", compose()), ("pod.yaml", pod())] {
        let dir = tempfile::tempdir().unwrap();
        let manifest = dir.path().join(name);
        fs::write(&manifest, text).unwrap();
        let kept: Vec<Case> =
            run_all(&manifest, dir.path()).into_iter().filter_map(|(_, kept)| kept).collect();
        assert_eq!(kept.len(), 3, "{name}: two checks and a collect keep it");
        for case in kept {
            let kept = case.manifests.first().unwrap_or_else(|| panic!("{name}: {:?}", case.notes));
            assert!(kept.text.contains("--max-num-seqs") && kept.name == name, "{}", kept.text);
        }
    }
}

#[test]
fn a_broken_manifest_is_refused_without_its_secret() {
    const KEY: &str = "wJalrXUtnFEMI/K7MDENG/canary23";
    const WORD: &str = "canary30";
    let broken = [
        format!("kind: Pod\nspec:\n  containers:\n    - args: [--api-key, \"{KEY}\n"),
        format!("kind: Pod\nspec:\n  containers: {KEY}: x: [\n"),
        format!("kind: Pod\nspec:\n\tHF_TOKEN: {KEY}\n"),
        format!("kind: Pod\nspec: *{WORD}\n"),
        format!("kind: Pod\nspec: &{WORD} &{WORD} x\n"),
        format!("kind: Pod\nspec: !{WORD}!x y\n"),
        format!("%{WORD}\n---\nkind: Pod\n"),
        format!("kind: Pod\n{WORD}: 1\n{WORD}: 2\n"),
        format!("kind: Pod\nspec: {{{KEY}\n"),
        format!("kind: Pod\nspec: |{WORD}\n  x\n"),
        format!("kind: Pod\nspec: \"\\{WORD}\"\n"),
        format!("kind: Pod\nspec: !!int {WORD}\n"),
        format!("kind: Pod\nspec: !!bool {KEY}\n"),
        format!("? [{WORD}]\n: {KEY}\n- {KEY}\n"),
        format!("{WORD}: {KEY}\n"),
        format!("{KEY}\n"),
        format!("[Service]\nEnvironment=\"HF_TOKEN={KEY}\nExecStart=vllm serve m\n"),
        format!("[Service]\n{KEY}\n"),
        format!("[{WORD}\nExecStart=vllm serve {KEY}\n"),
        format!("[Service]\nExecStart=vllm serve 'm --api-key {KEY}\n"),
    ];
    for (i, text) in broken.into_iter().enumerate() {
        let dir = tempfile::tempdir().unwrap();
        let manifest = dir.path().join(if text.starts_with('[') { "x.service" } else { "x.yaml" });
        fs::write(&manifest, &text).unwrap();
        let (errors, _) = run_all(&manifest, dir.path()).remove(0);
        // Units are read with more patience than YAML is.
        assert!(errors.contains("line ") || i > 15, "{text}: {errors}");
    }
}

#[test]
fn a_secret_written_with_escapes_is_masked_and_the_manifest_kept() {
    let dir = tempfile::tempdir().unwrap();
    let (manifest, saved) = (dir.path().join("pod.yaml"), dir.path().join("x.case"));
    let escaped =
        "kind: Pod\nspec:\n  containers:\n    - name: a\n      args: [--api-key, \"can\\x61ry30\"]\n";
    fs::write(&manifest, escaped).unwrap();
    let collect = ["collect", "--manifest", manifest.to_str().unwrap(), "--save", saved.to_str().unwrap()];
    let output = intriage(&collect);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let case = intriage_case::file::read(&fs::read(&saved).unwrap()).unwrap();
    let kept = &case.manifests[0].text;
    assert!(kept.contains("[--api-key, \"[redacted]\"]"), "{kept}");
    must_be_silent("the case", &inside(&case));
}
