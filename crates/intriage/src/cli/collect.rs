//! `collect`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::access::AccessArgs;
use super::gpu::GpuArgs;
use super::values::{command_line, duration};

pub(super) const EXAMPLES: &str = "\
Keys, tokens, passwords, prompts and answers are hidden before anything is written; addresses and names of hosts and
people become pseudonyms. The list of what they stand for is written beside the case, for you alone.

Examples:
  intriage collect http://127.0.0.1:8000 --host --log server.log
  intriage collect --host --save machine.case
  intriage collect http://10.0.0.7:8000 --via https://llm.example --log journal:vllm
  kubectl logs vllm-0 | intriage collect --log - --save incident.case
  intriage collect --model-path ~/.cache/huggingface/hub/models--Qwen--Qwen3-8B/snapshots/9c92… --save model.case
  intriage collect --log /var/lib/docker/containers/4f6…/4f6…-json.log --save incident.case";

/// Arguments of `collect`.
#[derive(Debug, Args)]
pub(crate) struct CollectArgs {
    /// The server; without it only what the other options name is collected.
    pub(crate) target: Option<String>,
    /// Also look at this machine: GPUs, processors, memory, control groups, network. No root needed.
    #[arg(long)]
    pub(crate) host: bool,
    #[command(flatten)]
    pub(crate) gpu: GpuArgs,
    /// A server, kernel or container log (repeatable; several files of one log in any order): a file, with gzip or without, - for standard input, or journal:UNIT.
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Vec<PathBuf>,
    /// Most MiB kept of one log: its start, lines of its middle that tell, its end.
    #[arg(long, default_value_t = 8, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) max_log: u32,
    /// A proxy, gateway or load balancer in front of the server (repeatable; from the server outwards). Sends a few
    /// dozen short requests, straight to the server and through each hop in turn.
    #[arg(long, value_name = "URL")]
    pub(crate) via: Vec<String>,
    /// The model's folder on this machine; with --host it is found by the server's command line.
    #[arg(long, value_name = "DIR")]
    pub(crate) model_path: Option<PathBuf>,
    /// Leave prompts and answers in; keys, names and addresses in them are hidden all the same.
    #[arg(long)]
    pub(crate) keep_prompts: bool,
    /// A systemd unit, compose file or Kubernetes manifest the server is meant to be started from (repeatable).
    #[arg(long, value_name = "FILE")]
    pub(crate) manifest: Vec<PathBuf>,
    /// The server's command line or flags, where no log tells them.
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true, value_parser = command_line)]
    pub(crate) engine_args: Option<String>,
    /// Time between scrapes, such as 1s or 500ms.
    #[arg(long, value_parser = duration, default_value = "1s")]
    pub(crate) interval: Duration,
    /// How long to watch.
    #[arg(long, value_parser = duration, default_value = "10s")]
    pub(crate) window: Duration,
    /// Most time one scrape may take.
    #[arg(long, value_parser = duration, default_value = "5s")]
    pub(crate) timeout: Duration,
    /// The case file; without it intriage.case, or a numbered one where that is taken.
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
}
