//! Given a model's files, the facts that matter for serving come out, and damage becomes a note.

use intriage_case::model::{ModelSummary, WeightFile};
use proptest::prelude::*;

use super::*;

fn files(texts: &[(&str, &str)]) -> ModelFiles {
    let texts = texts.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    ModelFiles { texts, summary: ModelSummary::default() }
}

#[test]
fn a_plain_checkpoint_tells_dtype_and_no_quantization() {
    let mut given = files(&[
        (
            "config.json",
            r#"{"architectures":["LlamaForCausalLM"],"torch_dtype":"bfloat16","max_position_embeddings":8192}"#,
        ),
        ("generation_config.json", r#"{"temperature":0.6,"eos_token_id":[1,2],"transformers_version":"4"}"#),
    ]);
    given.summary.asked = Some("meta-llama/Llama-3.1-8B".into());
    given.summary.weights =
        ["a", "b"].map(|name| WeightFile { name: name.into(), size: Bytes(8e9) }).to_vec();
    given.summary.templates = vec![ChatTemplate {
        name: None,
        from: "x".into(),
        sha256: "e3b0c44298fc1c14".into(),
        size: Bytes(9.0),
    }];
    let model = read_model(&given);
    assert_eq!(
        (model.dtype.as_deref(), model.quantization.as_deref(), model.context),
        (Some("bfloat16"), None, Some(8192))
    );
    assert_eq!(model.generation["eos_token_id"], "[1,2]");
    assert!(!model.generation.contains_key("transformers_version"));
    assert_eq!(
        model.line(),
        "meta-llama/Llama-3.1-8B, LlamaForCausalLM, bfloat16, quantization none, 14.9 GiB of weights in 2 files, \
         template sha256 e3b0c44298fc"
    );
}

#[test]
fn quantization_is_read_from_each_place_that_says_it() {
    for (texts, expected) in [
        (
            &[("config.json", r#"{"quantization_config":{"quant_method":"gptq","bits":4}}"#)][..],
            "gptq, 4 bits",
        ),
        (&[("config.json", r#"{"quantization_config":{"quant_method":"fp8"}}"#)], "fp8"),
        (
            &[("config.json", r#"{"text_config":{"quantization_config":{"quant_method":"awq","bits":4}}}"#)],
            "awq, 4 bits",
        ),
        (
            &[(
                "config.json",
                r#"{"quantization_config":{"quant_method":"bitsandbytes","load_in_4bit":true}}"#,
            )],
            "bitsandbytes, 4 bits",
        ),
        (
            &[("config.json", "{}"), ("quantize_config.json", r#"{"bits":4,"group_size":128}"#)],
            "gptq, 4 bits",
        ),
        (
            &[("config.json", "{}"), ("hf_quant_config.json", r#"{"quantization":{"quant_algo":"NVFP4"}}"#)],
            "modelopt NVFP4",
        ),
    ] {
        assert_eq!(read_model(&files(texts)).quantization.as_deref(), Some(expected), "{texts:?}");
    }
}

#[test]
fn a_damaged_file_is_a_note_and_not_a_plain_model() {
    let model = read_model(&files(&[("config.json", "{\"torch_dtype\":"), ("generation_config.json", "[]")]));
    assert_eq!((model.notes.len(), model.configured, model.config.is_none()), (2, false, true));
    assert!(!model.line().contains("quantization"), "{}", model.line());
}

proptest! {
    #[test]
    fn any_text_is_survived(texts in prop::collection::vec("[\\[\\]{}\":,a-z0-9_. ]{0,60}|.{0,60}", 4)) {
        let names = intriage_case::model::KEPT;
        let given: Vec<(&str, &str)> = names.into_iter().zip(texts.iter().map(String::as_str)).collect();
        let _ = read_model(&files(&given)).line();
    }

    #[test]
    fn whatever_the_fields_hold_they_are_read_or_left(
        key in prop::sample::select(vec!["architectures", "torch_dtype", "dtype", "quantization_config", "text_config", "max_position_embeddings", "eos_token_id"]),
        value in prop::sample::select(vec!["null", "1", "-1.5", "\"x\"", "[]", "[[]]", "{}", "{\"quant_method\":1}", "{\"quant_method\":\"m\",\"bits\":-1}", "true"]),
    ) {
        let text = format!("{{\"{key}\":{value}}}");
        let _ = read_model(&files(&[("config.json", &text), ("generation_config.json", &text), ("quantize_config.json", &text), ("hf_quant_config.json", &text)])).line();
    }
}
