//! From the text of a `config.json` to a [`ModelShape`].

use serde_json::Value;

use super::family::{self, Family};
use super::fields::{FEW, Fields, MANY, bad};
use super::format::Format;
use super::layers::{
    Attention, Bias, Builder, DeltaNet, Latent, Mamba, MambaKind, Mixture, Perceptron, QkNorm,
};
use super::quant::Quantization;
use super::{Layer, ModelError, ModelShape, Module, Split};

const HIDDEN: &[&str] = &["hidden_size", "n_embd", "d_model", "dim"];
const LAYERS: &[&str] = &["num_hidden_layers", "n_layer", "n_layers", "num_layers"];
const HEADS: &[&str] = &["num_attention_heads", "n_head", "n_heads"];
const KV_HEADS: &[&str] = &["num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num"];
const HEAD_DIM: &[&str] = &["head_dim", "attention_head_dim", "kv_channels"];
const INNER: &[&str] = &["intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size"];
const VOCAB: &[&str] = &["vocab_size", "padded_vocab_size"];
const POSITIONS: &[&str] = &["max_position_embeddings", "n_positions", "max_sequence_length", "seq_length"];
const EXPERTS: &[&str] = &["n_routed_experts", "num_local_experts", "num_experts", "moe_num_experts"];
const USED: &[&str] = &["num_experts_per_tok", "experts_per_token", "moe_k", "moe_topk"];
const EXPERT_INNER: &[&str] = &["moe_intermediate_size", "expert_dim"];

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
struct Reader<'a> {
    top: Fields<'a>,
    config: Fields<'a>,
    model_type: String,
    family: Family,
    hidden: u64,
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

    /// What the layer at `index` is, as the config says.
    fn role(&self, index: u64) -> Result<Role, ModelError> {
        let config = self.config;
        let nth = usize::try_from(index).unwrap_or(usize::MAX);
        if let Some(pattern) = config.text("hybrid_override_pattern") {
            return Ok(match pattern.chars().filter(|c| "M*-E".contains(*c)).nth(nth) {
                Some('M') => Role::MambaOnly,
                Some('-') => Role::PerceptronOnly,
                Some('E') => Role::ExpertsOnly,
                _ => Role::AttentionOnly,
            });
        }
        if matches!(self.model_type.as_str(), "mamba" | "mamba2" | "falcon_mamba") {
            return Ok(Role::MambaOnly);
        }
        let types = config.texts("layer_types").or_else(|| config.texts("layers_block_type"));
        if let Some(name) = types.and_then(|types| types.get(nth).copied()) {
            return match name {
                "full_attention" | "attention" | "global_attention" => Ok(Role::Attention { bounded: false }),
                "sliding_attention" | "chunked_attention" | "local_attention" => {
                    Ok(Role::Attention { bounded: true })
                }
                "linear_attention" => Ok(Role::Delta),
                "mamba" | "mamba2" => Ok(Role::Mamba),
                _ => Err(bad(
                    "layer_types",
                    &Value::String(name.to_owned()),
                    "full_attention, sliding_attention, chunked_attention, linear_attention, attention or mamba",
                )),
            };
        }
        if let Some(period) = config.count(&["attn_layer_period"], FEW)? {
            let offset = config.count_or_zero(&["attn_layer_offset"], FEW)?.unwrap_or(0);
            let attends = index % period == offset % period;
            return Ok(if attends { Role::Attention { bounded: false } } else { Role::Mamba });
        }
        if let Some(attending) = config.get("attn_layer_indices").and_then(Value::as_array) {
            let attends = attending.iter().any(|layer| layer.as_u64() == Some(index));
            return Ok(if attends { Role::Attention { bounded: false } } else { Role::Mamba });
        }
        if config.get("linear_num_value_heads").is_some() {
            let every = config.count(&["full_attention_interval"], FEW)?.unwrap_or(4);
            return Ok(if (index + 1).is_multiple_of(every) {
                Role::Attention { bounded: false }
            } else {
                Role::Delta
            });
        }
        let every = config.count(&["sliding_window_pattern"], FEW)?.unwrap_or(self.family.window_every);
        let bounded = if self.model_type.starts_with("qwen") {
            // Qwen writes a window that it does not use unless told.
            let from = config.count_or_zero(&["max_window_layers"], FEW)?.unwrap_or(0);
            config.flag("use_sliding_window") == Some(true) && index >= from
        } else if self.model_type.starts_with("llama4") {
            // Three of four layers look back one chunk.
            !(index + 1).is_multiple_of(4)
        } else {
            every == 1 || !(index + 1).is_multiple_of(every)
        };
        Ok(Role::Attention { bounded })
    }

    fn mixer(&self, role: Role, index: u64, out: &mut Builder, at: &str) -> Result<Layer, ModelError> {
        match role {
            Role::PerceptronOnly | Role::ExpertsOnly => Ok(Layer::Nothing),
            Role::Mamba | Role::MambaOnly => Ok(self.mamba()?.build(out, &format!("{at}.mixer"))),
            Role::Delta => Ok(self.delta_net()?.build(out, &format!("{at}.linear_attn"))),
            Role::AttentionOnly => Ok(self.attention(false, index)?.build(out, &format!("{at}.self_attn"))),
            Role::Attention { bounded } => match self.latent()? {
                Some(latent) => Ok(latent.build(out, &format!("{at}.self_attn"))),
                None => Ok(self.attention(bounded, index)?.build(out, &format!("{at}.self_attn"))),
            },
        }
    }

    fn attention(&self, bounded: bool, index: u64) -> Result<Attention, ModelError> {
        let config = self.config;
        let defaults = default_heads(&self.model_type);
        let heads = match config.count(HEADS, FEW)?.or(defaults.map(|(heads, ..)| heads)) {
            Some(heads) => heads,
            None => return Err(config.missing(HEADS)),
        };
        let one_kv =
            config.flag("multi_query") == Some(true) && config.flag("new_decoder_architecture") != Some(true);
        let kv_heads = match config.count(KV_HEADS, FEW)? {
            // Falcon writes its query heads here and shares one head all the same.
            Some(_) | None if one_kv => 1,
            Some(kv_heads) => kv_heads,
            None => defaults.map_or(heads, |(_, kv_heads, _)| kv_heads),
        };
        if kv_heads > heads {
            return Err(ModelError::Bad {
                field: "num_key_value_heads".to_owned(),
                found: kv_heads.to_string(),
                wanted: format!("at most num_attention_heads ({heads})"),
            });
        }
        let head_dim = match config.count(HEAD_DIM, FEW)?.or(defaults.map(|(.., dim)| dim)) {
            Some(dim) => dim,
            None if self.hidden.is_multiple_of(heads) => self.hidden / heads,
            None => return Err(ModelError::NotDivisible { hidden: self.hidden, heads }),
        };
        let window = config.count(&["sliding_window", "attention_chunk_size"], MANY)?;
        let bias = match config.flag("attention_bias").or_else(|| config.flag("qkv_bias")) {
            Some(true) => self.family.bias_when_told,
            Some(false) => Bias::None,
            None => match config.flag("use_bias").or_else(|| config.flag("bias")) {
                Some(told) => {
                    if told {
                        Bias::All
                    } else {
                        Bias::None
                    }
                }
                None => self.family.bias,
            },
        };
        let qk_norm = match config.flag("use_qk_norm") {
            Some(true) if !self.model_type.starts_with("llama4") => QkNorm::Head,
            Some(_) => QkNorm::None,
            None => self.family.qk_norm,
        };
        // Configs that list each layer's use of rotary positions mark global layers with 0.
        let global = config
            .get("no_rope_layers")
            .and_then(Value::as_array)
            .and_then(|list| list.get(usize::try_from(index).unwrap_or(usize::MAX)))
            .and_then(Value::as_u64)
            .map(|rope| rope == 0);
        let bounded = if self.model_type.starts_with("llama4") {
            global.map_or(bounded, |global| !global)
        } else {
            bounded
        };
        Ok(Attention {
            hidden: self.hidden,
            heads,
            kv_heads,
            head_dim,
            bias,
            qk_norm,
            output_gate: config.flag("attn_output_gate").unwrap_or(self.model_type == "qwen3_next"),
            sinks: self.model_type == "gpt_oss",
            window: window.filter(|_| bounded),
        })
    }

    fn latent(&self) -> Result<Option<Latent>, ModelError> {
        let config = self.config;
        let Some(kv_rank) = config.count(&["kv_lora_rank"], FEW)? else { return Ok(None) };
        Ok(Some(Latent {
            hidden: self.hidden,
            heads: config.need(HEADS, FEW)?,
            q_rank: config.count(&["q_lora_rank"], FEW)?,
            kv_rank,
            nope_dim: config.need(&["qk_nope_head_dim"], FEW)?,
            rope_dim: config.need(&["qk_rope_head_dim"], FEW)?,
            value_dim: config.need(&["v_head_dim"], FEW)?,
        }))
    }

    fn delta_net(&self) -> Result<DeltaNet, ModelError> {
        let config = self.config;
        Ok(DeltaNet {
            hidden: self.hidden,
            key_heads: config.need(&["linear_num_key_heads"], FEW)?,
            value_heads: config.need(&["linear_num_value_heads"], FEW)?,
            key_dim: config.need(&["linear_key_head_dim"], FEW)?,
            value_dim: config.need(&["linear_value_head_dim"], FEW)?,
            kernel: config.count(&["linear_conv_kernel_dim"], FEW)?.unwrap_or(4),
        })
    }

    fn mamba(&self) -> Result<Mamba, ModelError> {
        let config = self.config;
        let state = config.need(&["mamba_d_state", "ssm_state_size", "state_size"], FEW)?;
        let kernel = config.count(&["mamba_d_conv", "conv_kernel"], FEW)?.unwrap_or(4);
        let expand = config.count(&["mamba_expand", "expand"], 64)?.unwrap_or(2);
        let inner = self.hidden.saturating_mul(expand);
        let heads = config.count(&["mamba_n_heads", "mamba_num_heads"], FEW)?;
        let heads =
            if self.model_type == "mamba2" { heads.or(config.count(&["num_heads"], FEW)?) } else { heads };
        let Some(heads) = heads else {
            let step_rank =
                config.get("mamba_dt_rank").or_else(|| config.get("time_step_rank")).and_then(Value::as_u64);
            let step_rank = step_rank.unwrap_or_else(|| self.hidden.div_ceil(16)).min(FEW);
            let kind = MambaKind::First { step_rank, norms: self.model_type == "jamba" };
            return Ok(Mamba { hidden: self.hidden, inner, state, kernel, kind });
        };
        let dim = config.count(&["mamba_d_head", "mamba_head_dim"], FEW)?;
        let groups = config.count(&["mamba_n_groups", "n_groups"], FEW)?.unwrap_or(1);
        let inner = dim.map_or(inner, |dim| heads.saturating_mul(dim));
        Ok(Mamba { hidden: self.hidden, inner, state, kernel, kind: MambaKind::Second { heads, groups } })
    }

    fn perceptron(&self, role: Role, index: u64, out: &mut Builder, at: &str) -> Result<(), ModelError> {
        let config = self.config;
        let experts = config.count_or_zero(EXPERTS, FEW)?.unwrap_or(0);
        let biased = self.family.biased || config.flag("mlp_bias") == Some(true);
        let bias = biased && config.flag("use_bias").or_else(|| config.flag("bias")) != Some(false);
        let dense = |inner| Perceptron { hidden: self.hidden, inner, gated: self.family.gated, bias };
        if experts == 0 || !self.sparse(role, index)? {
            let inner = match config.count(&["intermediate_size_mlp"], MANY)? {
                Some(inner) => inner,
                None => {
                    match config.count(INNER, MANY)?.or(config.count(&["shared_intermediate_size"], MANY)?) {
                        Some(inner) => inner,
                        None if self.family.biased => self.hidden.saturating_mul(4),
                        None => return Err(config.missing(INNER)),
                    }
                }
            };
            dense(inner).dense(out, at);
            return Ok(());
        }
        let inner = match config.count(EXPERT_INNER, MANY)? {
            Some(inner) => inner,
            None => config.need(INNER, MANY)?,
        };
        let used = config.need(USED, FEW)?;
        if used > experts {
            return Err(ModelError::Bad {
                field: "num_experts_per_tok".to_owned(),
                found: used.to_string(),
                wanted: format!("at most the number of experts ({experts})"),
            });
        }
        let shared = config.count_or_zero(&["n_shared_experts", "num_shared_experts"], FEW)?;
        let shared_inner = match config.count_or_zero(
            &[
                "shared_expert_intermediate_size",
                "shared_intermediate_size",
                "moe_shared_expert_intermediate_size",
            ],
            MANY,
        )? {
            Some(inner) => inner.saturating_mul(shared.unwrap_or(1).max(1)),
            None if self.model_type.starts_with("llama4") => inner,
            None => inner.saturating_mul(shared.unwrap_or(0)),
        };
        let gpt_oss = self.model_type == "gpt_oss";
        Mixture {
            expert: Perceptron { bias: gpt_oss, ..dense(inner) },
            experts,
            used,
            shared_inner,
            shared_gate: shared_inner > 0 && self.model_type.starts_with("qwen"),
            router_bias: gpt_oss
                || config.text("topk_method") == Some("noaux_tc")
                || self.model_type == "glm4_moe",
        }
        .build(out, at);
        Ok(())
    }

    /// Whether the layer has experts; the config says it in many ways.
    fn sparse(&self, role: Role, index: u64) -> Result<bool, ModelError> {
        let config = self.config;
        match role {
            Role::ExpertsOnly => return Ok(true),
            Role::PerceptronOnly => return Ok(false),
            _ => {}
        }
        let list = |name| config.get(name).and_then(Value::as_array);
        let names = |list: &Vec<Value>| list.iter().any(|layer| layer.as_u64() == Some(index));
        if list("mlp_only_layers").is_some_and(names) {
            return Ok(false);
        }
        if let Some(layers) = list("moe_layers") {
            return Ok(names(layers));
        }
        let first =
            config.count_or_zero(&["first_k_dense_replace", "moe_layer_start_index"], FEW)?.unwrap_or(0);
        if index < first {
            return Ok(false);
        }
        if let Some(period) = config.count(&["expert_layer_period"], FEW)? {
            let offset = config.count_or_zero(&["expert_layer_offset"], FEW)?.unwrap_or(0);
            return Ok(index % period == offset % period);
        }
        let step = config.count(&["decoder_sparse_step", "interleave_moe_layer_step"], FEW)?.unwrap_or(1);
        Ok((index + 1).is_multiple_of(step))
    }
}

/// What stands where in a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Attention {
        bounded: bool,
    },
    Delta,
    Mamba,
    /// Nemotron-H and pure Mamba: one thing a layer.
    MambaOnly,
    AttentionOnly,
    PerceptronOnly,
    ExpertsOnly,
}

impl Role {
    fn has_perceptron(self) -> bool {
        !matches!(self, Self::MambaOnly | Self::AttentionOnly)
    }
}

/// Gemma 3 configs leave out what equals the default of its class.
fn default_heads(model_type: &str) -> Option<(u64, u64, u64)> {
    matches!(model_type, "gemma3" | "gemma3_text").then_some((8, 4, 256))
}

fn default_vocab(model_type: &str) -> Option<u64> {
    matches!(model_type, "gemma3" | "gemma3_text").then_some(262_208)
}
