//! Configs as they come: quantized, nested, odd, and wrong.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use intriage_case::Tokens;
use intriage_physics::model::{Layer, Module};
use intriage_physics::{Deployment, KvDtype, Math, ModelError, ModelShape, gpu, known};
use serde_json::{Value, json};

/// Llama-3.1-8B with some fields changed; `null` takes one away.
fn llama(changes: &Value) -> Result<ModelShape, ModelError> {
    let mut config = json!({
        "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128_256, "tie_word_embeddings": false,
        "torch_dtype": "bfloat16"
    });
    for (field, value) in changes.as_object().unwrap() {
        config[field] = value.clone();
    }
    ModelShape::from_config_json(&config.to_string())
}

/// Linear weights of Llama-3.1-8B, and its embedding and head, in elements.
const LINEAR: f64 = 6_979_321_856.0;
const TABLES: f64 = 1_050_673_152.0;
const NORMS: f64 = 266_240.0;

#[test]
fn each_quantization_method_has_its_bytes() {
    let group = |weights: Value, activations: Value, format: &str| {
        json!({"quant_method": "compressed-tensors", "format": format, "ignore": ["lm_head"], "config_groups": {
            "group_0": {"targets": ["Linear"], "weights": weights, "input_activations": activations}}})
    };
    let int4 =
        json!({"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128, "symmetric": true});
    let fp8 = json!({"num_bits": 8, "type": "float", "strategy": "channel", "symmetric": true});
    let int8 = json!({"num_bits": 8, "type": "int", "strategy": "channel", "symmetric": true});
    let fp4 = json!({"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16});
    // Method, bits an element with scales, arithmetic.
    let cases = [
        (json!({"quant_method": "fp8", "weight_block_size": [128, 128]}), 8.0 + 32.0 / 16384.0, Math::Fp8),
        (
            json!({"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": true}),
            4.0 + 20.0 / 128.0,
            Math::Fp16,
        ),
        (json!({"quant_method": "gptq", "bits": 4, "group_size": 32}), 4.0 + 20.0 / 32.0, Math::Fp16),
        (json!({"quant_method": "gptq", "bits": 8, "group_size": 128}), 8.0 + 24.0 / 128.0, Math::Fp16),
        (group(int4, Value::Null, "pack-quantized"), 4.0 + 16.0 / 128.0, Math::Bf16),
        (group(fp8, json!({"num_bits": 8}), "float-quantized"), 8.0, Math::Fp8),
        (group(int8, json!({"num_bits": 8}), "int-quantized"), 8.0, Math::Int8),
        (group(fp4, json!({"num_bits": 4}), "nvfp4-pack-quantized"), 4.5, Math::Fp4),
        (json!({"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head"]}), 4.5, Math::Fp4),
        (json!({"quant_method": "modelopt", "quant_algo": "FP8"}), 8.0, Math::Fp8),
        (json!({"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]}), 4.25, Math::Bf16),
        (
            json!({"quant_method": "bitsandbytes", "load_in_4bit": true, "bnb_4bit_use_double_quant": true}),
            4.0 + 8.125 / 64.0,
            Math::Bf16,
        ),
        (json!({"quant_method": "bitsandbytes", "load_in_4bit": true}), 4.5, Math::Bf16),
        (json!({"quant_method": "bitsandbytes", "load_in_8bit": true}), 8.0, Math::Fp16),
    ];
    for (quantization, bits, math) in cases {
        let model = llama(&json!({"quantization_config": quantization})).unwrap();
        let want = LINEAR * bits / 8.0 + (TABLES + NORMS) * 2.0;
        let got = model.weight_bytes().get();
        // One scale a row is left out of the expectation: less than 0.1 %.
        assert!((got / want - 1.0).abs() < 1e-3, "{quantization}: {got} against {want}");
        assert_eq!(model.parameters().total(), 8_030_261_248, "quantization changes no parameter");
        let b200 = gpu::find("b200").unwrap().gpu;
        assert_eq!(Deployment::new(&model, &b200).math().0, math, "{quantization}");
    }
}

#[test]
fn modules_that_are_not_converted_stay_16_bit() {
    let bytes = |skipped: Value| {
        let quantization = json!({"quant_method": "fp8", "modules_to_not_convert": skipped});
        llama(&json!({"quantization_config": quantization})).unwrap().weight_bytes().get()
    };
    let all = bytes(Value::Null);
    let perceptron = 3.0 * 4096.0 * 14336.0;
    let scales = (2.0 * 14336.0 + 4096.0) * 4.0;
    assert_eq!(bytes(json!(["model.layers.3.mlp"])) - all, perceptron - scales);
    assert_eq!(bytes(json!(["re:.*mlp.*"])) - all, 32.0 * (perceptron - scales));
    assert_eq!(bytes(json!(["vision_tower"])), all);
}

#[test]
fn mixed_precision_names_its_modules() {
    let quantization = json!({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": {
        "model.layers.0.mlp": {"quant_algo": "NVFP4", "group_size": 16},
        "model.layers.0.self_attn": {"quant_algo": "FP8"}}});
    let model = llama(&json!({"quantization_config": quantization})).unwrap();
    let bits = |name: &str| model.tensors.iter().find(|tensor| tensor.name == name).unwrap().format.bits;
    assert_eq!(bits("model.layers.0.mlp.up_proj"), 4.0);
    assert_eq!(bits("model.layers.0.self_attn.q_proj"), 8.0);
    assert_eq!(bits("model.layers.1.mlp.up_proj"), 16.0);
}

#[test]
fn the_checkpoint_can_ask_for_an_8_bit_cache() {
    let quantization = json!({"quant_method": "fp8", "kv_cache_scheme": {"num_bits": 8, "type": "float"}});
    let model = llama(&json!({"quantization_config": quantization})).unwrap();
    assert_eq!(KvDtype::parse("auto", &model).unwrap(), KvDtype::Fp8);
}

#[test]
fn a_gguf_name_covers_the_whole_model() {
    let model = known::model("llama-3.1-8b").unwrap();
    // Sizes of the files in GiB, from the table in llama.cpp's tools/quantize/README.md.
    for (name, size) in [("Q4_K_M", 4.58), ("Q5_K_M", 5.33), ("Q6_K", 6.14), ("Q8_0", 7.95), ("F16", 14.96)] {
        let bytes = model.with_weights(name).unwrap().weight_bytes().get() / 1_073_741_824.0;
        assert!((bytes / size - 1.0).abs() < 0.005, "{name}: {bytes}");
    }
    assert!(model.with_weights("q9").unwrap_err().to_string().contains("q8_0"));
}

#[test]
fn windows_follow_the_family() {
    let windows = |name: &str| {
        let layers = known::model(name).unwrap().layers;
        layers.iter().filter(|layer| matches!(layer, Layer::Attention { window: Some(_), .. })).count()
    };
    assert_eq!(windows("mistral-7b"), 32);
    assert_eq!(windows("gemma-2-9b"), 21);
    assert_eq!(windows("gemma-3-27b"), 52);
    assert_eq!(windows("gpt-oss-20b"), 12);
    assert_eq!(windows("llama-3.1-8b"), 0);
    // Qwen writes a window that it does not use.
    let qwen = json!({"model_type": "qwen2", "sliding_window": 4096, "use_sliding_window": false});
    assert!(
        !llama(&qwen)
            .unwrap()
            .layers
            .iter()
            .any(|layer| matches!(layer, Layer::Attention { window: Some(_), .. }))
    );
}

#[test]
fn heads_may_be_one_for_all_or_wider_than_the_stream() {
    let shared = llama(&json!({"num_key_value_heads": 1})).unwrap();
    assert_eq!(shared.kv_bytes_per_token(KvDtype::Bf16).get(), 32.0 * 2.0 * 128.0 * 2.0);
    let own = llama(&json!({"num_key_value_heads": null})).unwrap();
    assert_eq!(own.kv_bytes_per_token(KvDtype::Bf16).get(), 32.0 * 2.0 * 32.0 * 128.0 * 2.0);
    let wide = llama(&json!({"head_dim": 256})).unwrap();
    assert_eq!(wide.kv_bytes_per_token(KvDtype::Bf16).get(), 32.0 * 2.0 * 8.0 * 256.0 * 2.0);
}

#[test]
fn the_language_part_of_a_multimodal_config_is_read() {
    let model = known::model("gemma-3-4b").unwrap();
    assert!(model.tied_embeddings());
    assert!(model.notes.iter().any(|note| note.contains("vision tower")), "{:?}", model.notes);
    // Its text_config leaves heads and vocabulary to the defaults of the class.
    assert_eq!(model.vocab, 262_208);
    assert_eq!(model.kv_bytes_per_token(KvDtype::Bf16).get(), 34.0 * 2.0 * 4.0 * 256.0 * 2.0);
}

#[test]
fn an_unknown_family_is_read_as_a_plain_decoder_and_says_so() {
    let model = llama(&json!({"model_type": "brandnew"})).unwrap();
    assert_eq!(model.parameters().total(), 8_030_261_248);
    assert!(model.notes[0].contains("`brandnew` is not in the table"), "{:?}", model.notes);
}

#[test]
fn shared_experts_and_dense_layers_are_told_apart() {
    let parameters = known::model("deepseek-v3").unwrap().parameters();
    let expert = 3 * 7168 * 2048;
    assert_eq!(parameters.experts, 58 * 256 * expert);
    assert_eq!(parameters.experts_used, 58 * 8 * expert);
    assert_eq!(parameters.shared_experts, 58 * expert);
    assert_eq!(parameters.mlp, 3 * 3 * 7168 * 18432);
    assert_eq!(parameters.routers, 58 * 256 * 7168);
    let deepseek = known::model("deepseek-v3").unwrap();
    assert_eq!(deepseek.experts(), Some((256, 8)));
    assert!(deepseek.experts_touched(Tokens(64.0)).get() > 0.86);
}

#[test]
fn nonsense_names_the_field_and_what_is_right() {
    let says = |changes: Value, words: &[&str]| {
        let error = llama(&changes).unwrap_err().to_string();
        for word in words {
            assert!(error.contains(word), "{changes}: {error}");
        }
    };
    says(json!({"hidden_size": null}), &["no `hidden_size`", "n_embd", "num_hidden_layers"]);
    says(json!({"num_attention_heads": 0}), &["`num_attention_heads` is 0", "from 1"]);
    says(json!({"num_hidden_layers": -3}), &["`num_hidden_layers` is -3"]);
    says(json!({"num_hidden_layers": 1e300}), &["`num_hidden_layers` is 1e", "to 1024"]);
    says(json!({"hidden_size": "big"}), &["`hidden_size` is \"big\""]);
    says(json!({"hidden_size": 4097}), &["4097 is not divisible by num_attention_heads 32", "head_dim"]);
    says(json!({"num_key_value_heads": 64}), &["`num_key_value_heads` is 64", "at most"]);
    says(json!({"num_local_experts": 8, "num_experts_per_tok": 9}), &["`num_experts_per_tok` is 9", "(8)"]);
    says(
        json!({"quantization_config": {"quant_method": "magic"}}),
        &["`magic` is not known", "awq", "compressed-tensors"],
    );
    says(
        json!({"quantization_config": {"quant_method": "fp8", "weight_block_size": [0, 1]}}),
        &["weight_block_size"],
    );
    says(
        json!({"quantization_config": {"quant_method": "modelopt", "quant_algo": "X"}}),
        &["quant_algo", "NVFP4"],
    );
    says(json!({"layer_types": ["telepathy"]}), &["layer_types", "telepathy", "sliding_attention"]);
    says(json!({"is_encoder_decoder": true}), &["is_encoder_decoder"]);
    let huge = json!({"hidden_size": 1 << 20, "intermediate_size": 1 << 27, "num_local_experts": 1 << 20, "num_experts_per_tok": 2});
    says(huge, &["no such model"]);
}

#[test]
fn what_is_no_object_is_refused() {
    assert!(matches!(ModelShape::from_config_json("{"), Err(ModelError::NotJson(_))));
    assert!(matches!(ModelShape::from_config_json("[]"), Err(ModelError::NotAnObject { found: "a list" })));
    assert!(matches!(ModelShape::from_config_bytes(&[0xff, 0xfe]), Err(ModelError::NotJson(_))));
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(ModelShape::from_config_json(&deep).is_err());
    assert!(ModelShape::from_config_json("{}").unwrap_err().to_string().contains("it has: nothing"));
}

#[test]
fn tensors_carry_the_names_of_the_checkpoint() {
    let model = known::model("qwen3-30b-a3b").unwrap();
    let tensor = model.tensors.iter().find(|tensor| tensor.module == Module::Expert).unwrap();
    assert_eq!(tensor.name, "model.layers.0.mlp.experts.*.gate_proj");
    assert_eq!((tensor.rows, tensor.cols, tensor.copies, tensor.used), (768, 2048, 128, 8));
}
