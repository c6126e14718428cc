//! How to get in.

use std::path::PathBuf;

use clap::Args;

/// How to get in: what `check` and `bench` share.
#[derive(Debug, Args)]
pub(crate) struct AccessArgs {
    /// A file with a bearer token for the server (`bench` also knows OPENAI_API_KEY).
    #[arg(long, value_name = "FILE")]
    pub(crate) bearer_token_file: Option<PathBuf>,
    /// An extra header, 'Name: value' (repeatable).
    #[arg(long, value_name = "HEADER")]
    pub(crate) header: Vec<String>,
    /// Accept any TLS certificate.
    #[arg(long)]
    pub(crate) insecure: bool,
    /// A CA certificate (PEM) to trust.
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
}
