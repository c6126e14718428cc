//! The configuration in columns: asked for, made of it, seen to happen, and the engine's own default.

use intriage_case::{Millis, Source};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Setting, SettingValue};

/// Every setting that was asked for, resolved or seen, one row each.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ConfigTable {
    /// Whether anything tells what was asked for: a manifest, a command line, a log, the process itself.
    pub asked: bool,
    /// The manifest compared with, where one was given that starts this engine.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub manifest: Option<String>,
    /// Manifests laid over that one, in order.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub overrides: Vec<String>,
    /// Manifests that tell nothing of this server: damaged, of another program, or of one of several that cannot be told
    /// apart.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub left_out: Vec<String>,
    /// Flags of the manifest or of the command line given that nothing known of the server can be compared with.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub not_compared: Vec<String>,
    /// When the server started and when its manifest was last changed, where both are known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub start: Option<Start>,
    /// The rows, in the order of the engine's flags.
    pub rows: Vec<ConfigRow>,
}

/// What a table tells as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigAnswer {
    /// Something is not in force as it was asked for.
    Off,
    /// Something is seen to be in force, and nothing is seen not to be.
    InForce,
    /// Nothing could be compared.
    Nothing,
}

impl ConfigTable {
    /// What it tells as a whole.
    pub fn answer(&self) -> ConfigAnswer {
        if self.rows.iter().any(ConfigRow::is_off) {
            ConfigAnswer::Off
        } else if self.rows.iter().any(|row| {
            // Where a manifest was given, something of it has to be seen.
            let of_it = self.manifest.is_none() || row.requested.is_some();
            row.verdict == RowVerdict::Agrees && of_it
        }) {
            ConfigAnswer::InForce
        } else {
            ConfigAnswer::Nothing
        }
    }
}

impl ConfigTable {
    /// Where each value was read, to be changed.
    pub(crate) fn sources(&mut self) -> impl Iterator<Item = &mut Source> {
        self.rows.iter_mut().flat_map(ConfigRow::said).map(|said| &mut said.from)
    }
}

/// When the server started and when its manifest was last changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Start {
    /// The server's start, in milliseconds since the Unix epoch.
    pub server: Millis,
    /// The manifest's last change.
    pub manifest: Millis,
}

impl Start {
    /// Whether the manifest was changed after the server started.
    pub fn is_older_than_manifest(self) -> bool {
        self.server < self.manifest
    }
}

/// One setting in its columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigRow {
    /// The flag or variable as the engine spells it, or `version`.
    pub name: String,
    /// What it sets, for those who compute with it.
    #[serde(skip)]
    pub setting: Option<Setting>,
    /// Whether the flag switches what it sets off: its values are the opposite of the setting's.
    #[serde(skip)]
    pub opposite: bool,
    /// What was asked for: the manifest's word, else that of the command line given.
    pub requested: Option<Said>,
    /// What the process was started with, as the kernel or its log shows it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub started_with: Option<Said>,
    /// What the engine says it made of it.
    pub resolved: Option<Said>,
    /// What is seen to happen.
    pub observed: Option<Said>,
    /// What the engine does where nobody asks, at this release.
    pub default: Option<Said>,
    /// A value that a later word of the same command line replaced.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub replaced: Option<Said>,
    /// What beats the value asked for, where that is known: a variable, or the same flag behind it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub beaten_by: Option<String>,
    /// How the columns agree.
    pub verdict: RowVerdict,
    /// The verdict in one sentence; empty where all agrees.
    pub says: String,
}

impl ConfigRow {
    fn said(&mut self) -> impl Iterator<Item = &mut Said> {
        let Self { requested, started_with, resolved, observed, default, replaced, .. } = self;
        [requested, started_with, resolved, observed, default, replaced].into_iter().flatten()
    }

    /// Whether what was asked for is not what happens.
    pub fn is_off(&self) -> bool {
        matches!(
            self.verdict,
            RowVerdict::Dropped | RowVerdict::Overridden | RowVerdict::AutoDisabled | RowVerdict::Stale
        )
    }

    /// What people believe to be in force: what was asked for first, else what the process was started with.
    pub fn believed(&self) -> Option<&Said> {
        [&self.replaced, &self.requested, &self.started_with].into_iter().find_map(Option::as_ref)
    }

    /// The value most likely in force; what was only asked for never is.
    pub fn in_force(&self) -> Option<&Said> {
        [&self.resolved, &self.observed, &self.started_with, &self.default]
            .into_iter()
            .find_map(Option::as_ref)
    }

    /// A value of this row as the setting's own: a flag that is on may switch it off.
    pub fn of_setting(&self, said: &Said) -> SettingValue {
        if self.opposite { said.clone().turned().value } else { said.value.clone() }
    }

    /// A row of which nothing is known yet.
    pub(super) fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            setting: None,
            opposite: false,
            requested: None,
            started_with: None,
            resolved: None,
            observed: None,
            default: None,
            replaced: None,
            beaten_by: None,
            verdict: RowVerdict::Default,
            says: String::new(),
        }
    }
}

/// A value and where it was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Said {
    /// The value in the engine's units: tokens, bytes, sequences.
    pub value: SettingValue,
    /// Where it was read.
    pub from: Source,
}

impl Said {
    /// On for off and off for on.
    pub(super) fn turned(self) -> Self {
        match self.value {
            SettingValue::Switch(on) => Self { value: SettingValue::Switch(!on), ..self },
            _ => self,
        }
    }
}

/// How the columns of a row agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RowVerdict {
    /// The running process was started with something else than what is asked for.
    Stale,
    /// The engine had another value in force than the one asked for.
    Overridden,
    /// A feature that was asked for is off.
    AutoDisabled,
    /// What was asked for had no effect: the default is in force, or nothing reads it.
    Dropped,
    /// One source says it, and nothing else tells whether it is in force.
    Unknown,
    /// Two sources of different kind tell the same.
    Agrees,
    /// Nobody asked; the engine chose, or the process alone has it.
    Default,
}

impl RowVerdict {
    /// The verdict in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stale => "stale",
            Self::Overridden => "overridden",
            Self::AutoDisabled => "auto-disabled",
            Self::Dropped => "dropped",
            Self::Unknown => "unknown",
            Self::Agrees => "agrees",
            Self::Default => "default",
        }
    }
}
