//! `intriage collect [URL]`: evidence only, into one redacted case file.

use std::path::Path;
use std::time::{Duration, Instant};

use intriage_case::{Bytes, Case, Collected, Gathered, Target};
use intriage_engines::log_order;
use intriage_observe::{Address, Limits, PathPlan, Watch, read_manifest, redacted};
use intriage_redact::Redactor;
use intriage_report::inventory_text;

use super::access::access;
use super::budgets;
use super::collecting::{Collecting, Logs, sources};
use super::keeping::{can_save, free_name, keep, redactor};
use super::machine::Looking;
use super::print;
use super::watching::{end_when_asked, wait, watching};
use super::ways::{self, Probing};
use crate::cli::CollectArgs;
use crate::failure::{Failure, Outcome};

/// Most bytes of one scrape.
const MOST_SCRAPE: usize = 64 << 20;

pub(crate) fn run(args: &CollectArgs) -> Result<Outcome, Failure> {
    let gpus = args.gpu.dcgm.is_some() || !args.gpu.gpu_file.is_empty();
    let files = !args.log.is_empty() || args.model_path.is_some() || !args.manifest.is_empty();
    if args.target.is_none() && !args.host && !files && !gpus {
        return Err(Failure::Usage(
            "nothing to collect: give a URL, --host, --log FILE, --manifest FILE or --model-path DIR (see intriage collect --help)"
                .into(),
        ));
    }
    let save = args.save.clone().unwrap_or_else(free_name);
    can_save("--save", &save)?;
    let sources = sources(&args.log)?;
    let hops = ways::hops(&args.via)?;
    if !hops.is_empty() && args.target.is_none() {
        return Err(Failure::Usage("--via probes the ways to a server: give its URL, too".into()));
    }
    if args.target.is_some() && args.window < args.interval {
        return Err(Failure::Usage(
            "--window is shorter than --interval: at least two scrapes are needed".into(),
        ));
    }
    let access = access(&args.access)?;
    let address = match &args.target {
        Some(target) => Some(target.parse::<Address>().map_err(|e| Failure::Usage(format!("{e}")))?),
        None => None,
    };
    let for_owner = redactor(Some(&access), address.as_ref()).keep_names();
    let mut redactor = redactor(Some(&access), address.as_ref());
    if args.keep_prompts {
        redactor = redactor.keep_prompts();
    }
    let began = Instant::now();
    let looking = Looking::start(args.host, &args.gpu, Some(args.window))?;
    let watched = address.is_some() || looking.watches();
    let logs = Logs::start(sources, args.max_log, if watched { args.window } else { Duration::ZERO });
    let model = Collecting::model(args.model_path.as_deref(), args.host, args.target.as_deref());
    let plan = PathPlan::within(budgets::path_time(args.window));
    let probing = address.as_ref().and_then(|direct| Probing::start(direct, hops, &access, plan));
    let mut case = if let Some(address) = address {
        server(&Watch {
            address,
            access,
            interval: args.interval,
            window: args.window,
            limits: Limits { bytes: MOST_SCRAPE, time: args.timeout },
            until: None,
            budget: Some(budgets::metrics(args.window)),
        })
    } else {
        if looking.watches() {
            anstream::eprintln!("looking at this machine for {} s", args.window.as_secs_f64());
        }
        Case { target: Target::this_machine(), ..Case::default() }
    };
    // A server that does not answer is over at once; what else is watched has the whole window all the same.
    if looking.watches() && case.scrapes.is_empty() && wait(args.window.saturating_sub(began.elapsed())) {
        case.notes.push("the user stopped the window early".into());
    }
    looking.stop(&mut case);
    if let Some(probing) = probing {
        probing.finish_within(budgets::path(args.window), began, &mut case);
    }
    end_when_asked();
    if let Some(model) = model {
        model.finish(&mut case);
    }
    logs.finish(&mut case);
    for path in &args.manifest {
        manifest(&mut case, path);
    }
    if let Some(flags) = &args.engine_args {
        case.command_line = Some(flags.clone());
    }
    print::text(&inventory_text(&told(&case, &for_owner)))?;
    let mut case = redacted(case, &redactor);
    tell_left_out(&mut case);
    if !case.collected.iter().any(|c| !matches!(c.outcome, Gathered::Skipped { .. })) {
        return Err(Failure::NothingCollected);
    }
    keep(&case, &redactor, &save)?;
    Ok(Outcome::Fine)
}

/// A server that cannot be watched leaves the rest of the case whole.
fn server(plan: &Watch) -> Case {
    let began = Instant::now();
    let mut case = watching(plan).unwrap_or_else(|why| {
        let skipped = |what: &str| Collected {
            what: what.into(),
            outcome: Gathered::Skipped { why: why.to_string() },
            took: budgets::since(began),
            size: Bytes(0.0),
            budget: plan.budget,
        };
        Case { collected: vec![skipped("metrics"), skipped("endpoints")], ..Case::default() }
    });
    case.target = Target { name: plan.address.to_string() };
    case
}

/// What the user is told of a case: its hosts and files by their own names, which only the file has to hide; no secrets.
fn told(case: &Case, for_owner: &Redactor) -> Case {
    let told = Case {
        target: case.target.clone(),
        collected: case.collected.clone(),
        // Which of the logs are one is found again whenever the case is read: it is told, not kept.
        notes: case.notes.iter().cloned().chain(log_order(&case.logs)).collect(),
        manifests: case.manifests.clone(),
        ..Case::default()
    };
    let mut told = redacted(told, for_owner);
    tell_left_out(&mut told);
    told
}

/// A manifest that could not be made safe is in no case: its line of the inventory says so.
fn tell_left_out(case: &mut Case) {
    for part in &mut case.collected {
        let Some(path) = part.what.strip_prefix("manifest ") else { continue };
        let Some(name) = Path::new(path).file_name().and_then(|n| n.to_str()) else { continue };
        let why = case.notes.iter().find_map(|note| note.strip_prefix(name)?.strip_prefix(" was left out: "));
        if let Some(why) = why {
            part.outcome = Gathered::Skipped { why: why.to_owned() };
            part.size = Bytes(0.0);
        }
    }
}

fn manifest(case: &mut Case, path: &Path) {
    let began = Instant::now();
    let added = read_manifest(path).map_err(|why| why.to_string()).and_then(|manifest| {
        let size = manifest.text.len();
        case.add_manifest(manifest).map_err(str::to_owned).map(|()| size)
    });
    let (outcome, size) = match added {
        Ok(size) => (Gathered::Whole, size),
        Err(why) => (Gathered::Skipped { why }, 0),
    };
    case.collected.push(Collected {
        what: format!("manifest {}", path.display()),
        outcome,
        took: budgets::since(began),
        size: Bytes(size as f64),
        budget: None,
    });
}
