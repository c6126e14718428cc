//! Planted secrets, each alone in a manifest of each kind: masked, and what stands beside them stays.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

#[path = "../../redact/tests/planted/mod.rs"]
mod planted;

use intriage_case::{Case, ManifestText};
use intriage_observe::redacted;
use intriage_redact::Redactor;
use planted::{CANARIES, Place};

/// A string of JSON is a word of YAML.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// The manifests of every kind that hold this text where its place is.
fn manifests(place: Place, text: &str) -> Vec<(&'static str, String)> {
    let unit = |line: String| {
        ("a.service", format!("[Service]\n{line}\nExecStart=vllm serve m --max-num-seqs 32\n"))
    };
    let compose =
        |rest: String| ("compose.yaml", format!("services:\n  a:\n    command: --max-num-seqs 32\n{rest}\n"));
    let pod = |rest: String| {
        (
            "pod.yaml",
            format!(
                "kind: Pod\nspec:\n  containers:\n    - name: a\n      args: [--max-num-seqs, \"32\"]\n{rest}\n"
            ),
        )
    };
    let single = text.replace('\'', "''");
    match place {
        Place::CommandLine => vec![
            unit(format!("ExecStart={text}")),
            unit(format!("ExecStartPre=/usr/bin/env {text}")),
            unit(format!("# {text}")),
            compose(format!("  b:\n    command: '{single}'")),
            compose(format!("    # {text}")),
            pod(format!("    - name: b\n      command: [sh, -c, '{single}']")),
        ],
        Place::Environment => {
            let pairs: Vec<(&str, &str)> = text
                .split(['\n', '\0'])
                .filter_map(|pair| pair.split_once('='))
                .map(|(name, value)| (name, value.trim_matches('"')))
                .collect();
            let all = |one: &dyn Fn(&str, &str) -> String| {
                pairs.iter().map(|(name, value)| one(name, value)).collect::<Vec<_>>().join("\n")
            };
            vec![
                unit(all(&|n, v| format!("Environment=\"{n}={v}\""))),
                compose(format!("    environment:\n{}", all(&|n, v| format!("      {n}: {}", quoted(v))))),
                compose(format!(
                    "    environment:\n{}",
                    all(&|n, v| format!("      - {}", quoted(&format!("{n}={v}"))))
                )),
                pod(format!(
                    "      env:\n{}",
                    all(&|n, v| format!("        - name: {n}\n          value: {}", quoted(v)))
                )),
            ]
        }
        Place::Log => {
            // Colours are no characters of YAML: such a file is refused when it is read.
            if text.contains('\u{1b}') {
                return vec![unit(format!("# {text}"))];
            }
            let comment = format!("# {}", text.replace('\n', "\n# "));
            vec![unit(comment.clone()), compose(comment.clone()), pod(comment)]
        }
        Place::Json => vec![
            compose(format!("    environment:\n      SETTINGS: {}", quoted(text))),
            pod(format!("metadata:\n  annotations:\n    last-applied: {}", quoted(text))),
            pod(format!(
                "metadata:\n  annotations:\n    last-applied: |\n      {}",
                text.replace('\n', "\n      ")
            )),
        ],
        Place::Label => Vec::new(),
    }
}

#[test]
fn every_planted_secret_is_masked_in_every_kind_of_manifest() {
    let mut failed = Vec::new();
    for (place, marked, _) in CANARIES {
        let text = marked
            .replace(['«', '»'], "")
            .replace('\0', if *place == Place::Environment { "\0" } else { " " });
        let secrets: Vec<&str> =
            marked.split('«').skip(1).filter_map(|rest| rest.split('»').next()).collect();
        for (name, manifest) in manifests(*place, &text) {
            let given = ManifestText { name: name.into(), changed: None, text: manifest.clone() };
            let safe = redacted(Case { manifests: vec![given], ..Case::default() }, &Redactor::new());
            let Some(kept) = safe.manifests.first() else {
                failed.push(format!("LEFT OUT {name} {:?}\n{manifest}", safe.notes));
                continue;
            };
            let told: Vec<_> =
                secrets.iter().flat_map(|s| s.split('\n')).filter(|s| kept.text.contains(*s)).collect();
            if !told.is_empty() {
                failed.push(format!("LEAK {name} {told:?}\n{}", kept.text));
            } else if !kept.text.contains("--max-num-seqs") {
                failed.push(format!("GONE {name}\n{}", kept.text));
            }
        }
    }
    assert!(failed.is_empty(), "{}\n{}", failed.join("\n"), failed.len());
}
