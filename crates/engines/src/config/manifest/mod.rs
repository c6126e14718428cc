//! Manifests: how the server is meant to be started, from a systemd unit, a compose file or a Kubernetes manifest.

mod compose;
mod kubernetes;
mod layers;
mod passage;
mod shell;
mod systemd;
mod texts;
mod yaml;

use intriage_case::manifest::MAX_MANIFEST_BYTES;
use thiserror::Error;

pub(crate) use layers::{Laid, Layers};
pub use passage::{Passage, Writing};
pub(crate) use shell::is_open;
pub use texts::{ManifestTexts, manifest_texts};
pub(crate) use yaml::{Node, Value};

/// Why a file says nothing about how a server is started. Never quotes the file: it may hold secrets.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ManifestError {
    /// Damaged YAML.
    #[error("line {line}: {why}")]
    Yaml {
        /// 1-based; 0 where it is not known.
        line: u32,
        /// What is wrong.
        why: String,
    },
    /// A line of a unit that is none.
    #[error("line {line}: {why}")]
    Unit {
        /// 1-based.
        line: u32,
        /// What is wrong.
        why: &'static str,
    },
    /// Something else.
    #[error(
        "line {line}: neither a systemd unit ([Service]), a compose file (services:) nor a Kubernetes manifest (kind:)"
    )]
    Unknown {
        /// 1-based: where the document begins.
        line: u32,
    },
    /// Nothing in it starts a program.
    #[error("line 1: it starts no program: there is no ExecStart=, command: or args: in it")]
    StartsNothing,
    /// Larger than a manifest may be.
    #[error("it is larger than {MAX_MANIFEST_BYTES} bytes")]
    TooLarge,
}

impl ManifestError {
    /// The line it is about, 1-based; 0 where none is.
    pub fn line(&self) -> u32 {
        match self {
            Self::Yaml { line, .. } | Self::Unit { line, .. } | Self::Unknown { line } => *line,
            Self::StartsNothing => 1,
            Self::TooLarge => 0,
        }
    }
}

/// One program a manifest starts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Launch {
    /// What the manifest calls it: a service or a container.
    pub name: String,
    /// What it is a part of, where that has a name of its own: `Deployment llm`.
    pub owner: Option<String>,
    /// 1-based line where it begins.
    pub line: u32,
    /// The image, where there is one.
    pub image: Option<String>,
    /// Whether the words begin with another program than the image's own.
    pub replaces_entrypoint: bool,
    /// The words of its command line, variables filled in where their values stand in the same files; else a word keeps its
    /// `$`.
    pub words: Vec<Word>,
    /// Its environment, as far as it stands in the file.
    pub environment: Vec<Variable>,
    /// Ports of the machine that lead to it, where the file says so.
    pub published: Vec<u16>,
}

/// Where something stands in manifests that are laid over each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place {
    /// Which of the files, counted from 0.
    pub file: usize,
    /// 1-based line in it.
    pub line: u32,
}

/// One word of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// The word.
    pub text: String,
    /// Where it stands.
    pub at: Place,
}

/// One environment variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Where it stands.
    pub at: Place,
}

/// What a manifest starts, in the order of the file. `name` is the file's, and decides nothing where the text is clear.
pub fn read_manifest(name: &str, text: &str) -> Result<Vec<Launch>, ManifestError> {
    let mut layers = Layers::default();
    layers.lay(name, text)?;
    let launches: Vec<Launch> = layers.laid().into_iter().map(|laid| laid.launch).collect();
    if launches.is_empty() { Err(ManifestError::StartsNothing) } else { Ok(launches) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_file_that_says_nothing_is_named() {
        assert_eq!(read_manifest("x.yaml", "a: 1\n"), Err(ManifestError::Unknown { line: 1 }));
        assert_eq!(read_manifest("x.yaml", ""), Err(ManifestError::StartsNothing));
        assert_eq!(read_manifest("x.yaml", "kind: Service\nspec: {}\n"), Err(ManifestError::StartsNothing));
        assert_eq!(
            read_manifest("x.yaml", &"x".repeat(MAX_MANIFEST_BYTES + 1)),
            Err(ManifestError::TooLarge)
        );
    }

    proptest! {
        #[test]
        fn any_text_is_survived(
            text in "(\\PC|[\n :=\\-\\[\\]{}\"'$&*|>\\\\]|ExecStart=|services:|kind: Pod\n|command:){0,60}"
        ) {
            for name in ["x.service", "x.yaml"] {
                let lines = text.split('\n').count() as u32;
                if let Ok(launches) = read_manifest(name, &text) {
                    for word in launches.iter().flat_map(|launch| &launch.words) {
                        prop_assert!(word.at.line <= lines, "{word:?}");
                    }
                }
            }
        }
    }
}
