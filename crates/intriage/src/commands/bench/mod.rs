//! `intriage bench URL`: load, measured honestly.

mod args;
mod contradictions;
mod files;
mod kubernetes;
mod plan;
mod progress;
mod search;
mod surroundings;

use std::fs::File;
use std::path::Path;

use intriage_load::{Clock, Handle, Ready, RunError, Spec, SpecError};
use intriage_record::{CheckName, Status, Summary};

pub(crate) use args::{BenchArgs, BenchFormat, EXAMPLES};

use self::args::BenchCommand;
use self::files::Sayings;
use super::print;
use crate::failure::{Failure, Outcome};

pub(crate) fn run(args: &BenchArgs) -> Result<Outcome, Failure> {
    match &args.command {
        Some(BenchCommand::Show(files)) => return files::show(files),
        Some(BenchCommand::Merge(merge)) => return files::merge(merge),
        Some(BenchCommand::Import(files)) => return files::import(files),
        None => {}
    }
    contradictions::check(args)?;
    let clock = Clock::start();
    let spec = plan::spec(args)?;
    if let Some(shards) = args.output.kubernetes {
        kubernetes::warn(args);
        return print::text(&kubernetes::job(shards, &args.output.image)).map(|()| Outcome::Fine);
    }
    if args.goals.search.is_some() {
        return search::slo(args, &spec);
    }
    if args.goals.sweep {
        return search::sweep(args, &spec);
    }
    once(args, &spec, clock)
}

/// One run, with its surroundings where they are asked for.
fn once(args: &BenchArgs, spec: &Spec, clock: Clock) -> Result<Outcome, Failure> {
    let sayings = Sayings::new(&args.output.definitions, &spec.api.to_string(), &spec.objectives)?;
    let handle = Handle::default();
    progress::end_on_interrupt(&handle);
    let file = args.output.record.as_deref().map(create).transpose()?;
    let watched = surroundings::begin(args)?;
    let ready = prepare(spec, clock, &handle)?;
    let client = surroundings::ClientView::new(watched.is_some(), args.load.max_concurrency.is_some());
    let mut observers = sayings.observers();
    observers.extend(files::rows(args.output.format == BenchFormat::Csv));
    observers.extend(client.observer(ready.header.started));
    let shown = progress::show(&handle, spec);
    let ran = ready.run(file, observers, &handle);
    shown.end();
    let (header, mut ran) = ran?;
    let seen = watched.and_then(surroundings::Watched::end);
    let scrape = seen.as_ref().and_then(|seen| seen.scrape);
    let case = seen.map(|seen| surroundings::finished_case(args, seen.case, client.take())).transpose()?;
    let observed = case.as_ref().map(intriage_engines::read);
    ran.client.server_hits = observed.as_ref().and_then(surroundings::hits);
    let mut summary = Summary::of(&header, &ran.tally, Some(&ran.client));
    summary.beside = observed.as_ref().map(|observed| surroundings::beside(observed, &ran.tally, scrape));
    if let Some(why) = &ran.record_failed {
        anstream::eprintln!("the record was not written to its end: {why}");
    }
    let judged = observed.as_ref().zip(case.as_ref()).filter(|_| args.goals.check);
    let diagnosis = judged.map(|(observed, case)| surroundings::judge(observed, case));
    if args.output.format != BenchFormat::Csv {
        print::bench(&summary, &sayings.said(&summary), diagnosis.as_ref(), args.output.format)?;
    }
    note_hit_ratio(args, &summary);
    match (outcome(&summary)?, diagnosis) {
        (Outcome::Fine, Some(diagnosis)) => Ok(diagnosis.verdict.status.into()),
        // The diagnosis was asked for, and there is none.
        (Outcome::Fine, None) if args.goals.check => Ok(Outcome::Open),
        (outcome, _) => Ok(outcome),
    }
}

/// Finds out what is missing and says what was found.
fn prepare(spec: &Spec, clock: Clock, handle: &Handle) -> Result<Ready, Failure> {
    let ready = spec.prepare(clock, handle)?;
    for note in &ready.notes {
        anstream::eprintln!("note: {note}");
    }
    Ok(ready)
}

/// A declared hit ratio that nobody can judge is worth a word.
fn note_hit_ratio(args: &BenchArgs, summary: &Summary) {
    let open = |c: &intriage_record::Check| c.name == CheckName::HitRatio && c.passed.is_none();
    if args.prompts.hit_ratio.is_some() && summary.certificate.checks.iter().any(open) {
        anstream::eprintln!(
            "note: whether --hit-ratio came true is not known: the server tells no cached tokens with its answers; --check reads its counters"
        );
    }
}

/// A run without a single answer is an error.
fn outcome_of_answers(summary: &Summary) -> Result<(), Failure> {
    let requests = summary.all.requests;
    if requests.ok == 0 && requests.planned > 0 && requests.aborted == 0 {
        let why = summary.errors.first().map_or_else(
            || "nothing was answered before the run ended".to_owned(),
            |e| {
                let detail = if e.text.is_empty() { String::new() } else { format!(" ({})", e.text) };
                let often = if e.count == 1 { "once".to_owned() } else { format!("{} times", e.count) };
                format!("{}{detail}, {often}", e.outcome.words())
            },
        );
        return Err(Failure::NothingAnswered(why));
    }
    Ok(())
}

/// What a run's end means for scripts.
fn outcome(summary: &Summary) -> Result<Outcome, Failure> {
    outcome_of_answers(summary)?;
    let groups = std::iter::once(&summary.all).chain(summary.classes.values());
    let mut goals = groups.filter_map(|g| g.goodput.as_ref()).peekable();
    if goals.peek().is_none() {
        return Ok(Outcome::Fine);
    }
    let objectives: Vec<_> = goals.flat_map(|g| &g.objectives).collect();
    // Too few answers to certify a percentile may still be enough to tell on which side of its limit it lies.
    let only_few = |c: &intriage_record::Check| c.name == CheckName::Samples || c.passed != Some(false);
    let enough = summary.certificate.checks.iter().all(only_few) && objectives.iter().all(|o| o.is_sure());
    if summary.certificate.status == Status::Invalid && !enough {
        return Ok(Outcome::Open);
    }
    let held = objectives.iter().all(|o| o.met);
    Ok(if held { Outcome::Fine } else { Outcome::Wrong })
}

fn create(path: &Path) -> Result<File, Failure> {
    File::create(path).map_err(|e| Failure::File { path: path.display().to_string(), why: e.to_string() })
}

impl From<SpecError> for Failure {
    fn from(error: SpecError) -> Self {
        match error {
            SpecError::Server(
                intriage_load::ServerError::Header { .. } | intriage_load::ServerError::Models(_),
            )
            | SpecError::Synthetic(_)
            | SpecError::Shape(_)
            | SpecError::NoTokenizers
            | SpecError::Tls(_) => Self::Usage(error.to_string()),
            other => Self::Load(other.to_string()),
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        Self::Load(error.to_string())
    }
}
