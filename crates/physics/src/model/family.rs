//! What a config leaves unsaid, by `model_type`.

use super::layers::{Bias, QkNorm};

/// Conventions of one family of decoders.
#[derive(Debug, Clone, Copy)]
pub(super) struct Family {
    /// Perceptrons have a gate.
    pub(super) gated: bool,
    /// Projections of attention that have a bias when the config does not say.
    pub(super) bias: Bias,
    /// What `attention_bias: true` means.
    pub(super) bias_when_told: Bias,
    pub(super) qk_norm: QkNorm,
    /// Norms in one layer.
    pub(super) norms: u64,
    /// Norms have a bias too, and so have the perceptrons.
    pub(super) biased: bool,
    /// Embedding and head are one when the config does not say.
    pub(super) tied: bool,
    /// Every n-th layer looks at everything, the others through the window; 1: all through it.
    pub(super) window_every: u64,
}

const LLAMA: Family = Family {
    gated: true,
    bias: Bias::None,
    bias_when_told: Bias::All,
    qk_norm: QkNorm::None,
    norms: 2,
    biased: false,
    tied: false,
    window_every: 1,
};
const GPT: Family = Family { gated: false, bias: Bias::All, biased: true, tied: true, ..LLAMA };
const GEMMA: Family = Family { tied: true, ..LLAMA };

/// `model_type` as configs spell it. What is not here is read as a Llama and says so.
const FAMILIES: &[(&str, Family)] = &[
    ("llama", LLAMA),
    ("llama4", LLAMA),
    ("llama4_text", LLAMA),
    ("mistral", LLAMA),
    ("ministral", LLAMA),
    ("mixtral", LLAMA),
    ("phi3", LLAMA),
    ("smollm3", LLAMA),
    ("granite", LLAMA),
    ("granitemoe", LLAMA),
    ("granitemoeshared", LLAMA),
    ("granitemoehybrid", LLAMA),
    ("deepseek_v2", LLAMA),
    ("deepseek_v3", LLAMA),
    ("kimi_k2", LLAMA),
    ("jamba", LLAMA),
    ("bamba", LLAMA),
    ("mamba", Family { norms: 1, tied: true, ..LLAMA }),
    ("falcon_mamba", Family { norms: 1, ..LLAMA }),
    ("mamba2", Family { norms: 1, tied: true, ..LLAMA }),
    ("nemotron_h", Family { gated: false, norms: 1, ..LLAMA }),
    ("internlm3", LLAMA),
    ("qwen2", Family { bias: Bias::Qkv, bias_when_told: Bias::Qkv, ..LLAMA }),
    ("qwen2_moe", Family { bias: Bias::Qkv, bias_when_told: Bias::Qkv, ..LLAMA }),
    ("qwen2_vl", Family { bias: Bias::Qkv, bias_when_told: Bias::Qkv, ..LLAMA }),
    ("qwen2_5_vl", Family { bias: Bias::Qkv, bias_when_told: Bias::Qkv, ..LLAMA }),
    ("qwen2_5_vl_text", Family { bias: Bias::Qkv, bias_when_told: Bias::Qkv, ..LLAMA }),
    ("qwen3", Family { qk_norm: QkNorm::Head, ..LLAMA }),
    ("qwen3_moe", Family { qk_norm: QkNorm::Head, ..LLAMA }),
    ("qwen3_vl_text", Family { qk_norm: QkNorm::Head, ..LLAMA }),
    ("qwen3_vl_moe_text", Family { qk_norm: QkNorm::Head, ..LLAMA }),
    ("qwen3_next", Family { qk_norm: QkNorm::Head, ..LLAMA }),
    ("qwen3_5_text", Family { qk_norm: QkNorm::Head, ..LLAMA }),
    ("qwen3_5_moe_text", Family { qk_norm: QkNorm::Head, ..LLAMA }),
    ("gemma", GEMMA),
    ("gemma2", Family { norms: 4, window_every: 2, ..GEMMA }),
    ("gemma3", Family { norms: 4, window_every: 6, qk_norm: QkNorm::Head, ..GEMMA }),
    ("gemma3_text", Family { norms: 4, window_every: 6, qk_norm: QkNorm::Head, ..GEMMA }),
    ("cohere", Family { norms: 1, ..GEMMA }),
    ("cohere2", Family { norms: 1, window_every: 4, ..GEMMA }),
    ("olmo2", Family { qk_norm: QkNorm::Full, ..LLAMA }),
    ("olmoe", Family { qk_norm: QkNorm::Full, ..LLAMA }),
    ("glm4", Family { norms: 4, bias_when_told: Bias::Qkv, ..LLAMA }),
    ("glm4_moe", Family { bias_when_told: Bias::Qkv, ..LLAMA }),
    ("gpt_oss", Family { bias: Bias::All, window_every: 2, ..LLAMA }),
    ("starcoder2", GPT),
    ("gpt2", GPT),
    ("gpt_bigcode", GPT),
    ("gpt_neox", Family { tied: false, ..GPT }),
    ("phi", Family { norms: 1, tied: false, ..GPT }),
    ("opt", GPT),
    ("falcon", Family { bias: Bias::None, norms: 1, ..GPT }),
];

/// The conventions of a `model_type`, and whether it is in the table.
pub(super) fn of(model_type: &str) -> (Family, bool) {
    FAMILIES
        .iter()
        .find(|(name, _)| *name == model_type)
        .map_or((LLAMA, false), |(_, family)| (*family, true))
}
