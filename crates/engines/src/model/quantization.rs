//! How weights are quantized, from the three places checkpoints say it.

use serde_json::{Map, Value};

use super::field;

type Object = Map<String, Value>;

/// `quantization_config` in `config.json`, else `quantize_config.json` (GPTQ's own tool), else `hf_quant_config.json`
/// (NVIDIA's ModelOpt).
pub(super) fn read(
    config: Option<&Object>,
    gptq: Option<&Object>,
    modelopt: Option<&Object>,
) -> Option<String> {
    let inside = config.and_then(|c| field(c, &["quantization_config", "compression_config"])?.as_object());
    inside
        .and_then(|q| method(q, &["quant_method", "quant_type", "quant_algo", "format"]))
        .or_else(|| {
            gptq.and_then(|q| {
                method(q, &["quant_method"]).or_else(|| bits(q).map(|b| format!("gptq, {b} bits")))
            })
        })
        .or_else(|| {
            let inner = modelopt?.get("quantization")?.as_object()?;
            Some(format!("modelopt {}", method(inner, &["quant_algo"])?))
        })
}

fn method(quantization: &Object, names: &[&str]) -> Option<String> {
    let name = names.iter().find_map(|name| quantization.get(*name)?.as_str())?;
    Some(match bits(quantization) {
        Some(bits) => format!("{name}, {bits} bits"),
        None => name.to_owned(),
    })
}

/// `bits`, `w_bit`, or bitsandbytes' `load_in_4bit`.
fn bits(quantization: &Object) -> Option<u64> {
    let stated = ["bits", "w_bit", "num_bits"].iter().find_map(|name| quantization.get(*name)?.as_u64());
    let switch = |name: &str| quantization.get(name) == Some(&Value::Bool(true));
    stated.or_else(|| switch("load_in_4bit").then_some(4)).or_else(|| switch("load_in_8bit").then_some(8))
}
