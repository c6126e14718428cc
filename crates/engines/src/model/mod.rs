//! The model's files, read into what matters for serving: what it is, how it is stored, how it is asked and sampled.

mod generation;
mod quantization;
mod weights;

use std::collections::BTreeMap;

use intriage_case::Bytes;
use intriage_case::model::{ChatTemplate, ModelFiles};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use weights::{MOST_HEAD, NoHead, WeightsHead, gguf_head, safetensors_head};

/// What a model's files tell.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Model {
    /// The model as the server was told it, or the folder it lies in.
    pub name: Option<String>,
    /// The first architecture, such as `LlamaForCausalLM`.
    pub architecture: Option<String>,
    /// How weights are stored where they are not quantized, such as `bfloat16`.
    pub dtype: Option<String>,
    /// How weights are quantized, such as `gptq, 4 bits`; null where they are not.
    pub quantization: Option<String>,
    /// Whether a configuration was read, so that no quantization means none.
    pub configured: bool,
    /// Longest sequence the model was made for, in tokens.
    pub context: Option<u64>,
    /// The revision on the hub.
    pub revision: Option<String>,
    /// Files of weights.
    pub weight_files: u32,
    /// Their size together.
    pub weight_bytes: Option<Bytes>,
    /// SHA-256 of the tokenizer and its configuration, by name of the file.
    pub hashes: BTreeMap<String, String>,
    /// Chat templates by hash.
    pub templates: Vec<ChatTemplate>,
    /// Sampling and stopping as the model's makers set them, by name, as JSON.
    pub generation: BTreeMap<String, String>,
    /// What could not be read.
    pub notes: Vec<String>,
    /// `config.json` as it is, for those who compute with it.
    #[serde(skip)]
    pub config: Option<String>,
}

/// Reads a model's files; what is damaged becomes a note.
pub fn read_model(files: &ModelFiles) -> Model {
    let mut notes = Vec::new();
    let mut object = |name: &str| -> Option<Map<String, Value>> {
        match serde_json::from_str(files.text(name)?) {
            Ok(Value::Object(map)) => Some(map),
            Ok(_) => {
                notes.push(format!("model/{name} holds no object"));
                None
            }
            Err(why) => {
                notes.push(format!("model/{name} is not JSON: {why}"));
                None
            }
        }
    };
    let config = object("config.json");
    let quantization = quantization::read(
        config.as_ref(),
        object("quantize_config.json").as_ref(),
        object("hf_quant_config.json").as_ref(),
    );
    let generation = object("generation_config.json").map(|map| generation::read(&map)).unwrap_or_default();
    let summary = &files.summary;
    let sizes = summary.weights.iter().map(|file| file.size.get());
    Model {
        name: summary.asked.clone().or_else(|| summary.folder.clone()),
        architecture: config.as_ref().and_then(architecture),
        dtype: config.as_ref().and_then(|c| text(c, &["dtype", "torch_dtype"])),
        quantization,
        configured: config.is_some(),
        context: config
            .as_ref()
            .and_then(|c| number(c, &["max_position_embeddings", "n_positions", "max_seq_len"])),
        revision: summary.revision.clone(),
        weight_files: u32::try_from(summary.weights.len()).unwrap_or(u32::MAX),
        weight_bytes: (!summary.weights.is_empty()).then(|| Bytes(sizes.sum())),
        hashes: summary.hashes.clone(),
        templates: summary.templates.clone(),
        generation,
        config: config.and(files.text("config.json")).map(str::to_owned),
        notes,
    }
}

impl Model {
    /// The model in a line: what it is, how it is stored, and by what its template can be told from another.
    pub fn line(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        parts.extend(self.name.iter().chain(&self.architecture).cloned());
        parts.extend(self.dtype.clone());
        parts.extend(match &self.quantization {
            Some(how) => Some(format!("quantization {how}")),
            None => self.configured.then(|| "quantization none".to_owned()),
        });
        parts.extend(
            self.weight_bytes.map(|size| format!("{size} of weights in {} files", self.weight_files)),
        );
        parts.extend(self.revision.as_ref().map(|r| format!("revision {}", short(r))));
        parts.extend(self.templates.first().map(|t| format!("template sha256 {}", short(&t.sha256))));
        parts.join(", ")
    }
}

/// Enough of a hash to tell two apart.
fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

fn architecture(config: &Map<String, Value>) -> Option<String> {
    let listed = config.get("architectures").and_then(Value::as_array).and_then(|a| a.first());
    listed.and_then(Value::as_str).map(str::to_owned).or_else(|| text(config, &["model_type"]))
}

/// The first of these fields, here or in the language part of a multimodal model.
fn field<'a>(config: &'a Map<String, Value>, names: &[&str]) -> Option<&'a Value> {
    let inner = ["text_config", "llm_config", "language_config"].into_iter();
    let inner = inner.filter_map(|name| config.get(name)?.as_object());
    std::iter::once(config)
        .chain(inner)
        .find_map(|map| names.iter().find_map(|name| map.get(*name).filter(|value| !value.is_null())))
}

fn text(config: &Map<String, Value>, names: &[&str]) -> Option<String> {
    field(config, names)?.as_str().map(|text| text.strip_prefix("torch.").unwrap_or(text).to_owned())
}

fn number(config: &Map<String, Value>, names: &[&str]) -> Option<u64> {
    field(config, names)?.as_u64()
}

#[cfg(test)]
mod tests;
