//! `intriage config TARGET`: mistakes that a configuration shows by itself; what was asked for, what came of it, what is seen.

use std::path::{Path, PathBuf};
use std::time::Duration;

use intriage_case::Case;
use intriage_diagnose::{AdviceSurroundings, advise};
use intriage_engines::{ConfigAnswer, meant_starts, read};
use intriage_observe::{Limits, redacted};
use intriage_physics::{gpu, known};
use intriage_redact::Redactor;
use intriage_report::{CONFIG_SCHEMA, ConfigReport};

use super::given::Given;
use super::keeping::redactor;
use super::machine::Looking;
use super::print;
use super::target::Subject;
use crate::cli::ConfigArgs;
use crate::failure::{Failure, Outcome};

/// Time between scrapes: a window of seconds needs a few.
const INTERVAL: Duration = Duration::from_millis(500);
/// Most bytes of one scrape.
const MOST_SCRAPE: usize = 64 << 20;

/// A `config.json` has some kilobytes; more is not read.
const MOST_CONFIG: u64 = 16 << 20;
/// Endings of manifests: a target with one of them is judged alone.
const MANIFESTS: [&str; 4] = ["service", "conf", "yaml", "yml"];

pub(crate) fn run(args: &ConfigArgs) -> Result<Outcome, Failure> {
    let alone = args.target.as_deref().map(Path::new).filter(|path| is_manifest(path));
    let mut manifests: Vec<PathBuf> = alone.into_iter().map(Path::to_path_buf).collect();
    manifests.extend_from_slice(&args.manifest);
    let target = args.target.as_deref().filter(|_| alone.is_none());
    let mut around = surroundings(args)?;
    let given = Given::open(&args.log, &manifests, args.engine_args.as_ref())?;
    let (mut case, redactor) = match target {
        // Nothing of the model's files is a setting of the server.
        Some(target) => subject(args, target).look(None)?,
        None => nothing_running(args)?,
    };
    given.add(&mut case, args.window)?;
    let known = case.manifests.len();
    let case = redacted(case, &redactor);
    // One whose secrets cannot be masked is left out.
    let dropped = case.manifests.len() < known;
    let observed = read(&case);
    let seen = observed.gpu.name.as_deref().and_then(|name| gpu::find(name).ok());
    around.gpu = around.gpu.or(seen.map(|found| found.gpu));
    let config = case.model.as_ref().and_then(|model| model.texts.get("config.json"));
    around.model_config = around.model_config.or_else(|| config.cloned());
    around.version.clone_from(&observed.identity.version);
    around.paths.clone_from(&observed.gpu.paths);
    let report = ConfigReport {
        schema: CONFIG_SCHEMA.into(),
        target: target.map_or_else(|| names(&case), |_| case.target.name.clone()),
        engine: observed.identity.engine.map(|e| e.to_string()),
        version: observed.identity.version.as_ref().map(ToString::to_string),
        config: observed.table,
        compared: target.is_some(),
        advice: advise(&meant_starts(&case), &around),
        notes: observed.notes,
    };
    print::config(&report, args.all, args.format, &paths(&manifests))?;
    if report.advice.is_wrong() {
        return Ok(Outcome::Wrong);
    }
    if target.is_none() {
        let advice = &report.advice;
        let whole = !advice.judged.is_empty() && advice.unread.is_empty() && !dropped;
        return Ok(if whole { Outcome::Fine } else { Outcome::Open });
    }
    Ok(match report.config.answer() {
        ConfigAnswer::Off => Outcome::Wrong,
        // What was given and could not be compared is not fine.
        ConfigAnswer::InForce if !dropped && report.config.left_out.is_empty() => Outcome::Fine,
        ConfigAnswer::InForce | ConfigAnswer::Nothing => Outcome::Open,
    })
}

fn is_manifest(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    path.is_file() && MANIFESTS.contains(&ending)
}

/// No server: manifests and flags are judged alone.
fn nothing_running(args: &ConfigArgs) -> Result<(Case, Redactor), Failure> {
    let live = [
        (args.host, "--host looks at a running server: give its URL"),
        (args.gpu.dcgm.is_some(), "--dcgm asks an exporter beside a running server: give the server's URL"),
        (args.replica.is_some(), "--replica names a replica of a merged case: give the case"),
    ];
    if let Some((_, why)) = live.iter().find(|(asked, _)| *asked) {
        return Err(Failure::Usage((*why).into()));
    }
    let mut case = Case::default();
    Looking::start(false, &args.gpu, None)?.stop(&mut case);
    Ok((case, redactor(None, None)))
}

/// What the flags say of the card and the model.
fn surroundings(args: &ConfigArgs) -> Result<AdviceSurroundings, Failure> {
    let card = args.card.as_deref().map(gpu::find_node).transpose();
    let (_, found) = card.map_err(|e| Failure::Usage(format!("--gpu: {e}")))?.unzip();
    let model_config = args.model.as_deref().map(model_config).transpose()?;
    Ok(AdviceSurroundings {
        gpu: found.map(|found| found.gpu),
        model_config,
        ..AdviceSurroundings::default()
    })
}

/// The `config.json` of a built-in model, or of a file or folder.
fn model_config(name: &str) -> Result<String, Failure> {
    let path = Path::new(name);
    let file = if path.is_dir() { path.join("config.json") } else { path.to_path_buf() };
    let is_json = file.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
    if !is_json && !file.is_file() {
        let unknown = || known::model(name).err().map_or_else(String::new, |e| e.to_string());
        return known::config(name).ok_or_else(|| Failure::Usage(format!("--model: {}", unknown())));
    }
    let bad = |why: String| Failure::File { path: file.display().to_string(), why };
    let size = std::fs::metadata(&file).map_err(|e| bad(e.to_string()))?.len();
    if size > MOST_CONFIG {
        return Err(bad(format!("{size} bytes are no config.json")));
    }
    let text = std::fs::read_to_string(&file).map_err(|e| bad(e.to_string()))?;
    match serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&text) {
        Ok(_) => Ok(text),
        Err(e) => Err(bad(format!("it is no JSON object: line {}", e.line()))),
    }
}

/// What is judged where no server is.
fn names(case: &Case) -> String {
    let names: Vec<&str> = case.manifests.iter().map(|manifest| manifest.name.as_str()).collect();
    if names.is_empty() { "the command line given".into() } else { names.join(", ") }
}

/// The path each manifest was given by, by its name.
fn paths(manifests: &[PathBuf]) -> Vec<(String, String)> {
    let named = |path: &PathBuf| {
        let name = path.file_name()?.to_string_lossy().into_owned();
        Some((name, path.to_string_lossy().into_owned()))
    };
    manifests.iter().filter_map(named).collect()
}

fn subject<'a>(args: &'a ConfigArgs, target: &'a str) -> Subject<'a> {
    Subject {
        target,
        interval: INTERVAL.min(args.window),
        window: args.window,
        limits: Limits { bytes: MOST_SCRAPE, time: args.timeout },
        host: args.host,
        gpu: &args.gpu,
        access: &args.access,
        via: &[],
        model: None,
        replica: args.replica.as_deref(),
    }
}
