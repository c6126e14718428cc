//! How a checkpoint's config says its weights are stored.

use serde_json::Value;

use super::fields::{FEW, Fields, bad};
use super::format::Format;
use super::pattern::Pattern;
use super::{ModelError, Module, Tensor};
use crate::{KvDtype, Math};

/// Methods as `quantization_config.quant_method` spells them.
const METHODS: &[(&str, Method)] = &[
    ("fp8", Method::Fp8),
    ("fbgemm_fp8", Method::Fp8),
    ("awq", Method::Awq),
    ("awq_marlin", Method::Awq),
    ("gptq", Method::Gptq),
    ("gptq_marlin", Method::Gptq),
    ("auto-round", Method::Gptq),
    ("intel/auto-round", Method::Gptq),
    ("compressed-tensors", Method::CompressedTensors),
    ("bitsandbytes", Method::BitsAndBytes),
    ("modelopt", Method::ModelOpt),
    ("modelopt_fp4", Method::ModelOpt),
    ("modelopt_mixed", Method::ModelOpt),
    ("mxfp4", Method::Mxfp4),
    ("eetq", Method::Eetq),
];

#[derive(Clone, Copy)]
enum Method {
    Fp8,
    Awq,
    Gptq,
    CompressedTensors,
    BitsAndBytes,
    ModelOpt,
    Mxfp4,
    Eetq,
}

/// What the config says about stored weights.
pub(super) struct Quantization {
    /// Formats with the modules they apply to; the first that matches counts.
    groups: Vec<(Option<Vec<Pattern>>, Format)>,
    ignore: Vec<Pattern>,
    head: bool,
    /// KV dtype the checkpoint asks for.
    pub(super) kv: Option<KvDtype>,
}

/// A config lists hundreds of modules at most; more is not read.
const MOST_PATTERNS: usize = 4096;

impl Quantization {
    /// Reads `quantization_config` (or `compression_config`), if there is one.
    pub(super) fn read(config: Fields<'_>, notes: &mut Vec<String>) -> Result<Option<Self>, ModelError> {
        let Some(fields) =
            config.object("quantization_config").or_else(|| config.object("compression_config"))
        else {
            return Ok(None);
        };
        let spelled =
            fields.text("quant_method").or_else(|| fields.text("quant_library")).unwrap_or_else(|| {
                // Old exports of compressed-tensors have groups and no method.
                if fields.get("config_groups").is_some() { "compressed-tensors" } else { "" }
            });
        let method =
            METHODS.iter().find(|(name, _)| spelled.eq_ignore_ascii_case(name)).map(|(_, method)| *method);
        let method = method.ok_or_else(|| ModelError::UnknownQuantization {
            method: spelled.chars().take(60).collect(),
            known: METHODS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "),
        })?;
        let ignore = patterns(
            fields,
            &[
                "modules_to_not_convert",
                "ignore",
                "exclude_modules",
                "ignored_layers",
                "llm_int8_skip_modules",
            ],
            notes,
        );
        let groups = match method {
            Method::CompressedTensors => compressed_groups(fields, notes)?,
            Method::ModelOpt => modelopt(fields)?,
            Method::Fp8 => vec![(None, fp8(fields)?)],
            Method::Awq => vec![(None, grouped(fields, fields.flag("zero_point").unwrap_or(true))?)],
            Method::Gptq => vec![(None, grouped(fields, true)?)],
            Method::BitsAndBytes => vec![(None, bits_and_bytes(fields))],
            Method::Mxfp4 => vec![(None, MXFP4)],
            Method::Eetq => vec![(None, Format::grouped(8.0, None, 16.0, Math::Fp16))],
        };
        let kv = fields.object("kv_cache_scheme").and_then(|scheme| {
            let float = scheme.text("type") == Some("float");
            (scheme.get("num_bits").and_then(Value::as_u64) == Some(8)).then_some(if float {
                KvDtype::Fp8
            } else {
                KvDtype::Int8
            })
        });
        let kv = kv.or_else(|| match fields.text("kv_cache_quant_algo") {
            Some("FP8") => Some(KvDtype::Fp8),
            _ => None,
        });
        Ok(Some(Self { groups, ignore, head: fields.flag("lm_head").unwrap_or(false), kv }))
    }

    /// Marks the tensors that are stored quantized.
    pub(super) fn apply(&self, tensors: &mut [Tensor]) {
        for tensor in tensors {
            let linear = match tensor.module {
                Module::Attention | Module::Mlp | Module::SharedExpert | Module::Expert => tensor.cols > 1,
                Module::Head => self.head,
                Module::Embedding | Module::Router | Module::Norm => false,
            };
            if !linear || self.ignore.iter().any(|pattern| pattern.matches(&tensor.name)) {
                continue;
            }
            let meant = self.groups.iter().find(|(targets, _)| match targets {
                None => true,
                Some(targets) => targets.iter().any(|target| target.matches(&tensor.name)),
            });
            if let Some((_, format)) = meant {
                tensor.format = *format;
            }
        }
    }
}

/// 4-bit floats, one 8-bit exponent for 32; today's kernels multiply them as 16 bit.
const MXFP4: Format = Format::grouped(4.0, Some(32), 8.0, Math::Bf16);
/// 4-bit floats, one 8-bit float for 16.
const NVFP4: Format = Format::grouped(4.0, Some(16), 8.0, Math::Fp4);

fn fp8(fields: Fields<'_>) -> Result<Format, ModelError> {
    let Some(size) = fields.get("weight_block_size") else {
        // One scale a row is the larger of the two usual layouts, and still nothing.
        return Ok(Format::grouped(8.0, None, 32.0, Math::Fp8));
    };
    let sides: Option<Vec<u64>> =
        size.as_array().map(|sides| sides.iter().filter_map(Value::as_u64).collect());
    match sides.as_deref() {
        Some(&[rows, cols]) if rows > 0 && cols > 0 => Ok(Format::blocked(8.0, rows, cols, 32.0, Math::Fp8)),
        _ => Err(bad("quantization_config.weight_block_size", size, "two block sides such as [128, 128]")),
    }
}

/// AWQ and GPTQ: packed integers, a 16-bit scale and a packed zero point a group.
fn grouped(fields: Fields<'_>, zero_point: bool) -> Result<Format, ModelError> {
    let bits = bits(fields, &["bits", "w_bit"])?;
    let group = match fields.get("group_size").or_else(|| fields.get("q_group_size")) {
        None => Some(128),
        Some(size) if size.as_i64() == Some(-1) => None,
        Some(_) => Some(fields.need(&["group_size", "q_group_size"], FEW)?),
    };
    Ok(Format::grouped(bits, group, 16.0 + if zero_point { bits } else { 0.0 }, Math::Fp16))
}

fn bits(fields: Fields<'_>, names: &[&'static str]) -> Result<f64, ModelError> {
    Ok(fields.count(names, 16)?.unwrap_or(4) as f64)
}

fn bits_and_bytes(fields: Fields<'_>) -> Format {
    let four = fields.flag("load_in_4bit").or_else(|| fields.flag("_load_in_4bit")).unwrap_or(false);
    if !four {
        return Format::grouped(8.0, None, 32.0, Math::Fp16);
    }
    // Blocks of 64 with a 32-bit scale, or an 8-bit one that has its own 32-bit scale for 256.
    let double = fields.flag("bnb_4bit_use_double_quant").unwrap_or(false);
    Format::grouped(4.0, Some(64), if double { 8.125 } else { 32.0 }, Math::Bf16)
}

/// ModelOpt: one algorithm for all, or one for each module listed.
fn modelopt(fields: Fields<'_>) -> Result<Groups, ModelError> {
    let inner = fields.object("quantization").unwrap_or(fields);
    let algorithm = inner.text("quant_algo").unwrap_or("NVFP4");
    if !algorithm.eq_ignore_ascii_case("MIXED_PRECISION") {
        return Ok(vec![(None, modelopt_format(algorithm, inner)?)]);
    }
    let listed = inner
        .object("quantized_layers")
        .ok_or_else(|| inner.missing(&["quantization_config.quantized_layers"]))?;
    let mut groups: Vec<(Option<Vec<Pattern>>, Format)> = Vec::new();
    for (module, how) in listed.0.iter().take(MOST_PATTERNS) {
        let Some(how) = how.as_object().map(Fields) else { continue };
        let format = modelopt_format(how.text("quant_algo").unwrap_or("NVFP4"), how)?;
        let Some(pattern) = Pattern::read(module) else { continue };
        match groups.iter_mut().find(|(_, known)| *known == format) {
            Some((Some(patterns), _)) => patterns.push(pattern),
            _ => groups.push((Some(vec![pattern]), format)),
        }
    }
    Ok(groups)
}

fn modelopt_format(algorithm: &str, fields: Fields<'_>) -> Result<Format, ModelError> {
    match algorithm.to_uppercase().as_str() {
        "NVFP4" | "NVFP4_AWQ" => Ok(NVFP4),
        "W4A16_NVFP4" => Ok(Format::grouped(4.0, Some(16), 8.0, Math::Bf16)),
        "FP8" => Ok(Format::plain(8.0, Math::Fp8)),
        "MXFP8" => Ok(Format::grouped(8.0, Some(32), 8.0, Math::Fp8)),
        "W4A16_AWQ" | "W4A8_AWQ" => grouped(fields, false),
        _ => Err(bad(
            "quantization_config.quant_algo",
            &Value::String(algorithm.to_owned()),
            "one of NVFP4, W4A16_NVFP4, FP8, MXFP8, W4A16_AWQ, W4A8_AWQ, MIXED_PRECISION",
        )),
    }
}

type Groups = Vec<(Option<Vec<Pattern>>, Format)>;

fn compressed_groups(fields: Fields<'_>, notes: &mut Vec<String>) -> Result<Groups, ModelError> {
    let groups = fields
        .object("config_groups")
        .ok_or_else(|| fields.missing(&["quantization_config.config_groups"]))?;
    let mut read = Vec::new();
    for group in groups.0.values().filter_map(Value::as_object).map(Fields) {
        let Some(weights) = group.object("weights") else { continue };
        let named = group.text("format").or_else(|| fields.text("format"));
        let format = compressed_format(weights, group.object("input_activations"), named)?;
        let targets = group.texts("targets").unwrap_or_default();
        let all = targets.is_empty() || targets.iter().any(|target| matches!(*target, "Linear" | "FusedMoE"));
        let targets = if all { None } else { Some(patterns(group, &["targets"], notes)) };
        read.push((targets, format));
    }
    // Named modules come before the group of all linear ones.
    read.sort_by_key(|(targets, _)| targets.is_none());
    Ok(read)
}

fn compressed_format(
    weights: Fields<'_>,
    activations: Option<Fields<'_>>,
    named: Option<&str>,
) -> Result<Format, ModelError> {
    match named {
        Some("nvfp4-pack-quantized") => {
            let math = if activations.is_some() { Math::Fp4 } else { Math::Bf16 };
            return Ok(Format::grouped(4.0, Some(16), 8.0, math));
        }
        Some("mxfp4-pack-quantized") => return Ok(MXFP4),
        _ => {}
    }
    let bits = bits(weights, &["num_bits"])?;
    let float = weights.text("type") == Some("float");
    let math = match (activations.is_some(), float, bits as u64) {
        (true, true, 8) => Math::Fp8,
        (true, false, 8) => Math::Int8,
        (true, true, 4) => Math::Fp4,
        _ => Math::Bf16,
    };
    let zero = if weights.flag("symmetric") == Some(false) { bits } else { 0.0 };
    Ok(match weights.text("strategy") {
        Some("group" | "tensor_group") => {
            let group = weights.count(&["group_size"], FEW)?.unwrap_or(128);
            Format::grouped(bits, Some(group), 16.0 + zero, math)
        }
        Some("tensor") => Format::plain(bits, math),
        Some("block") => Format::blocked(bits, 128, 128, 32.0, math),
        _ => Format::grouped(bits, None, 32.0 + zero, math),
    })
}

/// The patterns under the first of these names that holds a list.
fn patterns(fields: Fields<'_>, names: &[&str], notes: &mut Vec<String>) -> Vec<Pattern> {
    let listed = names.iter().find_map(|name| fields.texts(name)).unwrap_or_default();
    let mut read = Vec::new();
    let mut refused = 0;
    for text in listed.into_iter().take(MOST_PATTERNS) {
        match Pattern::read(text) {
            Some(pattern) => read.push(pattern),
            None => refused += 1,
        }
    }
    if refused > 0 {
        notes.push(format!(
            "{refused} module pattern(s) of the quantization config were not understood and passed over"
        ));
    }
    read
}
