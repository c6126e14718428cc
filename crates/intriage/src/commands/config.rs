//! `intriage config TARGET`: what was asked for, what came of it, what is seen.

use std::time::Duration;

use intriage_engines::{ConfigAnswer, read};
use intriage_observe::{Limits, redacted};
use intriage_report::{CONFIG_SCHEMA, ConfigReport};

use super::given::Given;
use super::print;
use super::target::Subject;
use crate::cli::ConfigArgs;
use crate::failure::{Failure, Outcome};

/// Time between scrapes: a window of seconds needs a few.
const INTERVAL: Duration = Duration::from_millis(500);
/// Most bytes of one scrape.
const MOST_SCRAPE: usize = 64 << 20;

pub(crate) fn run(args: &ConfigArgs) -> Result<Outcome, Failure> {
    let given = Given::open(&args.log, &args.manifest, args.engine_args.as_ref())?;
    // Nothing of the model's files is a setting of the server.
    let (mut case, redactor) = subject(args).look(None)?;
    given.add(&mut case, args.window)?;
    let manifests = case.manifests.len();
    let case = redacted(case, &redactor);
    // One whose secrets cannot be masked is left out.
    let dropped = case.manifests.len() < manifests;
    let observed = read(&case);
    let report = ConfigReport {
        schema: CONFIG_SCHEMA.into(),
        target: case.target.name.clone(),
        engine: observed.identity.engine.map(|e| e.to_string()),
        version: observed.identity.version.as_ref().map(ToString::to_string),
        config: observed.table,
        notes: observed.notes,
    };
    print::config(&report, args.all, args.format)?;
    Ok(match report.config.answer() {
        ConfigAnswer::Off => Outcome::Wrong,
        // What was given and could not be compared is not fine.
        ConfigAnswer::InForce if !dropped && report.config.left_out.is_empty() => Outcome::Fine,
        ConfigAnswer::InForce | ConfigAnswer::Nothing => Outcome::Open,
    })
}

fn subject(args: &ConfigArgs) -> Subject<'_> {
    Subject {
        target: &args.target,
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
