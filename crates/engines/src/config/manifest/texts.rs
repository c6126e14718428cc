//! Everything a manifest says, also what starts no server: for whoever looks for secrets in it.

use intriage_case::manifest::MAX_MANIFEST_BYTES;

use super::shell::split;
use super::{ManifestError, Node, Place, Value, kubernetes, systemd, yaml};

/// Keys of YAML whose text is a command line.
const COMMANDS: [&str; 5] = ["command", "args", "entrypoint", "test", "run"];

/// The texts of a manifest by what they are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ManifestTexts {
    /// Words of every command line: each `Exec…=` of a unit, each list of a YAML file and what stands under `command:`.
    pub commands: Vec<Vec<String>>,
    /// Names and values of variables, whether they count in the end or not.
    pub variables: Vec<(String, String)>,
    /// Every value of a YAML file with the key it stands under; `secret` for what a Kubernetes Secret holds.
    pub values: Vec<(String, String)>,
}

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
        of_document(document, &mut found);
    }
    Ok(found)
}

fn of_document(document: &Node, found: &mut ManifestTexts) {
    let secret = kubernetes::is_secret(document);
    let mut open: Vec<(&str, &Node)> = vec![("", document)];
    while let Some((key, node)) = open.pop() {
        match &node.value {
            Value::Nothing => {}
            Value::Text(value) => {
                if COMMANDS.contains(&key) {
                    found.commands.push(words(value));
                }
                found.values.push((key.to_owned(), value.clone()));
            }
            Value::List(items) => {
                found.commands.push(items.iter().filter_map(Node::text).map(str::to_owned).collect());
                open.extend(items.iter().map(|item| (key, item)));
            }
            Value::Map(entries) => {
                let part = |name: &str| node.get(name).and_then(Node::text).map(str::to_owned);
                found.variables.extend(part("name").zip(part("value")));
                open.extend(entries.iter().map(|(name, inner)| {
                    // Whatever a Secret holds is one, by whatever name.
                    let below = secret && matches!(key, "data" | "stringData" | "secret");
                    let holds = secret && matches!(name.as_str(), "data" | "stringData");
                    (if below || holds { "secret" } else { name.as_str() }, inner)
                }));
            }
        }
    }
}

fn words(line: &str) -> Vec<String> {
    split(line, Place::default()).into_iter().map(|word| word.text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_kubernetes_secret_holds_is_a_secret() {
        let text = "kind: Secret\nmetadata: {name: x}\nstringData:\n  plain: hunter2\ndata: {a: aGV5}\n";
        let mut found = manifest_texts("x.yaml", text).unwrap().values;
        found.retain(|(key, _)| key == "secret");
        found.sort();
        assert_eq!(found, [("secret".into(), "aGV5".into()), ("secret".into(), "hunter2".into())]);
    }

    #[test]
    fn commands_that_start_no_server_are_told_too() {
        let unit = "[Service]\nExecStartPre=mysql \\\n  -p x\nExecStart=a\nExecStart=b c\nEnvironment=K=1 \"L=2 3\"\nEnvironment=\n";
        let found = manifest_texts("a.service", unit).unwrap();
        assert_eq!(found.commands, [vec!["mysql", "-p", "x"], vec!["a"], vec!["b", "c"]]);
        assert_eq!(found.variables, [("K".into(), "1".into()), ("L".into(), "2 3".into())]);
        let compose =
            "services:\n  a:\n    healthcheck:\n      test: curl -u x y\n    entrypoint: [sh, -c]\n";
        let found = manifest_texts("compose.yaml", compose).unwrap();
        assert!(found.commands.contains(&vec!["curl".into(), "-u".into(), "x".into(), "y".into()]));
        assert!(found.commands.contains(&vec!["sh".into(), "-c".into()]));
    }
}
