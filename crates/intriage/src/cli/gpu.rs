//! GPUs that are not asked here.

use std::path::PathBuf;

use clap::Args;

/// What `check`, `collect`, `config` and `host` know of GPUs beside this machine's.
#[derive(Debug, Args)]
pub(crate) struct GpuArgs {
    /// What a tool said of the GPUs, saved anywhere: nvidia-smi -q, dmon or --query-gpu=index,… --format=csv, amd-smi
    /// static or metric --json, a DCGM exporter's page (repeatable). This machine's own GPUs are then not asked.
    #[arg(long, value_name = "FILE")]
    pub(crate) gpu_file: Vec<PathBuf>,
    /// A DCGM exporter beside the server, such as http://10.0.0.7:9400; asked without the server's credentials.
    #[arg(long, value_name = "URL")]
    pub(crate) dcgm: Option<String>,
}
