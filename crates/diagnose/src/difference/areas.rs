//! Where a difference belongs, and how much it can change.

use schemars::JsonSchema;
use serde::Serialize;

/// Where a difference belongs; in the order in which an engineer asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Area {
    /// Engine and version.
    Engine,
    /// The engine's settings in force.
    Settings,
    /// The model's files.
    Model,
    /// The GPUs.
    Gpu,
    /// The machine.
    Host,
    /// What the serving process is allowed.
    Limits,
    /// What was measured.
    Figures,
}

impl Area {
    /// Areas compared fact by fact; figures are compared as numbers.
    pub(super) const ALL: [Self; 6] =
        [Self::Engine, Self::Settings, Self::Model, Self::Gpu, Self::Host, Self::Limits];

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Engine => "engine",
            Self::Settings => "settings",
            Self::Model => "model",
            Self::Gpu => "gpu",
            Self::Host => "host",
            Self::Limits => "limits",
            Self::Figures => "figures",
        }
    }
}

/// How much a difference can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// Follows from others, or rarely matters.
    Low,
    /// Can change speed.
    Medium,
    /// Changes what is answered, or speed by much.
    High,
}
