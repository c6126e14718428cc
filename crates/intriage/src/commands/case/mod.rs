//! `intriage case`: what can be done with evidence that was collected before.

mod diff;
mod extract;
mod merge;
mod names;
mod redact;
mod show;

use std::path::Path;

use intriage_case::Case;
use intriage_observe::{Address, Found, look_into};

use crate::cli::{CaseArgs, CaseCommand};
use crate::failure::{Failure, Outcome};

pub(crate) fn run(args: &CaseArgs) -> Result<Outcome, Failure> {
    match &args.command {
        CaseCommand::Show(args) => show::run(args),
        CaseCommand::Redact(args) => redact::run(args),
        CaseCommand::Diff(args) => diff::run(args),
        CaseCommand::Merge(args) => merge::run(args),
        CaseCommand::Extract(args) => extract::run(args),
    }
}

/// A case on disk, with what lies beside it.
fn found(path: &Path) -> Result<Found, Failure> {
    if let Some(url) = path.to_str().filter(|text| Address::looks_like_one(text))
        && !path.exists()
    {
        return Err(Failure::Usage(format!(
            "{url} is a server, and this looks into what was collected: write it to a file first, with intriage collect URL --save FILE"
        )));
    }
    Ok(look_into(path)?)
}

/// A case on disk.
fn opened(path: &Path) -> Result<Case, Failure> {
    Ok(found(path)?.case)
}

/// An output that is one of the inputs would destroy evidence.
fn is_no_input(output: &Path, inputs: &[&Path]) -> Result<(), Failure> {
    let Ok(place) = output.canonicalize() else { return Ok(()) };
    match inputs.iter().find(|input| input.canonicalize().is_ok_and(|input| input == place)) {
        Some(input) => Err(Failure::Usage(format!(
            "-o {} is {} itself: name another file",
            output.display(),
            input.display()
        ))),
        None => Ok(()),
    }
}
