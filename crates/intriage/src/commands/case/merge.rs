//! `intriage case merge`: cases of one deployment put into one.

use std::path::Path;

use intriage_case::merge::{Fate, merge};
use intriage_observe::{pseudonyms_of, redacted, renamed};
use intriage_redact::{Redactor, Unifier};

use super::super::keeping::{can_save, keep};
use super::{is_no_input, names, opened};
use crate::cli::MergeArgs;
use crate::failure::{Failure, Outcome};

pub(super) fn run(args: &MergeArgs) -> Result<Outcome, Failure> {
    let inputs: Vec<&Path> = args.cases.iter().map(AsRef::as_ref).collect();
    is_no_input(&args.output, &inputs)?;
    can_save("-o", &args.output)?;
    let mut unifier = Unifier::default();
    let mut parts = Vec::new();
    for (path, number) in inputs.iter().zip(1..) {
        let case = opened(path)?;
        let names = unifier.take(&pseudonyms_of(&case)?, names::beside(path)?.as_ref());
        // A file is often called what its host is: its name is for the user's eyes, and stands in no case.
        parts.push((format!("replica-{number}"), renamed(case, &names)?));
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
    for (number, (path, fate)) in inputs.iter().zip(&merged.fates).enumerate() {
        let path = path.display();
        let became = match fate {
            Fate::First => "is judged by `intriage check`".to_owned(),
            Fate::JoinedTo(other) => format!("is put together with case {}", other + 1),
            Fate::Replica(name) => format!("is {name}; judge it with --replica {name}"),
            Fate::LeftOut => "is left out".to_owned(),
        };
        anstream::eprintln!("case {}, {path}, {became}", number + 1);
    }
    for what in &merged.unmerged {
        anstream::eprintln!("{what}");
    }
    merged.case.notes.extend(merged.unmerged.iter().map(|what| format!("merged: {what}")));
    keep(&merged.case, &redactor, &args.output)?;
    Ok(Outcome::Fine)
}
