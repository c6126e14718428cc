//! Every fault of the simulated engine, twenty seeds each: does the diagnosis name it?
//!
//! The engine runs in virtual time here and is seen through the same pages its HTTP server sends
//! (`lab/demo` does it in real time over sockets). FAULTS.txt is the hit table; a hit less fails.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use intriage_case::{Case, Profile, Seconds, Target, layout};
use intriage_diagnose::{Diagnosis, Thresholds, diagnose};
use intriage_simulate::faults::{self, Fault};
use intriage_simulate::{Window, rehearse};

const SEEDS: u64 = 20;
/// What `intriage demo` watches.
const WINDOW: Window = Window { from: Seconds(2.0), length: Seconds(20.0), every: Seconds(1.0) };

fn judged(fault: &Fault, seed: u64) -> Diagnosis {
    let setup = fault.setup(seed, 1.0);
    let mut case = Case { target: Target { name: fault.name.to_owned() }, ..Case::default() };
    for (name, bytes) in rehearse(&setup, seed, WINDOW) {
        layout::add(&mut case, &name, bytes);
    }
    if setup.batch {
        case.intent.profile = Profile::Batch;
    }
    case.intent.objectives = setup.objectives.iter().map(|o| o.parse().unwrap()).collect();
    diagnose(&case, &Thresholds::default())
}

/// The seeds of an answer that was not the expected one.
fn listed(seeds: &[u64]) -> String {
    let mut seeds = seeds.to_vec();
    seeds.sort_unstable();
    format!("(seeds {})", seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(" "))
}

/// `hit`, or what was said instead.
fn answer(fault: &Fault, diagnosis: &Diagnosis) -> String {
    let said = diagnosis.verdict.primary.cause.as_deref();
    let accepted = said.is_some_and(|s| fault.accept.contains(&s));
    if said == fault.cause
        && (said.is_some() || diagnosis.verdict.status == intriage_diagnose::Status::Healthy)
    {
        "hit".into()
    } else if accepted {
        format!("accepted {}", said.unwrap_or_default())
    } else {
        said.map_or_else(|| format!("{:?}", diagnosis.verdict.status), str::to_owned)
    }
}

#[test]
fn the_diagnosis_names_every_fault() {
    let wanted: Vec<&Fault> = faults::all().collect();
    let jobs: Vec<(&Fault, u64)> = wanted.iter().flat_map(|f| (0..SEEDS).map(|s| (*f, s))).collect();
    let (next, answers) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                while let Some((fault, seed)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let said = answer(fault, &judged(fault, *seed));
                    answers
                        .lock()
                        .unwrap()
                        .entry(fault.name)
                        .or_insert_with(BTreeMap::new)
                        .entry(said)
                        .or_insert_with(Vec::new)
                        .push(*seed);
                }
            });
        }
    });
    let answers: BTreeMap<&str, BTreeMap<String, Vec<u64>>> = answers.into_inner().unwrap();
    let mut table = format!("{:<22}{:<34}{:>5}  {}\n", "fault", "cause", "hits", "other answers");
    for fault in &wanted {
        let all = &answers[fault.name];
        let hits = all.get("hit").map_or(0, Vec::len);
        let others: Vec<String> = all
            .iter()
            .filter(|(a, _)| *a != "hit")
            .map(|(a, seeds)| format!("{} {a} {}", seeds.len(), listed(seeds)))
            .collect();
        let cause = fault.cause.unwrap_or("(nothing)");
        let row = format!("{:<22}{cause:<34}{hits:>2}/{SEEDS}  {}", fault.name, others.join(", "));
        writeln!(table, "{}", row.trim_end()).unwrap();
    }
    let path = support::root().join("FAULTS.txt");
    if std::env::var_os("INTRIAGE_BLESS").is_some() {
        std::fs::write(&path, &table).unwrap();
    }
    assert_eq!(table, std::fs::read_to_string(&path).unwrap_or_default(), "\n{table}");
    for (fault, all) in &answers {
        let good: usize = all
            .iter()
            .filter(|(a, _)| *a == "hit" || a.starts_with("accepted"))
            .map(|(_, seeds)| seeds.len())
            .sum();
        assert_eq!(good as u64, SEEDS, "{fault}: {all:?}");
    }
}
