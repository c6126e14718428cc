//! Everything a manifest says, also what starts no server: for whoever looks for secrets in it.

use intriage_case::manifest::MAX_MANIFEST_BYTES;

use super::{ManifestError, Node, Passage, Value, kubernetes, systemd, yaml};

/// The texts of a manifest by what they are; one text may be several things.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ManifestTexts {
    /// The words of every list of a YAML file, whatever key it stands under: a command may stand under any.
    pub words: Vec<Vec<Passage>>,
    /// What may be a command line: each `Exec…=` and `Environment=` of a unit, each text of several words of a YAML file.
    pub lines: Vec<Passage>,
    /// Names and values of variables, whether they count in the end or not.
    pub variables: Vec<(String, Passage)>,
    /// Every value of a YAML file with the key it stands under; `secret` for what a Kubernetes Secret holds.
    pub values: Vec<(String, Passage)>,
}

/// The key of whatever a Kubernetes Secret holds.
const HELD: &str = "secret";

/// Takes a manifest apart.
pub fn manifest_texts(name: &str, text: &str) -> Result<ManifestTexts, ManifestError> {
    if text.len() > MAX_MANIFEST_BYTES {
        return Err(ManifestError::TooLarge);
    }
    let mut found = ManifestTexts::default();
    if systemd::looks_like_one(name, text) {
        systemd::texts(text, &mut found);
        return Ok(found);
    }
    for document in &yaml::documents(text)? {
        of_document(text, document, &mut found);
    }
    Ok(found)
}

fn of_document(file: &str, document: &Node, found: &mut ManifestTexts) {
    // Key, value, and whether a Secret holds it: a volume has a key `secret`, too, and holds no more than names.
    let mut open: Vec<(&str, &Node, bool)> = vec![("", document, false)];
    while let Some((key, node, held)) = open.pop() {
        match &node.value {
            Value::Nothing => {}
            Value::Text(_) => {
                let Some(value) = Passage::of_scalar(file, node) else { continue };
                if value.text.trim().contains(char::is_whitespace) {
                    found.lines.push(value.clone());
                }
                found.values.push((key.to_owned(), value));
            }
            Value::List(items) => {
                let words: Vec<Passage> =
                    items.iter().filter_map(|item| Passage::of_scalar(file, item)).collect();
                found.words.push(words);
                open.extend(items.iter().map(|item| (key, item, held)));
            }
            Value::Map(entries) => {
                let value = node.get("value").and_then(|value| Passage::of_scalar(file, value));
                let named = node.get("name").and_then(Node::text).map(str::to_owned).zip(value);
                found.variables.extend(named);
                // A Secret may be one of a List's items.
                let secret = kubernetes::is_secret(node);
                for (name, inner) in entries {
                    // Whatever a Secret holds is one, by whatever name and however deep.
                    let held = held || secret && matches!(name.as_str(), "data" | "stringData");
                    open.push((if held { HELD } else { name.as_str() }, inner, held));
                    if matches!(key, "environment" | "env") {
                        found
                            .variables
                            .extend(Passage::of_scalar(file, inner).map(|value| (name.clone(), value)));
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Writing;
    use super::*;

    fn texts(passages: &[Passage]) -> Vec<&str> {
        passages.iter().map(|passage| passage.text.as_str()).collect()
    }

    #[test]
    fn whatever_a_kubernetes_secret_holds_is_a_secret() {
        let text = "kind: Secret\nmetadata: {name: x}\nstringData:\n  plain: hunter2\ndata: {a: aGV5}\n";
        let found = manifest_texts("x.yaml", text).unwrap().values;
        let mut held: Vec<&str> =
            found.iter().filter(|(key, _)| key == "secret").map(|(_, value)| value.text.as_str()).collect();
        held.sort_unstable();
        assert_eq!(held, ["aGV5", "hunter2"]);
    }

    #[test]
    fn a_secret_in_a_list_is_one_and_a_config_map_beside_it_is_none() {
        let text =
            "kind: List\nitems:\n- kind: Secret\n  data: {a: aGV5}\n- kind: ConfigMap\n  data: {SEQS: '8'}\n";
        let found = manifest_texts("x.yaml", text).unwrap().values;
        let keys: Vec<(&str, &str)> =
            found.iter().map(|(key, value)| (key.as_str(), value.text.as_str())).collect();
        assert!(keys.contains(&("secret", "aGV5")) && keys.contains(&("SEQS", "8")), "{keys:?}");
    }

    #[test]
    fn commands_that_start_no_server_are_told_too() {
        let unit = "[Service]\nExecStartPre=mysql \\\n# between\n  -p x\nExecStart=a\nExecStart=b c\nEnvironment=K=1 \"L=2 3\"\nEnvironment=\n";
        let found = manifest_texts("a.service", unit).unwrap();
        let pieces: Vec<Vec<&str>> = found
            .lines
            .iter()
            .map(|line| line.pieces.iter().map(|piece| &unit[piece.clone()]).collect())
            .collect();
        assert_eq!(pieces, [vec!["mysql", "-p x"], vec!["a"], vec!["b c"], vec!["K=1 \"L=2 3\""], vec![]]);
        let compose = "services:\n  a:\n    healthcheck:\n      test: curl -u x y\n    labels: [sh, -c]\n    environment: {A: b}\n";
        let found = manifest_texts("compose.yaml", compose).unwrap();
        assert_eq!(texts(&found.lines), ["curl -u x y"]);
        assert_eq!(texts(&found.words[0]), ["sh", "-c"]);
        assert_eq!(found.variables.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["A"]);
    }

    #[test]
    fn a_text_knows_its_lines_and_whether_quotes_hold_it() {
        let text = "a: |\n  x \\\n  --y z\nb: 'q r'\nc: plain\n   goes on\n";
        let found = manifest_texts("x.yaml", text).unwrap();
        let mut seen: Vec<(Vec<&str>, Writing)> = found
            .lines
            .iter()
            .map(|line| (line.pieces.iter().map(|piece| &text[piece.clone()]).collect(), line.writing))
            .collect();
        seen.sort();
        assert_eq!(
            seen,
            [
                (vec!["plain", "goes on"], Writing::Plain),
                (vec!["q r"], Writing::Single),
                (vec!["x", "--y z"], Writing::AsItIs)
            ]
        );
    }
}
