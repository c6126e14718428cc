//! `intriage case merge`: cases of one deployment put into one.

use std::path::Path;

use intriage_case::merge::merge;
use intriage_observe::{open, pseudonyms_of, redacted, renamed};
use intriage_redact::{Redactor, Unifier};

use super::super::keeping::{can_save, keep};
use super::{is_no_input, names};
use crate::cli::MergeArgs;
use crate::failure::{Failure, Outcome};

pub(super) fn run(args: &MergeArgs) -> Result<Outcome, Failure> {
    let inputs: Vec<&Path> = args.cases.iter().map(AsRef::as_ref).collect();
    is_no_input(&args.output, &inputs)?;
    can_save(&args.output)?;
    let mut unifier = Unifier::default();
    let mut parts = Vec::new();
    for (path, number) in inputs.into_iter().zip(1..) {
        let case = open(path)?;
        let names = unifier.take(&pseudonyms_of(&case)?, names::beside(path)?.as_ref());
        // A file is often called what its host is: its name is for the user's eyes, and stands in no case.
        let name = format!("replica-{number}");
        anstream::eprintln!("{name} is {}", path.display());
        parts.push((name, renamed(case, &names)?));
    }
    let redactor = Redactor::from_map(unifier.into_map())
        .map_err(|e| Failure::File { path: args.output.display().to_string(), why: e.to_string() })?;
    // One redactor for all, before they are compared: the same server has the same name then.
    let parts = parts.into_iter().map(|(name, case)| {
        let mut case = redacted(case, &redactor);
        case.target.name = redactor.text(&case.target.name).into_owned();
        (name, case)
    });
    let mut merged = merge(parts.collect());
    for what in &merged.unmerged {
        anstream::eprintln!("{what}");
    }
    merged.case.notes.extend(merged.unmerged.iter().map(|what| format!("merged: {what}")));
    keep(&merged.case, &redactor, &args.output)?;
    Ok(Outcome::Fine)
}
