//! The second case of the founding documents under other seeds and sizes than the recorded one: the verdict holds.

use intriage_case::{Case, layout};
use intriage_diagnose::{Diagnosis, Thresholds, diagnose};
use intriage_simulate::founding::{FIVE_DAYS_WINDOW, five_days};
use intriage_simulate::rehearse;

const SIZES: [u32; 8] = [6, 7, 8, 10, 12, 16, 24, 32];

fn judged(seed: u64, agents: u32) -> Diagnosis {
    let mut case = Case::default();
    for (name, bytes) in rehearse(&five_days(seed, agents), seed, FIVE_DAYS_WINDOW) {
        layout::add(&mut case, &name, bytes);
    }
    diagnose(&case, &Thresholds::default())
}

#[test]
fn answers_that_outgrow_the_pool_are_preemption_with_the_growth_behind_it_and_never_fragmentation() {
    for (agents, seed) in SIZES.into_iter().zip(1..) {
        let d = judged(seed, agents);
        let named = d.verdict.primary.cause.as_deref();
        assert_eq!(named, Some("preemption-thrash"), "{agents} agents: {}", d.verdict.answer);
        assert!(!d.verdict.answer.contains("fragment"), "{}", d.verdict.answer);
        let shift = d.findings.iter().find(|f| f.cause == "workload-mix-shift");
        let driven = shift.and_then(|f| f.drives.as_deref());
        assert_eq!(driven, Some("preemption-thrash"), "{agents} agents: {:#?}", d.findings);
        assert!(shift.is_some_and(|f| f.says.contains("answers grew from")), "{shift:?}");
    }
}
