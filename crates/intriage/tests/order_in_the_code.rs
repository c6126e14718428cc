//! Three rules of the judgement that a reviewer overlooks: no engine by name, no figure outside the table, one reading.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::fs;
use std::path::{Path, PathBuf};

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Every source file of a crate with the part before its tests.
fn sources(of: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    walk(&crates().join(of).join("src"), &mut found);
    assert!(found.len() > 3, "no sources in {of}");
    found
}

fn walk(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if !matches!(name.as_str(), "tests" | "testing") {
                walk(&path, found);
            }
        } else if path.extension().is_some_and(|ext| ext == "rs")
            && !name.ends_with("tests.rs")
            && name != "testing.rs"
        {
            let text = fs::read_to_string(&path).unwrap();
            found.push((path.strip_prefix(crates()).unwrap().display().to_string(), without_tests(&text)));
        }
    }
}

/// The part before the first item with a body that only tests have.
fn without_tests(text: &str) -> String {
    let mut before = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line == "#[cfg(test)]" && lines.peek().is_some_and(|next| next.ends_with('{')) {
            break;
        }
        before.push_str(line);
        before.push('\n');
    }
    before
}

/// A line without its comment and the texts in it.
fn bare(line: &str) -> String {
    let code = line.split("//").next().unwrap_or_default();
    code.split('"').step_by(2).collect::<Vec<_>>().join("\"\"")
}

#[test]
fn causes_do_not_know_engines_by_name() {
    let mut wrong = Vec::new();
    for (file, text) in sources("diagnose") {
        // A remedy is a row of a table and says which engine it is for.
        let mut in_remedies = false;
        for (i, line) in text.lines().enumerate() {
            in_remedies |= line.contains("remedies: &[") || line.contains("REMEDIES: &[");
            if !in_remedies && bare(line).contains("Engine::") {
                wrong.push(format!("{file}:{}: {}", i + 1, line.trim()));
            }
            in_remedies &= !matches!(line.trim(), "]," | "];");
        }
    }
    assert!(
        wrong.is_empty(),
        "how an engine works is a row of engines/src/behaviour.rs:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn figures_that_decide_are_rows_of_the_table_of_thresholds() {
    let mut wrong = Vec::new();
    for (file, text) in sources("diagnose") {
        if file.ends_with("thresholds.rs") || file.ends_with("calibration.rs") {
            continue;
        }
        for (i, line) in text.lines().enumerate() {
            // A named constant has its reason beside it, a quantile is a name, a ceiling is the cause's own word for "likely",
            // and the digits of a printed number decide nothing.
            let is_named = line.trim_start().starts_with("const ") || line.contains("pub(crate) const ");
            let exempt = ["quantile(", "at_most_likely(", "format!", ".max(", "const "];
            if !is_named && !exempt.iter().any(|word| line.contains(word)) {
                let bad = numbers(&bare(line)).into_iter().filter(|n| !is_plain(*n));
                wrong.extend(bad.map(|n| format!("{file}:{}: {n} in {}", i + 1, line.trim())));
            }
        }
    }
    assert!(wrong.is_empty(), "a limit belongs into thresholds.rs:\n{}", wrong.join("\n"));
}

/// None, half, all, both, and factors between units.
fn is_plain(number: f64) -> bool {
    const PLAIN: [f64; 13] =
        [0.0, 0.5, 1.0, 2.0, 60.0, 100.0, 1e3, 3600.0, 86_400.0, 1e6, 1_048_576.0, 1e9, 1e12];
    PLAIN.contains(&number)
}

/// The floating-point numbers of a line of code.
fn numbers(code: &str) -> Vec<f64> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    let words = code.split(|c| !is_part(c)).filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    let is_float = |word: &&str| word.contains('.') && !word.contains("..") || word.contains('e');
    words
        .filter(is_float)
        .filter_map(|word| word.replace('_', "").trim_end_matches("f64").parse().ok())
        .collect()
}

#[test]
fn a_case_is_read_once_by_a_command() {
    let calls = |text: &str| {
        let is_call = |line: &&str| {
            let code = bare(line);
            code.contains("intriage_engines::read)")
                || code.contains(" read(&case)")
                || code.contains("engines::read(")
        };
        text.lines().filter(is_call).count()
    };
    let mut readers = Vec::new();
    for of in ["intriage", "report", "whatif", "simulate", "observe"] {
        readers
            .extend(sources(of).into_iter().map(|(file, text)| (file, calls(&text))).filter(|(_, n)| *n > 0));
    }
    readers.sort();
    let found: Vec<(&str, usize)> = readers.iter().map(|(file, n)| (file.as_str(), *n)).collect();
    let expected = [
        ("intriage/src/commands/bench/mod.rs", 1),
        ("intriage/src/commands/check.rs", 1),
        ("intriage/src/commands/config.rs", 1),
        ("intriage/src/commands/demo.rs", 1),
    ];
    assert_eq!(found, expected, "reading takes most of a check: pass `Observed` on");
}
