//! `config`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::access::AccessArgs;
use super::gpu::GpuArgs;
use super::values::{command_line, duration};

pub(super) const EXAMPLES: &str = "\
Exit codes: 0 everything that was asked for and can be compared is in force and no mistake was found (notes alone do not
count), 1 something is not in force, or an error or a warning was found, 3 nothing tells, or a manifest tells nothing of
this server, 4 a file cannot be read. Without TARGET, manifests and --engine-args are judged alone.

Examples:
  intriage config --manifest vllm.service --gpu a100-80
  intriage config deploy.yaml --model ./model/config.json --format sarif
  intriage config --engine-args '--max-model-len 32768 --enforce-eager' --model llama-3.1-8b --gpu h100
  intriage config http://127.0.0.1:8000 --host --manifest /etc/systemd/system/vllm.service
  intriage config http://127.0.0.1:8000 --log server.log --manifest deploy.yaml --all
  kubectl logs vllm-0 | intriage config http://127.0.0.1:8000 --log - --manifest deploy.yaml
  intriage config http://127.0.0.1:8000 --log server.log --manifest vllm.service --manifest vllm.service.d/override.conf
  intriage config incident.case --format json";

/// Arguments of `config`.
#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    /// A URL, a folder of recordings, a saved case, or a manifest to judge alone.
    #[arg(required_unless_present_any = ["manifest", "engine_args"])]
    pub(crate) target: Option<String>,
    /// Show every row, not only those that do not agree.
    #[arg(long)]
    pub(crate) all: bool,
    /// A systemd unit, compose file or Kubernetes manifest (repeatable; what overrides comes last).
    #[arg(long, value_name = "FILE")]
    pub(crate) manifest: Vec<PathBuf>,
    /// A server log (repeatable): a file, - for standard input, or journal:UNIT.
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Vec<PathBuf>,
    /// The server's command line or flags, as they are meant to be.
    #[arg(long, alias = "args", value_name = "FLAGS", allow_hyphen_values = true, value_parser = command_line)]
    pub(crate) engine_args: Option<String>,
    /// Also look at the server's process and its GPUs, which must be this machine's.
    #[arg(long)]
    pub(crate) host: bool,
    #[command(flatten)]
    pub(crate) gpu: GpuArgs,
    /// The GPU to judge for, such as h100, a100-80 or l40s [default: the one that is seen].
    #[arg(long = "gpu", value_name = "GPU")]
    pub(crate) card: Option<String>,
    /// The model to judge for: a built-in name, its config.json, or the folder that holds it [default: the one named].
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// Compare this replica of a merged case, by its name in `intriage case show`.
    #[arg(long, value_name = "NAME")]
    pub(crate) replica: Option<String>,
    /// How long to watch a URL.
    #[arg(long, value_parser = duration, default_value = "3s")]
    pub(crate) window: Duration,
    /// Most time one scrape may take.
    #[arg(long, value_parser = duration, default_value = "5s")]
    pub(crate) timeout: Duration,
    /// Output for people, for machines, or for code scanning.
    #[arg(long, default_value = "text")]
    pub(crate) format: ConfigFormat,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
}

/// Output format of `config`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConfigFormat {
    /// For people.
    Text,
    /// For machines: JSON with a published schema.
    Json,
    /// For code scanning: SARIF 2.1.0, the findings alone.
    Sarif,
}
