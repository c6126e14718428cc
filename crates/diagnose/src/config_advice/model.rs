//! Rules about the model and the card: parallelism, number formats, quantization, window.

use intriage_case::surroundings::Surroundings;
use intriage_engines::Setting;
use intriage_physics::Math;

use super::scene::{Hit, Scene};
use super::{AdviceRule, Severity};
use crate::preflight::facts::Facts;
use crate::preflight::{parallelism, precision, values, window};

pub(super) const RULES: &[AdviceRule] = &[
    AdviceRule {
        id: "tensor-parallel-does-not-fit",
        summary: "the tensor parallel size does not divide the attention heads, or there are fewer layers than stages",
        severity: Severity::Error,
        source: "vLLM 0.32.0 config/model.py, verify_with_parallel_config",
        judge: |scene| {
            let names = ["--tensor-parallel-size", "-tp", "--pipeline-parallel-size"];
            Hit::of_check(scene, &names, parallelism::judge(&scene.facts))
        },
    },
    AdviceRule {
        id: "tensor-parallel-over-pcie",
        summary: "tensor parallelism between GPUs that have no NVLink",
        severity: Severity::Warning,
        source: "two all-reduces a layer (crates/physics/src/bounds); the links as nvidia-smi topo shows them",
        judge: over_pcie,
    },
    AdviceRule {
        id: "format-without-units",
        summary: "a number format that the GPU has no units for: bfloat16 or FP8",
        severity: Severity::Error,
        source: "crates/physics/data/gpus.json (makers' data sheets); least capabilities of vLLM 0.32.0 by method",
        judge: format,
    },
    AdviceRule {
        id: "quantization-contradicts-model",
        summary: "--quantization names another method than the model's config.json",
        severity: Severity::Error,
        source: "vLLM 0.32.0 config/model.py, _verify_quantization",
        judge: |scene| {
            let said = values::quantization(&scene.facts).into_iter().collect();
            Hit::of_check(scene, &["--quantization"], said)
        },
    },
    AdviceRule {
        id: "window-beyond-model",
        summary: "--max-model-len is longer than the model's longest sequence",
        severity: Severity::Error,
        source: "vLLM 0.32.0 config/model.py, get_and_verify_max_len",
        judge: |scene| Hit::of_check(scene, &["--max-model-len"], window::judge(&scene.facts)),
    },
];

fn over_pcie(scene: &Scene<'_>) -> Vec<Hit> {
    let (tensor, _) = scene.facts.ranks();
    let paths = &scene.around.paths;
    let only_pcie = !paths.is_empty() && paths.iter().all(|path| path.nvlink == Some(false));
    let Some(flag) = scene.setting(Setting::TensorParallel).filter(|_| tensor > 1 && only_pcie) else {
        return Vec::new();
    };
    let reason =
        format!("{tensor} GPUs exchange two sums a layer over PCIe: there is no NVLink between them");
    let change = "the smallest size whose memory holds the model, with more replicas (--data-parallel-size), or --pipeline-parallel-size".to_owned();
    vec![Hit::flag(scene, Severity::Warning, flag, reason, change)]
}

fn format(scene: &Scene<'_>) -> Vec<Hit> {
    let (Some(gpu), Some(card)) = (scene.gpu(), scene.card()) else { return Vec::new() };
    let name = card.name.clone().unwrap_or_default();
    let around = Surroundings { gpus: Some(vec![card]), ..scene.facts.around.clone() };
    let facts = Facts::new(&scene.start.line, &around);
    let mut hits = Hit::of_check(scene, &["--dtype", "--quantization"], precision::judge(&facts));
    if !hits.is_empty() || gpu.peak(Math::Fp8).is_some() {
        return hits;
    }
    let asked = scene.flag("--quantization").and_then(|flag| flag.values.first()).map(String::as_str);
    if asked.or_else(|| scene.facts.quantized()) == Some("fp8") {
        let reason = format!(
            "{name} has no FP8 units: weights are unpacked to 16 bits in every step, which saves memory and no arithmetic"
        );
        let change = "a checkpoint in INT8 (W8A8) or AWQ/GPTQ for this GPU, or a GPU with FP8 units (Ada, Hopper and later)".to_owned();
        hits.push(Hit::first_of(scene, Severity::Warning, &["--quantization"], reason, change));
    }
    let kv = scene.flag("--kv-cache-dtype").filter(|f| f.values.iter().any(|value| value.starts_with("fp8")));
    if let Some(flag) = kv {
        let reason = format!("{name} has no FP8 units: keys and values are converted in every step");
        hits.push(Hit::flag(scene, Severity::Warning, flag, reason, format!("remove {}", flag.written)));
    }
    hits
}

#[cfg(test)]
mod tests {
    use intriage_case::gpu::GpuPath;

    use super::super::AdviceSurroundings;
    use super::super::testing::{on, rules};

    const AWQ: &str = r#"{"model_type":"llama","num_attention_heads":32,"max_position_embeddings":8192,"quantization_config":{"quant_method":"awq"}}"#;

    fn awq(around: &mut AdviceSurroundings) {
        around.model_config = Some(AWQ.into());
    }

    #[test]
    fn heads_have_to_be_divided() {
        assert_eq!(rules("llama-3.1-8b -tp 3", |_| {}), ["tensor-parallel-does-not-fit"]);
        assert!(rules("llama-3.1-8b -tp 4", |_| {}).is_empty());
        assert!(rules("unknown-model -tp 3", |_| {}).is_empty());
    }

    #[test]
    fn formats_need_units() {
        assert_eq!(rules("m --dtype bfloat16", on("t4")), ["format-without-units"]);
        assert_eq!(rules("m --quantization fp8", on("a100-80")), ["format-without-units"]);
        assert_eq!(rules("m --kv-cache-dtype fp8", on("a10")), ["format-without-units"]);
        assert!(rules("m --quantization fp8 --kv-cache-dtype fp8 --dtype bfloat16", on("h100")).is_empty());
        assert!(rules("m --dtype half", on("t4")).is_empty());
        assert!(rules("m --quantization fp8", |_| {}).is_empty());
    }

    #[test]
    fn the_model_decides_its_quantization_and_its_window() {
        assert_eq!(rules("m --quantization gptq", awq), ["quantization-contradicts-model"]);
        assert!(rules("m --quantization awq_marlin", awq).is_empty());
        assert_eq!(rules("m --max-model-len 32768", awq), ["window-beyond-model"]);
        assert!(rules("m --max-model-len 8192", awq).is_empty());
    }

    #[test]
    fn tensor_parallelism_wants_nvlink() {
        let path = |nvlink| {
            move |around: &mut AdviceSurroundings| {
                around.paths = vec![GpuPath { from: 0, to: 1, through: "PHB".into(), nvlink }];
            }
        };
        assert_eq!(rules("m -tp 2", path(Some(false))), ["tensor-parallel-over-pcie"]);
        assert!(rules("m -tp 2", path(Some(true))).is_empty());
        assert!(rules("m -tp 2", path(None)).is_empty());
        assert!(rules("m", path(Some(false))).is_empty());
    }
}
