//! `config`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::access::AccessArgs;
use super::gpu::GpuArgs;
use super::values::{Format, command_line, duration};

pub(super) const EXAMPLES: &str = "\
Exit codes: 0 everything that was asked for and can be compared is in force, 1 something is not, 3 nothing tells, or a
manifest tells nothing of this server.

Examples:
  intriage config http://127.0.0.1:8000 --host --manifest /etc/systemd/system/vllm.service
  intriage config http://127.0.0.1:8000 --log server.log --manifest deploy.yaml --all
  kubectl logs vllm-0 | intriage config http://127.0.0.1:8000 --log - --manifest deploy.yaml
  intriage config http://127.0.0.1:8000 --log server.log --manifest vllm.service --manifest vllm.service.d/override.conf
  intriage config incident.case --format json";

/// Arguments of `config`.
#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    /// A URL, a folder of recordings, or a saved case.
    pub(crate) target: String,
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
    /// Compare this replica of a merged case, by its name in `intriage case show`.
    #[arg(long, value_name = "NAME")]
    pub(crate) replica: Option<String>,
    /// How long to watch a URL.
    #[arg(long, value_parser = duration, default_value = "3s")]
    pub(crate) window: Duration,
    /// Most time one scrape may take.
    #[arg(long, value_parser = duration, default_value = "5s")]
    pub(crate) timeout: Duration,
    /// Output for people or for machines.
    #[arg(long, default_value = "text")]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
}
