//! What was asked for: manifests, flags given by hand, the serving process's own command line and environment.

use intriage_case::{Case, Millis, Source};

use super::command_line::{flags, words};
use super::environment::from_environment;
use super::manifest::{Launch, read_manifest};
use super::{Config, Variable};
use crate::Engine;
use crate::detect::by_command_line;
use crate::dialect::Dialect;
use crate::host::{Host, Role, ServingProcess};
use crate::version::Version;

/// Who asked for a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Asked {
    /// The serving process, as its log says it read its flags.
    Log,
    /// The serving process, as the kernel shows its command line.
    Process,
    /// The serving process's environment.
    Environment,
    /// A command line given by hand or kept in the recording.
    Flags,
    /// A manifest.
    Manifest,
}

impl Asked {
    /// What a process was started with tells more of it than what somebody meant to start.
    pub(super) fn trust(self) -> u8 {
        match self {
            Self::Log => 3,
            Self::Process => 4,
            Self::Flags => 5,
            Self::Environment => 6,
            Self::Manifest => 7,
        }
    }
}

/// How the server is meant to be started, from the last manifest that starts this engine.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Meant {
    pub(crate) file: String,
    pub(crate) changed: Option<Millis>,
    pub(crate) launch: Launch,
    /// The release its image names.
    pub(crate) version: Option<Version>,
}

impl Meant {
    /// Whether the manifest names every flag itself: no variable filled in elsewhere, no file of flags.
    pub(crate) fn is_whole(&self) -> bool {
        let elsewhere = |text: &str| text.contains('$') || text.starts_with("--config");
        !self.launch.words.iter().any(|word| elsewhere(&word.text))
    }
}

/// Adds everything that was asked for; what a reader should know of it goes to `notes`.
pub(crate) fn ask(
    dialect: &Dialect,
    case: &Case,
    host: Option<&Host>,
    config: &mut Config,
    notes: &mut Vec<String>,
) -> Option<Meant> {
    if let Some(line) = &case.command_line {
        from_command_line(dialect, &words(line), Asked::Flags, |_| Source::CommandLine, config);
    }
    if let Some(process) = host.and_then(|host| serving(dialect.engine, host, &case.target.name, notes)) {
        let file = format!("/proc/{}/cmdline", process.pid);
        let line = process.command_line.as_deref().unwrap_or_default();
        let source = |_| Source::Kernel { file: file.clone() };
        from_command_line(dialect, &words(line), Asked::Process, source, config);
        let source = |name: &str| Source::Environment { name: name.to_owned() };
        from_environment(dialect, &process.environment, source, config);
    }
    let meant = meant(dialect.engine, case, notes)?;
    let lines: Vec<u32> = meant.launch.words.iter().map(|word| word.line).collect();
    let texts: Vec<String> = meant.launch.words.iter().map(|word| word.text.clone()).collect();
    let source = |word: usize| Source::Manifest {
        file: meant.file.clone(),
        line: lines.get(word).copied().unwrap_or(0),
    };
    from_command_line(dialect, &texts, Asked::Manifest, source, config);
    if host.is_none() {
        let pairs: Vec<(String, String)> =
            meant.launch.environment.iter().map(|v| (v.name.clone(), v.value.clone())).collect();
        let source = |name: &str| {
            let line =
                meant.launch.environment.iter().find(|v| v.name == name).map_or(0, |v: &Variable| v.line);
            Source::Manifest { file: meant.file.clone(), line }
        };
        from_environment(dialect, &pairs, source, config);
    }
    Some(meant)
}

/// Adds the flags of a command line. Of one given twice the last counts, as with every engine's parser.
pub(crate) fn from_command_line(
    dialect: &Dialect,
    words: &[String],
    by: Asked,
    source: impl Fn(usize) -> Source,
    config: &mut Config,
) {
    let given = flags(dialect, words);
    for (i, flag) in given.iter().enumerate() {
        match given[i + 1..].iter().rev().find(|later| later.setting == flag.setting) {
            None => config.request(flag.setting, flag.value.clone(), source(flag.word), by),
            Some(later) if later.value != flag.value => {
                config.replace(flag.setting, flag.value.clone(), source(flag.word), by);
            }
            Some(_) => {}
        }
    }
}

/// The process that was started with flags: of several servers the one that listens on the target's port.
fn serving<'a>(
    engine: Engine,
    host: &'a Host,
    target: &str,
    notes: &mut Vec<String>,
) -> Option<&'a ServingProcess> {
    let front = |p: &&ServingProcess| {
        matches!(p.role(), Some(Role::FrontEnd | Role::Server | Role::Coordinator | Role::EngineCore))
            && p.serving.is_some_and(|s| s.engine == Some(engine))
            && p.command_line.as_deref().is_some_and(|line| line.contains(" -"))
    };
    let mut found: Vec<&ServingProcess> = host.processes.iter().filter(front).collect();
    if found.len() > 1 {
        let port = target.rsplit(':').next().map(|rest| rest.split('/').next().unwrap_or(rest));
        let listens = |p: &&ServingProcess| {
            let words = words(p.command_line.as_deref().unwrap_or_default());
            let after = words.windows(2).find(|pair| pair[0] == "--port").map(|pair| pair[1].clone());
            after
                .or_else(|| words.iter().find_map(|w| Some(w.strip_prefix("--port=")?.to_owned())))
                .as_deref()
                == port
        };
        let count = found.len();
        found.retain(listens);
        if found.len() != 1 {
            notes.push(format!(
                "{count} servers of this engine run on the machine and which one answers cannot be told from --port; their command lines were left out"
            ));
            return None;
        }
    }
    found.first().copied()
}

/// The last manifest that starts this engine; drop-ins and overrides come after what they change.
fn meant(engine: Engine, case: &Case, notes: &mut Vec<String>) -> Option<Meant> {
    let mut last = None;
    for manifest in &case.manifests {
        let launches = match read_manifest(&manifest.name, &manifest.text) {
            Ok(launches) => launches,
            Err(why) => {
                notes.push(format!("{}: {why}; it was left out", manifest.name));
                continue;
            }
        };
        let Some(launch) = launches.into_iter().find(|launch| starts(engine, launch)) else {
            notes.push(format!("{} starts no {engine}: it says nothing of this server", manifest.name));
            continue;
        };
        let version = launch.image.as_deref().and_then(release_of_image);
        last = Some(Meant { file: manifest.name.clone(), changed: manifest.changed, launch, version });
    }
    last
}

fn starts(engine: Engine, launch: &Launch) -> bool {
    let line: Vec<&str> = launch.words.iter().map(|word| word.text.as_str()).collect();
    let image = launch.image.as_deref().unwrap_or_default();
    by_command_line(&line.join(" ")).or_else(|| by_command_line(image)) == Some(engine)
}

/// `vllm/vllm-openai:v0.32.0` names its release; `latest` and digests do not.
fn release_of_image(image: &str) -> Option<Version> {
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
