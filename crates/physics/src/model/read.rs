//! From the text of a `config.json` to a [`ModelShape`].

use serde_json::Value;

use super::family::{self, Family};
use super::fields::{FEW, Fields, MANY, bad};
use super::format::Format;
use super::layers::Builder;
use super::quant::Quantization;
use super::{ModelError, ModelShape, Module, Split};

const HIDDEN: &[&str] = &["hidden_size", "n_embd", "d_model", "dim"];
const LAYERS: &[&str] = &["num_hidden_layers", "n_layer", "n_layers", "num_layers"];
const VOCAB: &[&str] = &["vocab_size", "padded_vocab_size"];
const POSITIONS: &[&str] = &["max_position_embeddings", "n_positions", "max_sequence_length", "seq_length"];

/// The deepest decoders have some 130 layers.
const MOST_LAYERS: u64 = 1024;
/// A thousand times the largest model there is.
const MOST_PARAMETERS: u64 = 1_000_000_000_000_000;

impl ModelShape {
    /// Reads a Hugging Face `config.json`. Any text is survived.
    pub fn from_config_json(text: &str) -> Result<Self, ModelError> {
        let value: Value =
            serde_json::from_str(text).map_err(|error| ModelError::NotJson(error.to_string()))?;
        let top = value.as_object().map(Fields).ok_or(ModelError::NotAnObject { found: kind_of(&value) })?;
        let mut notes = Vec::new();
        let config = language_part(top, &mut notes);
        if top.flag("is_encoder_decoder") == Some(true) {
            return Err(bad(
                "is_encoder_decoder",
                &Value::Bool(true),
                "a decoder: encoder-decoder models are not modelled",
            ));
        }
        Reader::new(top, config, &mut notes)?.shape(notes)
    }

    /// The same for bytes as they came; bytes that are no UTF-8 are an error, not a panic.
    pub fn from_config_bytes(bytes: &[u8]) -> Result<Self, ModelError> {
        let text = std::str::from_utf8(bytes).map_err(|error| ModelError::NotJson(error.to_string()))?;
        Self::from_config_json(text)
    }
}

/// Multimodal configs keep the decoder in an inner object.
fn language_part<'a>(top: Fields<'a>, notes: &mut Vec<String>) -> Fields<'a> {
    let mut config = top;
    for name in ["thinker_config", "text_config", "llm_config", "language_config"] {
        if let Some(inner) = config.object(name)
            && (name == "thinker_config"
                || LAYERS.iter().chain(HIDDEN).any(|field| inner.get(field).is_some()))
        {
            config = inner;
        }
    }
    let tower = ["vision_config", "audio_config"].into_iter().find(|name| {
        top.object(name)
            .or_else(|| top.object("thinker_config").and_then(|inner| inner.object(name)))
            .is_some()
    });
    if let Some(tower) = tower {
        let tower = tower.trim_end_matches("_config");
        notes.push(format!(
            "only the language part is counted: the {tower} tower and its projector come on top"
        ));
    }
    config
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The fields that every layer needs.
pub(super) struct Reader<'a> {
    pub(super) top: Fields<'a>,
    pub(super) config: Fields<'a>,
    pub(super) model_type: String,
    pub(super) family: Family,
    pub(super) hidden: u64,
    layers: u64,
    vocab: u64,
}

impl<'a> Reader<'a> {
    fn new(top: Fields<'a>, config: Fields<'a>, notes: &mut Vec<String>) -> Result<Self, ModelError> {
        let model_type = config.text("model_type").or_else(|| top.text("model_type")).unwrap_or("unnamed");
        let model_type: String = model_type.chars().take(60).collect();
        let (family, known) = family::of(&model_type);
        if !known {
            notes.push(format!(
                "model_type `{model_type}` is not in the table: read as a plain gated decoder like Llama"
            ));
        }
        let hidden = config.need(HIDDEN, FEW)?;
        let vocab = match config.count(VOCAB, MANY)? {
            Some(vocab) => vocab,
            None => {
                top.count(VOCAB, MANY)?.or(default_vocab(&model_type)).ok_or_else(|| config.missing(VOCAB))?
            }
        };
        let layers = match config.text("hybrid_override_pattern") {
            Some(pattern) => pattern.chars().filter(|c| "M*-E".contains(*c)).count() as u64,
            None => config.need(LAYERS, MOST_LAYERS)?,
        };
        if layers > MOST_LAYERS || layers == 0 {
            return Err(ModelError::Bad {
                field: "hybrid_override_pattern".to_owned(),
                found: format!("{layers} layers"),
                wanted: format!("from 1 to {MOST_LAYERS}"),
            });
        }
        Ok(Self { top, config, model_type, family, hidden, layers, vocab })
    }

    fn shape(self, mut notes: Vec<String>) -> Result<ModelShape, ModelError> {
        let base = self.base_format(&mut notes);
        let mut out = Builder { tensors: Vec::new(), base, widest: 0 };
        let module = Module::Embedding;
        out.linear("model.embed_tokens".to_owned(), module, [self.vocab, self.hidden], Split::Even);
        let max_positions = self.config.count(POSITIONS, MANY)?;
        if matches!(self.model_type.as_str(), "gpt2" | "gpt_bigcode" | "opt") {
            let positions = max_positions.unwrap_or(0);
            out.linear("model.embed_positions".to_owned(), module, [positions, self.hidden], Split::Copied);
        }

        let mut layers = Vec::new();
        for index in 0..self.layers {
            let at = format!("model.layers.{index}");
            let role = self.role(index)?;
            layers.push(self.mixer(role, index, &mut out, &at)?);
            if role.has_perceptron() {
                self.perceptron(role, index, &mut out, &format!("{at}.mlp"))?;
            }
            let norm = self.hidden.saturating_mul(if self.family.biased { 2 } else { 1 });
            out.vector(format!("{at}.norms"), norm.saturating_mul(self.family.norms));
        }

        out.vector(
            "model.norm".to_owned(),
            self.hidden.saturating_mul(if self.family.biased { 2 } else { 1 }),
        );
        let tied = self.config.flag("tie_word_embeddings").or_else(|| self.top.flag("tie_word_embeddings"));
        if !tied.unwrap_or(self.family.tied) {
            out.linear("lm_head".to_owned(), Module::Head, [self.vocab, self.hidden], Split::Even);
        }
        if self.config.get("num_nextn_predict_layers").and_then(Value::as_u64).is_some_and(|n| n > 0) {
            notes.push(
                "the multi-token prediction layer is not counted: it loads only for speculation".to_owned(),
            );
        }

        let quantization = match Quantization::read(self.config, &mut notes)? {
            Some(found) => Some(found),
            None => Quantization::read(self.top, &mut notes)?,
        };
        if let Some(quantization) = &quantization {
            quantization.apply(&mut out.tensors);
        }
        let shape = ModelShape {
            model_type: self.model_type,
            hidden: self.hidden,
            vocab: self.vocab,
            max_positions,
            layers,
            tensors: out.tensors,
            widest_activation: out.widest,
            kv_scheme: quantization.and_then(|found| found.kv),
            notes,
        };
        let parameters = shape.parameters().total();
        if parameters > MOST_PARAMETERS {
            return Err(ModelError::TooLarge { parameters });
        }
        Ok(shape)
    }

    fn base_format(&self, notes: &mut Vec<String>) -> Format {
        let told = |fields: Fields<'a>| fields.text("dtype").or_else(|| fields.text("torch_dtype"));
        match told(self.config).or_else(|| told(self.top)).map(|dtype| dtype.trim_start_matches("torch.")) {
            Some("float16") => Format::FP16,
            Some("float32") => {
                notes.push("a float32 checkpoint, counted as 16 bit because engines load it so".to_owned());
                Format::BF16
            }
            _ => Format::BF16,
        }
    }
}

/// Gemma 3 configs leave out what equals the default of its class.
fn default_vocab(model_type: &str) -> Option<u64> {
    matches!(model_type, "gemma3" | "gemma3_text").then_some(262_208)
}
