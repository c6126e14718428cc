//! `intriage scoreboard --draws N`: deployments drawn from a seed, run in virtual time and judged.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use intriage_case::{Case, Objective, Profile, Target, file, layout};
use intriage_diagnose::{Diagnosis, Thresholds, diagnose, find};
use intriage_report::{DrawRow, FaultOf, Truth, draw_report, draws_json, draws_text};
use intriage_simulate::Draw;
use intriage_simulate::draw::{Figures, Ratios, Stated};
use serde_json::json;

use super::super::print;
use crate::cli::{Format, ScoreboardArgs};
use crate::failure::{Failure, Outcome};

/// Judges a batch.
pub(super) fn batch(args: &ScoreboardArgs, draws: u64) -> Result<Outcome, Failure> {
    let jobs =
        args.jobs.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), |n| n as usize);
    let (next, judged) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= draws {
                        return;
                    }
                    let row = Judged::of(args.seed, number).map(|judged| judged.row);
                    // A thread that fell over leaves a list that is still good.
                    judged.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((number, row));
                }
            });
        }
    });
    let mut judged = judged.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    judged.sort_by_key(|(number, _)| *number);
    let rows = judged.into_iter().map(|(_, row)| row).collect::<Result<Vec<DrawRow>, Failure>>()?;
    let report = draw_report(args.seed, rows);
    match args.format {
        Format::Text => print::text(&draws_text(&report, args.list))?,
        Format::Json => {
            let json = draws_json(&report).map_err(|e| Failure::Internal(e.to_string()))?;
            print::text(&json)?;
        }
    }
    Ok(Outcome::Fine)
}

/// Judges one draw, shows it, and writes it down where asked to.
pub(super) fn one(args: &ScoreboardArgs, number: u64) -> Result<Outcome, Failure> {
    let judged = Judged::of(args.seed, number)?;
    if let Some(folder) = &args.save {
        judged.save(folder)?;
    }
    match args.format {
        Format::Text => {
            print::diagnosis(&judged.diagnosis, Format::Text)?;
            print::text(&judged.truth_text())?;
        }
        Format::Json => print::value(&json!({ "truth": judged.truth(), "diagnosis": judged.diagnosis }))?,
    }
    Ok(Outcome::Fine)
}

/// A draw with everything that is known of it.
struct Judged {
    draw: Draw,
    case: Case,
    figures: Figures,
    control: Figures,
    diagnosis: Diagnosis,
    row: DrawRow,
}

impl Judged {
    fn of(seed: u64, number: u64) -> Result<Self, Failure> {
        let draw = Draw::of(seed, number);
        let (figures, control) = (draw.figures(), draw.control().figures());
        let objectives = draw.objectives(&figures, &control);
        let mut case =
            Case { target: Target { name: format!("draw {number} of seed {seed}") }, ..Case::default() };
        for (name, bytes) in draw.record() {
            layout::add(&mut case, &name, bytes);
        }
        case.intent.profile = if draw.base.batch { Profile::Batch } else { Profile::Interactive };
        let parsed = objectives.iter().map(|stated| stated.text.parse::<Objective>());
        case.intent.objectives =
            parsed.collect::<Result<_, _>>().map_err(|e| Failure::Internal(e.to_string()))?;
        let diagnosis = diagnose(&case, &Thresholds::default());
        let row = row(&draw, &objectives, &figures, &control, &diagnosis);
        Ok(Self { draw, case, figures, control, diagnosis, row })
    }

    fn truth(&self) -> serde_json::Value {
        let row = &self.row;
        let hurt = row.truth == Truth::Hurt;
        let cause = self.draw.faults.first().filter(|_| hurt).map(|(fault, _)| fault.cause);
        let others = self.draw.faults.iter().skip(1).map(|(fault, _)| fault.cause);
        let accept: Vec<&str> = self
            .draw
            .faults
            .iter()
            .flat_map(|(fault, _)| fault.accept.iter().copied())
            .chain(others)
            .collect();
        let what: Vec<&str> = self.draw.faults.iter().map(|(fault, _)| fault.what).collect();
        json!({
            "cause": cause,
            "accept": if hurt { accept } else { Vec::new() },
            "status": if hurt { "finding" } else { "healthy" },
            "what": if what.is_empty() { "nothing".to_owned() } else { what.join("; ") },
            "made": format!("intriage scoreboard --seed {} --only {}", self.draw.seed, self.draw.number),
            "draw": row,
        })
    }

    fn truth_text(&self) -> String {
        let row = &self.row;
        let fault = |f: &FaultOf| format!("{} at {:.2} ({})", f.name, f.strength, f.cause);
        let faults: Vec<String> = row.faults.iter().map(fault).collect();
        let verdict = match row.truth {
            Truth::Hurt => "users are hurt",
            Truth::Between => "not scored",
            Truth::Calm => "nothing hurts",
        };
        format!(
            "\nThe truth: {} · {} · {} load · given: {}\n{verdict}: {:.2} times worse ({})\nwith the fault    {}\nwithout           {}\n",
            if faults.is_empty() { "nothing is wrong".to_owned() } else { faults.join(", ") },
            row.deployment,
            row.load,
            row.evidence,
            row.harm,
            row.harmed,
            told(&self.figures),
            told(&self.control),
        )
    }

    /// Writes the draw as a labelled recording.
    fn save(&self, folder: &Path) -> Result<(), Failure> {
        let failed = |path: &Path, why: String| Failure::File { path: path.display().to_string(), why };
        let files = file::contents(&self.case).map_err(|e| failed(folder, e.to_string()))?;
        let truth = serde_json::to_vec_pretty(&self.truth()).map_err(|e| Failure::Internal(e.to_string()))?;
        for (name, bytes) in files.into_iter().chain([("truth.json".to_owned(), truth)]) {
            let path = folder.join(name);
            let parent = path.parent().unwrap_or(folder);
            std::fs::create_dir_all(parent)
                .and_then(|()| std::fs::write(&path, bytes))
                .map_err(|e| failed(&path, e.to_string()))?;
        }
        anstream::eprintln!("saved {}", folder.display());
        Ok(())
    }
}

fn row(
    draw: &Draw,
    objectives: &[Stated],
    figures: &Figures,
    control: &Figures,
    diagnosis: &Diagnosis,
) -> DrawRow {
    let ratios = figures.against(control);
    let (harmed, harm) = ratios.worst();
    let mut truth = Truth::of(harm);
    // The honest price of what is asked hurts only those who expected more.
    let missed = objectives.iter().any(|stated| stated.missed);
    if truth == Truth::Hurt
        && !missed
        && (draw.is_honest_price() || is_borne(objectives, &ratios, figures, control))
    {
        truth = Truth::Between;
    }
    let first = draw.faults.first().map(|(fault, _)| *fault);
    DrawRow {
        number: draw.number,
        faults: faults(draw, harm, control),
        class: first.and_then(|fault| find(fault.cause)).map(|cause| cause.class.name()),
        deployment: format!("{} on {}", draw.base.model.name, draw.setup.identity.gpu),
        load: draw.base.shape.name(),
        evidence: draw.evidence.name(),
        gaps: draw.evidence.gaps > 0.0,
        full_pool: draw.full_pool,
        objectives: objectives.iter().map(|stated| stated.text.clone()).collect(),
        harm,
        harmed,
        moved: figures.named(harmed).zip(control.named(harmed)),
        ratios: ratios.named().to_vec(),
        truth,
        status: diagnosis.verdict.status,
        cause: diagnosis.verdict.primary.cause.clone(),
        confidence: diagnosis.verdict.primary.confidence,
        findings: diagnosis
            .findings
            .iter()
            .filter(|finding| finding.effect_of.is_none())
            .map(|finding| finding.cause.clone())
            .chain(diagnosis.verdict.candidates.iter().map(|candidate| candidate.cause.clone()))
            .collect(),
    }
}

/// Least change of a time that anybody notices, in seconds: of a first token or a whole answer, and of a token.
const NOTICED: (f64, f64) = (0.05, 0.003);

/// Whether users bear all that became twice as bad: they stated what they want of that figure and get it, or nobody
/// notices the difference.
fn is_borne(objectives: &[Stated], ratios: &Ratios, figures: &Figures, control: &Figures) -> bool {
    let stated =
        |names: &[&str]| objectives.iter().any(|o| names.iter().any(|name| o.text.starts_with(name)));
    let twice = ratios.named().into_iter().filter(|(_, ratio)| ratio.is_some_and(|r| r >= 2.0));
    twice.into_iter().all(|(name, _)| {
        let more =
            figures.named(name).zip(control.named(name)).map_or(f64::INFINITY, |(now, then)| now - then);
        match name {
            "ttft_p50" | "ttft_p95" => stated(&["ttft"]) || more < NOTICED.0,
            "tpot_p50" | "tpot_p95" => stated(&["itl", "tpot"]) || more < NOTICED.1,
            "e2e_p95" => {
                stated(&["e2e"]) || (stated(&["ttft"]) && stated(&["itl", "tpot"])) || more < NOTICED.0
            }
            _ => false,
        }
    })
}

fn faults(draw: &Draw, harm: f64, control: &Figures) -> Vec<FaultOf> {
    let of = |alone: Draw| {
        let (fault, strength) = alone.faults.first().copied()?;
        let one = draw.faults.len() == 1;
        let harm_alone = if one { harm } else { alone.figures().against(control).worst().1 };
        Some(FaultOf { name: fault.name, strength, cause: fault.cause, accept: fault.accept, harm_alone })
    };
    draw.alone().filter_map(of).collect()
}

/// `TTFT p50 40 ms, p95 1.2 s · …`.
fn told(f: &Figures) -> String {
    let time = |t: Option<intriage_case::Seconds>| t.map_or("-".to_owned(), |t| t.to_string());
    format!(
        "{} requests · TTFT {}, p95 {} · TPOT {}, p95 {} · E2E p95 {} · {:.0} tokens/s · {} failed",
        f.requests,
        time(f.ttft_p50),
        time(f.ttft_p95),
        time(f.tpot_p50),
        time(f.tpot_p95),
        time(f.e2e_p95),
        f.throughput,
        f.errors
    )
}
