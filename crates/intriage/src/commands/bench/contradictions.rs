//! Flags that do not go together, told before anything is sent.

use std::collections::BTreeSet;

use super::super::keeping::can_save;
use super::args::{BenchArgs, BenchFormat};
use crate::failure::Failure;

/// The first contradiction, if there is one.
pub(super) fn check(args: &BenchArgs) -> Result<(), Failure> {
    let several = args.goals.search.is_some() || args.goals.sweep;
    let output = &args.output;
    // A search is many runs: what belongs to one run has no place there.
    let of_one_run = [
        ("--record", output.record.is_some()),
        ("--definitions", !output.definitions.is_empty()),
        ("--format csv", output.format == BenchFormat::Csv),
        ("--check", args.goals.check),
        ("--save", args.goals.save.is_some()),
    ];
    if let Some((flag, _)) = of_one_run.into_iter().find(|(_, given)| several && *given) {
        return Err(Failure::Usage(format!("{flag} is about one run; --search and --sweep make many")));
    }
    if args.load.request_rate.is_some_and(f64::is_infinite) && args.load.num_prompts.is_none() {
        return Err(Failure::Usage(
            "--request-rate inf sends all at once: say how many with --num-prompts".into(),
        ));
    }
    if args.prompts.think.is_some() && args.prompts.turns == "1" {
        return Err(Failure::Usage("--think is the pause between turns: give --turns 2 or more".into()));
    }
    let names: Vec<_> = args.prompts.class.iter().filter_map(|c| c.split(':').next()).collect();
    if names.iter().collect::<BTreeSet<_>>().len() < names.len() {
        return Err(Failure::Usage("two classes have the same name: their figures would be one".into()));
    }
    if let Some(prefix) = args.prompts.prefix_len.filter(|p| *p >= args.prompts.random_input_len)
        && args.prompts.class.is_empty()
    {
        return Err(Failure::Usage(format!(
            "--prefix-len {prefix} leaves nothing of --random-input-len {} for the prompt itself",
            args.prompts.random_input_len
        )));
    }
    if let Some(path) = &args.goals.save {
        can_save("--save", path)?;
    }
    Ok(())
}
