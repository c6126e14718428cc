//! What each layer is: configs say it in many ways.

use serde_json::Value;

use super::ModelError;
use super::fields::{FEW, bad};
use super::read::Reader;

/// What stands where in a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
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
    pub(super) fn has_perceptron(self) -> bool {
        !matches!(self, Self::MambaOnly | Self::AttentionOnly)
    }
}

impl Reader<'_> {
    /// What the layer at `index` is, as the config says.
    pub(super) fn role(&self, index: u64) -> Result<Role, ModelError> {
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
            let alone = self.model_type == "nemotron_h";
            return match name {
                "mamba" | "mamba2" if alone => Ok(Role::MambaOnly),
                "attention" if alone => Ok(Role::AttentionOnly),
                "mlp" => Ok(Role::PerceptronOnly),
                "moe" => Ok(Role::ExpertsOnly),
                "full_attention" | "attention" | "global_attention" => Ok(Role::Attention { bounded: false }),
                "sliding_attention" | "chunked_attention" | "local_attention" => {
                    Ok(Role::Attention { bounded: true })
                }
                "linear_attention" => Ok(Role::Delta),
                "mamba" | "mamba2" => Ok(Role::Mamba),
                _ => Err(bad(
                    "layer_types",
                    &Value::String(name.to_owned()),
                    "full_attention, sliding_attention, chunked_attention, linear_attention, attention, mamba, mlp or moe",
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

    /// Whether the layer has experts; the config says it in many ways.
    pub(super) fn sparse(&self, role: Role, index: u64) -> Result<bool, ModelError> {
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
