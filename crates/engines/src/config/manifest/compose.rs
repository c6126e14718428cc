//! Compose files: `entrypoint`, `command`, `environment` and `ports` of each service, as lists or as texts.

use super::shell::{Values, opened, split};
use super::yaml::{Node, Value};
use super::{Launch, Place, Variable, Word};

/// A service as far as it was read: of one file, or of several laid over each other.
#[derive(Debug, Clone, Default)]
pub(super) struct Service {
    pub(super) name: String,
    line: u32,
    image: Option<String>,
    entrypoint: Option<Vec<Word>>,
    command: Option<Vec<Word>>,
    environment: Vec<Variable>,
    published: Vec<u16>,
}

impl Service {
    /// A service of this name that nothing was read of.
    pub(super) fn named(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Lays a file's word over those of the files before it: variables are merged by name, a command is replaced.
    pub(super) fn lay(&mut self, service: &Node, file: usize) {
        if self.line == 0 {
            self.line = service.line;
        }
        if let Some(image) = service.get("image").and_then(Node::text) {
            self.image = Some(image.to_owned());
        }
        let said = |key| service.get(key).map(|node| words(node, file));
        self.entrypoint = said("entrypoint").or(self.entrypoint.take());
        self.command = said("command").or(self.command.take());
        for variable in service.get("environment").into_iter().flat_map(|node| environment(node, file)) {
            self.environment.retain(|earlier| earlier.name != variable.name);
            self.environment.push(variable);
        }
        let ports = service.get("ports").map_or(&[][..], Node::items);
        self.published.extend(ports.iter().filter_map(published));
    }

    /// What it starts.
    pub(super) fn launch(self) -> Launch {
        let replaces_entrypoint = self.entrypoint.as_ref().is_some_and(|words| !words.is_empty());
        let mut words: Vec<Word> = [self.entrypoint, self.command].into_iter().flatten().flatten().collect();
        let settled = words.iter().all(|word| unescaped(&word.text).is_some());
        // What compose fills in itself, with or without a default, is set by a `.env` or the shell it is started from.
        // Neither is here, and neither is what the image sets.
        let variables = if settled { self.environment.as_slice() } else { &[] };
        for word in &mut words {
            if let Some(text) = unescaped(&word.text) {
                word.text = text;
            }
        }
        Launch {
            name: self.name,
            line: self.line,
            image: self.image,
            replaces_entrypoint,
            words: opened(words, Values { variables, all: false }),
            environment: self.environment,
            published: self.published,
            owner: None,
        }
    }
}

/// A text without variables of compose: two dollars are one, which is the container's own business.
fn unescaped(text: &str) -> Option<String> {
    let halves: Vec<&str> = text.split("$$").collect();
    let has_variable = halves.iter().any(|half| half.contains('$'));
    (!has_variable).then(|| halves.join("$"))
}

/// `8555:8000`, `127.0.0.1:8555:8000/tcp`, or a map: the port of the machine.
fn published(port: &Node) -> Option<u16> {
    if let Some(published) = port.get("published") {
        return published.text()?.parse().ok();
    }
    let text = port.text()?;
    let (outside, _) = text.rsplit_once(':')?;
    outside.rsplit(':').next()?.parse().ok()
}

/// A list is words already; a text is split as a shell would.
pub(super) fn words(node: &Node, file: usize) -> Vec<Word> {
    let at = |node: &Node| Place { file, line: node.line };
    match &node.value {
        Value::Text(text) => split(text, at(node)),
        _ => node
            .items()
            .iter()
            .filter_map(|item| Some(Word { text: item.text()?.to_owned(), at: at(item) }))
            .collect(),
    }
}

/// `NAME: value`, or a list of `NAME=value`; a name alone takes its value from elsewhere.
fn environment(node: &Node, file: usize) -> Vec<Variable> {
    let at = |node: &Node| Place { file, line: node.line };
    let named = node.entries().iter().filter_map(|(name, value)| {
        Some(Variable { name: name.clone(), value: value.text()?.to_owned(), at: at(value) })
    });
    let listed = node.items().iter().filter_map(|item| {
        let (name, value) = item.text()?.split_once('=')?;
        Some(Variable { name: name.to_owned(), value: value.to_owned(), at: at(item) })
    });
    named.chain(listed).collect()
}

#[cfg(test)]
mod tests {
    use super::super::read_manifest;

    #[test]
    fn lists_and_texts_say_the_same() {
        let list = "services:\n  llm:\n    image: vllm/vllm-openai:v0.32.0\n    environment:\n      - VLLM_USE_V1=1\n    command:\n      - --model\n      - m\n      - --max-num-seqs=32\n";
        let text = "services:\n  llm:\n    image: vllm/vllm-openai:v0.32.0\n    environment:\n      VLLM_USE_V1: 1\n    command: >-\n      --model m\n      --max-num-seqs=32\n";
        for (file, line) in [(list, 9), (text, 7)] {
            let launch = &read_manifest("compose.yaml", file).unwrap()[0];
            let words: Vec<&str> = launch.words.iter().map(|w| w.text.as_str()).collect();
            assert_eq!(words, ["--model", "m", "--max-num-seqs=32"]);
            assert_eq!(launch.words[2].at.line, line);
            assert_eq!((launch.name.as_str(), launch.environment[0].value.as_str()), ("llm", "1"));
            assert_eq!(launch.image.as_deref(), Some("vllm/vllm-openai:v0.32.0"));
        }
    }

    #[test]
    fn what_a_dot_env_may_set_is_not_known() {
        let words = |command: &str| {
            let file = format!("services:\n  llm:\n    environment: {{SEQS: 16}}\n    command: {command}\n");
            let launch = read_manifest("compose.yaml", &file).unwrap().remove(0);
            launch.words.into_iter().map(|word| word.text).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(words("--a ${SEQS} --b $SEQS --c ${SEQS:-64}"), "--a ${SEQS} --b $SEQS --c ${SEQS:-64}");
        // The container's shell has the service's variables.
        assert_eq!(
            words("[sh, -c, 'vllm serve m --n $${SEQS} --b $$SEQS --c $$M']"),
            "sh -c vllm serve m --n 16 --b 16 --c $M"
        );
        assert_eq!(
            words("[sh, -c, 'vllm serve ${MODEL} --n $${SEQS}']"),
            "sh -c vllm serve ${MODEL} --n $${SEQS}"
        );
    }

    #[test]
    fn a_published_port_is_the_machines() {
        let file = "services:\n  llm:\n    command: --model m\n    ports: [\"8555:8000\", \"127.0.0.1:8556:8000/tcp\", {published: 8557, target: 8000}, \"9\", \"1-2:3-4\"]\n";
        assert_eq!(read_manifest("compose.yaml", file).unwrap()[0].published, [8555, 8556, 8557]);
    }
}
