//! `intriage check TARGET`: the main job.

use std::path::Path;

use intriage_case::{Case, Intent, Objective, Profile, layout};
use intriage_diagnose::diagnose;
use intriage_engines::read;
use intriage_observe::{Address, Limits, LogLimits, LogSource, MAX_FILE, Watch, open, read_log, redacted};
use intriage_redact::Redactor;
use intriage_whatif::predict;

use super::access::access;
use super::budgets;
use super::collecting::sources;
use super::keeping::{add_manifests, can_save, keep, redactor};
use super::machine::Looking;
use super::print;
use super::watching::watching;
use super::ways::{self, Probing};
use crate::cli::{CheckArgs, ProfileArg};
use crate::failure::{Failure, Outcome};
use crate::settings::Settings;

pub(crate) fn run(args: &CheckArgs) -> Result<Outcome, Failure> {
    let settings = Settings::load(args.config.as_deref())?;
    let thresholds = settings.thresholds()?;
    let asked = asked_intent(args, &settings)?;
    // Opened now so that a typo shows at once, read after the window so that what happens in it is seen.
    let logs = sources(&args.log)?;
    let files = logs.iter().filter_map(|log| if let LogSource::File(path) = log { Some(path) } else { None });
    for path in files.chain(&args.client) {
        let opened = std::fs::metadata(path).and_then(|kind| {
            // Opening a pipe waits for who writes into it; that can be later.
            if kind.is_file() { std::fs::File::open(path).map(drop) } else { Ok(()) }
        });
        opened.map_err(|e| Failure::File { path: path.display().to_string(), why: e.to_string() })?;
    }
    if let Some(path) = &args.save {
        can_save(path)?;
    }
    // What is no manifest shows at once, too.
    let mut given = Case::default();
    add_manifests(&mut given, &args.manifest)?;
    let (mut case, redactor) = collect(args)?;
    apply_intent(&mut case, asked);
    for manifest in given.manifests {
        // The limits were those of the case; only one of the recording's own may have to go.
        if let Err(why) = case.add_manifest(manifest) {
            case.notes.push(format!("a manifest was left out: {why}"));
        }
    }
    if let Some(flags) = &args.engine_args {
        case.command_line = Some(flags.clone());
    }
    for log in logs {
        // A file is read whole; so is a pipe, to its end.
        let limits =
            LogLimits { bytes: MAX_FILE as usize, time: None, since: args.window.max(budgets::JOURNAL) };
        let taken = log.take(&limits).map_err(|e| Failure::Log(e.to_string()))?;
        case.notes.extend(taken.cut.map(|cut| format!("{log}: {cut}")));
        case.add_log(taken.log);
    }
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
    let mut diagnosis = diagnose(&case, &thresholds);
    if let Some(model) = &args.model
        && !diagnosis.engine.models.is_empty()
        && !diagnosis.engine.models.contains(model)
    {
        let served = diagnosis.engine.models.join(", ");
        return Err(Failure::Usage(format!("no model called {model:?} is served here; served: {served}")));
    }
    if !args.no_predict {
        predict(&read(&case), &diagnosis).tell(&mut diagnosis);
    }
    print::diagnosis(&diagnosis, args.format)?;
    if let Some(path) = &args.save {
        keep(&case, &redactor, path)?;
    }
    Ok(diagnosis.verdict.status.into())
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

/// The case itself, or the replica asked for; that there are others is said.
fn chosen(mut case: Case, replica: Option<&str>) -> Result<Case, Failure> {
    let names: Vec<String> = case.replicas.iter().map(|r| r.name.clone()).collect();
    let Some(wanted) = replica else {
        if !names.is_empty() {
            case.notes.push(format!(
                "other replicas are in the case; judge one with --replica: {}",
                names.join(", ")
            ));
        }
        return Ok(case);
    };
    let found = case.replicas.into_iter().find(|r| r.name == wanted);
    found.map(|r| r.case).ok_or_else(|| {
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        Failure::Usage(format!("--replica {wanted}: the case has no such replica; it has {known}"))
    })
}

fn collect(args: &CheckArgs) -> Result<(Case, Redactor), Failure> {
    let path = Path::new(&args.target);
    let hops = ways::hops(&args.via)?;
    if !Address::looks_like_one(&args.target) || path.exists() {
        if args.host {
            return Err(Failure::Usage("--host looks at this machine now: it goes with a URL".into()));
        }
        if !hops.is_empty() {
            return Err(Failure::Usage("--via probes a live server: give its URL, not a recording".into()));
        }
        if args.gpu.dcgm.is_some() {
            return Err(Failure::Usage("--dcgm asks an exporter now: it goes with a URL".into()));
        }
        let mut case = chosen(open(path)?, args.replica.as_deref())?;
        Looking::start(false, &args.gpu)?.stop(&mut case);
        return Ok((case, redactor(None, None)));
    }
    let address: Address = args.target.parse().map_err(|e| Failure::Usage(format!("{e}")))?;
    if args.window < args.interval {
        return Err(Failure::Usage(
            "--window is shorter than --interval: at least two scrapes are needed".into(),
        ));
    }
    let access = access(&args.access)?;
    let redactor = redactor(Some(&access), Some(&address));
    let plan = Watch {
        address,
        access,
        interval: args.interval,
        window: args.window,
        limits: Limits { bytes: (args.max_scrape as usize) << 20, time: args.timeout },
        until: None,
        budget: None,
    };
    let probing = Probing::start(&plan.address, hops, &plan.access, args.model.as_ref());
    let looking = Looking::start(args.host, &args.gpu)?;
    let mut case = watching(&plan)?;
    looking.stop(&mut case);
    if let Some(probing) = probing {
        probing.finish(&mut case)?;
    }
    Ok((case, redactor))
}
