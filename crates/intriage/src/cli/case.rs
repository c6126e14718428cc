//! `case`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::values::Format;

pub(super) const EXAMPLES: &str = "\
A case is a zip; a folder of recordings does as well wherever a case is read.

Examples:
  intriage case show incident.case
  intriage case diff before.case after.case
  intriage case redact from-a-colleague.case -o safe.case
  intriage case merge gpu1.case gpu2.case -o both.case
  intriage case extract incident.case -o incident/";

const SHOW_EXAMPLES: &str = "\
Examples:
  intriage case show incident.case
  intriage case show incident.case --format json | jq '.collected[] | select(.outcome.result != \"whole\")'";

const REDACT_EXAMPLES: &str = "\
Hides keys, tokens, passwords, prompts and answers, and gives addresses and names pseudonyms, by the rules of this
version. What was hidden before stays hidden. What the new pseudonyms stand for is written beside OUT, for you alone;
where IN has such a list beside it, it goes on from there.

Examples:
  intriage case redact old.case -o safe.case
  intriage case redact recording/ -o safe.case --keep-prompts";

const DIFF_EXAMPLES: &str = "\
Compares engine and version, settings in force, the model's files (template, tokenizer, sampling, dtype), GPUs, the
machine, what the server is allowed, and what was measured. What only one case looked at is said, and is no difference.
Exit code 0 when nothing differs, 1 when something does, 3 when nothing could be compared.

Examples:
  intriage case diff yesterday.case today.case
  intriage case diff fast-host.case slow-host.case --format json | jq '.differs[] | select(.weight == \"high\")'";

const MERGE_EXAMPLES: &str = "\
Cases of one server (other times, or one of the URL and one of the machine) become one window. Cases of other servers
are kept apart as replicas: their counters are their own. `intriage check OUT` judges the first, `--replica NAME`
another. Where two cases differ and only one can be kept, it is said which.

Examples:
  intriage case merge server.case machine.case -o incident.case
  intriage case merge gpu1.case gpu2.case gpu3.case -o fleet.case";

const EXTRACT_EXAMPLES: &str = "\
Writes the case's files below a new folder, or none at all. `unzip incident.case -d DIR` does nearly the same.

Examples:
  intriage case extract incident.case -o incident/
  intriage check incident/";

/// Arguments of `case`.
#[derive(Debug, Args)]
pub(crate) struct CaseArgs {
    #[command(subcommand)]
    pub(crate) command: CaseCommand,
}

/// What to do with a case.
#[derive(Debug, Subcommand)]
pub(crate) enum CaseCommand {
    /// Say what is in a case: engine, time, metrics, logs, machine, what was skipped and why, whether it is safe.
    #[command(after_long_help = SHOW_EXAMPLES)]
    Show(ShowArgs),
    /// Make a case safe again, by the rules of this version.
    #[command(after_long_help = REDACT_EXAMPLES)]
    Redact(RedactArgs),
    /// Say what differs between two cases, the weightiest first.
    #[command(after_long_help = DIFF_EXAMPLES)]
    Diff(DiffArgs),
    /// Put cases of one deployment into one.
    #[command(after_long_help = MERGE_EXAMPLES)]
    Merge(MergeArgs),
    /// Write a case's files into a new folder.
    #[command(after_long_help = EXTRACT_EXAMPLES)]
    Extract(ExtractArgs),
}

/// Arguments of `case show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The case.
    pub(crate) case: PathBuf,
    /// Output for people or for machines.
    #[arg(long, default_value = "text")]
    pub(crate) format: Format,
}

/// Arguments of `case redact`.
#[derive(Debug, Args)]
pub(crate) struct RedactArgs {
    /// The case to make safe; it stays as it is.
    pub(crate) case: PathBuf,
    /// The safe case.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Leave prompts and answers in; keys, names and addresses in them are hidden all the same.
    #[arg(long)]
    pub(crate) keep_prompts: bool,
}

/// Arguments of `case diff`.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The first case.
    pub(crate) a: PathBuf,
    /// The second case.
    pub(crate) b: PathBuf,
    /// Output for people or for machines.
    #[arg(long, default_value = "text")]
    pub(crate) format: Format,
    /// The settings file (default: intriage.toml in this folder, if there is one).
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// Arguments of `case merge`.
#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// The cases; they stay as they are.
    #[arg(required = true, num_args = 2..)]
    pub(crate) cases: Vec<PathBuf>,
    /// The case of all of them.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

/// Arguments of `case extract`.
#[derive(Debug, Args)]
pub(crate) struct ExtractArgs {
    /// The case.
    pub(crate) case: PathBuf,
    /// A folder that does not exist yet, or an empty one.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,
}
