//! `intriage host`: the state of this machine.

use intriage_case::{Case, Target};
use intriage_diagnose::{State, health};
use intriage_observe::redacted;

use super::keeping::{can_save, keep, redactor};
use super::machine::Looking;
use super::print;
use crate::cli::HostArgs;
use crate::failure::{Failure, Outcome};
use crate::settings::Settings;

pub(crate) fn run(args: &HostArgs) -> Result<Outcome, Failure> {
    let thresholds = Settings::load(args.config.as_deref())?.thresholds()?;
    if let Some(path) = &args.save {
        can_save("--save", path)?;
    }
    let mut case = Case { target: Target::this_machine(), ..Case::default() };
    anstream::eprintln!("looking at this machine for {} s", args.window.as_secs_f64());
    let looking = Looking::start(true, &args.gpu, None)?;
    std::thread::sleep(args.window);
    looking.stop(&mut case);
    let redactor = redactor(None, None);
    let case = redacted(case, &redactor);
    let health = health(&case, &thresholds);
    print::health(&health, args.format)?;
    if let Some(path) = &args.save {
        keep(&case, &redactor, path)?;
    }
    Ok(match health.state {
        State::Good | State::Attention => Outcome::Fine,
        State::Bad => Outcome::Wrong,
        State::Unknown => Outcome::Open,
    })
}
