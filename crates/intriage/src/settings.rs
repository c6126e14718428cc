//! `intriage.toml`: thresholds, and defaults for the intent. Unknown keys are errors.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use intriage_case::Profile;
use intriage_diagnose::Thresholds;
use serde::Deserialize;

use crate::failure::Failure;

/// The settings file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    /// The workload profile unless `--profile` is given.
    pub(crate) profile: Option<Profile>,
    /// Objectives unless `--slo` is given.
    #[serde(default)]
    pub(crate) slo: Vec<String>,
    /// Thresholds by key.
    #[serde(default)]
    thresholds: BTreeMap<String, f64>,
}

impl Settings {
    /// The file given, else `intriage.toml` in the working folder, else nothing.
    pub(crate) fn load(given: Option<&Path>) -> Result<Self, Failure> {
        let usual = PathBuf::from("intriage.toml");
        let path = given.map(Path::to_owned).or_else(|| usual.is_file().then_some(usual));
        let Some(path) = path else { return Ok(Self::default()) };
        let bad = |why: String| Failure::Usage(format!("{}: {why}", path.display()));
        let text = std::fs::read_to_string(&path).map_err(|e| bad(e.to_string()))?;
        toml::from_str(&text).map_err(|e| bad(e.to_string().trim_end().to_owned()))
    }

    /// The thresholds with this file's changes.
    pub(crate) fn thresholds(&self) -> Result<Thresholds, Failure> {
        let mut thresholds = Thresholds::default();
        for (key, value) in &self.thresholds {
            thresholds.set(key, *value).map_err(|e| Failure::Usage(format!("intriage.toml: {e}")))?;
        }
        Ok(thresholds)
    }
}
