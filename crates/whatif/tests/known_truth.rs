//! The prediction against a server whose future is known: the simulated engine before and after the change.
//!
//! The calibration sees only the pages an observer would see. The engine behind them is of the same kind as
//! the one that is calibrated, so this tests what is read off the pages, not whether real engines are like it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

use std::fmt::Write as _;

use intriage_case::{Case, Seconds, Tokens, layout};
use intriage_diagnose::Estimate;
use intriage_engines::read;
use intriage_simulate::{EngineConfig, Outcome, Setup, Stop, Window, faults, rehearse};
use intriage_whatif::{Change, calibrate, what_if};

const WINDOW: Window = Window { from: Seconds(2.0), length: Seconds(20.0), every: Seconds(1.0) };

/// A fault, the change that mends it, and what the change does to the real thing.
type Mend = (&'static str, Change, fn(&mut EngineConfig));

const MENDS: [Mend; 3] = [
    ("low-sequence-cap", Change::SequenceCap(256), |e| e.max_sequences = 256),
    ("small-kv-pool", Change::Pool(Tokens(64_000.0)), |e| e.pool_blocks = 4000),
    ("small-token-budget", Change::TokenBudget(8192), |e| e.token_budget = 8192),
];

fn before(setup: &Setup, seed: u64) -> Case {
    let mut case = Case::default();
    for (name, bytes) in rehearse(setup, seed, WINDOW) {
        layout::add(&mut case, &name, bytes);
    }
    case
}

/// Five minutes of the mended deployment under the same kind of load.
fn after(mut setup: Setup, mend: fn(&mut EngineConfig), seed: u64) -> Outcome {
    setup.fleet.engines.iter_mut().for_each(mend);
    let stop = Stop::after(Seconds(320.0));
    Outcome::of(&setup.fleet, &setup.workload, seed + 1000, stop, Seconds(20.0))
}

fn row(table: &mut String, what: &str, foreseen: &Estimate, true_value: Seconds) -> bool {
    let inside = (foreseen.low..=foreseen.high).contains(&true_value.get());
    let off = foreseen.value.value / true_value.get() - 1.0;
    let says = if inside { "inside" } else { "OUTSIDE" };
    writeln!(
        table,
        "  {what:<10} {:>9} ({} to {}), truth {:>9}, {:+.0} %, {says}",
        Seconds(foreseen.value.value).to_string(),
        Seconds(foreseen.low),
        Seconds(foreseen.high),
        true_value.to_string(),
        100.0 * off
    )
    .unwrap();
    inside
}

#[test]
fn what_is_foreseen_for_a_simulated_engine_comes_true() {
    let (mut table, mut inside, mut all) = (String::new(), 0, 0);
    for (name, change, mend) in MENDS {
        for seed in 0..4 {
            let setup = faults::find(name).unwrap().setup(seed, 1.0);
            let calibration = match calibrate(&read(&before(&setup, seed))) {
                Ok(calibration) => calibration,
                Err(why) => {
                    writeln!(table, "{name}, seed {seed}: {why}").unwrap();
                    continue;
                }
            };
            let foreseen = what_if(&calibration, &[change]).after;
            let truth = after(setup, mend, seed);
            writeln!(table, "{name}, seed {seed}").unwrap();
            for (what, foreseen, truth) in [
                ("TTFT mean", foreseen.ttft.mean, truth.ttft.mean()),
                ("ITL mean", foreseen.itl.mean, truth.itl.mean()),
            ] {
                all += 1;
                inside += usize::from(row(&mut table, what, &foreseen, truth));
            }
        }
    }
    writeln!(table, "{inside} of {all} inside").unwrap();
    insta::assert_snapshot!("known_truth", table);
    assert!(inside * 10 >= all * 8, "{table}");
}
