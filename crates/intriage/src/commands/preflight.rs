//! `intriage check --preflight -- COMMAND`: what would stop the start, without starting anything.

use intriage_diagnose::{PreflightVerdict, preflight};
use intriage_observe::surroundings;
use intriage_redact::Redactor;

use super::print;
use super::starting::command_of;
use crate::cli::CheckArgs;
use crate::failure::{Failure, Outcome};

pub(super) fn run(args: &CheckArgs) -> Result<Outcome, Failure> {
    let command = command_of(&args.starting)?;
    let mut answer = preflight(command, &surroundings(command));
    // The answer is pasted into tickets, and a command line may hold a key.
    answer.command = Redactor::new().keep_names().keep_prompts().command_line(&answer.command);
    print::preflight(&answer, args.format)?;
    Ok(match answer.verdict {
        PreflightVerdict::Pass => Outcome::Fine,
        PreflightVerdict::WouldFail => Outcome::Wrong,
        PreflightVerdict::CannotTell => Outcome::Open,
    })
}
