//! Every server that manifests and a command line mean to start, with the place of each flag and variable.

use intriage_case::{Case, Source};

use super::command_line::words;
use super::manifest::{Laid, Layers, is_open};
use super::meant::{called, release_of_image};
use super::program::{Program, own_words, program};
use crate::dialect::Dialect;
use crate::launch_line::{GivenFlag, LaunchLine};
use crate::version::Version;
use crate::{Engine, dialect};

/// One server that somebody means to start.
#[derive(Debug, Clone, PartialEq)]
pub struct MeantStart {
    /// The unit, service or container; `the command line given` where it is none.
    pub name: String,
    /// The engine's flags.
    pub line: LaunchLine,
    /// The release its image names.
    pub version: Option<Version>,
    /// Its environment, as far as it is written down.
    pub variables: Vec<MeantVariable>,
    /// Where the command begins.
    pub source: Source,
    /// Whether it runs beside the others on one machine: units and compose services do, containers of a cluster may not.
    pub one_machine: bool,
    /// Where each of the engine's own words stands.
    places: Vec<Source>,
}

/// An environment variable of a start.
#[derive(Debug, Clone, PartialEq)]
pub struct MeantVariable {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Where it stands.
    pub source: Source,
}

/// What is meant to be started, and what could not be read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MeantStarts {
    /// The servers, in the order of the files.
    pub starts: Vec<MeantStart>,
    /// Manifests that tell nothing, with the reason.
    pub unread: Vec<String>,
}

impl MeantStart {
    /// Where a flag stands.
    pub fn place(&self, flag: &GivenFlag) -> &Source {
        self.places.get(flag.word).unwrap_or(&self.source)
    }

    /// A variable of the environment; of two the last counts.
    pub fn variable(&self, name: &str) -> Option<&MeantVariable> {
        self.variables.iter().rev().find(|variable| variable.name == name)
    }

    /// The value, where the file itself tells it: not `$MODEL`, which something else fills in.
    pub fn is_written(text: &str) -> bool {
        !is_open(text)
    }

    /// The engine's table.
    pub fn dialect(&self) -> &'static Dialect {
        dialect(self.line.engine)
    }
}

/// Everything the manifests and the command line of a case mean to start.
pub fn meant_starts(case: &Case) -> MeantStarts {
    let mut found = MeantStarts::default();
    let mut layers = Layers::default();
    for manifest in &case.manifests {
        if let Err(why) = layers.lay(&manifest.name, &manifest.text) {
            found.unread.push(format!("{}: {why}", manifest.name));
        }
    }
    let laid = layers.laid();
    for (file, manifest) in case.manifests.iter().enumerate() {
        let mut of_it = laid.iter().filter(|laid| laid.files.contains(&file));
        let is_read = !found.unread.iter().any(|why| why.starts_with(&format!("{}: ", manifest.name)));
        if is_read && !of_it.any(|laid| of_manifest(case, laid).is_some()) {
            found.unread.push(format!(
                "{}: it starts no engine that is known, or starts it through a script",
                manifest.name
            ));
        }
    }
    found.starts = laid.iter().filter_map(|laid| of_manifest(case, laid)).collect();
    found.starts.extend(case.command_line.as_deref().and_then(of_command_line));
    found
}

fn of_manifest(case: &Case, laid: &Laid) -> Option<MeantStart> {
    let launch = &laid.launch;
    let texts: Vec<&str> = launch.words.iter().map(|word| word.text.as_str()).collect();
    let in_image = launch.image.is_some() && !launch.replaces_entrypoint;
    let by_image =
        |engine: Engine| launch.image.as_deref().and_then(crate::detect::by_command_line) == Some(engine);
    let started = Engine::ALL.iter().find_map(|engine| match program(*engine, &texts, in_image) {
        found @ Program::Engine(_) => Some((*engine, found)),
        found @ Program::Image if by_image(*engine) => Some((*engine, found)),
        _ => None,
    });
    let (engine, found) = started?;
    let own = own_words(found, &texts);
    let source = |at: super::Place| {
        let file = case.manifests.get(at.file).map_or("", |manifest| manifest.name.as_str());
        Source::Manifest { file: file.to_owned(), line: at.line }
    };
    let first = laid.files.first().copied().unwrap_or_default();
    let begins = launch.words.first().map_or(super::Place { file: first, line: launch.line }, |word| word.at);
    let own_texts: Vec<&str> = own.iter().map(|(_, word)| *word).collect();
    let variable = |v: &super::Variable| MeantVariable {
        name: v.name.clone(),
        value: v.value.clone(),
        source: source(v.at),
    };
    Some(MeantStart {
        name: called(case, laid),
        line: LaunchLine::of_words(engine, &own_texts),
        version: launch.image.as_deref().and_then(release_of_image),
        variables: launch.environment.iter().map(variable).collect(),
        source: source(begins),
        one_machine: launch.owner.is_none(),
        places: own.iter().filter_map(|(at, _)| Some(source(launch.words.get(*at)?.at))).collect(),
    })
}

fn of_command_line(line: &str) -> Option<MeantStart> {
    let all = words(line);
    // Flags without a program are those of the engine whose table of flags is here.
    let bare: Vec<&str> = all.iter().map(String::as_str).collect();
    let is_bare = bare.first().is_some_and(|word| word.starts_with("--"));
    let line =
        LaunchLine::read(&all).or_else(|| is_bare.then(|| LaunchLine::of_words(Engine::Vllm, &bare)))?;
    let places = vec![Source::CommandLine; line.words.len()];
    Some(MeantStart {
        name: "the command line given".into(),
        line,
        version: None,
        variables: Vec::new(),
        source: Source::CommandLine,
        one_machine: false,
        places,
    })
}

#[cfg(test)]
mod tests {
    use intriage_case::ManifestText;

    use super::*;

    fn starts(name: &str, text: &str) -> MeantStarts {
        let manifest = ManifestText { name: name.into(), changed: None, text: text.into() };
        meant_starts(&Case { manifests: vec![manifest], ..Case::default() })
    }

    #[test]
    fn each_flag_and_variable_has_its_line() {
        let unit = "[Service]\nEnvironment=VLLM_A=1\nExecStart=vllm serve m \\\n  --max-num-seqs 4 \\\n  --enforce-eager\n";
        let found = starts("vllm.service", unit);
        let start = &found.starts[0];
        let line = |flag: &str| start.place(start.line.flag(&[flag]).unwrap()).clone();
        let at = |line| Source::Manifest { file: "vllm.service".into(), line };
        assert_eq!((line("--max-num-seqs"), line("--enforce-eager")), (at(4), at(5)));
        assert_eq!(start.variable("VLLM_A").unwrap().source, at(2));
        assert!(found.unread.is_empty(), "{found:?}");
    }

    #[test]
    fn an_image_gets_the_words_and_names_the_release() {
        let found = starts(
            "compose.yaml",
            "services:\n  a:\n    image: vllm/vllm-openai:v0.32.0\n    command: --model big\n  b: {image: nginx, command: nginx}\n",
        );
        assert_eq!(found.starts.len(), 1);
        assert_eq!(found.starts[0].line.model(), Some("big"));
        assert_eq!(found.starts[0].version.as_ref().unwrap().to_string(), "v0.32.0");
    }

    #[test]
    fn what_starts_no_engine_is_named() {
        for (name, text) in
            [("x.service", "[Service]\nExecStart=nginx\n"), ("x.yaml", "a: 1\n"), ("x.yaml", "")]
        {
            let found = starts(name, text);
            assert!(found.starts.is_empty() && found.unread.len() == 1, "{found:?}");
        }
    }

    #[test]
    fn flags_given_by_hand_are_a_start() {
        let case = |line: &str| Case { command_line: Some(line.into()), ..Case::default() };
        assert_eq!(meant_starts(&case("--max-num-seqs 4")).starts[0].line.flags.len(), 1);
        assert_eq!(meant_starts(&case("ls -l")).starts, []);
    }
}
