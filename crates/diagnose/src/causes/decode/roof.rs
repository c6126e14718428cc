//! The measured step against the least the card needs for it.

use intriage_case::{Ratio, Seconds, Signal, Tokens};

use crate::causes::shared::unknown;
use crate::evidence::Evidence;
use crate::thresholds::Limit;
use crate::weighing::Test;

/// The step is explained by what the card has to read.
pub(super) fn step_is_near_floor(e: &Evidence<'_>) -> Test {
    compare(e, |times| {
        if times <= e.limit(Limit::RoofOk) {
            Some(true)
        } else if times >= e.limit(Limit::RoofBad) {
            Some(false)
        } else {
            None
        }
    })
}

/// The step is so far above what the card has to read that something else takes the time.
pub(in crate::causes) fn step_is_far_above_floor(e: &Evidence<'_>) -> Test {
    compare(e, |times| {
        if times >= e.limit(Limit::RoofBad) {
            Some(true)
        } else if times <= e.limit(Limit::RoofOk) {
            Some(false)
        } else {
            None
        }
    })
}

fn compare(e: &Evidence<'_>, judged: impl Fn(f64) -> Option<bool>) -> Test {
    let Ok(floor) = &e.floor else { return no_floor(e) };
    let Some(step) = e.account.ordinary_step().filter(|s| *s > 0.0) else {
        return Test::Unknown("how long a step without prompts takes is not shown".into());
    };
    let Some(times) = Ratio::of(step, floor.decode) else { return no_floor(e) };
    let says = format!(
        "a step takes {}, {:.1} times the least it could: {} for {}",
        Seconds(step),
        times.get(),
        Seconds(floor.decode),
        floor.how
    );
    let fact = e.derived(says, times, "median gap / (bytes read per step / bandwidth)");
    match judged(times.get()) {
        Some(true) => Test::Holds(fact),
        Some(false) => Test::Fails(fact),
        None => Test::Unknown(format!(
            "a step takes {:.1} times the least it could, which fits a busy memory as well as another limit",
            times.get()
        )),
    }
}

/// Most of a token's gap is the step itself, not prompts in it or stalls.
pub(super) fn step_is_most_of_the_gap(e: &Evidence<'_>) -> Test {
    let share = e.account.ordinary_step().zip(e.account.itl).and_then(|(step, itl)| Ratio::of(step, itl));
    let Some(share) = share else { return unknown(e, Signal::LatencyItl) };
    let fact = e.fact(
        Signal::LatencyItl,
        format!("{share} of a token's gap is the decode step itself"),
        share.get(),
    );
    Test::when(share.get() >= e.limit(Limit::DecodeShare), fact)
}

/// Reading the live contexts takes at least as long as reading the weights.
pub(super) fn context_is_the_larger_part(e: &Evidence<'_>) -> Test {
    let Ok(floor) = &e.floor else { return no_floor(e) };
    let says = format!(
        "{} of live context take {} to read, the weights {}",
        Tokens(floor.live.round()),
        Seconds(floor.context),
        Seconds(floor.weights)
    );
    let fact =
        e.derived(says, Seconds(floor.context), "kv.usage × capacity × KV bytes per token / bandwidth");
    Test::when(floor.context >= floor.weights, fact)
}

/// What is missing to know the floor.
pub(super) fn no_floor(e: &Evidence<'_>) -> Test {
    let why = e.floor.as_ref().err().map_or("", String::as_str);
    Test::Unknown(format!("the least a step could take is not known: {why}"))
}
