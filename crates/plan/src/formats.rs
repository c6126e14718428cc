//! Weight formats that a card has no units for.

use intriage_physics::{Format, Gpu, Math};

/// Why a card should not be asked for this weight format; `None` where it can compute with it or where
/// the name is not known.
pub fn unsupported(gpu: &Gpu, weights: &str) -> Option<String> {
    let format = Format::named(weights).ok()?;
    // 4-bit integers are unpacked to 16 bit on every card.
    let packed = format.bits < 16.0 && matches!(format.math, Math::Bf16 | Math::Fp16);
    if packed || gpu.peak(format.math).is_some() {
        return None;
    }
    let (units, instead) = match format.math {
        Math::Bf16 => ("bf16", "fp16 (vLLM's --dtype half) has the same size".to_owned()),
        Math::Fp16 => ("fp16", "take bf16".to_owned()),
        Math::Int8 => ("INT8", "int4 saves memory and is computed as 16 bit".to_owned()),
        Math::Fp8 if gpu.peak(Math::Int8).is_some() => {
            ("FP8", "int8 has units and the same size, int4 half of it".to_owned())
        }
        Math::Fp8 | Math::Fp4 => {
            let units = if format.math == Math::Fp8 { "FP8" } else { "FP4" };
            (units, "int4 saves memory and is computed as 16 bit".to_owned())
        }
    };
    Some(format!("{} ({}) has no {units} units: {instead}", gpu.id, gpu.arch))
}

#[cfg(test)]
mod tests {
    use super::*;
    use intriage_physics::gpu;

    #[test]
    fn formats_without_units_are_refused_with_the_reason() {
        let why = |card: &str, weights: &str| unsupported(&gpu::find(card).unwrap().gpu, weights);
        for (card, weights, units) in [
            ("a100", "fp8", "no FP8 units"),
            ("t4", "bf16", "no bf16 units"),
            ("v100", "bf16", "no bf16 units"),
            ("v100", "int8", "no INT8 units"),
            ("h100", "nvfp4", "no FP4 units"),
        ] {
            let said = why(card, weights).unwrap_or_default();
            assert!(said.contains(units), "{card} {weights}: {said}");
        }
        for (card, weights) in [
            ("h100", "fp8"),
            ("a100", "int8"),
            ("t4", "fp16"),
            ("t4", "int4"),
            ("v100", "awq"),
            ("b200", "nvfp4"),
        ] {
            assert_eq!(why(card, weights), None, "{card} {weights}");
        }
    }
}
