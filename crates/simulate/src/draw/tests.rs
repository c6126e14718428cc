#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use super::*;
use crate::engine::EngineConfig;
use crate::setup::Path;
use crate::workload::Arrivals;

const SEED: u64 = 11;

fn draws(n: u64) -> impl Iterator<Item = Draw> {
    (0..n).map(|number| Draw::of(SEED, number))
}

/// The draw of the first number under which only this fault strikes, at this strength instead of its own.
fn with(name: &str, strength: f64) -> Vec<Draw> {
    let alone = |draw: &Draw| matches!(draw.faults.as_slice(), [(fault, _)] if fault.name == name);
    let numbers = (0..).filter(|number| alone(&Draw::of(SEED, *number)));
    numbers.take(6).map(|number| Draw::at_strength(SEED, number, strength)).collect()
}

#[test]
fn a_seed_and_a_number_decide_everything() {
    for number in [0, 7, 300] {
        let (a, b) = (Draw::of(SEED, number), Draw::of(SEED, number));
        assert_eq!(a.setup, b.setup);
        assert_eq!(a.record(), b.record());
        assert_eq!(a.figures(), b.figures());
        assert_ne!(a.setup, Draw::of(SEED + 1, number).setup);
    }
}

#[test]
fn every_draw_and_control_has_engines_that_can_run() {
    for draw in draws(400) {
        for setup in [&draw.setup, &draw.control().setup] {
            assert!(!setup.fleet.engines.is_empty());
            assert!(setup.fleet.engines.iter().all(|e| EngineConfig::check(e).is_ok()), "{}", draw.number);
        }
        assert!(draw.base.window.length.0 >= 12.0 && draw.base.window.length.0 <= 62.0);
        assert!(draw.faults.iter().all(|(_, strength)| (0.25..=2.0).contains(strength)));
    }
}

#[test]
fn every_fault_and_every_number_of_faults_is_drawn() {
    let all: Vec<Draw> = draws(800).collect();
    for n in 0..3 {
        let share = all.iter().filter(|d| d.faults.len() == n).count() as f64 / 800.0;
        assert!(share > 0.12, "{n} faults: {share}");
    }
    for fault in faults() {
        let drawn = all.iter().filter(|d| d.faults.iter().any(|(f, _)| f.name == fault.name)).count();
        assert!(drawn >= 4, "{}: {drawn}", fault.name);
    }
}

#[test]
fn without_a_fault_the_draw_is_its_control_and_harm_is_exactly_one() {
    let mut seen = 0;
    for draw in draws(120).filter(|d| d.faults.is_empty()) {
        let control = draw.control();
        assert_eq!(draw.setup, control.setup);
        assert_eq!(draw.figures().against(&control.figures()).worst(), ("none", 1.0));
        seen += 1;
    }
    assert!(seen > 15, "{seen}");
}

#[test]
fn each_of_two_faults_can_be_had_alone() {
    // A weak fault may change nothing at all: a pool that is smaller and still the largest there can be.
    let strong =
        |draw: &Draw| draw.faults.len() == 2 && draw.faults.iter().all(|(_, strength)| *strength > 0.8);
    let two = draws(200).find(strong).unwrap();
    let alone: Vec<Draw> = two.alone().collect();
    assert_eq!(
        alone.iter().map(|d| d.faults[0].0.name).collect::<Vec<_>>(),
        [two.faults[0].0.name, two.faults[1].0.name]
    );
    assert!(alone.iter().all(|d| d.setup != two.setup && d.setup != two.control().setup));
    let one = draws(60).find(|draw| draw.faults.len() == 1).unwrap();
    assert!(one.alone().all(|d| d.setup == one.setup));
}

/// What a fault of the step changes is the step; load, window, path and everything else stay.
#[test]
fn the_control_differs_by_the_fault_alone() {
    for draw in with("slow-host", 1.0) {
        let mut mended = draw.setup.clone();
        mended.each_engine(|e| e.step.base = draw.base.engine.step.base);
        assert_eq!(mended, draw.control().setup);
    }
    for draw in with("far-away", 1.0) {
        let mut mended = draw.setup.clone();
        mended.path = Path { delay: draw.base.delay, buffer: None };
        assert_eq!(mended, draw.control().setup);
    }
    for draw in with("prefill-interference", 1.0) {
        let (Arrivals::Planned(with), Arrivals::Planned(without)) =
            (&draw.setup.workload.arrivals, &draw.control().setup.workload.arrivals)
        else {
            panic!("an open load");
        };
        assert!(with.len() > without.len());
        assert!(without.iter().all(|planned| with.contains(planned)), "the chats stay as they are");
    }
}

#[test]
fn a_stronger_fault_does_more_harm() {
    for name in ["slow-host", "lowered-clock", "far-away", "low-sequence-cap", "slow-tokenizer"] {
        let harm = |strength| {
            let of = |draw: &Draw| draw.figures().against(&draw.control().figures()).worst().1;
            with(name, strength).iter().map(of).collect::<Vec<f64>>()
        };
        let (weak, strong) = (harm(0.25), harm(2.0));
        let grows = weak.iter().zip(&strong).all(|(weak, strong)| strong >= weak);
        let much = strong.iter().sum::<f64>() > 1.5 * weak.iter().sum::<f64>();
        assert!(grows && much, "{name}: {weak:?} {strong:?}");
    }
}

/// Healthy recordings of an H200 have a time per token of 1.5 to 2.3 times the floor, and nobody waits long in them.
#[test]
fn a_deployment_without_a_fault_is_healthy() {
    let mut paces = Vec::new();
    for draw in draws(300).map(|d| d.control()).filter(|d| d.base.shape != Shape::Job) {
        let witness = Witness::of(&draw.setup, run_seed(SEED, draw.number), draw.base.window);
        let figures = Figures::of(&witness, &draw.setup);
        assert!(figures.requests >= 12, "{}: {} requests", draw.number, figures.requests);
        assert!(figures.errors.0 < 0.005, "{}: {}", draw.number, figures.errors);
        assert_eq!(witness.preemptions, 0, "{}", draw.number);
        let (card, model) = (draw.base.card, draw.base.model);
        let context = draw.base.live_tokens() * card.context_floor(model).0;
        paces.push(figures.tpot_p50.unwrap().0 / (card.weights_floor(model).0 + context));
    }
    paces.sort_by(f64::total_cmp);
    assert!(paces[0] > 1.15 && paces[paces.len() - 1] < 2.7, "{} to {}", paces[0], paces[paces.len() - 1]);
    let usual = paces.iter().filter(|pace| (1.45..=2.3).contains(*pace)).count();
    assert!(usual as f64 > 0.85 * paces.len() as f64, "{usual} of {}", paces.len());
}

#[test]
fn a_full_pool_is_nearly_full_and_nobody_waits_for_it() {
    let full: Vec<Draw> = draws(600).filter(|d| d.full_pool).collect();
    assert!(full.len() >= 20, "{}", full.len());
    for draw in full.iter().filter(|d| d.base.shape != Shape::Job) {
        let witness = Witness::of(&draw.control().setup, run_seed(SEED, draw.number), draw.base.window);
        let pool = draw.setup.fleet.engines[0].pool_blocks;
        let held = f64::from(witness.most_blocks) / f64::from(pool);
        assert!(held > 0.9 && held <= 1.0, "{}: {held}", draw.number);
        assert_eq!(witness.preemptions, 0, "{}", draw.number);
    }
}

#[test]
fn what_cannot_be_seen_without_is_given() {
    for draw in draws(150) {
        for (fault, _) in &draw.faults {
            assert!(!fault.needs.card || draw.evidence.server_info, "{}", fault.name);
            assert!(!fault.needs.client || draw.evidence.client, "{}", fault.name);
            assert!(!fault.needs.objective || draw.objective, "{}", fault.name);
        }
        let recording = draw.record();
        let has = |name: &str| recording.iter().any(|(file, _)| file == name);
        assert_eq!(has("endpoints/server_info.json"), draw.evidence.server_info);
        assert_eq!((has("client.jsonl"), has("server.log")), (draw.evidence.client, draw.evidence.log));
    }
}

/// The engine stands still as long as it is told to, and goes on.
#[test]
fn a_pause_is_silence_and_then_everything_goes_on() {
    for draw in with("paused-engine", 1.0) {
        let (figures, control) = (draw.figures(), draw.control().figures());
        let ratios = figures.against(&control);
        assert!(ratios.worst().1 > 2.0, "{}: {ratios:?}", draw.number);
        assert!(figures.throughput > 0.3 * control.throughput, "{}: {ratios:?}", draw.number);
    }
}
