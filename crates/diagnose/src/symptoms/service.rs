//! Whether the service is there, and whether its requests end well.

use intriage_case::{ClientRequest, Millis, Ratio, Requests, Signal};

use super::first_token::harm;
use super::{Aspect, Harm, Symptom, Yardstick};
use crate::evidence::Evidence;
use crate::thresholds::Limit;

/// Tokens came all through the window, or a standstill inside it.
pub(super) fn availability(e: &Evidence<'_>) -> Symptom {
    if e.observed.times.is_empty() {
        return Symptom::unseen(Aspect::Availability, "the server was not asked, or did not answer");
    }
    if let Some(still) = e.timeline.standstills().max_by(|a, b| a.seconds.get().total_cmp(&b.seconds.get())) {
        let window = e.elapsed().get().max(f64::MIN_POSITIVE);
        return Symptom::new(Aspect::Availability, Harm::Hurts, Yardstick::CalmPart, still.says.clone())
            .costs(Ratio(still.seconds.get() / window))
            .during(still.start, still.end());
    }
    let moved = e.delta(Signal::TokensGenerated).is_none_or(|n| n > 0.0);
    let says = if moved { "tokens came all through the window" } else { "no token was asked for" };
    Symptom::new(Aspect::Availability, Harm::Fine, Yardstick::CalmPart, says)
}

/// Requests of the clients' record that were over inside the window, and those of them that failed.
fn ended_at_clients(e: &Evidence<'_>) -> (f64, f64) {
    // Who stops watching stops asking: what clients break off at the end of a run is no failure.
    let [from, .., to, _] = e.observed.times.as_slice() else { return (0.0, 0.0) };
    let over = |r: &&ClientRequest| {
        let life = r.ended.or(r.last).or(r.headers).unwrap_or_default().get().max(0.0);
        let end = Millis(r.sent.0.saturating_add((life * 1000.0) as u64));
        end >= *from && end <= *to
    };
    let failed = |r: &&ClientRequest| r.error.is_some() || r.status.is_some_and(|s| s >= 400);
    let all = e.observed.client.iter().filter(over);
    (all.clone().count() as f64, all.filter(failed).count() as f64)
}

/// Share of the clients' requests that failed, where clients kept a record; a single one proves nothing.
fn failed_at_clients(e: &Evidence<'_>) -> Option<Ratio> {
    let (all, failed) = ended_at_clients(e);
    (failed >= e.limit(Limit::FewestFailures)).then(|| Ratio::of(failed, all))?
}

/// How many failed, by the clients' record or the server's count, whichever is more.
fn failures(e: &Evidence<'_>) -> Option<f64> {
    let (_, at_clients) = ended_at_clients(e);
    let by_server = e.failed_share().and_then(|share| {
        let all = e.delta(Signal::HttpResponses).or_else(|| e.finished().map(Requests::get))?;
        Some(share.get() * all)
    });
    by_server.map(|n| n.max(at_clients).round()).or((at_clients > 0.0).then_some(at_clients))
}

/// Requests that failed, as the server counts them or as clients saw it: whichever is more.
pub(super) fn errors(e: &Evidence<'_>) -> Symptom {
    let by_server = e.failed_share();
    let share = match (by_server, failed_at_clients(e)) {
        (Some(a), Some(b)) => Some(if a.get() < b.get() { b } else { a }),
        (a, b) => a.or(b),
    };
    let Some(share) = share else {
        return Symptom::unseen(Aspect::Errors, e.observed.why_missing(Signal::HttpResponses));
    };
    let stated = e
        .objectives
        .iter()
        .find(|o| o.asked.is_some_and(|asked| asked.metric == intriage_case::ObjectiveMetric::Errors));
    let limit = stated.and_then(|o| Some(o.asked?.limit)).unwrap_or(e.limit(Limit::ErrorShare));
    let yardstick = if stated.is_some() { Yardstick::Objective } else { Yardstick::Share };
    // A single failure proves nothing, unless somebody asked for none.
    let several = stated.is_some() || failures(e).is_none_or(|n| n >= e.limit(Limit::FewestFailures));
    // Clients mistype: what they are refused for hurts from a larger share on than what the server gets wrong.
    let refused = e.answered(|status| (400..500).contains(&status));
    let own_fault = e.delta(Signal::HttpResponses).and_then(|all| Ratio::of(refused, all));
    let told_by_log = e.observed.is_told_by_log(Signal::RequestsErrors);
    let own_fault = own_fault.or(told_by_log.then_some(share));
    let limit = match own_fault {
        Some(own) if stated.is_none() && share.get() - own.get() <= limit => e.limit(Limit::RejectShare),
        _ => limit,
    };
    let says = format!("{share} of the requests fail");
    Symptom::new(Aspect::Errors, harm(several && share.get() > limit), yardstick, says)
        .costs(share)
        .against(share, Ratio(limit))
}

/// Requests that got a first token and never ended: their clients hung up. Engines count them nowhere.
pub(super) fn aborts(e: &Evidence<'_>) -> Symptom {
    let Some(lost) = lost_requests(e) else {
        return Symptom::unseen(Aspect::Aborts, "first tokens and ends of requests are not both counted");
    };
    let limit = Ratio(e.limit(Limit::AbortShare));
    let enough = lost.requests >= e.limit(Limit::FewestAborts);
    let says = format!(
        "{} of {} that got a first token never ended: clients gave them up",
        Requests(lost.requests.round()),
        Requests(lost.begun)
    );
    let says =
        if lost.requests >= 1.0 { says } else { "every request that began ended or still runs".to_owned() };
    let share = lost.share();
    Symptom::new(Aspect::Aborts, harm(enough && share.get() > limit.get()), Yardstick::Share, says)
        .costs(share)
        .against(share, limit)
}

/// Requests that began and are neither ended nor running.
pub(crate) struct Lost {
    /// At least so many.
    pub(crate) requests: f64,
    /// Of so many that began.
    pub(crate) begun: f64,
}

impl Lost {
    /// Their share.
    pub(crate) fn share(&self) -> Ratio {
        Ratio::of(self.requests, self.begun).map_or(Ratio(0.0), |r| Ratio(r.get().clamp(0.0, 1.0)))
    }
}

/// First tokens less ends less the growth of the batch. Requests whose prompt was being computed when the window began
/// are counted as running before and as begun after, so that many are taken off.
pub(crate) fn lost_requests(e: &Evidence<'_>) -> Option<Lost> {
    // A line that tells of a first token comes with the end of its request: those that were given up have none.
    if e.restarts() > 0 || e.observed.is_told_by_log(Signal::LatencyTtft) {
        return None;
    }
    let begun = e.histogram(Signal::LatencyTtft)?.count();
    let given_up = e.delta_by(Signal::RequestsFinished, "abort").unwrap_or(0.0);
    let ended = e.finished()?.get();
    let running = e.observed.series(Signal::RequestsRunning, None, None)?;
    let waiting = e.observed.series(Signal::RequestsWaiting, None, None);
    let (first, last) = (running.known().next()?.1, running.last()?);
    // A request thrown back waits, and has had its first token. Not every engine counts it: where the batch has shrunk,
    // those that wait may be the ones that left it.
    let thrown_back = e.delta(Signal::RequestsPreempted).is_some_and(|n| n > 0.0);
    let shrunk = running.max().unwrap_or(last) - last;
    let waits = waiting.and_then(|w| w.last()).unwrap_or(0.0);
    let back = if thrown_back { waits } else { waits.min(shrunk) };
    let missing = begun - (ended - given_up) - (last - first).max(-first) - back - first;
    Some(Lost { requests: missing.max(given_up).max(0.0), begun })
}
