//! Manifests made safe: a secret may stand on another line than its name, so the file is read before it is masked.

use intriage_case::ManifestText;
use intriage_engines::{ManifestError, manifest_scalars, read_manifest};
use intriage_redact::Redactor;

/// What stands in place of a secret.
const MASK: &str = "[redacted]";

/// The manifest without secrets, or why it cannot be kept.
pub(super) fn manifest(given: ManifestText, redactor: &Redactor) -> Result<ManifestText, String> {
    let left_out = |why: &str| format!("{} was left out: {why}", given.name);
    let unreadable = |why: ManifestError| left_out(&why.to_string());
    let secrets = secrets(&given.name, &given.text, redactor).map_err(unreadable)?;
    let mut text = given.text.clone();
    for secret in secrets {
        text = text.replace(&secret, MASK);
    }
    let text = comments(&redactor.text(&text), redactor);
    // A secret written with escapes does not stand in the file as it is read; then it is still there.
    match self::secrets(&given.name, &text, redactor) {
        Ok(rest) if rest.is_empty() => Ok(ManifestText { text, ..given }),
        _ => Err(left_out("what is secret in it could not be masked")),
    }
}

/// What was commented out is read by nobody: its flags are looked at as they stand.
fn comments(text: &str, redactor: &Redactor) -> String {
    let line = |line: &str| {
        let commented = line.trim_start().starts_with(['#', ';']);
        if commented { redactor.command_line(line) } else { line.to_owned() }
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Every secret of a manifest as it would be read, the longest first so that no part of one is left.
fn secrets(name: &str, text: &str, redactor: &Redactor) -> Result<Vec<String>, ManifestError> {
    let mut found = Vec::new();
    for launch in read_manifest(name, text)? {
        let words: Vec<&str> = launch.words.iter().map(|word| word.text.as_str()).collect();
        let hidden = redactor.command_line(&words.join("\0"));
        let hidden: Vec<&str> = hidden.split('\0').collect();
        if hidden.len() == words.len() {
            words.iter().zip(hidden).for_each(|(word, hidden)| found.extend(masked(word, hidden)));
        } else {
            found.extend(words.iter().map(|word| (*word).to_owned()));
        }
        for variable in &launch.environment {
            let entry = format!("{}={}", variable.name, variable.value);
            found.extend(masked(&entry, &redactor.environment(&entry)));
        }
    }
    for (key, value) in manifest_scalars(name, text)? {
        let json = serde_json::json!({ key.as_str(): value });
        let hidden = serde_json::from_str::<serde_json::Value>(&redactor.json(&json.to_string()));
        if let Some(hidden) = hidden.ok().as_ref().and_then(|h| h.get(&key)).and_then(|h| h.as_str()) {
            found.extend(masked(&value, hidden));
        }
    }
    // A value may run over lines, which the file indents.
    let mut lines: Vec<String> = found.iter().flat_map(|s| s.lines()).map(|l| l.trim().to_owned()).collect();
    // Without quotes the mask is a list of one word to YAML.
    lines.retain(|line| !line.is_empty() && !line.contains(MASK) && line != MASK.trim_matches(['[', ']']));
    lines.sort_unstable_by_key(|line| std::cmp::Reverse(line.len()));
    lines.dedup();
    Ok(lines)
}

/// What was masked: the part of the original that the mask stands for.
fn masked(original: &str, hidden: &str) -> Option<String> {
    let (before, after) = hidden.split_once(MASK)?;
    let inside = original.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
    Some(inside.unwrap_or(original).to_owned()).filter(|secret| !secret.is_empty() && secret != MASK)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn safe(name: &str, text: &str) -> ManifestText {
        let given = ManifestText { name: name.into(), changed: None, text: text.into() };
        manifest(given, &Redactor::new()).unwrap()
    }

    const UNIT: &str = "[Service]\nEnvironment=HF_TOKEN=canaryOne42 \"VLLM_API_KEY=canaryTwo42\"\n# was --api-key canarySix42\nExecStart=vllm serve m --api-key \\\n  canaryThree42 --max-num-seqs 4 \\\n  --hf-token=canaryFour42\n";
    const POD: &str = "kind: Pod\nspec:\n  containers:\n    - name: a\n      image: vllm/vllm-openai:v0.32.0\n      args:\n        - --api-key\n        - canaryOne42\n        - --max-num-seqs\n        - \"32\"\n        - --hf-token=canaryTwo42\n      env:\n        - name: HF_TOKEN\n          value: canaryThree42\n        - {name: DB_PASSWORD, value: \"canaryFour42\"}\n---\nkind: Secret\nstringData:\n  plain: canaryFive42\n";
    const COMPOSE: &str = "services:\n  llm:\n    image: vllm/vllm-openai\n    environment:\n      API_KEY: canaryOne42\n      LIST: |\n        a\n    command: [\"--api-key\", \"canaryTwo42\", \"--max-num-seqs\", \"32\"]\n  db:\n    environment:\n      - POSTGRES_PASSWORD=canaryThree42\n";

    #[test]
    fn no_secret_of_a_manifest_is_left_and_its_flags_are() {
        for (name, text) in [("a.service", UNIT), ("pod.yaml", POD), ("compose.yaml", COMPOSE)] {
            let safe = safe(name, text);
            assert!(!safe.text.contains("canary"), "{}", safe.text);
            assert_eq!(safe.text.lines().count(), text.lines().count());
            let launches = read_manifest(name, &safe.text).unwrap();
            let words: Vec<&str> = launches[0].words.iter().map(|w| w.text.as_str()).collect();
            assert!(words.contains(&"--max-num-seqs"), "{words:?}");
        }
    }

    #[test]
    fn redacting_twice_changes_nothing() {
        for (name, text) in [("a.service", UNIT), ("pod.yaml", POD), ("compose.yaml", COMPOSE)] {
            let once = safe(name, text);
            assert_eq!(safe(name, &once.text), once);
        }
    }

    #[test]
    fn a_secret_written_with_escapes_takes_the_file_with_it() {
        let text = "kind: Pod\nspec:\n  containers:\n    - name: a\n      args:\n        - --api-key\n        - \"can\\x61ry42\"\n";
        let given = ManifestText { name: "c.yaml".into(), changed: None, text: text.into() };
        let why = manifest(given, &Redactor::new()).unwrap_err();
        assert!(why.contains("c.yaml was left out"), "{why}");
    }
}
