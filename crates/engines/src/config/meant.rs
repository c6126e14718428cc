//! What the manifests mean this server to be.

use intriage_case::{Case, Millis, Source};

use super::Place;
use super::choose::{candidates, choose, program_of};
use super::manifest::{Laid, Launch, Layers, is_open};
use super::program::Program;
use crate::Engine;
use crate::version::Version;

/// How the server is meant to be started: of what the manifests start together, the program that is this server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Meant {
    /// Names of all manifests, by their numbers.
    names: Vec<String>,
    /// Those that say how it is started, the one it begins in first.
    files: Vec<usize>,
    /// When the last of them was changed.
    pub(crate) changed: Option<Millis>,
    pub(crate) launch: Launch,
    pub(super) program: Program,
    /// The release its image names.
    pub(crate) version: Option<Version>,
}

impl Meant {
    fn new(engine: Engine, case: &Case, laid: &Laid) -> Self {
        Self {
            names: case.manifests.iter().map(|manifest| manifest.name.clone()).collect(),
            files: laid.files.clone(),
            changed: laid.files.iter().filter_map(|file| case.manifests.get(*file)?.changed).max(),
            launch: laid.launch.clone(),
            program: program_of(engine, &laid.launch),
            version: laid.launch.image.as_deref().and_then(release_of_image),
        }
    }

    /// The manifest it begins in.
    pub(crate) fn file(&self) -> &str {
        self.files.first().map_or("", |file| self.name(*file))
    }

    /// The manifest its command stands in.
    pub(crate) fn command_file(&self) -> &str {
        self.launch.words.first().map_or(self.file(), |word| self.name(word.at.file))
    }

    /// What is laid over it, in order.
    pub(crate) fn overrides(&self) -> Vec<String> {
        self.files.iter().skip(1).map(|file| self.name(*file).to_owned()).collect()
    }

    pub(crate) fn source(&self, at: Place) -> Source {
        Source::Manifest { file: self.name(at.file).to_owned(), line: at.line }
    }

    fn name(&self, file: usize) -> &str {
        self.names.get(file).map_or("", String::as_str)
    }

    /// Whether the manifest names every flag itself: no script between, no variable filled in elsewhere, no file of
    /// flags.
    pub(crate) fn is_whole(&self) -> bool {
        let elsewhere = |text: &str| is_open(text) || text.starts_with("--config");
        let starts = match self.program {
            Program::Engine(_) => true,
            Program::Image => !self.launch.words.is_empty(),
            Program::Other => false,
        };
        starts && !self.launch.words.iter().any(|word| elsewhere(&word.text))
    }
}

/// How this server is meant to be started, where the manifests tell; and those of them that do not.
pub(super) fn meant(
    engine: Engine,
    case: &Case,
    models: &[String],
    notes: &mut Vec<String>,
) -> (Option<Meant>, Vec<String>) {
    let mut layers = Layers::default();
    let mut left_out = Vec::new();
    for (file, manifest) in case.manifests.iter().enumerate() {
        if let Err(why) = layers.lay(&manifest.name, &manifest.text) {
            notes.push(format!("{}: {why}; it was left out", manifest.name));
            left_out.push(file);
        }
    }
    let candidates = candidates(engine, layers.laid());
    for (file, manifest) in case.manifests.iter().enumerate() {
        if !left_out.contains(&file) && !candidates.iter().any(|laid| laid.files.contains(&file)) {
            notes.push(format!("{} starts no {engine}: it says nothing of this server", manifest.name));
            left_out.push(file);
        }
    }
    let called = |laid: &Laid| called(case, laid);
    let all: Vec<String> = candidates.iter().map(called).collect();
    let found = choose(engine, &case.target.name, models, candidates);
    let meant = match found.as_slice() {
        [] => None,
        [one] => {
            if all.len() > 1 {
                notes.push(format!(
                    "of {} that start {engine}, {} is this server by its port or model",
                    all.len(),
                    called(one)
                ));
            }
            Some(Meant::new(engine, case, one))
        }
        several => {
            let names: Vec<String> = several.iter().map(called).collect();
            notes.push(format!(
                "{engine} is started {} times ({}), and neither the port nor the model served tells which one this is: nothing was compared with them",
                names.len(),
                names.join(", ")
            ));
            left_out.extend(several.iter().flat_map(|laid| &laid.files));
            None
        }
    };
    left_out.sort_unstable();
    left_out.dedup();
    (meant, left_out.into_iter().map(|file| name(case, file).to_owned()).collect())
}

/// A unit is its file; a service or a container is named with what it is a part of and the file it begins in.
pub(super) fn called(case: &Case, laid: &Laid) -> String {
    let file = laid.files.first().map_or("", |file| name(case, *file));
    let name = match &laid.launch.owner {
        Some(owner) => format!("{} of {owner}", laid.launch.name),
        None => laid.launch.name.clone(),
    };
    if file == name { name } else { format!("{name} in {file}") }
}

fn name(case: &Case, file: usize) -> &str {
    case.manifests.get(file).map_or("", |manifest| manifest.name.as_str())
}

/// `vllm/vllm-openai:v0.32.0` names its release; `latest` and digests do not.
pub(super) fn release_of_image(image: &str) -> Option<Version> {
    let tag = image.split('@').next()?.rsplit_once(':')?.1;
    let is_release = tag.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit())
        && tag.contains('.')
        && !tag.contains('/');
    Version::parse(tag).filter(|_| is_release)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_names_its_release_or_nothing() {
        let release = |image| release_of_image(image).map(|v| v.to_string());
        assert_eq!(release("vllm/vllm-openai:v0.32.0"), Some("v0.32.0".into()));
        assert_eq!(release("registry:5000/llm/sglang:0.5.3-cu126"), Some("0.5.3-cu126".into()));
        for none in ["vllm/vllm-openai:latest", "registry:5000/vllm", "vllm@sha256:abc", "x:nightly-1.0", ""]
        {
            assert_eq!(release(none), None, "{none}");
        }
    }
}
