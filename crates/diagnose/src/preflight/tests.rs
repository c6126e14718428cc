use std::collections::BTreeMap;

use intriage_case::Bytes;
use intriage_case::gpu::GpuCard;
use intriage_case::surroundings::{
    AdapterFound, CpuFound, EnginePackage, FolderFound, ModelFound, ModelPlace, WeightsFault, WeightsFound,
};

use super::*;

const LLAMA: &str = r#"{"architectures":["LlamaForCausalLM"],"model_type":"llama","hidden_size":576,"intermediate_size":1536,"num_attention_heads":9,"num_key_value_heads":3,"num_hidden_layers":30,"vocab_size":49152,"max_position_embeddings":8192,"torch_dtype":"bfloat16","tie_word_embeddings":true}"#;

/// A healthy start on a machine with one card of this name and memory.
fn healthy() -> Surroundings {
    Surroundings {
        program: Some("/opt/bin/vllm".into()),
        package: Some(EnginePackage {
            version: "0.32.0".into(),
            cuda: Some("12.8".into()),
            knows: BTreeMap::from([("llama".into(), true), ("LlamaForCausalLM".into(), true)]),
            ..EnginePackage::default()
        }),
        model: Some(ModelFound {
            asked: "/m".into(),
            place: ModelPlace::Folder("/m".into()),
            config: Some(LLAMA.into()),
            weights: vec![WeightsFound {
                name: "model.safetensors".into(),
                size: Bytes(2.69e8),
                fault: None,
            }],
            ..ModelFound::default()
        }),
        gpus: Some(vec![card("NVIDIA H200", 1.5e11)]),
        driver_cuda: Some("13.0".into()),
        shared_memory: Some(Bytes(1.6e10)),
        port: Some((8000, false)),
        folders: vec![FolderFound {
            what: "hub cache".into(),
            path: "/c".into(),
            free: Some(Bytes(1e11)),
            writable: Some(true),
        }],
        cpu: Some(CpuFound { architecture: "x86_64".into(), flags: vec!["avx2".into()] }),
        memory: Some(Bytes(6.4e10)),
        ..Surroundings::default()
    }
}

fn card(name: &str, memory: f64) -> GpuCard {
    GpuCard { name: Some(name.into()), memory: Some(Bytes(memory)), ..GpuCard::default() }
}

fn judged(line: &str, change: impl FnOnce(&mut Surroundings)) -> Preflight {
    let mut around = healthy();
    change(&mut around);
    preflight(&line.split(' ').map(str::to_owned).collect::<Vec<_>>(), &around)
}

fn cause(line: &str, change: impl FnOnce(&mut Surroundings)) -> Option<String> {
    judged(line, change).findings.first().map(|finding| finding.cause.clone())
}

fn model(around: &mut Surroundings) -> &mut ModelFound {
    around.model.as_mut().unwrap()
}

fn nothing(_: &mut Surroundings) {}

#[test]
fn a_healthy_start_passes_and_says_what_was_checked() {
    let answer = judged("vllm serve /m --max-model-len 8192 --dtype bfloat16", nothing);
    assert_eq!((answer.verdict, answer.findings.len()), (PreflightVerdict::Pass, 0), "{answer:?}");
    for check in
        ["flags", "model files", "architecture", "window", "precision", "memory", "driver", "port", "disk"]
    {
        assert!(answer.checked.iter().any(|c| c.check == check), "{check} is missing: {answer:?}");
    }
}

#[test]
fn every_finding_is_a_cause_of_the_catalogue() {
    for line in ["--max-num-sequences 4", "--max-model-len 99999", "-tp 2", "--dtype int3"] {
        let answer = judged(&format!("vllm serve /m {line}"), |a| a.port = Some((8000, true)));
        assert!(answer.findings.len() >= 2);
        for finding in answer.findings {
            assert!(crate::find(&finding.cause).is_some(), "{}", finding.cause);
            assert!(!finding.change.is_empty() && !finding.says.ends_with('.'), "{finding:?}");
        }
    }
}

#[test]
fn an_unknown_flag_is_named_with_the_one_that_is_meant() {
    let answer = judged("vllm serve /m --max-num-sequences 4", nothing);
    assert_eq!(answer.verdict, PreflightVerdict::WouldFail);
    assert!(
        answer.findings[0].says.contains("--max-num-sequences is not a flag of vLLM 0.32.0"),
        "{answer:?}"
    );
    assert!(answer.findings[0].change.contains("--max-num-seqs"));
    // Another release may have the flag.
    let other = judged("vllm serve /m --max-num-sequences 4", |a| {
        a.package.as_mut().unwrap().version = "0.40.1".into();
    });
    assert!(other.findings.is_empty());
    assert!(
        other
            .unchecked
            .iter()
            .any(|c| c.says.contains("is not a flag of 0.32.0") && c.says.contains("0.40.1")),
        "{other:?}"
    );
}

#[test]
fn values_that_cannot_be_are_found() {
    let bad = Some("bad-launch-argument".to_owned());
    for flags in [
        "--dtype int3",
        "--max-num-seqs many",
        "--max-num-seqs",
        "--max-num 4",
        "--max-num-batched-tokens 16 --max-num-seqs 256",
        "--quantization fp9",
    ] {
        assert_eq!(cause(&format!("vllm serve /m {flags}"), nothing), bad, "{flags}");
    }
    let foreign = |a: &mut Surroundings| {
        model(a).config =
            Some(LLAMA.replace("{\"arch", "{\"quantization_config\":{\"quant_method\":\"fp8\"},\"arch"));
    };
    assert_eq!(cause("vllm serve /m --quantization awq", foreign), bad);
    assert_eq!(cause("vllm serve /m --quantization fp8", foreign), None);
    assert_eq!(
        cause("vllm serve /m --chat-template ./no.jinja", |a| a.files =
            vec![("--chat-template".into(), "./no.jinja".into(), false)]),
        bad
    );
}

#[test]
fn a_window_is_held_against_the_model() {
    let line = "vllm serve /m --max-model-len 99999";
    assert_eq!(cause(line, nothing).as_deref(), Some("context-window-exceeds-model"));
    let stretched =
        LLAMA.replace("\"vocab", "\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":16.0},\"vocab");
    assert_eq!(cause(line, |a| model(a).config = Some(stretched)), None);
    assert_eq!(
        cause(line, |a| drop(a.variables.insert("VLLM_ALLOW_LONG_MAX_MODEL_LEN".into(), "1".into()))),
        None
    );
}

#[test]
fn a_model_is_divided_or_not() {
    let fit = Some("parallelism-does-not-fit");
    assert_eq!(cause("vllm serve /m -tp 2", nothing).as_deref(), fit);
    // Three ranks divide nine heads, and there is one card.
    assert_eq!(cause("vllm serve /m -tp 3", nothing).as_deref(), fit);
    assert_eq!(cause("vllm serve /m -tp 3", |a| a.gpus = Some(vec![card("NVIDIA H200", 1.5e11); 4])), None);
    assert_eq!(
        cause("vllm serve /m -tp 3", |a| {
            a.gpus = Some(vec![card("NVIDIA H200", 1.5e11); 4]);
            a.variables.insert("CUDA_VISIBLE_DEVICES".into(), "0,1".into());
        })
        .as_deref(),
        fit
    );
}

#[test]
fn files_that_are_missing_or_damaged_are_found() {
    let files = Some("model-files-damaged");
    let line = "vllm serve /m";
    assert_eq!(cause(line, |a| model(a).place = ModelPlace::Nowhere).as_deref(), files);
    assert_eq!(cause(line, |a| model(a).config = None).as_deref(), files);
    assert_eq!(cause(line, |a| model(a).config = Some(LLAMA[..90].into())).as_deref(), files);
    assert_eq!(cause(line, |a| model(a).weights.clear()).as_deref(), files);
    assert_eq!(cause("vllm serve /m --load-format dummy", |a| model(a).weights.clear()), None);
    assert_eq!(cause(line, |a| model(a).missing = vec!["model-2.safetensors".into()]).as_deref(), files);
    for fault in [WeightsFault::Pointer, WeightsFault::Foreign, WeightsFault::Cut { needs: Bytes(1e9) }] {
        assert_eq!(cause(line, |a| model(a).weights[0].fault = Some(fault)).as_deref(), files);
    }
}

#[test]
fn an_architecture_is_unknown_only_where_the_package_says_so() {
    let line = "vllm serve /m";
    let strange = |a: &mut Surroundings, word: &str| {
        a.package.as_mut().unwrap().knows.insert(word.into(), false);
    };
    assert_eq!(
        cause(line, |a| strange(a, "LlamaForCausalLM")).as_deref(),
        Some("model-architecture-unknown")
    );
    assert_eq!(cause(line, |a| strange(a, "llama")).as_deref(), Some("model-architecture-unknown"));
    assert_eq!(cause(line, |a| a.package.as_mut().unwrap().knows.clear()), None);
    let plugins = |a: &mut Surroundings| {
        strange(a, "llama");
        a.package.as_mut().unwrap().plugins = true;
    };
    assert_eq!(cause(line, plugins), None);
    let own = |a: &mut Surroundings| {
        strange(a, "llama");
        model(a).config = Some(LLAMA.replace("{\"arch", "{\"auto_map\":{\"AutoConfig\":\"own.C\"},\"arch"));
    };
    assert_eq!(cause(line, own).as_deref(), Some("bad-launch-argument"));
    assert_eq!(cause("vllm serve /m --trust-remote-code", own), None);
}

#[test]
fn a_card_without_units_for_a_format_is_named() {
    let on = |name: &'static str| move |a: &mut Surroundings| a.gpus = Some(vec![card(name, 3.4e10)]);
    let line = "vllm serve /m --dtype bfloat16";
    assert_eq!(cause(line, on("Tesla V100-SXM2-32GB")).as_deref(), Some("dtype-unsupported-on-gpu"));
    assert_eq!(cause(line, on("NVIDIA H200")), None);
    let mxfp4 = |a: &mut Surroundings| {
        on("Tesla V100-SXM2-32GB")(a);
        model(a).config =
            Some(LLAMA.replace("{\"arch", "{\"quantization_config\":{\"quant_method\":\"mxfp4\"},\"arch"));
    };
    assert_eq!(cause("vllm serve /m", mxfp4).as_deref(), Some("quantization-unsupported-on-gpu"));
}

#[test]
fn weights_and_one_window_must_fit() {
    let large = |size: f64| move |a: &mut Surroundings| model(a).weights[0].size = Bytes(size);
    assert_eq!(cause("vllm serve /m", large(1.6e11)).as_deref(), Some("weights-leave-no-kv"));
    assert_eq!(cause("vllm serve /m", large(1.3e11)), None);
    assert_eq!(cause("vllm serve /m --quantization fp8", large(1.6e11)), None);
    let taken = |a: &mut Surroundings| a.gpus.as_mut().unwrap()[0].memory_used = Some(Bytes(1e11));
    assert_eq!(cause("vllm serve /m", taken).as_deref(), Some("vram-co-tenant-or-orphan"));
    let cpu = |a: &mut Surroundings| {
        a.package.as_mut().unwrap().cpu_only = true;
        a.variables.insert("VLLM_CPU_KVCACHE_SPACE".into(), "200".into());
    };
    assert_eq!(cause("vllm serve /m", cpu).as_deref(), Some("host-oom-kill"));
}

#[test]
fn the_machine_is_held_against_the_start() {
    let line = "vllm serve /m";
    assert_eq!(cause(line, |a| a.port = Some((8000, true))).as_deref(), Some("port-in-use"));
    assert_eq!(cause(line, |a| a.driver_cuda = Some("11.4".into())).as_deref(), Some("driver-cuda-mismatch"));
    assert_eq!(cause(line, |a| a.folders[0].free = Some(Bytes(1e6))).as_deref(), Some("disk-full"));
    assert_eq!(cause(line, |a| a.folders[0].writable = Some(false)).as_deref(), Some("permission-denied"));
    let small = |a: &mut Surroundings| {
        a.shared_memory = Some(Bytes(67_108_864.0));
        a.gpus = Some(vec![card("NVIDIA H200", 1.5e11); 4]);
    };
    assert_eq!(cause("vllm serve /m -tp 3", small).as_deref(), Some("shared-memory-too-small"));
    assert_eq!(cause(line, small), None);
    let old = |a: &mut Surroundings| {
        a.package.as_mut().unwrap().cpu_only = true;
        a.cpu.as_mut().unwrap().flags.clear();
    };
    assert_eq!(cause(line, old).as_deref(), Some("cpu-instruction-set"));
}

#[test]
fn an_adapter_above_the_limit_is_named_with_the_flag() {
    let rank = |rank| move |a: &mut Surroundings| a.adapters = vec![AdapterFound { name: "a".into(), rank }];
    let answer = judged("vllm serve /m --enable-lora --lora-modules a=/a", rank(Some(64)));
    assert_eq!(answer.findings[0].cause, "lora-rank-limit");
    assert_eq!(answer.findings[0].change, "--max-lora-rank 64");
    assert_eq!(
        cause("vllm serve /m --enable-lora --max-lora-rank 64 --lora-modules a=/a", rank(Some(64))),
        None
    );
}

#[test]
fn a_model_of_the_hub_cannot_be_judged_and_offline_fails() {
    let hub = |a: &mut Surroundings| {
        a.model =
            Some(ModelFound { asked: "org/m".into(), place: ModelPlace::NotCached, ..ModelFound::default() });
    };
    assert_eq!(judged("vllm serve org/m", hub).verdict, PreflightVerdict::CannotTell);
    let offline = |a: &mut Surroundings| {
        hub(a);
        a.variables.insert("HF_HUB_OFFLINE".into(), "1".into());
    };
    assert_eq!(cause("vllm serve org/m", offline).as_deref(), Some("model-hub-unreachable"));
}

#[test]
fn a_package_for_gpus_where_none_is_seen_cannot_be_judged() {
    let unseen = |a: &mut Surroundings| (a.gpus, a.no_gpus) = (None, Some("no driver here".into()));
    assert_eq!(judged("vllm serve /m", unseen).verdict, PreflightVerdict::CannotTell);
    let cpu = |a: &mut Surroundings| {
        unseen(a);
        a.package.as_mut().unwrap().cpu_only = true;
    };
    assert_eq!(judged("vllm serve /m", cpu).verdict, PreflightVerdict::Pass);
}

#[test]
fn a_command_that_starts_no_engine_cannot_be_judged() {
    let answer = judged("ls -l", nothing);
    assert_eq!((answer.verdict, answer.engine), (PreflightVerdict::CannotTell, None));
}
