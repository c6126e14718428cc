//! `intriage completions SHELL`.

use clap::CommandFactory;

use super::print;
use crate::failure::{Failure, Outcome};

pub(crate) fn run<C: CommandFactory>(shell: clap_complete::Shell) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut C::command(), "intriage", &mut script);
    print::text(&String::from_utf8_lossy(&script))?;
    Ok(Outcome::Fine)
}
