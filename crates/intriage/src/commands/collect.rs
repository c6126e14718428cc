//! `intriage collect [URL]`: evidence only, into one redacted case file.

use std::path::Path;
use std::time::Instant;

use intriage_case::{Bytes, Case, Collected, Gathered, Seconds, Target};
use intriage_observe::{Address, Limits, MachineWatch, Watch, read_log, read_manifest, redacted};
use intriage_report::inventory_text;

use super::access::access;
use super::keeping::{can_save, keep, redactor};
use super::print;
use super::watching::watching;
use crate::cli::CollectArgs;
use crate::failure::{Failure, Outcome};

/// Most bytes of one scrape.
const MOST_SCRAPE: usize = 64 << 20;

pub(crate) fn run(args: &CollectArgs) -> Result<Outcome, Failure> {
    if args.target.is_none() && !args.host && args.log.is_empty() && args.manifest.is_empty() {
        return Err(Failure::Usage(
            "nothing to collect: give a URL, --host, --log FILE or --manifest FILE (see intriage collect --help)"
                .into(),
        ));
    }
    can_save(&args.save)?;
    let access = access(&args.access)?;
    let address = match &args.target {
        Some(target) => Some(target.parse::<Address>().map_err(|e| Failure::Usage(format!("{e}")))?),
        None => None,
    };
    let redactor = redactor(Some(&access), address.as_ref());
    let machine = args.host.then(MachineWatch::start);
    let mut case = if let Some(address) = address {
        server(&Watch {
            address,
            access,
            interval: args.interval,
            window: args.window,
            limits: Limits { bytes: MOST_SCRAPE, time: args.timeout },
            until: None,
        })
    } else {
        if machine.is_some() {
            anstream::eprintln!("looking at this machine for {} s", args.window.as_secs_f64());
            std::thread::sleep(args.window);
        }
        Case { target: Target { name: "this machine".into() }, ..Case::default() }
    };
    if let Some(machine) = machine {
        machine.stop(&mut case);
    }
    for path in &args.log {
        log(&mut case, path);
    }
    for path in &args.manifest {
        manifest(&mut case, path);
    }
    if let Some(flags) = &args.engine_args {
        case.command_line = Some(flags.clone());
    }
    let case = redacted(case, &redactor);
    print::text(&inventory_text(&case))?;
    if !case.collected.iter().any(|c| !matches!(c.outcome, Gathered::Skipped { .. })) {
        return Err(Failure::NothingCollected);
    }
    keep(&case, &redactor, &args.save)?;
    Ok(Outcome::Fine)
}

/// A server that cannot be watched leaves the rest of the case whole.
fn server(plan: &Watch) -> Case {
    let began = Instant::now();
    let target = Target { name: plan.address.to_string() };
    let (mut case, outcome) = match watching(plan) {
        Ok(case) => (case, Gathered::Whole),
        Err(why) => (Case::default(), Gathered::Skipped { why: why.to_string() }),
    };
    case.target = target;
    let size: usize = case.scrapes.iter().filter_map(|s| s.body()).map(<[u8]>::len).sum();
    let failed = case.scrapes.iter().filter(|s| s.body().is_none()).count();
    let outcome = match outcome {
        Gathered::Whole if failed > 0 => {
            Gathered::Partly { why: format!("{failed} of {} scrapes failed", case.scrapes.len()) }
        }
        other => other,
    };
    case.collected.push(collected("metrics", outcome, began, size));
    let size: usize = case.endpoints.values().map(String::len).sum();
    let outcome = if case.endpoints.is_empty() {
        Gathered::Skipped { why: "no other endpoint answered".into() }
    } else {
        Gathered::Whole
    };
    case.collected.push(collected("endpoints", outcome, began, size));
    case
}

fn log(case: &mut Case, path: &Path) {
    let began = Instant::now();
    let what = format!("log {}", path.display());
    match read_log(path) {
        Ok(log) => {
            case.collected.push(collected(&what, Gathered::Whole, began, log.text.len()));
            case.add_log(log);
        }
        Err(why) => {
            case.collected.push(collected(&what, Gathered::Skipped { why: why.to_string() }, began, 0));
        }
    }
}

fn manifest(case: &mut Case, path: &Path) {
    let began = Instant::now();
    let what = format!("manifest {}", path.display());
    let added = read_manifest(path).map_err(|why| why.to_string()).and_then(|manifest| {
        let size = manifest.text.len();
        case.add_manifest(manifest).map_err(str::to_owned).map(|()| size)
    });
    let (outcome, size) = match added {
        Ok(size) => (Gathered::Whole, size),
        Err(why) => (Gathered::Skipped { why }, 0),
    };
    case.collected.push(collected(&what, outcome, began, size));
}

fn collected(what: &str, outcome: Gathered, began: Instant, size: usize) -> Collected {
    Collected {
        what: what.to_owned(),
        outcome,
        took: Seconds(began.elapsed().as_secs_f64()),
        size: Bytes(size as f64),
    }
}
