//! `intriage case redact`: an old or foreign case made safe.

use intriage_observe::{Found, pseudonyms_of};
use intriage_redact::{Redactor, Unifier};
use intriage_report::some_of;

use super::super::keeping::{can_save, keep};
use super::{found, is_no_input, names};
use crate::cli::RedactArgs;
use crate::failure::{Failure, Outcome};

pub(super) fn run(args: &RedactArgs) -> Result<Outcome, Failure> {
    is_no_input(&args.output, &[&args.case])?;
    can_save("-o", &args.output)?;
    let Found { case, strays } = found(&args.case)?;
    let list = names::beside(&args.case)?;
    // Pseudonyms that stand in it already must not be given to somebody else.
    let mut taken = Unifier::default();
    taken.take(&pseudonyms_of(&case)?, list.as_ref());
    let mut redactor = Redactor::from_map(taken.into_map())
        .map_err(|e| Failure::File { path: args.case.display().to_string(), why: e.to_string() })?;
    if args.keep_prompts {
        redactor = redactor.keep_prompts();
    }
    keep(&case, &redactor, &args.output)?;
    let hidden: u64 = redactor.found().values().sum();
    anstream::eprintln!("{hidden} places were hidden");
    if !strays.is_empty() {
        anstream::eprintln!("left out, being no part of a case: {}", some_of(&strays));
    }
    Ok(Outcome::Fine)
}
