//! What a reader of a plan should know, in sentences.

use crate::ask::Ask;
use crate::capacity::{Capacity, Limit, rate_text};
use crate::fleet::Fleet;
use crate::instance::Instance;
use crate::limits::CeilingOf;
use crate::measured::Measured;

/// What is known before anything is computed.
pub(crate) fn notes(ask: &Ask) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(deployed) = &ask.deployed {
        notes.extend(deployed.model.notes.iter().cloned());
    }
    if let Some(measured) = &ask.measured {
        notes.extend(recorded(ask, measured));
    }
    notes
}

/// The range of machines, where chance moves the answer by more than one instance either way.
pub(crate) fn spread(ask: &Ask, instance: &Instance, capacity: &Capacity) -> Option<String> {
    let best = capacity.at_objectives?;
    let (slowest, fastest) = capacity.by_chance?;
    let count = |rate| Some(Fleet::of(ask, rate, instance.gpus, best.e2e_mean)?.needed);
    let (needed, most, fewest) = (count(best.rate)?, count(slowest)?, count(fastest)?);
    let far = most.instances > needed.instances + 1 || fewest.instances + 1 < needed.instances;
    far.then(|| {
        format!(
            "chance moves this: simulations that differ by their random draws alone give {} to {}, {} to {} an instance; the plan takes the middle one",
            fewest.gpus,
            most.gpus_text(),
            rate_text(slowest),
            rate_text(fastest)
        )
    })
}

/// A prefix that one cache would hold is looked for in several, unless requests are routed by it.
pub(crate) fn split_prefix_cache(ask: &Ask, fleet: &Fleet) -> Option<String> {
    let instances = fleet.needed.instances;
    (ask.traffic.prefix_share.get() > 0.0 && instances > 1).then(|| {
        format!(
            "{instances} instances split the prefix cache: the planned share of {} holds only if requests with the same beginning go to the same instance (prefix-aware routing), or if all share one beginning",
            ask.traffic.prefix_share
        )
    })
}

/// What the recorded server's own state means for the plan.
fn recorded(ask: &Ask, measured: &Measured) -> Vec<String> {
    let mut notes = Vec::new();
    if measured.is_overloaded() {
        let demand = if ask.traffic.rate == measured.arrived { "; the demand is what came" } else { "" };
        notes.push(format!(
            "the recorded server was overloaded: {} came and {} were served{demand}",
            rate_text(measured.arrived),
            rate_text(measured.served)
        ));
    }
    if !measured.prefix_cache && ask.traffic.prefix_share.get() > 0.0 {
        notes.push(
            "the recorded server has no prefix cache; --prefix-share plans as if it were switched on".into(),
        );
    }
    notes
}

/// A batch this many times the recorded one is a guess.
const FAR: f64 = 3.0;

/// Where the plan runs far larger batches than were ever measured.
pub(crate) fn beyond_recorded(ask: &Ask, capacity: &Capacity) -> Option<String> {
    let measured = ask.measured.as_ref()?;
    let planned = capacity.at_objectives?.running.get();
    (planned > FAR * measured.batch.get()).then(|| {
        format!(
            "at its limit an instance would run {planned:.0} requests at once, the recorded server ran {:.0}: the limit is an extrapolation, so hold it against a load test",
            measured.batch.get()
        )
    })
}

/// Where a setting of the recorded server is what stops an instance, so that more of the same is bought.
pub(crate) fn recorded_limit(ask: &Ask, capacity: &Capacity) -> Option<String> {
    let measured = ask.measured.as_ref()?;
    let lowest = capacity.ceilings.first()?;
    let stops = |limit: Limit, ceiling: CeilingOf| {
        let binds = capacity.binding.limit == limit;
        binds || (lowest.of == ceiling && capacity.binding.limit == Limit::Nothing)
    };
    if stops(Limit::SequenceCap, CeilingOf::SequenceCap) && ask.limits.max_sequences.is_none() {
        let cap = measured.limits.max_sequences?;
        return Some(format!(
            "the recorded --max-num-seqs {cap} stops an instance, not the GPU: raise it before adding machines (--max-num-seqs plans with another)"
        ));
    }
    if stops(Limit::KvPool, CeilingOf::KvPool) && ask.deployed.is_none() {
        let pool = measured.pool;
        return Some(measured.pool_possible.map_or_else(
            || format!("the recorded KV pool of {pool} stops an instance: a larger one (more memory, fp8 keys and values) comes before more machines"),
            |possible| format!("the recorded KV pool of {pool} stops an instance: --num-gpu-blocks-override cut it from {possible}, so take that off before adding machines"),
        ));
    }
    None
}
