//! `check`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::access::AccessArgs;
use super::gpu::GpuArgs;
use super::starting::StartingArgs;
use super::values::{Format, command_line, duration};

pub(super) const EXAMPLES: &str = "\
Examples:
  intriage check http://127.0.0.1:8000
  intriage check http://127.0.0.1:8000 --slo ttft.p95=500ms --slo itl.p95=50ms
  intriage check https://llm.example --bearer-token-file token --log server.log --save incident.case
  intriage check http://127.0.0.1:8000 --host --manifest /etc/systemd/system/vllm.service
  intriage check http://10.0.0.7:8000 --via https://llm.example
  intriage check incident.case --format json
  intriage check vllm.log
  intriage check --preflight -- vllm serve Qwen/Qwen3-8B --tensor-parallel-size 2
  intriage check --start --start-timeout 20m -- vllm serve Qwen/Qwen3-8B
  intriage check --start --keep-running --save start.case -- llama-server -m model.gguf
  kubectl logs --previous pod/llm-0 | intriage check -
  intriage check fixtures/recordings/vllm-h200-maxseqs4";

/// Arguments of `check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// A URL (scraped over a window), a folder of recordings, a saved case, a log, or - for a log on standard input.
    #[arg(required_unless_present_any = ["start", "preflight", "command"])]
    pub(crate) target: Option<String>,
    #[command(flatten)]
    pub(crate) starting: StartingArgs,
    /// Time between scrapes of a URL, such as 1s or 500ms.
    #[arg(long, value_parser = duration, default_value = "1s")]
    pub(crate) interval: Duration,
    /// How long to watch a URL.
    #[arg(long, value_parser = duration, default_value = "30s")]
    pub(crate) window: Duration,
    /// Most time one scrape may take.
    #[arg(long, value_parser = duration, default_value = "10s")]
    pub(crate) timeout: Duration,
    /// Most MiB one scrape may have.
    #[arg(long, default_value_t = 64, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) max_scrape: u32,
    /// What the server is for; decides which conditions matter.
    #[arg(long)]
    pub(crate) profile: Option<ProfileArg>,
    /// An objective, such as ttft.p95=500ms, itl.mean=50ms or errors=0.5% (repeatable).
    #[arg(long, value_name = "OBJECTIVE")]
    pub(crate) slo: Vec<String>,
    /// Judge this served model only.
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// The server's command line or flags, where no log tells them.
    #[arg(long, alias = "args", value_name = "FLAGS", allow_hyphen_values = true, value_parser = command_line)]
    pub(crate) engine_args: Option<String>,
    /// A server log (repeatable; several files of one log in any order): a file, with gzip or without, - for standard input, or journal:UNIT.
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Vec<PathBuf>,
    /// A systemd unit, compose file or Kubernetes manifest the server is meant to be started from (repeatable; what
    /// overrides comes last).
    #[arg(long, value_name = "FILE")]
    pub(crate) manifest: Vec<PathBuf>,
    /// Also look at this machine, which must be the server's: GPUs, processors, memory, control
    /// groups, the model's files.
    #[arg(long)]
    pub(crate) host: bool,
    #[command(flatten)]
    pub(crate) gpu: GpuArgs,
    /// The model's folder on this machine; with --host it is found by the server's command line.
    #[arg(long, value_name = "DIR")]
    pub(crate) model_path: Option<PathBuf>,
    /// What the clients saw: one JSON object a line with sent (Unix ms) and, in seconds after it, connect,
    /// headers, first, last, gap_p50; chunks, tokens, status, error. Where the client knows them: ended (seconds until it
    /// was over), late (sent later than planned), before (seconds its user had waited already), attempt (from 1).
    #[arg(long, value_name = "FILE")]
    pub(crate) client: Option<PathBuf>,
    /// A proxy, gateway or load balancer in front of the server (repeatable; from the server outwards). Sends a few
    /// dozen short requests, straight to the server and through each hop in turn, with the same credentials, and tells
    /// which hop holds answers back, is far away or lets only some through.
    #[arg(long, value_name = "URL")]
    pub(crate) via: Vec<String>,
    /// Judge this replica of a merged case, by its name in `intriage case show`.
    #[arg(long, value_name = "NAME")]
    pub(crate) replica: Option<String>,
    /// Save everything collected as a case file.
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
    /// Do not replay the case with its remedies.
    #[arg(long)]
    pub(crate) no_predict: bool,
    /// Output for people or for machines.
    #[arg(long, default_value = "text")]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
    /// The settings file (default: intriage.toml in this folder, if there is one).
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// Workload profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileArg {
    /// People wait for tokens.
    Interactive,
    /// A job wants throughput; a standing queue is its plan.
    Batch,
    /// People wait, and arrivals come in bursts.
    Bursty,
}
