//! What was asked for: manifests, flags given by hand, the serving process's own command line and environment.

use intriage_case::{Case, Source};

use super::command_line::{flags, words};
use super::environment::from_environment;
use super::manifest::is_open;
use super::meant::{Meant, meant};
use super::plain::unknown;
use super::program::{Program, program};
use super::{Config, Place, SettingValue, Variable};
use crate::Engine;
use crate::dialect::Dialect;
use crate::host::{Host, Role, ServingProcess};
use crate::port::{port_in, port_of};

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
    /// The command line of a manifest.
    Manifest,
    /// The environment of a manifest.
    ManifestVariable,
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
            Self::ManifestVariable => 8,
        }
    }
}

/// The process that serves, as the kernel shows it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Process {
    pub(super) file: String,
    pub(super) words: Vec<String>,
}

impl Process {
    /// Whether these are the words the engine was started with, and not a title it gave itself.
    pub(super) fn is_engine(&self, engine: Engine) -> bool {
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        matches!(program(engine, &words, false), Program::Engine(_))
    }
}

/// Who was heard.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    pub(crate) meant: Option<Meant>,
    pub(crate) process: Option<Process>,
    /// Manifests that tell nothing of this server.
    pub(crate) left_out: Vec<String>,
    /// Flags whose values stand elsewhere, and flags given by hand that no setting stands for.
    pub(crate) not_compared: Vec<String>,
}

/// Adds everything that was asked for; what a reader should know of it goes to `notes`.
pub(crate) fn ask(
    dialect: &Dialect,
    case: &Case,
    models: &[String],
    host: Option<&Host>,
    config: &mut Config,
    notes: &mut Vec<String>,
) -> Heard {
    let mut heard = Heard::default();
    if let Some(line) = &case.command_line {
        let words = words(line);
        heard.not_compared = unknown(dialect, &words);
        let open = from_command_line(dialect, &words, Asked::Flags, |_| Source::CommandLine, config);
        heard.not_compared.extend(open);
        if lists_all(&words) {
            config.tell();
        }
    }
    if let Some(process) = host.and_then(|host| serving(dialect.engine, host, &case.target.name, notes)) {
        let file = format!("/proc/{}/cmdline", process.pid);
        let line = words(process.command_line.as_deref().unwrap_or_default());
        let source = |_| Source::Kernel { file: file.clone() };
        from_command_line(dialect, &line, Asked::Process, source, config);
        let source = |name: &str| Source::Environment { name: name.to_owned() };
        from_environment(dialect, &process.environment, Asked::Environment, source, config);
        let process = Process { file, words: line };
        if lists_all(&process.words)
            && (config.has_asked(Asked::Process) || process.is_engine(dialect.engine))
        {
            config.tell();
        }
        heard.process = Some(process);
    }
    (heard.meant, heard.left_out) = meant(dialect.engine, case, models, notes);
    let Some(meant) = &heard.meant else { return heard };
    let launch = &meant.launch;
    let texts: Vec<String> = launch.words.iter().map(|word| word.text.clone()).collect();
    let source = |word: usize| meant.source(launch.words.get(word).map_or_else(Place::default, |w| w.at));
    let open = from_command_line(dialect, &texts, Asked::Manifest, source, config);
    if !open.is_empty() {
        notes.push(format!(
            "{}: what {} is given stands elsewhere, in a variable that a .env, an EnvironmentFile, a Secret or the shell sets: not compared",
            meant.command_file(),
            open.join(", ")
        ));
        heard.not_compared.extend(open);
    }
    let pairs: Vec<(String, String)> =
        launch.environment.iter().map(|v| (v.name.clone(), v.value.clone())).collect();
    let at = |name: &str| launch.environment.iter().find(|v| v.name == name).map(|v: &Variable| v.at);
    let source = |name: &str| meant.source(at(name).unwrap_or_default());
    from_environment(dialect, &pairs, Asked::ManifestVariable, source, config);
    heard
}

/// Whether the words are all there is: a file of settings may hold more.
fn lists_all(words: &[String]) -> bool {
    !words.is_empty() && !words.iter().any(|word| word == "--config" || word.starts_with("--config="))
}

/// Adds the flags of a command line. Of one given twice the last counts, as with every engine's parser. Returns the names
/// of those whose values stand elsewhere: nothing is asked for by them that anybody could compare.
pub(crate) fn from_command_line(
    dialect: &Dialect,
    words: &[String],
    by: Asked,
    source: impl Fn(usize) -> Source,
    config: &mut Config,
) -> Vec<String> {
    // The kernel shows words as they are, after every shell.
    let is_open = |value: &SettingValue| by != Asked::Process && value.text().is_some_and(is_open);
    let given = flags(dialect, words);
    let mut open = Vec::new();
    for (i, flag) in given.iter().enumerate() {
        match given[i + 1..].iter().rev().find(|later| later.setting == flag.setting) {
            None if is_open(&flag.value) => {
                let name = words.get(flag.word).and_then(|word| word.split('=').next());
                open.extend(name.map(str::to_owned));
            }
            None => config.request(flag.setting, flag.value.clone(), source(flag.word), by),
            Some(later) if later.value != flag.value && !is_open(&later.value) && !is_open(&flag.value) => {
                config.replace(flag.setting, flag.value.clone(), source(flag.word), by);
            }
            Some(_) => {}
        }
    }
    open
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
            && p.command_line.as_deref().is_some_and(|line| line.contains(" -") || line.contains(" serve "))
    };
    let mut found: Vec<&ServingProcess> = host.processes.iter().filter(front).collect();
    if found.len() > 1 {
        let port = port_of(target);
        let listens = |p: &&ServingProcess| {
            port.is_some() && port_in(&words(p.command_line.as_deref().unwrap_or_default())) == port
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
