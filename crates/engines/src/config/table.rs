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
    /// When the server started and when its manifest was last changed, where both are known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub start: Option<Start>,
    /// The rows, in the order of the engine's flags.
    pub rows: Vec<ConfigRow>,
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
    /// What was asked for: the manifest's word, else the command line's, else the process's own.
    pub requested: Option<Said>,
    /// What the process was started with, where that is known and somebody else's word stands under `requested`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub started_with: Option<Said>,
    /// What the engine says it made of it.
    pub resolved: Option<Said>,
    /// What is seen to happen.
    pub observed: Option<Said>,
    /// What the engine does where nobody asks, at this release.
    pub default: Option<Said>,
    /// What beats the value asked for, where that is known: a variable, or the same flag behind it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub beaten_by: Option<String>,
    /// How the columns agree.
    pub verdict: RowVerdict,
    /// The verdict in one sentence; empty where all agrees.
    pub says: String,
}

impl ConfigRow {
    /// Whether what was asked for is not what happens.
    pub fn is_off(&self) -> bool {
        matches!(
            self.verdict,
            RowVerdict::Dropped | RowVerdict::Overridden | RowVerdict::AutoDisabled | RowVerdict::Stale
        )
    }

    /// The value most likely in force.
    pub fn in_force(&self) -> Option<&Said> {
        [&self.resolved, &self.observed, &self.started_with, &self.requested, &self.default]
            .into_iter()
            .find_map(Option::as_ref)
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
    /// Nothing tells whether what was asked for is in force.
    Unknown,
    /// What was asked for is in force.
    Agrees,
    /// Nobody asked; the engine chose.
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
