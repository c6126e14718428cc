//! `scoreboard`.

use std::path::PathBuf;

use clap::Args;

use super::values::Format;

pub(super) const EXAMPLES: &str = "\
Examples:
  intriage scoreboard fixtures
  intriage scoreboard --draws 2000 --seed 7 --list
  intriage scoreboard --only 123 --seed 7 --save /tmp/draw-123

The first judges labelled recordings. The second draws simulated deployments from the seed (card, model, load, \
faults, strength, evidence), runs each with and without its faults, and judges what an observer would have recorded: \
the truth is how much worse its users fared than those of the same deployment without the fault. The third writes one \
of these draws as a labelled recording and prints its verdict.";

/// Arguments of `scoreboard`.
#[derive(Debug, Args)]
pub(crate) struct ScoreboardArgs {
    /// Folders of labelled recordings.
    #[arg(required_unless_present_any = ["draws", "only"])]
    pub(crate) folders: Vec<PathBuf>,
    /// Judge so many deployments drawn from the seed instead.
    #[arg(long, value_name = "N", help_heading = "Drawn deployments", conflicts_with = "folders",
        value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) draws: Option<u64>,
    /// What decides the draws.
    #[arg(long, default_value_t = 1, value_name = "N", help_heading = "Drawn deployments")]
    pub(crate) seed: u64,
    /// Draws judged at the same time [default: one for each core].
    #[arg(long, value_name = "N", help_heading = "Drawn deployments",
        value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) jobs: Option<u32>,
    /// List each draw that counts against the diagnosis.
    #[arg(long, help_heading = "Drawn deployments")]
    pub(crate) list: bool,
    /// Judge this one draw and print what is true of it and what is said.
    #[arg(long, value_name = "NUMBER", help_heading = "Drawn deployments", conflicts_with_all = ["folders", "draws"])]
    pub(crate) only: Option<u64>,
    /// Write the one draw into this folder, as a labelled recording.
    #[arg(long, value_name = "FOLDER", help_heading = "Drawn deployments", requires = "only")]
    pub(crate) save: Option<PathBuf>,
    /// How drawn deployments are shown.
    #[arg(long, default_value = "text", value_name = "FORMAT", help_heading = "Drawn deployments")]
    pub(crate) format: Format,
}
