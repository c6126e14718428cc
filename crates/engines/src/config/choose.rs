//! Of several programs that manifests start: the one that is the server looked at.

use super::manifest::{Laid, Launch};
use super::program::{Program, own_words, program};
use crate::Engine;
use crate::detect::by_command_line;
use crate::port::{listens_on, port_of};

/// Those that start the engine. Where none runs it, one that names it may: a script called after it.
pub(super) fn candidates(engine: Engine, laid: Vec<Laid>) -> Vec<Laid> {
    let fits = if laid.iter().any(|l| runs(engine, &l.launch)) { runs } else { names };
    laid.into_iter().filter(|l| fits(engine, &l.launch)).collect()
}

/// Of several candidates the one at the target's port, else the one that serves its model; all that cannot be told apart.
pub(super) fn choose(engine: Engine, target: &str, models: &[String], mut found: Vec<Laid>) -> Vec<Laid> {
    // Two that are started alike are the same to us.
    let mut seen = Vec::new();
    found.retain(|laid| {
        let alike = (line(&laid.launch), laid.launch.image.clone(), settings(&laid.launch));
        let is_new = !seen.contains(&alike);
        seen.push(alike);
        is_new
    });
    if found.len() > 1
        && let Some(port) = port_of(target)
    {
        narrow(&mut found, |launch| is_at(engine, launch, port));
    }
    if found.len() > 1 {
        narrow(&mut found, |launch| models.iter().any(|model| serves(engine, launch, model)));
    }
    found
}

/// Keeps those that fit, where any does.
fn narrow(found: &mut Vec<Laid>, fits: impl Fn(&Launch) -> bool) {
    if found.iter().any(|laid| fits(&laid.launch)) {
        found.retain(|laid| fits(&laid.launch));
    }
}

/// What a launch is started by.
pub(super) fn program_of(engine: Engine, launch: &Launch) -> Program {
    let in_image = launch.image.is_some() && !launch.replaces_entrypoint;
    program(engine, &texts(launch), in_image)
}

/// Whether it runs the engine: as a program, or as the image's.
fn runs(engine: Engine, launch: &Launch) -> bool {
    let by_image = launch.image.as_deref().is_some_and(|image| by_command_line(image) == Some(engine));
    by_image || matches!(program_of(engine, launch), Program::Engine(_))
}

/// Whether it names the engine: a script may run it.
fn names(engine: Engine, launch: &Launch) -> bool {
    by_command_line(&line(launch)) == Some(engine)
}

fn line(launch: &Launch) -> String {
    texts(launch).join(" ")
}

fn settings(launch: &Launch) -> Vec<(String, String)> {
    launch.environment.iter().map(|v| (v.name.clone(), v.value.clone())).collect()
}

fn texts(launch: &Launch) -> Vec<&str> {
    launch.words.iter().map(|word| word.text.as_str()).collect()
}

fn is_at(engine: Engine, launch: &Launch, port: u16) -> bool {
    if !launch.published.is_empty() {
        return launch.published.contains(&port);
    }
    listens_on(&engine.to_string(), &texts(launch), port)
}

/// Whether clients call it by this name: the one it is given, else the model's.
fn serves(engine: Engine, launch: &Launch, model: &str) -> bool {
    let words = texts(launch);
    if let Some(at) = words.iter().position(|word| dashed(word) == "--served-model-name") {
        return words[at + 1..].iter().take_while(|word| !word.starts_with('-')).any(|name| *name == model);
    }
    if let Some(name) = value(&words, "--served-model-name") {
        return name == model;
    }
    let own = own_words(program_of(engine, launch), &words);
    let positional = own.iter().map(|(_, word)| *word).find(|word| *word != "serve");
    let named = ["--model", "--model-path", "--model-id"].into_iter().find_map(|flag| value(&words, flag));
    named.or(positional.filter(|word| !word.starts_with('-'))) == Some(model)
}

/// `--name value` and `--name=value`; of two the last counts.
fn value<'a>(words: &[&'a str], name: &str) -> Option<&'a str> {
    let attached = |word: &&'a str| word.split_once('=').filter(|(n, _)| dashed(n) == name).map(|(_, v)| v);
    let at = words.iter().rposition(|word| dashed(word) == name || attached(word).is_some())?;
    attached(&words[at]).or_else(|| words.get(at + 1).copied())
}

fn dashed(word: &str) -> String {
    word.replace('_', "-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::manifest::Layers;

    const TWO: &str = "services:
  a:
    image: vllm/vllm-openai:v0.32.0
    command: --model big --port 8001
  b:
    image: vllm/vllm-openai:v0.32.0
    command: --model small --served-model-name tiny s --port=8555
  router:
    image: nginx
    command: nginx --upstream http://vllm-a:8001
";

    fn chosen(files: &[(&str, &str)], target: &str, models: &[&str]) -> Result<String, Vec<String>> {
        let mut layers = Layers::default();
        for (name, text) in files {
            layers.lay(name, text).unwrap();
        }
        let models: Vec<String> = models.iter().map(|model| (*model).to_owned()).collect();
        let found = candidates(Engine::Vllm, layers.laid());
        let mut names: Vec<String> =
            choose(Engine::Vllm, target, &models, found).into_iter().map(|laid| laid.launch.name).collect();
        if names.len() == 1 { Ok(names.remove(0)) } else { Err(names) }
    }

    #[test]
    fn the_port_decides_then_the_model() {
        let two = [("compose.yaml", TWO)];
        assert_eq!(chosen(&two, "http://127.0.0.1:8555", &[]), Ok("b".into()));
        assert_eq!(chosen(&two, "http://127.0.0.1:8001/v1", &["tiny"]), Ok("a".into()));
        assert_eq!(chosen(&two, "http://gateway", &["tiny"]), Ok("b".into()));
        assert_eq!(chosen(&two, "incident.case", &["big"]), Ok("a".into()));
    }

    #[test]
    fn where_neither_decides_nobody_is_taken() {
        let both = Err(vec!["a".to_owned(), "b".to_owned()]);
        assert_eq!(chosen(&[("compose.yaml", TWO)], "http://127.0.0.1:9000", &["other"]), both);
        assert_eq!(chosen(&[("compose.yaml", TWO)], "folder", &[]), both);
        assert_eq!(
            chosen(&[("compose.yaml", "services: {n: {image: nginx, command: nginx}}")], "x", &[]),
            Err(vec![])
        );
    }

    #[test]
    fn a_published_port_is_the_one_clients_use() {
        let text = "services:\n  a: {image: vllm/vllm-openai, command: --model x, ports: ['8001:8000']}\n  b: {image: vllm/vllm-openai, command: --model y, ports: ['8002:8000']}\n";
        assert_eq!(chosen(&[("compose.yaml", text)], "http://127.0.0.1:8002", &[]), Ok("b".into()));
    }

    #[test]
    fn of_two_units_the_one_that_listens_there() {
        let of = |port: u16| format!("[Service]\nExecStart=vllm serve m --port {port}\n");
        let (a, b) = (of(8000), of(8555));
        let units = [("a.service", a.as_str()), ("b.service", b.as_str())];
        assert_eq!(chosen(&units, "http://h:8555", &["m"]), Ok("b.service".into()));
        assert_eq!(chosen(&units[..1], "http://h:1", &[]), Ok("a.service".into()));
        assert_eq!(
            chosen(&[("s.service", "[Service]\nExecStart=/opt/start-vllm.sh\n")], "x", &[]),
            Ok("s.service".into())
        );
    }
}
