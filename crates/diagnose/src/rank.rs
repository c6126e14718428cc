//! Which finding comes first: by the time it explains, upstream before downstream.

use crate::causes::{Cause, Class};
use crate::diagnosis::{ImpactOn, Outcome};
use crate::evidence::Evidence;
use crate::thresholds::Limit;
use crate::weighing::Judgement;

/// A cause that holds, with its judgement.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) cause: &'static Cause,
    pub(crate) judgement: Judgement,
    /// The held cause this one is an effect of.
    pub(crate) effect_of: Option<&'static str>,
    /// The limit this one drove the server into.
    pub(crate) drives: Option<&'static str>,
}

/// More is asked than before. Where the server ran into a limit, that limit is the answer, and this is what stands behind it.
const DEMAND: [&str; 1] = ["workload-mix-shift"];
/// The classes of such limits: what growing demand reaches, and a change on the server moves.
const LIMITS: [Class; 4] = [Class::Queueing, Class::Prefill, Class::Decode, Class::Memory];

/// Orders held causes: the primary first, then by weight; marks effects of others.
pub(crate) fn rank(e: &Evidence<'_>, mut held: Vec<Held>) -> Vec<Held> {
    held.sort_by(|a, b| {
        let sure = |h: &Held| h.judgement.confidence;
        weight(e, b)
            .total_cmp(&weight(e, a))
            .then(sure(b).total_cmp(&sure(a)))
            .then(a.cause.id.cmp(b.cause.id))
    });
    let Some(top) = limit_before_demand(&held).or_else(|| held.first().map(|h| h.cause.id)) else {
        return held;
    };
    let primary = most_upstream(&held, top);
    if let Some(at) = held.iter().position(|h| h.cause.id == primary) {
        let first = held.remove(at);
        held.insert(0, first);
    }
    mark_effects(&mut held);
    if let Some(limit) = held.first().filter(|h| is_limit(h)).map(|h| h.cause) {
        for driver in held.iter_mut().filter(|h| DEMAND.contains(&h.cause.id) && h.effect_of.is_none()) {
            driver.drives = Some(limit.id);
        }
    }
    held
}

/// Where demand would come first: the weightiest limit, which then comes before it.
fn limit_before_demand(held: &[Held]) -> Option<&'static str> {
    held.first().filter(|h| DEMAND.contains(&h.cause.id))?;
    held.iter().find(|h| is_limit(h)).map(|h| h.cause.id)
}

fn is_limit(held: &Held) -> bool {
    LIMITS.contains(&held.cause.class)
}

/// Steps of the order below, further apart than shares can reach.
pub(crate) const NOT_SERVING: f64 = 20.0;
const FAILING: f64 = 10.0;
pub(crate) const DOUBTFUL: f64 = -10.0;

/// Not serving outranks failing, failing outranks slowness. Then what is confirmed and worth naming
/// comes before what is only likely, and within that the larger share.
fn weight(e: &Evidence<'_>, held: &Held) -> f64 {
    let Some(impact) = &held.judgement.impact else { return 0.0 };
    let share = impact.share.get().clamp(0.0, 1.0);
    let tier = match impact.on {
        ImpactOn::Availability => NOT_SERVING,
        ImpactOn::Errors if share >= e.limit(Limit::ErrorFirst) => FAILING,
        ImpactOn::Measurement => DOUBTFUL,
        _ => 0.0,
    };
    let sure = held.judgement.outcome == Outcome::Confirmed && share >= e.limit(Limit::WorthNaming);
    tier + share + if sure { 1.0 } else { 0.0 }
}

/// Follows "is explained by" upwards from `id`; a circle ends at the first step.
fn most_upstream(held: &[Held], id: &'static str) -> &'static str {
    let mut seen = vec![id];
    let mut now = id;
    while let Some(up) = held.iter().find(|h| !seen.contains(&h.cause.id) && explains(h, now)) {
        now = up.cause.id;
        seen.push(now);
    }
    now
}

/// What a judgement says of this case comes before what the catalogue says in general.
fn explains(held: &Held, other: &str) -> bool {
    held.judgement.explains.contains(&other)
}

fn mark_effects(held: &mut [Held]) {
    for at in 1..held.len() {
        let id = held[at].cause.id;
        let above = held[..at].iter().find(|h| explains(h, id) || h.cause.explains.contains(&id));
        held[at].effect_of = above.map(|h| h.cause.id);
    }
}
