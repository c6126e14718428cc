//! Settings that come from the environment.

use intriage_case::Source;

use super::{Asked, Config, Setting, SettingValue};
use crate::dialect::Dialect;

/// A variable that sets what a flag sets.
#[derive(Debug, Clone, Copy)]
pub struct VariableRow {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it sets.
    pub(crate) setting: Setting,
    /// Multiplied into the setting's unit.
    pub(crate) scale: f64,
    /// Whether it beats the flag; else the flag beats it.
    pub(crate) beats_flag: bool,
}

/// A variable that a release stopped reading.
#[derive(Debug, Clone, Copy)]
pub struct VariableChange {
    /// Its name.
    pub name: &'static str,
    /// The first release that does not read it.
    pub gone_in: &'static str,
    /// What does its work since, or an empty text.
    pub instead: &'static str,
}

/// Adds what the environment asks for.
pub(super) fn from_environment(
    dialect: &Dialect,
    environment: &[(String, String)],
    by: Asked,
    source: impl Fn(&str) -> Source,
    config: &mut Config,
) {
    for (name, text) in environment {
        let Some(row) = dialect.variables.iter().find(|row| row.name == name) else { continue };
        let Some(SettingValue::Number(number)) = SettingValue::read(text) else { continue };
        let value = SettingValue::Number(number * row.scale);
        config.request(row.setting, value, source(name), by);
    }
}
