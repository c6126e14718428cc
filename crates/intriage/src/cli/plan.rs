//! `plan`.

use std::path::PathBuf;

use clap::Args;

use super::values::Format;

pub(super) const EXAMPLES: &str = "\
Examples:
  intriage plan --model llama-3.1-8b --gpu h100 --isl 2000 --osl 300 --rate 100 \\
      --slo ttft.p95=1s --slo itl.p95=40ms --price 2.50
  intriage plan --from incident.case --rate 60 --growth 50%
  intriage plan --list

The first plans from physics: how the memory divides, how fast steps can be, and by simulation the rate \
at which one instance still holds the objectives. Without --tp it chooses the GPUs per instance and the \
token budget that take the fewest GPUs. The second takes lengths, limits and speed from a \
recording; with --model it also divides the memory and compares alternatives. A plan that cannot work \
exits with 1.";

/// Arguments of `plan`.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// A saved case or a folder of recordings to take rate, lengths, limits and speed from.
    pub(crate) case: Option<PathBuf>,
    /// The same, as a flag.
    #[arg(long, value_name = "CASE", conflicts_with = "case")]
    pub(crate) from: Option<PathBuf>,
    /// A model by name, such as llama-3.1-8b, or its config.json (or the folder that holds it).
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// A GPU, such as h100, a100-80, l40s or mi300x; 4xl40s means nodes of four [default: nodes of eight].
    #[arg(long)]
    pub(crate) gpu: Option<String>,
    /// List the models and GPUs that are built in, and stop.
    #[arg(long)]
    pub(crate) list: bool,
    /// GPUs that share every layer [default: the number that takes the fewest GPUs in all].
    #[arg(long, visible_alias = "tensor-parallel-size", allow_negative_numbers = true, value_name = "GPUS")]
    pub(crate) tp: Option<u32>,
    /// Pipeline stages [default: 1, or what a model needs that is too large for one node].
    #[arg(
        long,
        visible_alias = "pipeline-parallel-size",
        allow_negative_numbers = true,
        value_name = "STAGES"
    )]
    pub(crate) pp: Option<u32>,
    /// Mean prompt length in tokens.
    #[arg(long, allow_negative_numbers = true, value_name = "TOKENS")]
    pub(crate) isl: Option<f64>,
    /// Mean answer length in tokens.
    #[arg(long, allow_negative_numbers = true, value_name = "TOKENS")]
    pub(crate) osl: Option<f64>,
    /// Requests a second at peak, all instances together.
    #[arg(long, allow_negative_numbers = true, value_name = "REQ/S")]
    pub(crate) rate: Option<f64>,
    /// An objective, such as ttft.p95=1s or itl.p95=40ms (repeatable; default: those two with 50ms).
    #[arg(long, value_name = "OBJECTIVE")]
    pub(crate) slo: Vec<String>,
    /// How weights are stored, whatever the config says: bf16, fp8, int4, awq, nvfp4, Q4_K_M, …
    #[arg(long, value_name = "FORMAT")]
    pub(crate) quantization: Option<String>,
    /// How keys and values are stored.
    #[arg(long, visible_alias = "kv-cache-dtype", default_value = "auto", value_name = "DTYPE")]
    pub(crate) kv_dtype: String,
    /// Share of GPU memory that the engine may take [default: 0.92; 0.9 before vLLM 0.20].
    #[arg(long, visible_alias = "gpu-memory-utilization", allow_negative_numbers = true, value_name = "SHARE", value_parser = share)]
    pub(crate) utilization: Option<f64>,
    /// The release of vLLM, such as 0.11: before 0.20 memory was divided otherwise [default: the newest].
    #[arg(long, value_name = "RELEASE")]
    pub(crate) vllm_version: Option<String>,
    /// Longest prompt and answer together [default: the model's, as far as the pool holds it].
    #[arg(long, allow_negative_numbers = true, value_name = "TOKENS")]
    pub(crate) max_model_len: Option<u32>,
    /// Sequences in one step at most [default: vLLM's for the GPU].
    #[arg(long, allow_negative_numbers = true, value_name = "N")]
    pub(crate) max_num_seqs: Option<u32>,
    /// Tokens in one step at most [default: vLLM's for the GPU].
    #[arg(long, allow_negative_numbers = true, value_name = "N")]
    pub(crate) max_num_batched_tokens: Option<u32>,
    /// Share of an average prompt that the prefix cache holds, such as 0.6 or 60%.
    #[arg(long, allow_negative_numbers = true, value_name = "SHARE", value_parser = share)]
    pub(crate) prefix_share: Option<f64>,
    /// Coefficient of variation of lengths; 0 makes all alike [default: 0.5].
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) cv: Option<f64>,
    /// Share of the capacity that stays spare at peak [default: 25%].
    #[arg(long, allow_negative_numbers = true, value_name = "SHARE", value_parser = share, conflicts_with = "growth")]
    pub(crate) spare: Option<f64>,
    /// Growth in demand to leave room for, instead of spare capacity.
    #[arg(long, allow_negative_numbers = true, value_name = "SHARE", value_parser = growth)]
    pub(crate) growth: Option<f64>,
    /// Price of one GPU for an hour, in any currency.
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) price: Option<f64>,
    /// Decides every random draw; the same seed gives the same plan.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Output for people or for machines (schema intriage.plan/1).
    #[arg(long, default_value = "text")]
    pub(crate) format: Format,
}

/// `25%` or `0.25`.
fn share(text: &str) -> Result<f64, String> {
    let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |percent| (percent, 0.01));
    let number = number.trim().parse::<f64>();
    number.map(|n| n * scale).map_err(|_| format!("{text:?} is not a share: write 25% or 0.25"))
}

/// A share too, of which more than ten is a forgotten percent sign.
fn growth(text: &str) -> Result<f64, String> {
    let value = share(text)?;
    if value > 10.0 && !text.ends_with('%') {
        return Err(format!("{text} would be {:.0} %: write {text}% or {:.2}", value * 100.0, value / 100.0));
    }
    Ok(value)
}
