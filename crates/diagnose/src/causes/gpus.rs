//! GPUs that serve one model together: what several classes ask about them.

use intriage_case::{Fact, Quantity, Source, Unit};
use intriage_engines::Setting;

use crate::evidence::Evidence;
use crate::weighing::Test;

/// A single GPU does not talk to others.
pub(super) fn serves_alone(e: &Evidence<'_>) -> Test {
    match e.setting(Setting::TensorParallel) {
        Some(n) => Test::when(
            n < 2.0,
            e.setting_fact(Setting::TensorParallel, format!("the model runs on {n:.0} GPU at a time")),
        ),
        None if e.observed.gpu.count == Some(1) => Test::Holds(Fact {
            says: "there is one GPU".into(),
            value: Some(Quantity::new(1.0, Unit::Count)),
            limit: None,
            signal: None,
            source: Source::Gpu { tool: e.observed.gpu.source.clone() },
        }),
        None => Test::Unknown("on how many GPUs the model runs is not stated".into()),
    }
}

/// Several GPUs share the model: required where only a group can have the fault.
pub(super) fn serves_in_a_group(e: &Evidence<'_>) -> Test {
    match serves_alone(e) {
        Test::Holds(fact) => Test::Fails(fact),
        Test::Fails(fact) => Test::Holds(fact),
        unknown @ Test::Unknown(_) => unknown,
    }
}
