//! The model's files on the serving machine: small ones as they are, large ones by size and hash.
//!
//! In a recording they lie under `model/`: the files of [`KEPT`] whole, and [`SUMMARY`] with what is too large to keep.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Bytes;

/// Files kept whole, by name.
pub const KEPT: [&str; 4] =
    ["config.json", "generation_config.json", "quantize_config.json", "hf_quant_config.json"];

/// The summary's name under `model/`.
pub const SUMMARY: &str = "model.json";

/// Most bytes of one file kept whole: the largest published `config.json` have about 100 kB.
pub const MAX_TEXT_BYTES: usize = 1 << 20;

/// The files of one model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelFiles {
    /// Texts by name, those of [`KEPT`] that are there.
    pub texts: BTreeMap<String, String>,
    /// What is not kept whole.
    pub summary: ModelSummary,
}

/// What is known of the files that are not kept whole.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ModelSummary {
    /// The model as the server was told it: a folder, a file or a name on a hub.
    pub asked: Option<String>,
    /// The folder that was read.
    pub folder: Option<String>,
    /// The revision: a commit of the hub, where the folder is a snapshot of its cache.
    pub revision: Option<String>,
    /// Files of weights, by name.
    pub weights: Vec<WeightFile>,
    /// SHA-256 in hexadecimal digits, by name of the file.
    pub hashes: BTreeMap<String, String>,
    /// Chat templates; a folder can have several.
    pub templates: Vec<ChatTemplate>,
    /// What was left out, and why.
    pub left_out: Vec<String>,
}

/// One file of weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WeightFile {
    /// Its name.
    pub name: String,
    /// Its size on disk.
    pub size: Bytes,
}

/// One chat template, by its hash: a template can hold a system prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChatTemplate {
    /// Its name, where the folder has several, such as `tool_use`.
    #[serde(default)]
    pub name: Option<String>,
    /// The file it stands in, such as `tokenizer_config.json`.
    pub from: String,
    /// SHA-256 of its text as UTF-8, in hexadecimal digits.
    pub sha256: String,
    /// Its length in bytes.
    pub size: Bytes,
}

impl ModelFiles {
    /// The text of a file that is kept whole.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(String::as_str)
    }
}

/// Whether a name may stand under `model/`.
pub(crate) fn is_name(name: &str) -> bool {
    name == SUMMARY || KEPT.contains(&name)
}

/// Puts a file where it belongs; an error says why it was left out.
pub(crate) fn add(model: &mut Option<ModelFiles>, name: &str, text: String) -> Result<(), String> {
    if name == SUMMARY {
        let summary = serde_json::from_str(&text).map_err(|e| e.to_string())?;
        model.get_or_insert_default().summary = summary;
        return Ok(());
    }
    if text.len() > MAX_TEXT_BYTES {
        return Err("larger than a file of the model may be".into());
    }
    model.get_or_insert_default().texts.insert(name.to_owned(), text);
    Ok(())
}

/// The files under `model/`, the inverse of [`add`].
pub(crate) fn files(model: &ModelFiles) -> Vec<(String, Vec<u8>)> {
    let texts = model.texts.iter().map(|(name, text)| (format!("model/{name}"), text.clone().into_bytes()));
    // A summary is numbers and text: it has a JSON form.
    let summary = serde_json::to_vec_pretty(&model.summary).ok();
    texts.chain(summary.map(|json| (format!("model/{SUMMARY}"), json))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_models_files_come_back_as_they_went() {
        let model = ModelFiles {
            texts: BTreeMap::from([("config.json".into(), r#"{"torch_dtype":"bfloat16"}"#.into())]),
            summary: ModelSummary {
                asked: Some("Qwen/Qwen3-8B".into()),
                revision: Some("9c925d64d72725edaf899c6cb9c377fd0709d9c5".into()),
                weights: vec![WeightFile { name: "model.safetensors".into(), size: Bytes(1.5e10) }],
                hashes: BTreeMap::from([("tokenizer.json".into(), "ab".repeat(32))]),
                templates: vec![ChatTemplate {
                    name: None,
                    from: "tokenizer_config.json".into(),
                    sha256: "cd".repeat(32),
                    size: Bytes(4117.0),
                }],
                ..ModelSummary::default()
            },
        };
        let mut again = None;
        for (path, bytes) in files(&model) {
            let name = path.strip_prefix("model/").unwrap();
            assert!(is_name(name));
            add(&mut again, name, String::from_utf8(bytes).unwrap()).unwrap();
        }
        assert_eq!(again, Some(model));
    }

    #[test]
    fn weights_and_tokenizers_are_never_kept() {
        for name in ["model.safetensors", "tokenizer.json", "tokenizer_config.json", "../config.json", ""] {
            assert!(!is_name(name), "{name}");
        }
        assert!(add(&mut None, "config.json", "x".repeat(MAX_TEXT_BYTES + 1)).is_err());
        assert!(add(&mut None, SUMMARY, "not json".into()).is_err());
    }
}
