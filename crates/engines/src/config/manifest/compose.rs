//! Compose files: `entrypoint`, `command` and `environment` of each service, as lists or as texts.

use super::shell::{Style, filled, opened, split};
use super::yaml::{Node, Value};
use super::{Launch, Variable, Word};

/// Adds a launch for each service.
pub(super) fn read(services: &Node, launches: &mut Vec<Launch>) {
    for (name, service) in services.entries() {
        let environment = service.get("environment").map(environment).unwrap_or_default();
        let parts = ["entrypoint", "command"].into_iter().filter_map(|key| service.get(key));
        let words: Vec<Word> = parts.flat_map(words).collect();
        launches.push(Launch {
            name: name.clone(),
            line: service.line,
            image: service.get("image").and_then(Node::text).map(str::to_owned),
            words: opened(filled(words, &environment, Style::Compose), &environment),
            environment,
        });
    }
}

/// A list is words already; a text is split as a shell would.
pub(super) fn words(node: &Node) -> Vec<Word> {
    match &node.value {
        Value::Text(text) => split(text, node.line),
        _ => node
            .items()
            .iter()
            .filter_map(|item| Some(Word { text: item.text()?.to_owned(), line: item.line }))
            .collect(),
    }
}

/// `NAME: value`, or a list of `NAME=value`; a name alone takes its value from elsewhere.
fn environment(node: &Node) -> Vec<Variable> {
    let named = node.entries().iter().filter_map(|(name, value)| {
        Some(Variable { name: name.clone(), value: value.text()?.to_owned(), line: value.line })
    });
    let listed = node.items().iter().filter_map(|item| {
        let (name, value) = item.text()?.split_once('=')?;
        Some(Variable { name: name.to_owned(), value: value.to_owned(), line: item.line })
    });
    named.chain(listed).collect()
}

#[cfg(test)]
mod tests {
    use super::super::read_manifest;

    #[test]
    fn lists_and_texts_say_the_same() {
        let list = "services:\n  llm:\n    image: vllm/vllm-openai:v0.32.0\n    environment:\n      - VLLM_USE_V1=1\n    command:\n      - --model\n      - m\n      - --max-num-seqs=32\n";
        let text = "services:\n  llm:\n    image: vllm/vllm-openai:v0.32.0\n    environment:\n      VLLM_USE_V1: 1\n    command: >-\n      --model m\n      --max-num-seqs=${SEQS:-32}\n";
        for (file, line) in [(list, 9), (text, 7)] {
            let launch = &read_manifest("compose.yaml", file).unwrap()[0];
            let words: Vec<&str> = launch.words.iter().map(|w| w.text.as_str()).collect();
            assert_eq!(words, ["--model", "m", "--max-num-seqs=32"]);
            assert_eq!(launch.words[2].line, line);
            assert_eq!((launch.name.as_str(), launch.environment[0].value.as_str()), ("llm", "1"));
            assert_eq!(launch.image.as_deref(), Some("vllm/vllm-openai:v0.32.0"));
        }
    }
}
