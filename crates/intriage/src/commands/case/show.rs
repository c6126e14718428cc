//! `intriage case show`: what is in a case.

use intriage_diagnose::contents;
use intriage_observe::{Found, redacted};
use intriage_redact::Redactor;

use super::super::print;
use super::found;
use crate::cli::ShowArgs;
use crate::failure::{Failure, Outcome};

pub(super) fn run(args: &ShowArgs) -> Result<Outcome, Failure> {
    let Found { case, strays } = found(&args.case)?;
    let said = case.redacted;
    // Hidden before it is shown, and what had to be hidden is told: a foreign case may say it is safe and not be.
    let redactor = Redactor::new();
    let mut case = redacted(case, &redactor);
    case.target.name = redactor.text(&case.target.name).into_owned();
    let mut contents = contents(&case);
    contents.redacted = said;
    contents.would_hide = redactor.found().into_iter().map(|(rule, n)| (rule.to_owned(), n)).collect();
    // Names of files tell hosts and people, too.
    let strays: Vec<String> = strays.iter().map(|name| redactor.text(name).into_owned()).collect();
    print::contents(contents, &strays, args.format)?;
    Ok(Outcome::Fine)
}
