//! Number formats the cards have no units for.

use intriage_engines::{Setting, known_flags};
use intriage_physics::{Math, gpu};

use super::Said;
use super::facts::Facts;

/// Least compute capability, times ten, of a generation of NVIDIA's. Source: NVIDIA's list of CUDA GPUs.
const CAPABILITIES: &[(&str, u32)] = &[
    ("volta", 70),
    ("turing", 75),
    ("ampere", 80),
    ("ada", 89),
    ("hopper", 90),
    ("blackwell", 100),
    ("blackwell-ultra", 103),
    ("blackwell-geforce", 120),
    ("blackwell-spark", 121),
];

pub(crate) fn judge(facts: &Facts<'_>) -> Vec<Said> {
    let Some(cards) = facts.around.gpus.as_ref().filter(|cards| !facts.on_cpu() && !cards.is_empty()) else {
        return Vec::new();
    };
    let mut said = Vec::new();
    let names: Vec<&String> = cards.iter().filter_map(|card| card.name.as_ref()).collect();
    let Some(name) = names.first() else {
        return vec![Said::Unknown("the cards do not tell their names".into())];
    };
    let Ok(found) = gpu::find(name) else {
        return vec![Said::Unknown(format!("{name} is not in the table of cards"))];
    };
    let asked = facts.text(Setting::Dtype);
    let wanted = asked.filter(|dtype| *dtype != "auto");
    if wanted == Some("bfloat16") && found.gpu.peak(Math::Bf16).is_none() {
        said.push(Said::Wrong(
            "dtype-unsupported-on-gpu",
            format!("bfloat16 is asked for, and {name} ({}) has no units for it: they begin with compute capability 8.0", found.gpu.arch),
            "--dtype half".into(),
        ));
    }
    let method = facts.line.value(&["--quantization"]).or_else(|| facts.quantized());
    let least = method.and_then(|method| {
        let table = known_flags(facts.line.engine)?;
        table.capabilities.iter().find(|(known, _)| *known == method).map(|(_, least)| *least)
    });
    let has = CAPABILITIES.iter().find(|(arch, _)| *arch == found.gpu.arch).map(|(_, has)| *has);
    if let (Some(method), Some(least), Some(has)) = (method, least, has) {
        let dotted = |capability: u32| format!("{}.{}", capability / 10, capability % 10);
        said.push(if has < least {
            Said::Wrong(
                "quantization-unsupported-on-gpu",
                format!(
                    "{method} needs compute capability {}, and {name} has {}",
                    dotted(least),
                    dotted(has)
                ),
                "a checkpoint in another format, such as AWQ or GPTQ for older cards, or a newer card".into(),
            )
        } else {
            Said::Fine(format!(
                "{method} needs compute capability {}, {name} has {}",
                dotted(least),
                dotted(has)
            ))
        });
    }
    if said.is_empty() {
        said.push(Said::Fine(format!(
            "{} on {name}",
            wanted.or(facts.config_text(&["dtype", "torch_dtype"])).unwrap_or("the model's own format")
        )));
    }
    said
}
