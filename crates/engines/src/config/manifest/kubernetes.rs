//! Kubernetes: command, arguments and environment of the containers of whatever has a pod template.

use super::shell::{Style, filled, opened};
use super::yaml::Node;
use super::{Launch, Place, Variable, Word, compose};

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

/// Adds a launch for each container of a document.
pub(super) fn read(document: &Node, file: usize, launches: &mut Vec<Launch>) {
    // A List holds documents; one in another is nothing anybody writes.
    let listed = document.get("items").map_or(&[][..], Node::items);
    for document in std::iter::once(document).chain(listed) {
        let pods = PODS.iter().filter_map(|path| document.at(path));
        let predictor = document.at(&["spec", "predictor"]);
        for pod in pods.chain(predictor) {
            let containers = pod.get("containers").map_or(&[][..], Node::items);
            launches.extend(containers.iter().chain(pod.get("model")).map(|node| container(node, file)));
        }
    }
}

/// Whether a document is a Secret, whose values are nobody's business whatever they are called.
pub(super) fn is_secret(document: &Node) -> bool {
    document.get("kind").and_then(Node::text).is_some_and(|kind| kind.contains("Secret"))
}

fn container(container: &Node, file: usize) -> Launch {
    let listed = container.get("env").map_or(&[][..], Node::items);
    // What comes from a Secret or a ConfigMap has no value here.
    let environment: Vec<Variable> = listed
        .iter()
        .filter_map(|item| {
            let (name, value) = (item.get("name")?.text()?, item.get("value")?);
            let at = Place { file, line: value.line };
            Some(Variable { name: name.to_owned(), value: value.text()?.to_owned(), at })
        })
        .collect();
    let parts = ["command", "args"].into_iter().filter_map(|key| container.get(key));
    let words: Vec<Word> = parts.flat_map(|node| compose::words(node, file)).collect();
    let open = container.get("ports").map_or(&[][..], Node::items);
    let published = open.iter().filter_map(|port| port.get("hostPort")?.text()?.parse().ok());
    Launch {
        name: container.get("name").and_then(Node::text).unwrap_or("container").to_owned(),
        line: container.line,
        image: container.get("image").and_then(Node::text).map(str::to_owned),
        replaces_entrypoint: container.get("command").is_some_and(|node| !node.items().is_empty()),
        words: opened(filled(words, &environment, Style::Kubernetes), &environment),
        environment,
        published: published.collect(),
    }
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
