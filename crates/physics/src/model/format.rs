//! How the elements of a tensor are stored: bits an element, and scales a block.

use crate::Math;
use intriage_case::Bytes;

/// A storage format of weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Format {
    /// Bits of one element.
    pub bits: f64,
    /// Output elements that share a scale; `u64::MAX` for all.
    pub block_rows: u64,
    /// Input elements that share a scale; `u64::MAX` for all.
    pub block_cols: u64,
    /// Bits of scale and zero point a block.
    pub block_bits: f64,
    /// The arithmetic that hardware with it would use for this format.
    pub math: Math,
    whole_model: bool,
}

impl Format {
    /// 16-bit floats, as most checkpoints are stored.
    pub const BF16: Self = Self::plain(16.0, Math::Bf16);
    /// 16-bit floats with a small exponent.
    pub const FP16: Self = Self::plain(16.0, Math::Fp16);
    /// 32-bit floats; engines load them as 16 bit unless told otherwise.
    pub const FP32: Self = Self::plain(32.0, Math::Bf16);

    /// Elements without scales.
    pub const fn plain(bits: f64, math: Math) -> Self {
        Self { bits, block_rows: u64::MAX, block_cols: u64::MAX, block_bits: 0.0, math, whole_model: false }
    }

    /// One scale (and zero point) for `group` input elements of one output; `None` for a whole row.
    pub const fn grouped(bits: f64, group: Option<u64>, group_bits: f64, math: Math) -> Self {
        let block_cols = match group {
            Some(group) => group,
            None => u64::MAX,
        };
        Self { bits, block_rows: 1, block_cols, block_bits: group_bits, math, whole_model: false }
    }

    /// One scale for a rectangle of elements.
    pub const fn blocked(bits: f64, rows: u64, cols: u64, block_bits: f64, math: Math) -> Self {
        Self { bits, block_rows: rows, block_cols: cols, block_bits, math, whole_model: false }
    }

    /// Bytes of `copies` matrices of `rows` × `cols`, scales included.
    pub fn bytes(&self, rows: u64, cols: u64, copies: u64) -> Bytes {
        let elements = rows as f64 * cols as f64;
        let blocks =
            rows.div_ceil(self.block_rows.max(1)) as f64 * cols.div_ceil(self.block_cols.max(1)) as f64;
        Bytes((elements * self.bits + blocks * self.block_bits) / 8.0 * copies as f64)
    }

    /// Whether the format also holds the embedding and the head (GGUF, plain dtypes).
    pub const fn covers_embeddings(&self) -> bool {
        self.whole_model
    }

    /// A format by the name people give it: `bf16`, `fp8`, `awq`, `nvfp4`, `Q4_K_M`, …
    pub fn named(name: &str) -> Result<Self, UnknownFormat> {
        let wanted = name.trim().to_lowercase().replace(['-', ' '], "_");
        NAMED.iter().find(|(known, _)| *known == wanted).map(|(_, format)| *format).ok_or_else(|| {
            UnknownFormat {
                name: name.chars().take(60).collect(),
                known: crate::suggest::closest_first(&wanted, NAMED.iter().map(|(name, _)| *name)).join(", "),
            }
        })
    }

    const fn whole(mut self) -> Self {
        self.whole_model = true;
        self
    }

    /// GGUF: mean bits over the file, as the file mixes types.
    const fn gguf(bits: f64) -> Self {
        Self::plain(bits, Math::Fp16).whole()
    }
}

/// `Q8_0` to `Q4_0` are the blocks of ggml; all mixes are the bits a weight that llama.cpp's
/// `tools/quantize` README lists for Llama-3.1-8B (`Q3_K_M` is not listed and lies between its neighbours).
const NAMED: &[(&str, Format)] = &[
    ("bf16", Format::BF16.whole()),
    ("fp16", Format::FP16.whole()),
    ("f16", Format::FP16.whole()),
    ("fp32", Format::FP32.whole()),
    ("f32", Format::FP32.whole()),
    ("fp8", Format::grouped(8.0, None, 32.0, Math::Fp8)),
    ("fp8_block", Format::blocked(8.0, 128, 128, 32.0, Math::Fp8)),
    ("int8", Format::grouped(8.0, None, 32.0, Math::Int8)),
    ("w8a16", Format::grouped(8.0, None, 16.0, Math::Bf16)),
    ("int4", Format::grouped(4.0, Some(128), 16.0, Math::Bf16)),
    ("awq", Format::grouped(4.0, Some(128), 20.0, Math::Fp16)),
    ("gptq", Format::grouped(4.0, Some(128), 20.0, Math::Fp16)),
    ("nf4", Format::grouped(4.0, Some(64), 8.125, Math::Bf16)),
    ("nvfp4", Format::grouped(4.0, Some(16), 8.0, Math::Fp4)),
    ("mxfp4", Format::grouped(4.0, Some(32), 8.0, Math::Bf16)),
    ("q8_0", Format::gguf(8.5)),
    ("q6_k", Format::gguf(6.5633)),
    ("q5_k_m", Format::gguf(5.7036)),
    ("q5_k_s", Format::gguf(5.5704)),
    ("q5_1", Format::gguf(6.0)),
    ("q5_0", Format::gguf(5.5)),
    ("q4_k_m", Format::gguf(4.8944)),
    ("q4_k_s", Format::gguf(4.6672)),
    ("q4_1", Format::gguf(5.0)),
    ("q4_0", Format::gguf(4.5)),
    ("iq4_nl", Format::gguf(4.6818)),
    ("iq4_xs", Format::gguf(4.4597)),
    ("q3_k_l", Format::gguf(4.2979)),
    ("q3_k_m", Format::gguf(4.0)),
    ("q3_k_s", Format::gguf(3.6429)),
    ("iq3_m", Format::gguf(3.7628)),
    ("q2_k", Format::gguf(3.1593)),
    ("iq2_m", Format::gguf(2.9294)),
];

/// A weight format that is not in the table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("weight format `{name}` is not known; known are {known}")]
pub struct UnknownFormat {
    /// The name as given, shortened.
    pub name: String,
    /// The names in the table, closest first.
    pub known: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes an element of a large square matrix.
    fn per_element(name: &str) -> f64 {
        Format::named(name).unwrap().bytes(4096, 4096, 1).get() / (4096.0 * 4096.0)
    }

    #[test]
    fn bytes_an_element_are_those_of_the_catalogue() {
        for (name, low, high) in [
            ("fp32", 4.0, 4.0),
            ("bf16", 2.0, 2.0),
            ("fp8", 1.0, 1.001),
            ("int8", 1.0, 1.001),
            ("awq", 0.51, 0.56),
            ("gptq", 0.51, 0.56),
            ("nvfp4", 0.5625, 0.5625),
            ("mxfp4", 0.53125, 0.53125),
            ("Q8_0", 1.06, 1.0625),
            ("Q6_K", 0.82, 0.8205),
            ("Q5_K_M", 0.70, 0.72),
            ("Q4_K_M", 0.59, 0.62),
            ("Q4_0", 0.56, 0.5625),
        ] {
            let got = per_element(name);
            assert!((low..=high).contains(&got), "{name}: {got}");
        }
    }

    #[test]
    fn blocks_that_do_not_divide_are_rounded_up() {
        let format = Format::blocked(8.0, 128, 128, 32.0, Math::Fp8);
        assert_eq!(format.bytes(129, 128, 2).get(), 2.0 * (129.0 * 128.0 + 2.0 * 4.0));
    }

    #[test]
    fn an_unknown_format_lists_the_known_ones() {
        let error = Format::named("q4_k_mm").unwrap_err();
        assert!(error.known.starts_with("q4_k_m"), "{error}");
    }
}
