//! Weights and the keys and values of one full window against the memory of a card, or of the host.

use intriage_case::surroundings::ModelFound;
use intriage_case::{Bytes, Tokens};
use intriage_engines::Setting;
use intriage_physics::{KvDtype, ModelShape};

use super::Said;
use super::facts::Facts;

/// Share of a card that vLLM claims where nobody says otherwise: 0.92 since 0.20, 0.9 before. The larger one judges.
const CLAIMED: f64 = 0.92;
const GIB: f64 = 1_073_741_824.0;

pub(super) fn judge(facts: &Facts<'_>) -> Vec<Said> {
    let Some(model) = facts.model().filter(|model| !model.weights.is_empty()) else { return Vec::new() };
    let weights: f64 =
        model.weights.iter().filter(|file| is_loaded(model, &file.name)).map(|file| file.size.get()).sum();
    if facts.on_cpu() {
        return on_host(facts, weights);
    }
    let Some(card) = facts.around.gpus.as_ref().and_then(|cards| cards.first()) else {
        let why = facts.around.no_gpus.clone().unwrap_or_else(|| "no GPU is here".into());
        return vec![Said::Unknown(format!(
            "weights of {} cannot be held against a card: {why}",
            Bytes(weights)
        ))];
    };
    let Some(total) = card.memory.map(Bytes::get) else {
        return vec![Said::Unknown("the card does not tell its memory".into())];
    };
    // Weights that are quantized while loading, or kept elsewhere, take another size than their files.
    let other = ["--cpu-offload-gb", "--load-format"].iter().any(|flag| facts.line.flag(&[flag]).is_some());
    if other || (facts.line.value(&["--quantization"]).is_some() && facts.quantized().is_none()) {
        return vec![Said::Unknown(
            "weights are changed or moved while they are loaded; their files do not tell what they take"
                .into(),
        )];
    }
    let (tensor, pipeline) = facts.ranks();
    let share = facts.number(Setting::MemoryFraction).filter(|s| *s > 0.0 && *s <= 1.0).unwrap_or(CLAIMED);
    let mut said = Vec::new();
    let free = card.memory_used.map(|used| total - used.get());
    if let Some(free) = free.filter(|free| *free < share * total) {
        said.push(Said::Wrong(
            "vram-co-tenant-or-orphan",
            format!(
                "{} of {} are free on the card, and the engine claims {}",
                Bytes(free),
                Bytes(total),
                Bytes(share * total)
            ),
            format!(
                "end what holds the memory (nvidia-smi), or --gpu-memory-utilization {:.2}",
                (free / total - 0.01).max(0.0)
            ),
        ));
    }
    let each = weights / (tensor * pipeline) as f64;
    let window = facts
        .number(Setting::ContextWindow)
        .or_else(|| facts.config_number(&["max_position_embeddings"]).map(|n| n as f64));
    let form = model.config.as_deref().and_then(|text| ModelShape::from_config_json(text).ok());
    let kv = form.zip(window).map(|(form, window)| {
        let kind = facts.line.value(&["--kv-cache-dtype"]).unwrap_or("auto");
        let kv = KvDtype::parse(kind, &form).unwrap_or(KvDtype::Bf16);
        let all = form.kv_bytes_per_gpu(Tokens(window), kv, u32::try_from(tensor).unwrap_or(1)).get();
        (window, all / pipeline as f64)
    });
    let (window, kv) = kv.map_or((None, 0.0), |(window, kv)| (Some(window), kv));
    let parts = match window {
        Some(window) => format!(
            "weights take {} on each card and one window of {window} tokens {}",
            Bytes(each),
            Bytes(kv)
        ),
        None => format!("weights take {} on each card", Bytes(each)),
    };
    if each + kv > share * total {
        let fewer = if each > share * total {
            "more GPUs (a larger tensor parallel size), or weights in fewer bits"
        } else {
            "a shorter window (--max-model-len), more GPUs, or keys and values in 8 bits (--kv-cache-dtype fp8)"
        };
        said.push(Said::Wrong(
            "weights-leave-no-kv",
            format!("{parts}, and the engine may use {} of {}", Bytes(share * total), Bytes(total)),
            fewer.into(),
        ));
    } else {
        said.push(Said::Fine(format!("{parts}, of {} that may be used", Bytes(share * total))));
    }
    said
}

/// Safetensors and older files lie side by side in many folders, and engines load the former alone.
fn is_loaded(model: &ModelFound, name: &str) -> bool {
    let safe = |name: &str| name.ends_with(".safetensors");
    safe(name) || !model.weights.iter().any(|file| safe(&file.name))
}

fn on_host(facts: &Facts<'_>, weights: f64) -> Vec<Said> {
    let Some(memory) = facts.around.memory.map(Bytes::get) else { return Vec::new() };
    let wide = facts.text(Setting::Dtype).is_some_and(|dtype| dtype == "float32" || dtype == "float");
    let stored = facts.config_text(&["dtype", "torch_dtype"]).is_some_and(|dtype| dtype.ends_with("float16"));
    let weights = if wide && stored { weights * 2.0 } else { weights };
    let asked = facts.around.variables.get("VLLM_CPU_KVCACHE_SPACE").and_then(|gib| gib.parse::<f64>().ok());
    let pool = asked.unwrap_or(0.0) * GIB;
    let parts = format!("weights of {} and a pool of {}", Bytes(weights), Bytes(pool));
    vec![if weights + pool > memory {
        Said::Wrong(
            "host-oom-kill",
            format!("{parts} do not fit into {} of memory that can be had", Bytes(memory)),
            "a smaller pool (VLLM_CPU_KVCACHE_SPACE), a smaller model, or more memory".into(),
        )
    } else {
        Said::Fine(format!("{parts}, of {} of memory that can be had", Bytes(memory)))
    }]
}
