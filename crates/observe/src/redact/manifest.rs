//! Manifests made safe: a secret may stand on another line than its name, so the file is read before it is masked.

use intriage_case::ManifestText;
use intriage_engines::{ManifestError, manifest_texts, read_manifest};
use intriage_redact::Redactor;

/// What stands in place of a secret.
const MASK: &str = "[redacted]";

/// The manifest without secrets, or why it cannot be kept.
pub(super) fn manifest(given: ManifestText, redactor: &Redactor) -> Result<ManifestText, String> {
    let left_out = |why: &str| format!("{} was left out: {why}", given.name);
    let unreadable = |why: ManifestError| left_out(&why.to_string());
    let mut text = comments(&given.text, redactor);
    for Hidden { what, instead } in hidden(&given.name, &given.text, redactor).map_err(unreadable)? {
        // A name may be part of another word; a secret is hidden wherever it stands.
        text = match instead {
            Some(name) => whole_words(&text, &what, &name),
            None => text.replace(&what, MASK),
        };
    }
    let text = outside_comments(&text, redactor).ok_or_else(|| left_out("its lines cannot be told apart"))?;
    // A secret written with escapes does not stand in the file as it is read; then it is still there.
    match hidden(&given.name, &text, redactor) {
        Ok(rest) if rest.is_empty() => Ok(ManifestText { text, ..given }),
        _ => Err(left_out("what is secret in it could not be masked")),
    }
}

/// What was commented out is read by nobody: what stands behind the marks is hidden as a text, and as command lines.
fn comments(text: &str, redactor: &Redactor) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut open: Vec<(&str, &str)> = Vec::new();
    for line in text.split('\n') {
        if is_comment(line) {
            let body = line.trim_start().trim_start_matches(['#', ';']);
            open.push(line.split_at(line.len() - body.len()));
            continue;
        }
        close(&mut open, &mut lines, redactor);
        lines.push(line.to_owned());
    }
    close(&mut open, &mut lines, redactor);
    lines.join("\n")
}

/// The text hidden line by line; comments, which are safe by now, are no part of what runs over lines around them.
fn outside_comments(text: &str, redactor: &Redactor) -> Option<String> {
    let bare: Vec<&str> = text.split('\n').map(|line| if is_comment(line) { "" } else { line }).collect();
    let safe = redactor.text(&bare.join("\n")).into_owned();
    let safe: Vec<&str> = safe.split('\n').collect();
    let lines = text.split('\n').zip(&safe).map(|(line, safe)| if is_comment(line) { line } else { safe });
    (safe.len() == bare.len()).then(|| lines.collect::<Vec<_>>().join("\n"))
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with(['#', ';'])
}

/// Ends a run of comments: a secret of several lines is seen once the marks are off.
fn close(open: &mut Vec<(&str, &str)>, lines: &mut Vec<String>, redactor: &Redactor) {
    if open.is_empty() {
        return;
    }
    let spaced = open.iter().all(|(_, body)| body.is_empty() || body.starts_with(' '));
    let space = if spaced { " " } else { "" };
    let bodies: Vec<&str> = open.iter().map(|(_, body)| body.strip_prefix(space).unwrap_or(body)).collect();
    let text = redactor.text(&bodies.join("\n")).into_owned();
    let hidden: Vec<&str> = text.split('\n').collect();
    // As many lines as before, or none of them can be told apart.
    let whole = hidden.len() == open.len();
    for (i, (mark, body)) in open.drain(..).enumerate() {
        let safe = if whole { redactor.command_line(hidden[i]) } else { MASK.to_owned() };
        lines.push([mark, if body.is_empty() { "" } else { space }, &safe].concat());
    }
}

/// Something that must not stay, and the name it gets where it is no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hidden {
    what: String,
    instead: Option<String>,
}

/// Everything of a manifest that is to be hidden, as it would be read; the longest first so that no part of one is left.
fn hidden(name: &str, text: &str, redactor: &Redactor) -> Result<Vec<Hidden>, ManifestError> {
    let mut secrets = Vec::new();
    let mut names = Vec::new();
    let launches = read_manifest(name, text)?;
    let said = manifest_texts(name, text)?;
    let started = launches.iter().map(|l| l.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>());
    let listed = said.commands.iter().map(|words| words.iter().map(String::as_str).collect());
    for words in started.chain(listed) {
        secrets.extend(of_command(&words, redactor));
    }
    let started = launches.iter().flat_map(|launch| &launch.environment).map(|v| (&v.name, &v.value));
    for (name, value) in started.chain(said.variables.iter().map(|(name, value)| (name, value))) {
        let entry = format!("{name}={value}");
        let safe = redactor.environment(&entry);
        match masked(&entry, &safe) {
            Some(secret) => secrets.push(secret),
            None if safe != entry && !value.is_empty() => {
                let instead = safe.split_once('=').map(|(_, instead)| instead.to_owned());
                names.push(Hidden { what: value.clone(), instead });
            }
            None => {}
        }
    }
    for (key, value) in said.values {
        let json = serde_json::json!({ key.as_str(): value });
        let safe = serde_json::from_str::<serde_json::Value>(&redactor.json(&json.to_string()));
        if let Some(safe) = safe.ok().as_ref().and_then(|h| h.get(&key)).and_then(|h| h.as_str()) {
            secrets.extend(masked(&value, safe));
        }
    }
    // A value may run over lines, which the file indents.
    let mut lines: Vec<String> =
        secrets.iter().flat_map(|s| s.lines()).map(|l| l.trim().to_owned()).collect();
    // Without quotes the mask is a list of one word to YAML.
    lines.retain(|line| !line.is_empty() && !line.contains(MASK) && line != MASK.trim_matches(['[', ']']));
    let mut all: Vec<Hidden> = lines.into_iter().map(|what| Hidden { what, instead: None }).collect();
    all.extend(names);
    all.sort_unstable_by(|a, b| {
        (b.what.len(), &b.what, &a.instead).cmp(&(a.what.len(), &a.what, &b.instead))
    });
    all.dedup_by(|later, first| later.what == first.what);
    Ok(all)
}

/// The secret words of a command line.
fn of_command(words: &[&str], redactor: &Redactor) -> Vec<String> {
    let safe = redactor.command_line(&words.join("\0"));
    let safe: Vec<&str> = safe.split('\0').collect();
    if safe.len() == words.len() {
        words.iter().zip(safe).filter_map(|(word, safe)| masked(word, safe)).collect()
    } else {
        words.iter().map(|word| (*word).to_owned()).collect()
    }
}

/// What was masked: the part of the original that the mask stands for.
fn masked(original: &str, hidden: &str) -> Option<String> {
    let (before, after) = hidden.split_once(MASK)?;
    let inside = original.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
    Some(inside.unwrap_or(original).to_owned()).filter(|secret| !secret.is_empty() && secret != MASK)
}

/// The text with a word replaced where it stands alone.
fn whole_words(text: &str, word: &str, instead: &str) -> String {
    let (mut out, mut from) = (String::with_capacity(text.len()), 0);
    for (at, _) in text.match_indices(word) {
        let end = at + word.len();
        let before = text[..at].chars().next_back();
        let behind = text[end..].chars().next();
        if [before, behind].into_iter().flatten().all(|c| !c.is_alphanumeric()) {
            out.push_str(&text[from..at]);
            out.push_str(instead);
            from = end;
        }
    }
    out + &text[from..]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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

    /// What may stand in any of them, in any order.
    const COMMENTS: [&str; 5] = [
        "# HF_TOKEN=canaryOne42",
        "# was: vllm serve m --api-key canaryTwo42",
        "# -----BEGIN RSA PRIVATE KEY-----\n# canaryThree42\n# -----END RSA PRIVATE KEY-----",
        "#   - name: DB_PASSWORD\n#     value: \"canaryFour42\"",
        "#",
    ];
    const UNITS: [&str; 4] = [
        "Environment=\"HF_TOKEN=canaryFive42\" \"HOSTNAME=canarySix42-gpu\"",
        "ExecStartPre=curl \\\n  -u ann:canarySeven42 x",
        "ExecStart=\nExecStart=vllm serve m --hf-token=canaryEight42",
        "; Environment=API_KEY=canaryNine42",
    ];
    const CONTAINERS: [&str; 3] = [
        "    - name: a\n      args: [--api-key, canaryFive42]",
        "    - name: b\n      env:\n        - name: USER\n          value: canarySix42",
        "    - name: c\n      livenessProbe:\n        exec:\n          command: [curl, -u, \"ann:canarySeven42\"]",
    ];

    fn any_of(more: &'static [&'static str]) -> impl Strategy<Value = String> {
        let all: Vec<&str> = COMMENTS.iter().chain(more).copied().collect();
        prop::collection::vec(prop::sample::select(all), 0..10).prop_map(|pieces| pieces.join("\n"))
    }

    proptest! {
        #[test]
        fn in_any_order_no_secret_is_left_and_every_line_is(unit in any_of(&UNITS), pod in any_of(&CONTAINERS)) {
            let unit = format!("[Service]\nExecStart=vllm serve m\n{unit}\n");
            let pod = format!("kind: Pod\nspec:\n  containers:\n    - name: x\n      args: [serve]\n{pod}\n");
            for (name, text) in [("a.service", unit), ("pod.yaml", pod)] {
                let once = safe(name, &text);
                prop_assert!(!once.text.contains("canary"), "{}", once.text);
                prop_assert_eq!(once.text.lines().count(), text.lines().count());
                prop_assert_eq!(&safe(name, &once.text), &once);
            }
        }

        #[test]
        fn any_text_is_survived(text in "(\\PC|[\n :=\\-\\[\\]{}\"'$#;|>\\\\]|ExecStart=|Environment=USER=|services:|kind: Pod\n|command:){0,60}") {
            for name in ["x.service", "x.yaml"] {
                let given = ManifestText { name: name.into(), changed: None, text: text.clone() };
                let _ = manifest(given, &Redactor::new());
            }
        }
    }
}
