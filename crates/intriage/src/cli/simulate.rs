//! `demo` and `simulate`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::values::{Format, duration};

pub(super) const DEMO_EXAMPLES: &str = "Examples:
  intriage demo                              a fault nobody told you
  intriage demo --list                       all faults
  intriage demo small-kv-pool --seed 7       this fault, this deployment
  intriage demo --seed 7 --instant           in virtual time, at once";

pub(super) const SIMULATE_EXAMPLES: &str = "\
Examples:
  intriage simulate --port 8000
      a healthy 8B model on an H100; then, from another terminal:
      curl http://127.0.0.1:8000/v1/completions -d '{\"prompt\": \"Hello\", \"stream\": true}'
  intriage simulate --list
      what can be wrong with it
  intriage simulate --port 8000 --fault low-sequence-cap --load
      a server that is too small for the requests that are sent to it; `intriage check` should say so
  intriage simulate --max-num-seqs 4 --num-gpu-blocks 2000 --max-model-len 8192
      vLLM's own flags
  intriage simulate --ground-truth --port 8000 --schedule ttft_ms=50,itl_ms=5
      no engine but a clock: 50 ms to the first token, 5 ms between tokens, and
      curl http://127.0.0.1:8000/truth/log says in nanoseconds when each of them left
  intriage simulate --duration 60s >url.txt &
      in a script: the URL is the first and only line of the file";

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// The fault, by name; without one the seed draws it.
    pub(crate) fault: Option<String>,
    /// List the faults and end.
    #[arg(long)]
    pub(crate) list: bool,
    /// Decides the fault, the deployment and its load; the same seed gives the same case.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// How wrong it is: 1 is a plain case, 2 a severe one.
    #[arg(long, default_value_t = 1.0, value_parser = strength)]
    pub(crate) strength: f64,
    /// Run in virtual time, without sockets and without waiting.
    #[arg(long)]
    pub(crate) instant: bool,
    /// Output for people or for machines.
    #[arg(long, default_value = "text")]
    pub(crate) format: Format,
}

/// Arguments of `simulate`.
#[derive(Debug, Args)]
pub(crate) struct SimulateArgs {
    /// The port; 0 takes any that is free.
    #[arg(long, default_value_t = 0)]
    pub(crate) port: u16,
    /// The address to listen on.
    #[arg(long, default_value = "127.0.0.1")]
    pub(crate) host: std::net::IpAddr,
    /// What is wrong with the deployment; `--list` has the names.
    #[arg(long, value_name = "NAME", default_value = "healthy")]
    pub(crate) fault: String,
    /// How wrong it is: 1 is a plain case, 2 a severe one.
    #[arg(long, default_value_t = 1.0, value_parser = strength)]
    pub(crate) strength: f64,
    /// Send the requests that belong to the fault, too.
    #[arg(long)]
    pub(crate) load: bool,
    /// Send the requests of this trace instead: JSON lines with timestamp (ms), input_length, output_length and,
    /// where known, hash_ids of 512-token blocks, as the Mooncake traces have them.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// End after this time, such as 60s; without it on Ctrl-C.
    #[arg(long, value_parser = duration)]
    pub(crate) duration: Option<Duration>,
    /// Decides speeds, lengths and words: the same seed gives the same deployment.
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// List the faults and end.
    #[arg(long)]
    pub(crate) list: bool,
    #[command(flatten)]
    pub(crate) truth: GroundTruthArgs,
    /// The name the model is served under.
    #[arg(long, value_name = "NAME", help_heading = "Engine (vLLM's flags)")]
    pub(crate) model: Option<String>,
    /// Most sequences in a step.
    #[arg(long, value_name = "N", help_heading = "Engine (vLLM's flags)", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_num_seqs: Option<u32>,
    /// Most tokens in a step.
    #[arg(long, value_name = "N", help_heading = "Engine (vLLM's flags)", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_num_batched_tokens: Option<u32>,
    /// Blocks of the KV pool.
    #[arg(long, visible_alias = "num-gpu-blocks-override", value_name = "N", help_heading = "Engine (vLLM's flags)", value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub(crate) num_gpu_blocks: Option<u32>,
    /// Tokens in a KV block.
    #[arg(long, value_name = "N", help_heading = "Engine (vLLM's flags)", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(crate) block_size: Option<u32>,
    /// Longest prompt and answer together, in tokens.
    #[arg(long, value_name = "N", help_heading = "Engine (vLLM's flags)", value_parser = clap::value_parser!(u32).range(2..))]
    pub(crate) max_model_len: Option<u32>,
    /// Compute prompts that begin alike anew each time.
    #[arg(long, help_heading = "Engine (vLLM's flags)")]
    pub(crate) no_enable_prefix_caching: bool,
    /// Engines behind the address.
    #[arg(long, value_name = "N", help_heading = "Engine (vLLM's flags)", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) data_parallel_size: Option<u32>,
    /// Requests that may wait; more are refused with 503.
    #[arg(long, value_name = "N", help_heading = "Engine (vLLM's flags)")]
    pub(crate) max_num_queued_reqs: Option<u32>,
}

/// Arguments of `simulate --ground-truth`.
#[derive(Debug, Args)]
pub(crate) struct GroundTruthArgs {
    /// Serve tokens on a fixed schedule instead of a simulated engine, and log when each of them left: what the
    /// figures of a load generator are compared with (Linux).
    #[arg(long, help_heading = "Ground truth", conflicts_with_all = ["fault", "strength", "load", "trace", "seed",
        "list", "model", "max_num_seqs", "max_num_batched_tokens", "num_gpu_blocks", "block_size", "max_model_len",
        "no_enable_prefix_caching", "data_parallel_size", "max_num_queued_reqs"])]
    pub(crate) ground_truth: bool,
    /// What it does, as KEY=VALUE pairs with commas between them, such as ttft_ms=50,itl_ms=5; a wrong key lists all.
    #[arg(
        long,
        value_name = "PAIRS",
        help_heading = "Ground truth",
        requires = "ground_truth",
        default_value = ""
    )]
    pub(crate) schedule: String,
}

/// A positive number that is not absurd.
fn strength(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(strength) if (0.1..=10.0).contains(&strength) => Ok(strength),
        _ => Err(format!("{text:?} is not a strength: between 0.1 and 10, where 1 is a plain case")),
    }
}
