//! `host`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::gpu::GpuArgs;
use super::values::{Format, duration};

pub(super) const EXAMPLES: &str = "\
Clocks, heat and links count only while the GPU works: run it while the server is under load.

Examples:
  intriage host
  intriage host --window 30s --format json
  intriage host --dcgm http://127.0.0.1:9400
  intriage host --gpu-file smi_q.txt
  intriage host --save machine.case";

/// Arguments of `host`.
#[derive(Debug, Args)]
pub(crate) struct HostArgs {
    /// How long to watch.
    #[arg(long, value_parser = duration, default_value = "3s")]
    pub(crate) window: Duration,
    #[command(flatten)]
    pub(crate) gpu: GpuArgs,
    /// Save what was seen as a case file.
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
    /// Output for people or for machines.
    #[arg(long, default_value = "text")]
    pub(crate) format: Format,
    /// The settings file (default: intriage.toml in this folder, if there is one).
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}
