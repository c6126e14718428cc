//! What must hold for any input.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use intriage_case::{Bytes, Ratio, Tokens};
use intriage_physics::memory::Policy;
use intriage_physics::{Budget, Counting, Deployment, KvDtype, ModelShape, Spending, StepLoad, gpu, known};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Fields that the reader looks at, so that arbitrary values meet arbitrary code.
const FIELDS: &[&str] = &[
    "model_type",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "intermediate_size",
    "vocab_size",
    "n_routed_experts",
    "num_experts_per_tok",
    "moe_intermediate_size",
    "n_shared_experts",
    "first_k_dense_replace",
    "kv_lora_rank",
    "q_lora_rank",
    "qk_nope_head_dim",
    "qk_rope_head_dim",
    "v_head_dim",
    "sliding_window",
    "sliding_window_pattern",
    "layer_types",
    "hybrid_override_pattern",
    "attn_layer_period",
    "attn_layer_offset",
    "expert_layer_period",
    "mamba_d_state",
    "mamba_n_heads",
    "mamba_d_head",
    "mamba_expand",
    "linear_num_value_heads",
    "linear_num_key_heads",
    "linear_key_head_dim",
    "linear_value_head_dim",
    "full_attention_interval",
    "text_config",
    "quantization_config",
    "quant_method",
    "bits",
    "group_size",
    "weight_block_size",
    "config_groups",
    "modules_to_not_convert",
    "ignore",
    "torch_dtype",
    "tie_word_embeddings",
    "attention_bias",
    "max_position_embeddings",
    "decoder_sparse_step",
    "mlp_only_layers",
];

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (0u64..300).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop_oneof![
            Just("llama"),
            Just("gpt_oss"),
            Just("jamba"),
            Just("gemma3_text"),
            Just("nemotron_h"),
            Just("fp8"),
            Just("awq"),
            Just("compressed-tensors"),
            Just("modelopt"),
            Just("M*-E"),
            Just("re:.*(a|b)\\.c$"),
            Just("x.*")
        ]
        .prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::vec((proptest::sample::select(FIELDS), inner), 0..6)
                .prop_map(|pairs| Value::Object(pairs.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())),
        ]
    })
}

/// A config that would read, with some fields replaced by anything.
fn disturbed_config() -> impl Strategy<Value = String> {
    let changes = proptest::collection::vec((proptest::sample::select(FIELDS), any_value()), 0..5);
    changes.prop_map(|changes| {
        let mut config = Map::new();
        for (field, value) in [("hidden_size", 256), ("num_hidden_layers", 4), ("num_attention_heads", 8)] {
            config.insert(field.to_owned(), json!(value));
        }
        for (field, value) in [("intermediate_size", 512), ("vocab_size", 1000), ("num_key_value_heads", 2)] {
            config.insert(field.to_owned(), json!(value));
        }
        config.extend(changes.into_iter().map(|(field, value)| (field.to_owned(), value)));
        Value::Object(config).to_string()
    })
}

/// Whatever was read must give finite numbers everywhere.
fn all_numbers_are_finite(model: &ModelShape) {
    let h100 = gpu::find("h100").unwrap().gpu;
    assert!(model.weight_bytes().get().is_finite());
    for tp in [1, 3, 8] {
        for counting in [Counting::Touched, Counting::AllParameters] {
            let on = Deployment::new(model, &h100).on(tp).counting(counting);
            let load = StepLoad::decode(64, Tokens(1e6)).with_chunk(Tokens(8192.0), Tokens(1e5), true);
            let time = on.step(&load);
            assert!(time.bound.get().is_finite() && time.bound.get() >= 0.0, "{time:?}");
            assert!(time.bound <= time.expected.0 && time.expected.0 <= time.expected.1, "{time:?}");
            let spending = Spending::estimate(&on, Tokens(8192.0), 1024);
            let budget = Budget::of(&on, Policy::vllm(true), spending);
            assert!(budget.kv_pool.get().is_finite() && budget.kv_pool.get() >= 0.0);
            assert!(budget.concurrency(&on, Tokens(1000.0)).get().is_finite());
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = ModelShape::from_config_bytes(&bytes);
    }

    #[test]
    fn any_json_is_survived(value in any_value()) {
        if let Ok(model) = ModelShape::from_config_json(&value.to_string()) {
            all_numbers_are_finite(&model);
        }
    }

    #[test]
    fn a_disturbed_config_reads_or_says_why(config in disturbed_config()) {
        match ModelShape::from_config_json(&config) {
            Ok(model) => all_numbers_are_finite(&model),
            Err(error) => prop_assert!(error.to_string().starts_with("config.json"), "{}", error),
        }
    }

    #[test]
    fn any_name_is_survived(name in ".{0,80}") {
        let _ = (known::model(&name), gpu::find(&name), intriage_physics::Format::named(&name));
    }

    #[test]
    fn more_load_never_takes_less_time(
        name in proptest::sample::select(known::names().collect::<Vec<_>>()),
        batch in 1u32..600, more in 0u32..600, context in 0f64..200_000.0, longer in 0f64..200_000.0, tp in 1u32..9,
    ) {
        let model = known::model(name).unwrap();
        let gpu = gpu::find("h100").unwrap().gpu;
        let on = Deployment::new(&model, &gpu).on(tp).prepared();
        let time = |batch, context| on.step(&StepLoad::decode(batch, Tokens(context)));
        let base = time(batch, context);
        for heavier in [time(batch + more, context), time(batch, context + longer)] {
            prop_assert!(heavier.bound >= base.bound && heavier.expected.1 >= base.expected.1);
        }
        let prefill = |new: f64| on.step(&StepLoad::prefill(Tokens(new), Tokens(context)));
        prop_assert!(prefill(1.0 + longer).bound >= prefill(1.0).bound || longer < 1.0);
        prop_assert!(prefill(2.0 + 2.0 * longer).compute >= prefill(2.0 + longer).compute);
    }

    #[test]
    fn more_gpus_never_hold_more_each(
        name in proptest::sample::select(known::names().collect::<Vec<_>>()),
        tp in 1u32..16, context in 0f64..100_000.0,
    ) {
        let model = known::model(name).unwrap();
        let weights = |tp| model.weight_bytes_per_gpu(tp).get();
        let kv = |tp| model.kv_bytes_per_gpu(Tokens(context), KvDtype::Bf16, tp).get();
        prop_assert!(weights(tp + 1) <= weights(tp) && kv(tp + 1) <= kv(tp));
        prop_assert!(weights(tp) * f64::from(tp) >= weights(1) * 0.999_999);
    }

    #[test]
    fn a_budget_never_gives_out_more_than_there_is(
        utilisation in 0f64..1.0, weights in 0f64..200e9, activations in 0f64..50e9, others in 0f64..100e9,
    ) {
        let model = known::model("llama-3.1-8b").unwrap();
        let gpu = gpu::find("h100").unwrap().gpu;
        let on = Deployment::new(&model, &gpu);
        let spending = Spending {
            weights: Bytes(weights), activations: Bytes(activations), other_processes: Bytes(others), ..Spending::default()
        };
        let share = Ratio(utilisation);
        for policy in [
            Policy::Vllm { utilisation: share, graphs_counted: true },
            Policy::Sglang { static_fraction: share },
            Policy::TrtLlm { free_fraction: share },
            Policy::Tgi { memory_fraction: share },
            Policy::LlamaCpp { context: Tokens(utilisation * 1e6), slots: 4, unified: false },
        ] {
            let budget = Budget::of(&on, policy, spending);
            let spent = weights + activations + others + budget.kv_pool.get();
            prop_assert!(spent <= budget.total.get() * 1.000_001 || budget.short_by.get() > 0.0, "{policy:?} {budget:?}");
        }
    }
}
