//! `intriage check TARGET`: the main job.

use intriage_case::{Case, Intent, Objective, Profile, layout};
use intriage_diagnose::{Diagnosis, Thresholds, diagnose_observed};
use intriage_observe::{Limits, read_log, redacted};
use intriage_whatif::predict;

use super::collecting::Collecting;
use super::given::{Given, can_open};
use super::keeping::{can_save, keep};
use super::print;
use super::target::Subject;
use crate::cli::{CheckArgs, ProfileArg};
use crate::failure::{Failure, Outcome};
use crate::settings::Settings;

pub(crate) fn run(args: &CheckArgs) -> Result<Outcome, Failure> {
    let settings = Settings::load(args.config.as_deref())?;
    let thresholds = settings.thresholds()?;
    if args.starting.preflight {
        return super::preflight::run(args);
    }
    if args.starting.start {
        return super::starting::run(args, &thresholds);
    }
    if !args.starting.command.is_empty() {
        return Err(Failure::Usage(
            "say what to do with the command behind --: --start or --preflight".into(),
        ));
    }
    let target = args.target.as_deref().unwrap_or_default();
    let asked = asked_intent(args, &settings)?;
    let given = Given::open(&args.log, &args.manifest, args.engine_args.as_ref())?;
    if let Some(path) = &args.client {
        can_open(path)?;
    }
    if let Some(path) = &args.save {
        can_save("--save", path)?;
    }
    let files = Collecting::model(args.model_path.as_deref(), args.host, Some(target));
    let (mut case, redactor) = subject(args, target).look(files)?;
    apply_intent(&mut case, asked);
    given.add(&mut case, args.window)?;
    if let Some(path) = &args.client {
        // Written by others like a log, and read with its limits.
        layout::add(&mut case, "client.jsonl", read_log(path)?.text.into_bytes());
        if case.client.is_empty() {
            let why = case.notes.last().cloned().unwrap_or_else(|| "it holds no request".into());
            return Err(Failure::File { path: path.display().to_string(), why });
        }
    }
    // Before anything is judged: a secret must not get into an excerpt either.
    let case = redacted(case, &redactor);
    let diagnosis = judged(&case, &thresholds, args.no_predict);
    if let Some(model) = &args.model
        && !diagnosis.engine.models.is_empty()
        && !diagnosis.engine.models.contains(model)
    {
        let served = diagnosis.engine.models.join(", ");
        return Err(Failure::Usage(format!("no model called {model:?} is served here; served: {served}")));
    }
    print::diagnosis(&diagnosis, args.format)?;
    if let Some(path) = &args.save {
        keep(&case, &redactor, path)?;
    }
    Ok(diagnosis.verdict.status.into())
}

/// The verdict on a case that is safe, with what its remedies would do.
pub(super) fn judged(case: &Case, thresholds: &Thresholds, no_predict: bool) -> Diagnosis {
    let observed = intriage_engines::read(case);
    let mut diagnosis = diagnose_observed(&observed, case, thresholds);
    if !no_predict {
        predict(&observed, &diagnosis).tell(&mut diagnosis);
    }
    diagnosis
}

fn subject<'a>(args: &'a CheckArgs, target: &'a str) -> Subject<'a> {
    Subject {
        target,
        interval: args.interval,
        window: args.window,
        limits: Limits { bytes: (args.max_scrape as usize) << 20, time: args.timeout },
        host: args.host,
        gpu: &args.gpu,
        access: &args.access,
        via: &args.via,
        model: args.model.as_ref(),
        replica: args.replica.as_deref(),
    }
}

/// What the command line and the settings ask for; `None` keeps what a saved case says.
struct Asked {
    profile: Option<Profile>,
    objectives: Option<Vec<Objective>>,
    model: Option<String>,
}

fn asked_intent(args: &CheckArgs, settings: &Settings) -> Result<Asked, Failure> {
    let given = args.profile.map(|p| match p {
        ProfileArg::Interactive => Profile::Interactive,
        ProfileArg::Batch => Profile::Batch,
        ProfileArg::Bursty => Profile::Bursty,
    });
    let texts = if args.slo.is_empty() { &settings.slo } else { &args.slo };
    let objectives = texts
        .iter()
        .map(|text| text.parse::<Objective>().map_err(|e| Failure::Usage(e.to_string())))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Asked {
        profile: given.or(settings.profile),
        objectives: (!objectives.is_empty()).then_some(objectives),
        model: args.model.clone(),
    })
}

fn apply_intent(case: &mut Case, asked: Asked) {
    let kept = std::mem::take(&mut case.intent);
    case.intent = Intent {
        profile: asked.profile.unwrap_or(kept.profile),
        objectives: asked.objectives.unwrap_or(kept.objectives),
        model: asked.model.or(kept.model),
    };
}
