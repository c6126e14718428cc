//! `intriage config TARGET`: what was asked for, what came of it, what is seen.

use std::path::Path;
use std::time::Duration;

use intriage_case::Case;
use intriage_engines::read;
use intriage_observe::{Address, Limits, MachineWatch, Watch, open, read_log, redacted};
use intriage_redact::Redactor;
use intriage_report::{CONFIG_SCHEMA, ConfigReport};

use super::access::access;
use super::keeping::{add_manifests, redactor};
use super::print;
use super::watching::watching;
use crate::cli::ConfigArgs;
use crate::failure::{Failure, Outcome};

/// Time between scrapes: a window of seconds needs a few.
const INTERVAL: Duration = Duration::from_millis(500);
/// Most bytes of one scrape.
const MOST_SCRAPE: usize = 64 << 20;

pub(crate) fn run(args: &ConfigArgs) -> Result<Outcome, Failure> {
    let (mut case, redactor) = collect(args)?;
    add_manifests(&mut case, &args.manifest)?;
    if let Some(flags) = &args.engine_args {
        case.command_line = Some(flags.clone());
    }
    for path in &args.log {
        case.add_log(read_log(path)?);
    }
    let case = redacted(case, &redactor);
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
    let off = report.config.rows.iter().any(intriage_engines::ConfigRow::is_off);
    Ok(if off {
        Outcome::Wrong
    } else if report.config.asked {
        Outcome::Fine
    } else {
        Outcome::Open
    })
}

fn collect(args: &ConfigArgs) -> Result<(Case, Redactor), Failure> {
    let path = Path::new(&args.target);
    if !Address::looks_like_one(&args.target) || path.exists() {
        if args.host {
            return Err(Failure::Usage("--host looks at this machine now: it goes with a URL".into()));
        }
        return Ok((open(path)?, redactor(None, None)));
    }
    let address: Address = args.target.parse().map_err(|e| Failure::Usage(format!("{e}")))?;
    let access = access(&args.access)?;
    let redactor = redactor(Some(&access), Some(&address));
    let machine = args.host.then(MachineWatch::start);
    let mut case = watching(&Watch {
        address,
        access,
        interval: INTERVAL.min(args.window),
        window: args.window,
        limits: Limits { bytes: MOST_SCRAPE, time: args.timeout },
        until: None,
        budget: None,
    })?;
    if let Some(machine) = machine {
        machine.stop(&mut case);
    }
    Ok((case, redactor))
}
