//! Manifests laid over each other, as systemd lays drop-ins over a unit and compose a file over the one before it.

use intriage_case::manifest::MAX_MANIFEST_BYTES;

use super::compose::Service;
use super::kubernetes::{self, ConfigMap, Container};
use super::systemd::{self, Unit};
use super::yaml::{Node, Value, documents};
use super::{Launch, ManifestError};

/// Most programs all manifests together may start.
const MAX_LAUNCHES: usize = 256;

/// Something that is started, and the files that say how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Laid {
    /// Counted from 0 in the order they were given; the one it begins in first.
    pub(crate) files: Vec<usize>,
    pub(crate) launch: Launch,
}

/// Manifests read so far.
#[derive(Debug, Default)]
pub(crate) struct Layers {
    files: usize,
    units: Vec<(Vec<usize>, String, Unit)>,
    services: Vec<(Vec<usize>, Service)>,
    containers: Vec<Container>,
    maps: Vec<ConfigMap>,
}

impl Layers {
    /// Lays the next manifest over those before it. A damaged one changes nothing, and is counted as a file.
    pub(crate) fn lay(&mut self, name: &str, text: &str) -> Result<(), ManifestError> {
        let file = self.files;
        self.files += 1;
        if text.len() > MAX_MANIFEST_BYTES {
            return Err(ManifestError::TooLarge);
        }
        if systemd::looks_like_one(name, text) {
            return self.unit(name, text, file);
        }
        let documents = documents(text)?;
        for document in &documents {
            let known = matches!(document.value, Value::Nothing)
                || ["kind", "services"].iter().any(|key| document.get(key).is_some());
            if !known {
                return Err(ManifestError::Unknown { line: document.line.max(1) });
            }
        }
        let says_something = documents.iter().map(|document| self.document(document, file)).max();
        if says_something == Some(true) { Ok(()) } else { Err(ManifestError::StartsNothing) }
    }

    /// A unit stands for itself; what is none by its name (`override.conf`) changes the one before it.
    fn unit(&mut self, name: &str, text: &str, file: usize) -> Result<(), ManifestError> {
        let mut alone = Unit::default();
        alone.lay(text, file)?;
        let over = self.units.last_mut().filter(|_| !name.ends_with(".service"));
        if let Some((files, _, unit)) = over {
            unit.lay(text, file)?;
            files.push(file);
        } else if alone.clone().launch(name).is_some() {
            self.units.push((vec![file], name.to_owned(), alone));
        } else {
            return Err(ManifestError::StartsNothing);
        }
        Ok(())
    }

    /// Whether it says anything of how something is started.
    fn document(&mut self, document: &Node, file: usize) -> bool {
        let Some(services) = document.get("services") else {
            let before = (self.containers.len(), self.maps.len());
            kubernetes::read(document, file, &mut self.containers, &mut self.maps);
            let starts = self.containers[before.0..].iter().any(Container::says_something);
            self.containers.truncate(MAX_LAUNCHES);
            return starts || self.maps.len() > before.1;
        };
        let mut found = false;
        for (name, node) in services.entries() {
            let mut alone = Service::named(name);
            alone.lay(node, file);
            if let Some((files, service)) = self.services.iter_mut().find(|(_, known)| known.name == *name) {
                service.lay(node, file);
                files.push(file);
                found = true;
            } else if self.services.len() < MAX_LAUNCHES {
                found |= says_something(&alone.clone().launch());
                self.services.push((vec![file], alone));
            }
        }
        found
    }

    /// What they start all together: units, then services, then containers.
    pub(crate) fn laid(self) -> Vec<Laid> {
        let units = self
            .units
            .into_iter()
            .filter_map(|(files, name, unit)| Some(Laid { files, launch: unit.launch(&name)? }));
        let services =
            self.services.into_iter().map(|(files, service)| Laid { files, launch: service.launch() });
        let containers = self.containers.into_iter().map(|container| {
            let begins = container.file;
            let launch = container.launch(&self.maps);
            let mut files = vec![begins];
            for file in launch.environment.iter().map(|variable| variable.at.file) {
                if !files.contains(&file) {
                    files.push(file);
                }
            }
            Laid { files, launch }
        });
        units
            .chain(services)
            .chain(containers)
            .filter(|laid| says_something(&laid.launch))
            .take(MAX_LAUNCHES)
            .collect()
    }
}

fn says_something(launch: &Launch) -> bool {
    !launch.words.is_empty() || !launch.environment.is_empty()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_files_are_laid_over_each_other(
            texts in prop::collection::vec(
                "(services:\n  [ab]: \\{(command|entrypoint|environment|image): (x|\\[a=b\\]|\\{A: 1\\})\\}\n|\\[Service\\]\n(ExecStart=(a \\$B)?\n|Environment=(A=1 B=\\$A)?\n){0,3}|\\PC{0,9})",
                0..4,
            )
        ) {
            let mut layers = Layers::default();
            for text in &texts {
                let name = if text.starts_with('[') { "a.conf" } else { "a.yaml" };
                let _ = layers.lay(name, text);
            }
            for laid in layers.laid() {
                prop_assert!(!laid.files.is_empty());
                let words = laid.launch.words.iter().map(|word| word.at);
                for at in words.chain(laid.launch.environment.iter().map(|variable| variable.at)) {
                    prop_assert!(laid.files.contains(&at.file), "{laid:?}");
                    prop_assert!(at.line as usize <= texts[at.file].split('\n').count(), "{laid:?}");
                }
            }
        }
    }

    fn laid(files: &[(&str, &str)]) -> Vec<Laid> {
        let mut layers = Layers::default();
        for (name, text) in files {
            layers.lay(name, text).unwrap();
        }
        layers.laid()
    }

    fn line(laid: &Laid) -> String {
        laid.launch.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
    }

    const BASE: &str = "services:\n  llm:\n    image: vllm/vllm-openai:v0.32.0\n    environment: {A: 1, B: 1}\n    command: --model m --max-num-seqs 2\n";

    #[test]
    fn a_compose_file_of_variables_keeps_the_command_of_the_one_before() {
        let over = "services:\n  llm:\n    environment:\n      - B=8\n";
        let all = laid(&[("compose.yaml", BASE), ("compose.override.yaml", over)]);
        assert_eq!((all.len(), &all[0].files[..]), (1, &[0, 1][..]));
        assert_eq!(line(&all[0]), "--model m --max-num-seqs 2");
        let set: Vec<&str> = all[0].launch.environment.iter().map(|v| v.value.as_str()).collect();
        assert_eq!(set, ["1", "8"]);
        assert_eq!((all[0].launch.environment[1].at.file, all[0].launch.environment[1].at.line), (1, 4));
    }

    #[test]
    fn a_compose_file_of_a_command_keeps_image_and_variables() {
        let over = "services:\n  llm:\n    command: --model m --max-num-seqs 16\n";
        let all = laid(&[("a/compose.yaml", BASE), ("b/compose.yaml", over)]);
        assert_eq!(line(&all[0]), "--model m --max-num-seqs 16");
        assert_eq!(
            (all[0].launch.image.as_deref(), all[0].launch.environment.len()),
            (Some("vllm/vllm-openai:v0.32.0"), 2)
        );
    }

    #[test]
    fn a_drop_in_changes_the_unit_before_it_and_another_unit_stands_for_itself() {
        let unit = "[Service]\nExecStart=vllm serve m\n";
        let all = laid(&[
            ("a.service", unit),
            ("override.conf", "[Service]\nEnvironment=A=1\n"),
            ("b.service", unit),
        ]);
        assert_eq!(
            all.iter().map(|l| (l.files.clone(), l.launch.environment.len())).collect::<Vec<_>>(),
            [(vec![0, 1], 1), (vec![2], 0)]
        );
    }

    #[test]
    fn a_config_map_of_another_file_sets_variables_wherever_it_comes() {
        let map = "kind: ConfigMap\nmetadata: {name: c}\ndata: {SEQS: '16'}\n";
        let pod = "kind: Pod\nspec: {containers: [{name: a, args: ['--n=$(SEQS)'], envFrom: [{configMapRef: {name: c}}]}]}\n";
        for (files, order) in [([("a", map), ("b", pod)], [1, 0]), ([("a", pod), ("b", map)], [0, 1])] {
            let all = laid(&files);
            assert_eq!((all.len(), line(&all[0]).as_str(), &all[0].files[..]), (1, "--n=16", &order[..]));
        }
    }

    #[test]
    fn a_damaged_file_changes_nothing_and_keeps_its_number() {
        let mut layers = Layers::default();
        layers.lay("a.service", "[Service]\nExecStart=vllm serve m\n").unwrap();
        assert!(layers.lay("override.conf", "[Service]\nExecStart=\nnonsense\n").is_err());
        layers.lay("more.conf", "[Service]\nEnvironment=A=1\n").unwrap();
        let all = layers.laid();
        assert_eq!((line(&all[0]).as_str(), &all[0].files[..]), ("vllm serve m", &[0, 2][..]));
    }
}
