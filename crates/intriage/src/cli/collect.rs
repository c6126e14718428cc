//! `collect`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::access::AccessArgs;
use super::values::duration;

pub(super) const EXAMPLES: &str = "\
Keys, tokens, passwords, prompts and answers are hidden before anything is written; addresses and names of hosts and
people become pseudonyms. The list of what they stand for is written beside the case, for you alone.

Examples:
  intriage collect http://127.0.0.1:8000 --host --log server.log
  intriage collect --host --save machine.case
  journalctl -u vllm --since -1h > vllm.log; intriage collect --log vllm.log --save incident.case";

/// Arguments of `collect`.
#[derive(Debug, Args)]
pub(crate) struct CollectArgs {
    /// The server; without it only what the other options name is collected.
    pub(crate) target: Option<String>,
    /// Also look at this machine: GPUs, processors, memory, control groups, network. No root needed.
    #[arg(long)]
    pub(crate) host: bool,
    /// A server, kernel or container log (repeatable).
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Vec<PathBuf>,
    /// A systemd unit, compose file or Kubernetes manifest the server is meant to be started from (repeatable).
    #[arg(long, value_name = "FILE")]
    pub(crate) manifest: Vec<PathBuf>,
    /// The server's command line or flags, where no log tells them.
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true)]
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
    /// The case file.
    #[arg(long, value_name = "FILE", default_value = "intriage.case")]
    pub(crate) save: PathBuf,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
}
