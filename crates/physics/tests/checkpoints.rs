//! Counts against what the checkpoints themselves state.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use intriage_physics::{KvDtype, ModelShape, known};

/// What is published of one checkpoint.
struct Published {
    name: &'static str,
    /// All parameters.
    parameters: Option<u64>,
    /// `metadata.total_size` of `model.safetensors.index.json`, in bytes.
    total_size: Option<u64>,
    /// KV bytes a token in 16 bit, from the shape on the model card.
    kv: u64,
    /// Allowed relative difference, and why it is not nothing.
    within: f64,
}

const EXACT: f64 = 0.0;

/// Each figure was found quoted in at least one public repository as what the comment names;
/// `safetensors.total` is the hub's own count.
const PUBLISHED: &[Published] = &[
    // index.json of meta-llama/Llama-3.1-8B
    Published {
        name: "llama-3.1-8b",
        parameters: None,
        total_size: Some(16_060_522_496),
        kv: 131_072,
        within: EXACT,
    },
    // index.json of Llama-3.x-70B-Instruct
    Published {
        name: "llama-3.3-70b",
        parameters: None,
        total_size: Some(141_107_412_992),
        kv: 327_680,
        within: EXACT,
    },
    // bf16 size stated for meta-llama/Llama-3.1-405B
    Published {
        name: "llama-3.1-405b",
        parameters: None,
        total_size: Some(811_706_777_600),
        kv: 516_096,
        within: EXACT,
    },
    // index.json of Qwen/Qwen2.5-7B-Instruct
    Published {
        name: "qwen2.5-7b",
        parameters: Some(7_615_616_512),
        total_size: Some(15_231_233_024),
        kv: 57_344,
        within: EXACT,
    },
    // index.json of Qwen/Qwen2.5-32B
    Published {
        name: "qwen2.5-32b",
        parameters: None,
        total_size: Some(65_527_752_704),
        kv: 262_144,
        within: EXACT,
    },
    // index.json of Qwen/Qwen3-8B
    Published {
        name: "qwen3-8b",
        parameters: None,
        total_size: Some(16_381_470_720),
        kv: 147_456,
        within: EXACT,
    },
    // index.json of Qwen/Qwen3-32B
    Published {
        name: "qwen3-32b",
        parameters: None,
        total_size: Some(65_524_246_528),
        kv: 262_144,
        within: EXACT,
    },
    // index.json of Qwen/Qwen3-30B-A3B
    Published {
        name: "qwen3-30b-a3b",
        parameters: None,
        total_size: Some(61_064_245_248),
        kv: 98_304,
        within: EXACT,
    },
    // index.json of Qwen/Qwen3-235B-A22B
    Published {
        name: "qwen3-235b-a22b",
        parameters: Some(235_093_634_560),
        total_size: Some(470_187_269_120),
        kv: 192_512,
        within: EXACT,
    },
    // safetensors.total of Qwen/Qwen3-Coder-Next, the same shape without the prediction layer
    Published {
        name: "qwen3-next-80b-a3b",
        parameters: Some(79_674_391_296),
        total_size: None,
        kv: 24_576,
        within: EXACT,
    },
    // index.json of mistralai/Mistral-7B-Instruct-v0.2, the same tensors as v0.1
    Published {
        name: "mistral-7b",
        parameters: None,
        total_size: Some(14_483_464_192),
        kv: 131_072,
        within: EXACT,
    },
    // index.json of mistralai/Mixtral-8x7B-v0.1
    Published {
        name: "mixtral-8x7b",
        parameters: None,
        total_size: Some(93_405_585_408),
        kv: 131_072,
        within: EXACT,
    },
    // safetensors.total of google/gemma-2-9b-it
    Published {
        name: "gemma-2-9b",
        parameters: Some(9_241_705_984),
        total_size: Some(18_483_411_968),
        kv: 344_064,
        within: EXACT,
    },
    // index.json of google/gemma-3-27b-it: 1.5 % more, the vision tower and its projector
    Published {
        name: "gemma-3-27b",
        parameters: None,
        total_size: Some(54_864_813_280),
        kv: 507_904,
        within: 0.016,
    },
    // index.json of microsoft/phi-4
    Published {
        name: "phi-4",
        parameters: None,
        total_size: Some(29_319_014_400),
        kv: 204_800,
        within: EXACT,
    },
    // safetensors.total of HuggingFaceTB/SmolLM2-135M
    Published {
        name: "smollm2-135m",
        parameters: Some(134_515_008),
        total_size: Some(269_030_016),
        kv: 23_040,
        within: EXACT,
    },
    // index.json of deepseek-ai/DeepSeek-V2-Lite
    Published {
        name: "deepseek-v2-lite",
        parameters: Some(15_706_484_224),
        total_size: Some(31_412_968_448),
        kv: 31_104,
        within: EXACT,
    },
    // files of deepseek-ai/DeepSeek-V3: 2.3 % more, the multi-token prediction layer with its copies
    // of embedding and head
    Published {
        name: "deepseek-v3",
        parameters: None,
        total_size: Some(688_586_727_753),
        kv: 70_272,
        within: 0.023,
    },
    // tensor headers of moonshotai/Kimi-K2-Instruct; routing biases are 32 bit there
    Published {
        name: "kimi-k2",
        parameters: Some(1_026_408_232_448),
        total_size: Some(1_029_173_256_720),
        kv: 70_272,
        within: 1e-7,
    },
    // index.json of openai/gpt-oss-20b
    Published {
        name: "gpt-oss-20b",
        parameters: None,
        total_size: Some(13_761_264_768),
        kv: 49_152,
        within: EXACT,
    },
    // tensor headers of openai/gpt-oss-120b
    Published {
        name: "gpt-oss-120b",
        parameters: None,
        total_size: Some(65_248_815_744),
        kv: 73_728,
        within: EXACT,
    },
];

fn close(got: f64, want: f64, within: f64) -> bool {
    (got / want - 1.0).abs() <= within
}

#[test]
fn counted_is_what_is_published() {
    for published in PUBLISHED {
        let model = known::model(published.name).unwrap();
        if let Some(parameters) = published.parameters {
            let counted = model.parameters().total();
            assert!(
                close(counted as f64, parameters as f64, published.within),
                "{}: {counted}",
                published.name
            );
        }
        if let Some(size) = published.total_size {
            let counted = model.weight_bytes().get();
            assert!(close(counted, size as f64, published.within), "{}: {counted}", published.name);
        }
        assert_eq!(model.kv_bytes_per_token(KvDtype::Bf16).get(), published.kv as f64, "{}", published.name);
    }
}

/// Billions of active parameters as the model cards give them: without the embedding, which is
/// looked up and not multiplied (Qwen counts it).
#[test]
fn active_parameters_are_those_of_the_cards() {
    for (name, billions, with_embedding) in [
        ("deepseek-v3", 36.6, false),
        ("gpt-oss-20b", 3.61, false),
        ("gpt-oss-120b", 5.13, false),
        ("mixtral-8x7b", 12.9, true),
        ("qwen3-30b-a3b", 3.35, true),
        ("qwen3-235b-a22b", 22.19, true),
        ("kimi-k2", 32.0, false),
    ] {
        let parameters = known::model(name).unwrap().parameters();
        let active = parameters.active() - if with_embedding { 0 } else { parameters.embedding };
        assert!(close(active as f64 / 1e9, billions, 0.015), "{name}: {active}");
    }
    // Jamba's card rounds: 52 billion, 12 of them active.
    let jamba = known::model("jamba-v0.1").unwrap().parameters();
    assert!(close(jamba.total() as f64, 52e9, 0.01) && close(jamba.active() as f64, 12e9, 0.01), "{jamba:?}");
}

#[test]
fn a_granite_hybrid_of_attention_alone() {
    // ibm-granite/granite-4.0-micro: 3,402,836,480 parameters (safetensors.total).
    let types = vec!["\"attention\""; 40].join(",");
    let config = format!(
        r#"{{"model_type": "granitemoehybrid", "hidden_size": 2560, "num_hidden_layers": 40, "num_attention_heads": 40,
        "num_key_value_heads": 8, "intermediate_size": 8192, "shared_intermediate_size": 8192, "num_local_experts": 0,
        "num_experts_per_tok": 0, "vocab_size": 100352, "layer_types": [{types}], "mamba_d_state": 256,
        "mamba_n_heads": 128, "mamba_d_head": 32, "tie_word_embeddings": true}}"#
    );
    assert_eq!(ModelShape::from_config_json(&config).unwrap().parameters().total(), 3_402_836_480);
}

#[test]
fn a_nemotron_of_single_purpose_layers() {
    // nvidia/Nemotron-H-8B-Base-8K; its card rounds to 8 billion.
    let config = r#"{"model_type": "nemotron_h", "hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 52,
        "num_key_value_heads": 8, "attention_head_dim": 128, "intermediate_size": 21504, "mamba_num_heads": 128,
        "mamba_head_dim": 64, "ssm_state_size": 128, "n_groups": 8, "conv_kernel": 4, "expand": 2, "vocab_size": 131072,
        "hybrid_override_pattern": "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-", "tie_word_embeddings": false}"#;
    let model = ModelShape::from_config_json(config).unwrap();
    assert!(close(model.parameters().total() as f64, 8e9, 0.02), "{:?}", model.parameters());
    // Four layers attend; 24 keep a state of 128 heads · 64 · 128 and 3 · 10,240 of convolution.
    assert_eq!(model.kv_bytes_per_token(KvDtype::Bf16).get(), 4.0 * 2.0 * 8.0 * 128.0 * 2.0);
    assert_eq!(model.state_bytes(1).get(), 24.0 * (128.0 * 64.0 * 128.0 + 3.0 * 10_240.0) * 2.0);
}

#[test]
fn older_families_with_biases_everywhere() {
    // openai-community/gpt2: 124,439,808 parameters.
    let gpt2 = r#"{"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024, "vocab_size": 50257}"#;
    assert_eq!(ModelShape::from_config_json(gpt2).unwrap().parameters().total(), 124_439_808);
    // bigcode/starcoder2-3b: 3,030,371,328 parameters.
    let starcoder = r#"{"model_type": "starcoder2", "hidden_size": 3072, "num_hidden_layers": 30, "num_attention_heads": 24,
        "num_key_value_heads": 2, "intermediate_size": 12288, "vocab_size": 49152, "use_bias": true, "sliding_window": 4096}"#;
    assert_eq!(ModelShape::from_config_json(starcoder).unwrap().parameters().total(), 3_030_371_328);
}
