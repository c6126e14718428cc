//! Kubernetes: command, arguments and environment of the containers of whatever has a pod template.

use super::shell::{Style, Values, fill, filled, opened};
use super::yaml::Node;
use super::{Launch, Place, Variable, compose};

/// Where a pod's specification lies, by what holds it. What is not a Deployment but has a template (a Rollout, a
/// StatefulSet, a ReplicaSet, a Job) keeps it in the same place.
const PODS: [&[&str]; 5] = [
    &["spec", "template", "spec"],
    &["spec", "jobTemplate", "spec", "template", "spec"],
    &["spec", "leaderWorkerTemplate", "leaderTemplate", "spec"],
    &["spec", "leaderWorkerTemplate", "workerTemplate", "spec"],
    // A Pod; KServe's InferenceService keeps a container or several under the predictor.
    &["spec"],
];

/// A container as its document tells it; what ConfigMaps set is not filled in yet.
#[derive(Debug, Clone)]
pub(super) struct Container {
    pub(super) file: usize,
    launch: Launch,
    /// What sets all its variables, in order.
    sources: Vec<From>,
    /// Single variables, in order; they beat those of the sources.
    variables: Vec<(String, Value)>,
}

/// Variables that stand elsewhere.
#[derive(Debug, Clone)]
struct From {
    /// `None` for a Secret.
    map: Option<String>,
    prefix: String,
}

/// Where a single variable's value stands.
#[derive(Debug, Clone)]
enum Value {
    Here(String, Place),
    Map { name: String, key: String },
    Elsewhere,
}

/// A ConfigMap: names and values of variables.
#[derive(Debug, Clone)]
pub(super) struct ConfigMap {
    name: String,
    data: Vec<Variable>,
}

/// Adds the containers and the ConfigMaps of a document.
pub(super) fn read(document: &Node, file: usize, found: &mut Vec<Container>, maps: &mut Vec<ConfigMap>) {
    // A List holds documents; one in another is nothing anybody writes.
    let listed = document.get("items").map_or(&[][..], Node::items);
    for document in std::iter::once(document).chain(listed) {
        let text = |path: &[&str]| document.at(path).and_then(Node::text);
        let (kind, name) = (text(&["kind"]), text(&["metadata", "name"]));
        if let (Some("ConfigMap"), Some(name)) = (kind, name) {
            let entries = document.get("data").map_or(&[][..], Node::entries);
            let data = entries.iter().filter_map(|(name, value)| {
                let at = Place { file, line: value.line };
                Some(Variable { name: name.clone(), value: value.text()?.to_owned(), at })
            });
            maps.push(ConfigMap { name: name.to_owned(), data: data.collect() });
        }
        let owner = kind.zip(name).map(|(kind, name)| format!("{kind} {name}"));
        let pods = PODS.iter().filter_map(|path| document.at(path));
        let predictor = document.at(&["spec", "predictor"]);
        for pod in pods.chain(predictor) {
            let containers = pod.get("containers").map_or(&[][..], Node::items);
            let containers = containers.iter().chain(pod.get("model"));
            found.extend(containers.map(|node| container(node, owner.clone(), file)));
        }
    }
}

/// Whether a document is a Secret, whose values are nobody's business whatever they are called.
pub(super) fn is_secret(document: &Node) -> bool {
    document.get("kind").and_then(Node::text).is_some_and(|kind| kind.contains("Secret"))
}

fn container(container: &Node, owner: Option<String>, file: usize) -> Container {
    let name_of = |node: &Node| Some(node.get("name")?.text()?.to_owned());
    let sources = container.get("envFrom").map_or(&[][..], Node::items).iter().map(|item| From {
        map: item.get("configMapRef").and_then(name_of),
        prefix: item.get("prefix").and_then(Node::text).unwrap_or_default().to_owned(),
    });
    let listed = container.get("env").map_or(&[][..], Node::items).iter();
    let variables = listed.filter_map(|item| Some((name_of(item)?, value(item, file))));
    let parts = ["command", "args"].into_iter().filter_map(|key| container.get(key));
    let open = container.get("ports").map_or(&[][..], Node::items);
    let published = open.iter().filter_map(|port| port.get("hostPort")?.text()?.parse().ok());
    Container {
        file,
        sources: sources.collect(),
        variables: variables.collect(),
        launch: Launch {
            name: name_of(container).unwrap_or_else(|| "container".to_owned()),
            owner,
            line: container.line,
            image: container.get("image").and_then(Node::text).map(str::to_owned),
            replaces_entrypoint: container.get("command").is_some_and(|node| !node.items().is_empty()),
            words: parts.flat_map(|node| compose::words(node, file)).collect(),
            environment: Vec::new(),
            published: published.collect(),
        },
    }
}

fn value(item: &Node, file: usize) -> Value {
    if let Some((node, text)) = item.get("value").and_then(|node| Some((node, node.text()?))) {
        return Value::Here(text.to_owned(), Place { file, line: node.line });
    }
    let of = |key: &str| Some(item.at(&["valueFrom", "configMapKeyRef", key])?.text()?.to_owned());
    of("name").zip(of("key")).map_or(Value::Elsewhere, |(name, key)| Value::Map { name, key })
}

impl Container {
    /// Whether it says anything of how something is started.
    pub(super) fn says_something(&self) -> bool {
        !self.launch.words.is_empty() || !self.variables.is_empty()
    }

    /// What it starts, variables filled in as far as these ConfigMaps tell them.
    pub(super) fn launch(mut self, maps: &[ConfigMap]) -> Launch {
        let map = |name: &str| maps.iter().rev().find(|map| map.name == name);
        let mut known: Vec<Variable> = Vec::new();
        for source in &self.sources {
            let Some(found) = source.map.as_deref().and_then(map) else {
                // What is not here may set anything that was set before.
                known.clear();
                continue;
            };
            for variable in &found.data {
                set(
                    &mut known,
                    Variable { name: format!("{}{}", source.prefix, variable.name), ..variable.clone() },
                );
            }
        }
        for (name, value) in self.variables {
            let found = match value {
                Value::Here(value, at) => {
                    let values = Values { variables: &known, all: false };
                    Some(Variable { name: name.clone(), value: fill(&value, values, Style::Kubernetes), at })
                }
                Value::Map { name: of, key } => map(&of)
                    .and_then(|map| map.data.iter().find(|variable| variable.name == key))
                    .map(|variable| Variable { name: name.clone(), ..variable.clone() }),
                Value::Elsewhere => None,
            };
            known.retain(|variable| variable.name != name);
            known.extend(found);
        }
        // The image may set others.
        let values = Values { variables: &known, all: false };
        self.launch.words = opened(filled(self.launch.words, values, Style::Kubernetes), values);
        self.launch.environment = known;
        self.launch
    }
}

fn set(known: &mut Vec<Variable>, variable: Variable) {
    known.retain(|earlier| earlier.name != variable.name);
    known.push(variable);
}

#[cfg(test)]
mod tests {
    use super::super::read_manifest;

    const DEPLOYMENT: &str = "\
apiVersion: v1
kind: Service
metadata: {name: llm}
---
apiVersion: apps/v1
kind: Deployment
spec:
  template:
    spec:
      containers:
        - name: proxy
          image: nginx
          command: [nginx]
        - name: server
          image: vllm/vllm-openai:v0.32.0
          command: [/bin/sh, -c]
          args:
            - exec vllm serve m --max-num-seqs $(SEQS)
          env:
            - name: SEQS
              value: \"32\"
            - name: HF_TOKEN
              valueFrom: {secretKeyRef: {name: hf, key: token}}
";

    #[test]
    fn containers_are_found_in_the_second_document() {
        let launches = read_manifest("deploy.yaml", DEPLOYMENT).unwrap();
        assert_eq!(launches.iter().map(|l| l.name.as_str()).collect::<Vec<_>>(), ["proxy", "server"]);
        let words: Vec<&str> = launches[1].words.iter().map(|w| w.text.as_str()).collect();
        assert_eq!(words, ["/bin/sh", "-c", "exec", "vllm", "serve", "m", "--max-num-seqs", "32"]);
        assert_eq!(launches[1].words[7].at.line, 18);
        assert_eq!(launches[1].environment.len(), 1);
    }

    /// The words behind the image's entrypoint, with this `env` and these sources of variables.
    fn args(more: &str) -> String {
        let text = format!(
            "kind: ConfigMap\nmetadata: {{name: seqs}}\ndata: {{SEQS: '16', other.yaml: x}}\n---\nkind: Deployment\nmetadata: {{name: llm}}\nspec: {{template: {{spec: {{containers: [{{name: a, args: ['--n=$(SEQS)'], {more}}}]}}}}}}\n"
        );
        let launch = read_manifest("x.yaml", &text).unwrap().remove(0);
        assert_eq!(launch.owner.as_deref(), Some("Deployment llm"));
        launch.words[0].text.clone()
    }

    #[test]
    fn a_config_map_of_the_same_files_sets_variables() {
        for (more, expected) in [
            ("envFrom: [{configMapRef: {name: seqs}}]", "--n=16"),
            ("env: [{name: SEQS, valueFrom: {configMapKeyRef: {name: seqs, key: SEQS}}}]", "--n=16"),
            ("envFrom: [{configMapRef: {name: elsewhere}}], env: [{name: SEQS, value: '8'}]", "--n=8"),
            ("envFrom: [{configMapRef: {name: seqs}}], env: [{name: SEQS, value: '8'}]", "--n=8"),
            ("env: [{name: A, value: '4'}, {name: SEQS, value: $(A)2}]", "--n=42"),
        ] {
            assert_eq!(args(more), expected, "{more}");
        }
    }

    #[test]
    fn what_stands_elsewhere_is_not_known() {
        for more in [
            "env: []",
            "envFrom: [{configMapRef: {name: elsewhere}}]",
            "envFrom: [{configMapRef: {name: seqs}, prefix: X_}]",
            "envFrom: [{configMapRef: {name: seqs}}, {secretRef: {name: s}}]",
            "envFrom: [{configMapRef: {name: seqs}}], env: [{name: SEQS, valueFrom: {secretKeyRef: {name: s, key: SEQS}}}]",
        ] {
            assert_eq!(args(more), "--n=$(SEQS)", "{more}");
        }
    }

    #[test]
    fn a_pod_a_cron_job_and_a_list_have_containers_too() {
        for text in [
            "kind: Pod\nspec: {containers: [{name: a, args: [--x, '1']}]}\n",
            "kind: CronJob\nspec: {jobTemplate: {spec: {template: {spec: {containers: [{name: a, args: [--x, '1']}]}}}}}\n",
            "kind: List\nitems:\n  - kind: StatefulSet\n    spec: {template: {spec: {containers: [{name: a, args: [--x, '1']}]}}}\n",
        ] {
            let launches = read_manifest("x.yaml", text).unwrap();
            assert_eq!((launches.len(), launches[0].words.len()), (1, 2), "{text}");
        }
    }
}
