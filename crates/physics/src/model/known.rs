//! Shapes built in by name, so that `--model llama-3.1-8b` needs no file.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

use super::{ModelError, ModelShape};

/// Only the fields that matter for size, copied from the published `config.json` of each model.
static TABLE: LazyLock<Vec<Entry>> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../data/models.json")).unwrap_or_default());

#[derive(Deserialize)]
struct Entry {
    name: String,
    aliases: Vec<String>,
    config: Value,
}

/// The shape of a built-in model, by its short name or its name on the hub.
///
/// An owner, letter case and the endings of fine-tunes (`-instruct`, `-chat`, `-it`) do not matter.
pub fn model(name: &str) -> Result<ModelShape, UnknownModel> {
    let wanted = plain(name);
    let found = TABLE
        .iter()
        .find(|entry| entry.name == wanted || entry.aliases.iter().any(|alias| plain(alias) == wanted));
    let entry = found.ok_or_else(|| UnknownModel::Name {
        name: name.chars().take(80).collect(),
        known: crate::suggest::closest_first(&wanted, names()).join(", "),
    })?;
    Ok(ModelShape::from_config_json(&entry.config.to_string())?)
}

/// The configuration of a built-in model as JSON: the fields of its `config.json` that matter for size. `None` where it is
/// not built in.
pub fn config(name: &str) -> Option<String> {
    let wanted = plain(name);
    let is =
        |entry: &&Entry| entry.name == wanted || entry.aliases.iter().any(|alias| plain(alias) == wanted);
    TABLE.iter().find(is).map(|entry| entry.config.to_string())
}

/// The short names of all built-in models.
pub fn names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|entry| entry.name.as_str())
}

fn plain(name: &str) -> String {
    let name = name.trim().trim_end_matches('/');
    let name = name.rsplit('/').next().unwrap_or(name).to_lowercase().replace([' ', '_'], "-");
    let name = name.strip_prefix("meta-").unwrap_or(&name);
    let endings = ["-instruct", "-chat", "-it", "-base", "-hf"];
    endings.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name).to_owned()
}

/// A model that is not built in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownModel {
    /// No model of this name.
    #[error("model `{name}` is not built in; give its config.json, or one of: {known}")]
    Name {
        /// The name as given, shortened.
        name: String,
        /// The built-in names, closest first.
        known: String,
    },
    /// The built-in config does not read; a fault of this program.
    #[error("the built-in config does not read: {0}")]
    BuiltIn(#[from] ModelError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_model_reads_without_guessing_its_family() {
        assert!(names().count() >= 12);
        for name in names() {
            let model = model(name).unwrap();
            assert!(
                !model.notes.iter().any(|note| note.contains("not in the table")),
                "{name}: {:?}",
                model.notes
            );
        }
    }

    #[test]
    fn hub_names_and_fine_tunes_find_their_shape() {
        let plain = model("llama-3.1-8b").unwrap();
        assert_eq!(model("meta-llama/Meta-Llama-3.1-8B-Instruct").unwrap(), plain);
        assert_eq!(model("Llama-3.1-8B").unwrap(), plain);
        assert_eq!(model("deepseek-ai/DeepSeek-R1").unwrap(), model("deepseek-v3").unwrap());
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let error = model("lama-3.1-8b").unwrap_err().to_string();
        assert!(error.contains("one of: llama-3.1-8b, "), "{error}");
    }
}
