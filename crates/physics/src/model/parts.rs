//! From the fields of a config to the parts of one layer.

use serde_json::Value;

use super::fields::{FEW, MANY};
use super::layers::{
    Attention, Bias, Builder, DeltaNet, Latent, Mamba, MambaKind, Mixture, Perceptron, QkNorm,
};
use super::read::Reader;
use super::roles::Role;
use super::{Layer, ModelError};

const HEADS: &[&str] = &["num_attention_heads", "n_head", "n_heads"];
const KV_HEADS: &[&str] = &["num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num"];
const HEAD_DIM: &[&str] = &["head_dim", "attention_head_dim", "kv_channels"];
const INNER: &[&str] = &["intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size"];
const EXPERTS: &[&str] = &["n_routed_experts", "num_local_experts", "num_experts", "moe_num_experts"];
const USED: &[&str] = &["num_experts_per_tok", "experts_per_token", "moe_k", "moe_topk"];
const EXPERT_INNER: &[&str] = &["moe_intermediate_size", "expert_dim"];

impl Reader<'_> {
    pub(super) fn mixer(
        &self,
        role: Role,
        index: u64,
        out: &mut Builder,
        at: &str,
    ) -> Result<Layer, ModelError> {
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
        let Some(heads) = config.count(HEADS, FEW)?.or(defaults.map(|(heads, ..)| heads)) else {
            return Err(config.missing(HEADS));
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
        let window = config.count_or_zero(&["sliding_window", "attention_chunk_size"], MANY)?;
        let bias = match config.flag("attention_bias").or_else(|| config.flag("qkv_bias")) {
            Some(true) => self.family.bias_when_told,
            Some(false) => Bias::None,
            None => match config.flag("use_bias").or_else(|| config.flag("bias")) {
                Some(true) => Bias::All,
                Some(false) => Bias::None,
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
            window: window.filter(|&window| bounded && window > 0),
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

    pub(super) fn perceptron(
        &self,
        role: Role,
        index: u64,
        out: &mut Builder,
        at: &str,
    ) -> Result<(), ModelError> {
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
}

/// Gemma 3 configs leave out what equals the default of its class.
fn default_heads(model_type: &str) -> Option<(u64, u64, u64)> {
    matches!(model_type, "gemma3" | "gemma3_text").then_some((8, 4, 256))
}
