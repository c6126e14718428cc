//! `check --start` and `check --preflight`.

use std::time::Duration;

use clap::Args;

use super::values::duration;

/// What is done with a command behind `--`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(next_help_heading = "A server that is not started yet")]
pub(crate) struct StartingArgs {
    /// Run the command behind -- and watch it until it serves or fails; say why, and how long each phase took.
    #[arg(long, conflicts_with_all = ["preflight", "target", "host", "via", "client", "replica", "log", "manifest"])]
    pub(crate) start: bool,
    /// Judge the command behind -- against the model's files and this machine, without starting anything.
    #[arg(long, conflicts_with_all = ["target", "host", "via", "client", "replica", "log", "manifest", "save"])]
    pub(crate) preflight: bool,
    /// Most time until the server serves.
    #[arg(long, value_parser = duration, default_value = "10m", value_name = "TIME")]
    pub(crate) start_timeout: Duration,
    /// Most time without a line of output and without work before the start counts as stuck.
    #[arg(long, value_parser = duration, default_value = "3m", value_name = "TIME")]
    pub(crate) start_silence: Duration,
    /// Leave the server running after the verdict, its output on standard output; Ctrl-C ends it.
    #[arg(long, requires = "start")]
    pub(crate) keep_running: bool,
    /// Copy the server's output to standard error while it starts.
    #[arg(short, long, requires = "start")]
    pub(crate) verbose: bool,
    /// The command that starts the server, such as vllm serve MODEL.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}
