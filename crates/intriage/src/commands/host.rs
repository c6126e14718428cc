//! `intriage host`: the state of this machine.

use intriage_case::{Case, Target};
use intriage_diagnose::{State, health};
use intriage_observe::gpu::{GpuWatch, SAMPLE_EVERY};
use intriage_observe::save;

use super::check::can_save;
use super::print;
use crate::cli::HostArgs;
use crate::failure::{Failure, Outcome};
use crate::settings::Settings;

pub(crate) fn run(args: &HostArgs) -> Result<Outcome, Failure> {
    let thresholds = Settings::load(args.config.as_deref())?.thresholds()?;
    if let Some(path) = &args.save {
        can_save(path)?;
    }
    let mut case = Case { target: Target { name: "this machine".into() }, ..Case::default() };
    let gpus = GpuWatch::start(SAMPLE_EVERY);
    std::thread::sleep(args.window);
    match gpus.and_then(GpuWatch::stop) {
        Ok(survey) => case.gpu.survey = Some(survey),
        Err(why) => case.notes.push(format!("GPUs: {why}")),
    }
    let health = health(&case, &thresholds);
    print::health(&health, args.format)?;
    if let Some(path) = &args.save {
        save(&case, path)?;
        anstream::eprintln!("saved {}", path.display());
    }
    Ok(match health.state {
        State::Good | State::Attention => Outcome::Fine,
        State::Bad => Outcome::Wrong,
        State::Unknown => Outcome::Open,
    })
}
